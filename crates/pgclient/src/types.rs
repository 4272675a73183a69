//! PostgreSQL's types, as columns to convert to and as encodings to send.

use inrush_pgcopy::PgType;
use inrush_rows::column::{ColumnType, IntervalFields, SpecialType};

use super::connection::ServerConnection;
use super::error::ClientError;

/// A type of PostgreSQL, resolved down to what COPY takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresType {
    /// Its name with modifiers, as the server writes it: `numeric(15,2)`. Safe in a statement.
    pub sql: String,
    /// The range of its values.
    pub column_type: ColumnType,
    /// The form in which its values are sent; `None` if there is no binary encoder, so that the table is sent as text.
    pub wire: Option<PgType>,
    /// True if the type itself refuses NULL (a domain may).
    pub not_null: bool,
    /// Its own OID and modifier in the catalog.
    pub catalog_type: (u32, i32),
    /// True if the server may store another value than the text: it parses the text itself, and may round, cut or
    /// rewrite it silently.
    pub may_change: bool,
}

/// Functions that read a type's text and either store exactly that value or refuse it. For all other types (shapes of
/// floats, ranges, composites, text search, XML, types of extensions) the server may store something else.
const EXACT_INPUTS: [&str; 7] = [
    "bit_in",
    "inet_in",
    "macaddr_in",
    "pg_lsn_in",
    "textin",
    "uuid_in",
    "varbit_in",
];

/// The first version that reads a byte of a `"char"` in octal.
const OCTAL_CHAR_VERSION: i32 = 160_000;

/// The server's facts of a type, resolved through its domains.
struct CatalogFacts {
    oid: u32,
    modifier: i32,
    server_version: i32,
    /// The function that reads its text, if it is one of the server's own.
    input: Option<String>,
    /// The number of digits after the decimal point of `money`, in the locale that a session of this user begins with.
    money_scale: u8,
}

const SECOND_FRACTION_DIGITS: u8 = 6;

const MONEY_OID: u32 = 790;

/// The number of digits after the decimal point of `money`, in the locale that our sessions set.
const MONEY_SCALE: u8 = 2;

/// The first version that has infinite intervals.
const INFINITE_INTERVALS_VERSION: i32 = 170_000;

/// Resolves a type by its OID and modifier. A domain becomes its base type; the server checks the domain's constraints.
pub async fn resolve(
    connection: &ServerConnection,
    oid: u32,
    modifier: i32,
) -> Result<PostgresType, ClientError> {
    let rows = connection
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
             SELECT format_type($1, $2), chain.oid, chain.typtype::text, modifier, chain.typnotnull, \
                    ARRAY(SELECT enumlabel::text FROM pg_enum \
                          WHERE enumtypid = chain.oid ORDER BY enumsortorder), \
                    current_setting('server_version_num')::int4, \
                    CASE WHEN own.typinput = 'array_in'::regproc THEN own.typelem END, \
                    (SELECT prosrc FROM pg_proc JOIN pg_language AS l ON l.oid = prolang \
                     WHERE pg_proc.oid = own.typinput AND l.lanname = 'internal') \
             FROM chain JOIN pg_type AS own ON own.oid = chain.oid ORDER BY depth DESC LIMIT 1",
            &[&oid, &modifier],
            "resolving a type",
        )
        .await?;
    let row = rows.first().ok_or_else(|| ClientError::Gone {
        what: format!("the type with OID {oid} is gone"),
        hint: "it was dropped a moment ago: run the command again".to_owned(),
    })?;
    let base: u32 = row.get(1);
    let kind: String = row.get(2);
    let labels: Vec<String> = row.get(5);
    let element: Option<u32> = row.get(7);
    let money_scale = match base {
        MONEY_OID => money_scale(connection).await?,
        _ => MONEY_SCALE,
    };
    let facts = CatalogFacts {
        oid: base,
        modifier: row.get(3),
        server_version: row.get(6),
        input: row.get(8),
        money_scale,
    };
    let (column_type, wire, may_change) = match element {
        _ if kind == "e" => (ColumnType::Enum { labels }, Some(PgType::Text), false),
        Some(element) => {
            let element = Box::pin(resolve(connection, element, facts.modifier)).await?;
            let column_type = array(element.column_type);
            let is_unchecked = column_type == ColumnType::Opaque && element.wire.is_some();
            (column_type, None, element.may_change || is_unchecked)
        }
        None => {
            let (column_type, wire) = base_type(&facts);
            let is_exact = facts
                .input
                .as_deref()
                .is_some_and(|input| EXACT_INPUTS.contains(&input));
            let may_change = column_type == ColumnType::Opaque && !is_exact;
            (column_type, wire, may_change)
        }
    };
    Ok(PostgresType {
        sql: row.get(0),
        column_type,
        wire,
        not_null: row.get(4),
        catalog_type: (oid, modifier),
        may_change,
    })
}

