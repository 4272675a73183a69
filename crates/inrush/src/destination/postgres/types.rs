//! PostgreSQL's types, as columns to convert to and as encodings to send.

use inrush_wire::PgType;

use super::error::DestinationError;
use super::session::Session;
use crate::column::ColumnType;

/// A type of PostgreSQL, resolved down to what COPY takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedType {
    /// As the server writes it, with its modifiers: `numeric(15,2)`. Safe in a statement.
    pub sql: String,
    /// Which values fit.
    pub column_type: ColumnType,
    /// How they are sent; none where there is no binary encoder, and the table goes as text.
    pub wire: Option<PgType>,
    /// Whether the type itself refuses NULL (a domain may).
    pub not_null: bool,
}

const SECOND_FRACTION_DIGITS: u8 = 6;

/// The first version that has infinite intervals.
const INFINITE_INTERVALS_VERSION: i32 = 170_000;

/// Resolves a type by its OID and modifier. Domains are what they stand on: the server checks
/// their constraints.
pub async fn resolve(
    session: &Session,
    oid: u32,
    modifier: i32,
) -> Result<ResolvedType, DestinationError> {
    let rows = session
        .query(
            "WITH RECURSIVE chain AS ( \
               SELECT t.oid, t.typtype, t.typbasetype, t.typnotnull, $2::int4 AS modifier, \
                      1 AS depth \
               FROM pg_type t WHERE t.oid = $1 \
               UNION ALL \
               SELECT b.oid, b.typtype, b.typbasetype, c.typnotnull OR b.typnotnull, \
                      (SELECT typtypmod FROM pg_type WHERE oid = c.oid), c.depth + 1 \
               FROM chain c JOIN pg_type b ON b.oid = c.typbasetype WHERE c.typtype = 'd' \
             ) \
             SELECT format_type($1, $2), oid, typtype::text, modifier, typnotnull, \
                    ARRAY(SELECT enumlabel::text FROM pg_enum \
                          WHERE enumtypid = chain.oid ORDER BY enumsortorder), \
                    current_setting('server_version_num')::int4 \
             FROM chain ORDER BY depth DESC LIMIT 1",
            &[&oid, &modifier],
            "resolving a type",
        )
        .await?;
    let row = rows.first().ok_or_else(|| DestinationError::Unsuitable {
        what: format!("the type with OID {oid} is gone"),
        hint: "it was dropped a moment ago: run the command again".to_owned(),
    })?;
    let base: u32 = row.get(1);
    let kind: String = row.get(2);
    let labels: Vec<String> = row.get(5);
    let (column_type, wire) = if kind == "e" {
        (ColumnType::Enum { labels }, Some(PgType::Text))
    } else {
        base_type(base, row.get(3), row.get(6))
    };
    Ok(ResolvedType {
        sql: row.get(0),
        column_type,
        wire,
        not_null: row.get(4),
    })
}

/// Resolves a type by its name in SQL. The package has made sure that it is a type's name and
/// nothing else.
pub async fn resolve_name(
    session: &Session,
    type_name: &str,
    column: &str,
) -> Result<ResolvedType, DestinationError> {
    // Preparing describes the result without running it. Names without a schema are looked up as
    // the user's own sessions do.
    session
        .execute("SET search_path = DEFAULT", "resolving a type")
        .await?;
    let doing = format!("resolving the type `{type_name}` of column `{column}`");
    let prepared = session
        .client
        .prepare(&format!("SELECT NULL::{type_name}"))
        .await;
    // A result is described by the type that a domain stands on; the name alone tells the domain.
    let named = session
        .query(
            "SELECT oid FROM pg_type WHERE oid = to_regtype($1) AND typtype = 'd'",
            &[&type_name],
            &doing,
        )
        .await;
    session
        .execute("SET search_path = pg_catalog", "resolving a type")
        .await?;
    let statement = prepared.map_err(|error| session.error(error, doing))?;
    if let Some(domain) = named?.first() {
        return resolve(session, domain.get(0), -1).await;
    }
    let described = &statement.columns()[0];
    resolve(session, described.type_().oid(), described.type_modifier()).await
}