/// The type of an array, from that of its elements.
fn array(element: ColumnType) -> ColumnType {
    let element = match element {
        ColumnType::Opaque => return ColumnType::Opaque,
        // Arrays are sent as text, in which our sessions read money with two digits.
        ColumnType::Special(SpecialType::Money { scale }) if scale != MONEY_SCALE => {
            return ColumnType::Opaque;
        }
        // `numeric` has values (NaN) that binary decimals cannot represent, and arrays are sent as text.
        ColumnType::Decimal { precision, scale } => ColumnType::DecimalText {
            limit: Some((u16::from(precision), i16::from(scale))),
        },
        element => element,
    };
    ColumnType::Special(SpecialType::Array {
        element: Box::new(element),
    })
}

/// The number of digits after the decimal point of `money`, in the locale of the role, the database or the server.
/// Readers of the table use that locale. The sessions of a load set another locale.
pub(crate) async fn money_scale(connection: &ServerConnection) -> Result<u8, ClientError> {
    let doing = "asking how many digits money has";
    connection
        .execute("SET lc_monetary = DEFAULT", doing)
        .await?;
    let one = connection.query(ONE_MONEY, &[], doing).await;
    connection.execute("SET lc_monetary = 'C'", doing).await?;
    let hex: String = one?.first().map(|row| row.get(0)).unwrap_or_default();
    Ok(scale_of_money(&hex))
}

/// Asks for the number that is stored for one unit of money, in hexadecimal digits.
pub const ONE_MONEY: &str =
    "SELECT pg_catalog.encode(pg_catalog.cash_send('1'::pg_catalog.money), 'hex')";

/// The number of digits after the decimal point of `money`, from the answer to [`ONE_MONEY`].
pub fn scale_of_money(hex: &str) -> u8 {
    let mut number = i64::from_str_radix(hex, 16).unwrap_or_default();
    let mut scale = 0;
    while number >= 10 {
        number /= 10;
        scale += 1;
    }
    scale
}

/// Resolves a type by its name in SQL. The package has made sure that it is a type's name and
/// nothing else.
pub async fn resolve_name(
    connection: &ServerConnection,
    type_name: &str,
    column: &str,
) -> Result<PostgresType, ClientError> {
    // Preparing describes the result without running it. Names without a schema are looked up as
    // the user's own sessions do.
    connection
        .execute("SET search_path = DEFAULT", "resolving a type")
        .await?;
    let doing = format!("resolving the type `{type_name}` of column `{column}`");
    let prepared = connection
        .client
        .prepare(&format!("SELECT NULL::{type_name}"))
        .await;
    // A result has the base type of a domain; only the name shows the domain.
    let named = connection
        .query(
            "SELECT oid FROM pg_type WHERE oid = to_regtype($1) AND typtype = 'd'",
            &[&type_name],
            &doing,
        )
        .await;
    connection
        .execute("SET search_path = pg_catalog", "resolving a type")
        .await?;
    let statement = prepared.map_err(|error| connection.error(error, doing))?;
    if let Some(domain) = named?.first() {
        return resolve(connection, domain.get(0), -1).await;
    }
    let described = &statement.columns()[0];
    resolve(
        connection,
        described.type_().oid(),
        described.type_modifier(),
    )
    .await
}

/// The columns and encodings of the built-in types, by OID (they are fixed in `pg_type.dat`).
fn base_type(facts: &CatalogFacts) -> (ColumnType, Option<PgType>) {
    let CatalogFacts {
        oid,
        modifier,
        server_version,
        ..
    } = *facts;
    let special = |special, wire| (ColumnType::Special(special), Some(wire));
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
        18 => {
            let has_octal = server_version >= OCTAL_CHAR_VERSION;
            special(SpecialType::Byte { has_octal }, PgType::Char)
        }
        19 => special(SpecialType::Name, PgType::Text),
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
        MONEY_OID => {
            let scale = facts.money_scale;
            special(SpecialType::Money { scale }, PgType::Money)
        }
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
        1266 => special(SpecialType::TimeTz { fraction_digits }, PgType::TimeTz),
        1700 => (decimal(modifier), Some(PgType::Numeric)),
        2950 => (ColumnType::Uuid, Some(PgType::Uuid)),
        3802 => special(SpecialType::Jsonb, PgType::Jsonb),
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
    ColumnType::numeric(precision as u16, scale as i16)
}

/// `interval`: the modifier holds the fields in its upper half and the precision in its lower half. A half is all ones
/// if it sets no limit.
fn interval(modifier: i32, server_version: i32) -> (ColumnType, Option<PgType>) {
    let fraction_digits = match modifier & 0xffff {
        digits @ 0..=6 if modifier >= 0 => digits as u8,
        _ => SECOND_FRACTION_DIGITS,
    };
    let has_infinity = server_version >= INFINITE_INTERVALS_VERSION;
    let mask = (modifier >> 16) & ALL_INTERVAL_FIELDS;
    let column_type = if modifier < 0 || mask == ALL_INTERVAL_FIELDS {
        ColumnType::Interval {
            fraction_digits,
            has_infinity,
        }
    } else {
        match interval_fields(mask) {
            Some(fields) => ColumnType::Special(SpecialType::IntervalOf {
                fields,
                fraction_digits,
                has_infinity,
            }),
            None => return (ColumnType::Opaque, None),
        }
    };
    (column_type, Some(PgType::Interval))
}

const ALL_INTERVAL_FIELDS: i32 = 0x7fff;

/// The fields of a modifier: a bit for each (`datetime.h`: MONTH 1, YEAR 2, DAY 3, HOUR 10, MINUTE 11, SECOND 12).
fn interval_fields(mask: i32) -> Option<IntervalFields> {
    const MONTH: i32 = 1 << 1;
    const YEAR: i32 = 1 << 2;
    const DAY: i32 = 1 << 3;
    const HOUR: i32 = 1 << 10;
    const MINUTE: i32 = 1 << 11;
    const SECOND: i32 = 1 << 12;
    let fields = [
        (YEAR, IntervalFields::Year),
        (MONTH, IntervalFields::Month),
        (DAY, IntervalFields::Day),
        (HOUR, IntervalFields::Hour),
        (MINUTE, IntervalFields::Minute),
        (SECOND, IntervalFields::Second),
        (YEAR | MONTH, IntervalFields::YearToMonth),
        (DAY | HOUR, IntervalFields::DayToHour),
        (DAY | HOUR | MINUTE, IntervalFields::DayToMinute),
        (DAY | HOUR | MINUTE | SECOND, IntervalFields::DayToSecond),
        (HOUR | MINUTE, IntervalFields::HourToMinute),
        (HOUR | MINUTE | SECOND, IntervalFields::HourToSecond),
        (MINUTE | SECOND, IntervalFields::MinuteToSecond),
    ];
    fields
        .into_iter()
        .find_map(|(bits, fields)| (bits == mask).then_some(fields))
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