/// The columns and encodings of the built-in types, by OID (they are fixed in `pg_type.dat`).
fn base_type(oid: u32, modifier: i32, server_version: i32) -> (ColumnType, Option<PgType>) {
    let fraction_digits = if (0..=6).contains(&modifier) {
        modifier as u8
    } else {
        SECOND_FRACTION_DIGITS
    };
    // A length's modifier counts its own four bytes.
    let characters_max = (modifier >= 4).then(|| (modifier - 4) as u32);
    match oid {
        16 => (ColumnType::Bool, Some(PgType::Bool)),
        17 => (ColumnType::Binary, Some(PgType::Bytea)),
        20 => (ColumnType::Int64, Some(PgType::Int8)),
        21 => (ColumnType::Int16, Some(PgType::Int2)),
        23 => (ColumnType::Int32, Some(PgType::Int4)),
        25 => (
            ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
            Some(PgType::Text),
        ),
        114 => (ColumnType::Json, Some(PgType::Text)),
        700 => (ColumnType::Float32, Some(PgType::Float4)),
        701 => (ColumnType::Float64, Some(PgType::Float8)),
        1042 => (
            ColumnType::Text {
                characters_max,
                blank_padded: true,
            },
            Some(PgType::Text),
        ),
        1043 => (
            ColumnType::Text {
                characters_max,
                blank_padded: false,
            },
            Some(PgType::Text),
        ),
        1082 => (ColumnType::Date, Some(PgType::Date)),
        1083 => (ColumnType::Time { fraction_digits }, Some(PgType::Time)),
        1114 => (
            ColumnType::Timestamp { fraction_digits },
            Some(PgType::Timestamp),
        ),
        1184 => (
            ColumnType::TimestampTz { fraction_digits },
            Some(PgType::Timestamp),
        ),
        1186 => interval(modifier, server_version),
        1700 => (decimal(modifier), Some(PgType::Numeric)),
        2950 => (ColumnType::Uuid, Some(PgType::Uuid)),
        3802 => (ColumnType::Json, Some(PgType::Jsonb)),
        _ => (ColumnType::Opaque, None),
    }
}

/// `numeric(p,s)`: the modifier is `((p << 16) | (s & 0x7ff)) + 4`, the scale of 11 bits signed.
fn decimal(modifier: i32) -> ColumnType {
    if modifier < 4 {
        return ColumnType::DecimalText { limit: None };
    }
    let packed = modifier - 4;
    let precision = (packed >> 16) & 0xffff;
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    if (1..=38).contains(&precision) && (0..=precision).contains(&scale) {
        ColumnType::Decimal {
            precision: precision as u8,
            scale: scale as u8,
        }
    } else {
        ColumnType::DecimalText {
            limit: Some((precision as u16, scale as i16)),
        }
    }
}

/// `interval`: the modifier holds the fields in its upper half and the precision in its lower,
/// both all ones where they are not bounded. An interval of some fields only (`year to month`)
/// drops the others without a word, so its text goes to the server as it is.
fn interval(modifier: i32, server_version: i32) -> (ColumnType, Option<PgType>) {
    let fraction_digits = match modifier & 0xffff {
        digits @ 0..=6 if modifier >= 0 => digits as u8,
        _ => SECOND_FRACTION_DIGITS,
    };
    let fields = (modifier >> 16) & 0x7fff;
    if modifier >= 0 && fields != 0x7fff {
        return (ColumnType::Opaque, None);
    }
    (
        ColumnType::Interval {
            fraction_digits,
            has_infinity: server_version >= INFINITE_INTERVALS_VERSION,
        },
        Some(PgType::Interval),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_modifiers_are_unpacked() {
        let modifier = |precision: i32, scale: i32| ((precision << 16) | (scale & 0x7ff)) + 4;
        assert_eq!(
            decimal(modifier(15, 2)),
            ColumnType::Decimal {
                precision: 15,
                scale: 2
            }
        );
        assert_eq!(
            decimal(modifier(3, 5)),
            ColumnType::DecimalText {
                limit: Some((3, 5))
            }
        );
        assert_eq!(
            decimal(modifier(5, -3)),
            ColumnType::DecimalText {
                limit: Some((5, -3))
            }
        );
        assert_eq!(
            decimal(modifier(1000, 10)),
            ColumnType::DecimalText {
                limit: Some((1000, 10))
            }
        );
        assert_eq!(decimal(-1), ColumnType::DecimalText { limit: None });
    }
}
