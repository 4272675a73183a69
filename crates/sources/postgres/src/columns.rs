//! The columns of a table or query: their types in the stream and in Arrow.

use std::path::Path;

use arrow_schema::{DataType, TimeUnit};
use inrush_pgclient::native_types::{self, NativeTypes};
use inrush_pgclient::quote::identifier;
use inrush_pgclient::types::{ONE_MONEY, scale_of_money};
use inrush_pgclient::{BlockingSession, FieldDescription};
use inrush_pgcopy::{DecodedType, PgType};
use inrush_rows::native_type::NativeType;
use inrush_source::{AS_TEXT, ColumnCollation, SourceColumn, SourceError, read_as_text};

use crate::error::{input_error, of_session, unsuitable};
use crate::relations::ColumnFacts;

/// The type `text` (`pg_type.dat`).
const TEXT_OID: u32 = 25;

/// The largest precision of Decimal128.
const DECIMAL_DIGITS_MAX: i32 = 38;

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// True if its values are read as the server's text.
    pub is_text: bool,
    /// True if its values are labels of an enum. A new target gets them as text.
    pub is_enum: bool,
    /// Its type in the stream.
    pub decoded: DecodedType,
    /// The type of its values, for the plan.
    pub data_type: DataType,
    /// Its type in SQL, for a new target: `text` where the server's text is read.
    pub sql_type: String,
    /// The form of its values in the stream; none if no other database can take them unchanged.
    pub form: Option<NativeType>,
    /// True if its values are read in that form, because Arrow has no type for them.
    pub is_native: bool,
    /// Its type as the table declares it; for a query, as the server describes the query's rows.
    pub declared: String,
    /// True if it has no NULL.
    pub not_null: bool,
    /// Its collation, if it is a column of a table and its collation differs from that of its type.
    pub collation: Option<ColumnCollation>,
}

impl Column {
    /// The column as the contract describes it.
    pub fn in_source(&self) -> SourceColumn {
        SourceColumn {
            name: self.name.clone(),
            data_type: Some(self.data_type.clone()),
            is_uuid: self.is_uuid(),
            native: self.form.clone().filter(|_| self.is_native),
            declared: Some(self.declared.clone()),
        }
    }

    /// True if its values are 16 bytes that are a UUID.
    pub fn is_uuid(&self) -> bool {
        self.decoded == DecodedType::Value(PgType::Uuid)
    }

    /// The expression of a select list.
    pub fn expression(&self) -> String {
        let name = identifier(&self.name);
        match self.is_text {
            true => format!("{name}{AS_TEXT} AS {name}"),
            false => name,
        }
    }
}

/// The types of columns, as the server describes a SELECT of them. `facts` are the facts of the columns of a table.
pub fn resolve(
    session: &mut BlockingSession,
    input: &Path,
    chosen: &[(String, bool)],
    facts: &[ColumnFacts],
    described: &[FieldDescription],
) -> Result<Vec<Column>, SourceError> {
    let kinds = type_kinds(session, input, described)?;
    let natives = native_forms(session, input, chosen, described)?;
    let mut columns = Vec::with_capacity(chosen.len());
    let described = described.iter().zip(&kinds).zip(natives);
    for ((name, is_text), ((field, (sql, is_enum)), form)) in chosen.iter().zip(described) {
        let as_text = format!("{name}{AS_TEXT}");
        let value = match (is_text, is_enum) {
            (true, _) | (_, true) => Some(text()),
            _ => of_type(field.type_oid, field.type_modifier),
        };
        let is_native = value.is_none();
        let (decoded, data_type) = match (value, &form) {
            (Some(value), _) => value,
            // Bytes are read unchanged.
            (None, Some(_)) => (DecodedType::Value(PgType::Bytea), DataType::Binary),
            (None, None) => {
                let column = identifier(name);
                return Err(unsuitable(
                    input,
                    format!("the column {column} has the type {sql}, which has no counterpart"),
                    read_as_text(["...", &as_text]),
                ));
            }
        };
        let known = facts.iter().find(|known| known.name == *name);
        columns.push(Column {
            name: name.clone(),
            is_text: *is_text,
            is_enum: *is_enum,
            decoded,
            data_type,
            sql_type: match (*is_text || *is_enum, is_native) {
                (true, _) => "text".to_owned(),
                (false, true) => sql.clone(),
                (false, false) => short_type(sql),
            },
            form: form.map(|form| NativeType {
                form,
                limit: match is_text {
                    true => None,
                    false => native_types::limit(field.type_modifier),
                },
                sql: sql.clone(),
                as_text,
            }),
            is_native,
            declared: known.map_or_else(|| sql.clone(), |known| known.declared.clone()),
            not_null: known.is_some_and(|known| known.not_null),
            collation: known
                .and_then(|known| known.collation.clone())
                .filter(|_| !is_text && !is_enum),
        });
    }
    Ok(columns)
}

/// The binary form of each column's values; none if no other database could take them.
fn native_forms(
    session: &mut BlockingSession,
    input: &Path,
    chosen: &[(String, bool)],
    described: &[FieldDescription],
) -> Result<Vec<Option<String>>, SourceError> {
    let columns = chosen.iter().zip(described);
    let oids: Vec<u32> = columns
        .map(|((_, is_text), field)| match is_text {
            true => TEXT_OID,
            false => field.type_oid,
        })
        .collect();
    if oids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = |sql: &str, doing| {
        let found = session.query(sql, doing);
        found.map_err(|error| of_session(input, error))
    };
    let found = query(
        &NativeTypes::query(&oids),
        "asking for the binary form of types",
    )?;
    let types = NativeTypes::of_rows(&found.rows);
    let money_scale = match types.has_money() {
        false => None,
        true => {
            let doing = "asking how many digits money has";
            query("SET LOCAL lc_monetary = DEFAULT", doing)?;
            let found = query(ONE_MONEY, doing)?;
            query("SET LOCAL lc_monetary = 'C'", doing)?;
            let hex = found.first();
            Some(scale_of_money(&hex.unwrap_or_default()))
        }
    };
    let form = |oid: u32| types.form(oid, money_scale);
    Ok(oids.into_iter().map(form).collect())
}

/// The name of each column's type in SQL, and whether it is an enum.
fn type_kinds(
    session: &mut BlockingSession,
    input: &Path,
    described: &[FieldDescription],
) -> Result<Vec<(String, bool)>, SourceError> {
    let types: Vec<String> = described
        .iter()
        .enumerate()
        .map(
            |(
                number,
                FieldDescription {
                    type_oid,
                    type_modifier,
                    ..
                },
            )| { format!("({number}, {type_oid}::oid, {type_modifier}::int4)") },
        )
        .collect();
    let sql = format!(
        "SELECT pg_catalog.format_type(v.type, v.modifier), t.typtype = 'e' \
         FROM (VALUES {}) AS v (number, type, modifier) \
         LEFT JOIN pg_catalog.pg_type AS t ON t.oid = v.type ORDER BY v.number",
        types.join(", ")
    );
    let found = session
        .query(&sql, "asking for the types of the columns")
        .map_err(|error| of_session(input, error))?;
    let kinds: Vec<(String, bool)> = found
        .rows
        .into_iter()
        .map(|row| {
            let mut row = row.into_iter();
            let name = row.next().flatten().unwrap_or_default();
            (name, row.next().flatten().as_deref() == Some("t"))
        })
        .collect();
    match kinds.len() == described.len() {
        true => Ok(kinds),
        false => Err(input_error(
            input,
            "the types of its columns changed while they were asked for",
            "run the same command again",
        )),
    }
}

/// A type's name as most databases know it.
fn short_type(sql: &str) -> String {
    let (name, modifier) = match sql.split_once('(') {
        Some((name, rest)) => match rest.split_once(')') {
            Some((modifier, zone)) => (format!("{name}{zone}"), format!("({modifier})")),
            None => (sql.to_owned(), String::new()),
        },
        None => (sql.to_owned(), String::new()),
    };
    let short = match name.as_str() {
        "character varying" => "varchar",
        "character" => "char",
        "bpchar" | "name" | "\"char\"" => "text",
        "time without time zone" => "time",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        other => other,
    };
    format!("{short}{modifier}")
}

fn text() -> (DecodedType, DataType) {
    (DecodedType::Value(PgType::Text), DataType::Utf8)
}

/// The built-in types that are read as values, by their OID (they are fixed in `pg_type.dat`).
fn of_type(oid: u32, modifier: i32) -> Option<(DecodedType, DataType)> {
    let value = |pg_type, data_type| Some((DecodedType::Value(pg_type), data_type));
    match oid {
        16 => value(PgType::Bool, DataType::Boolean),
        17 => value(PgType::Bytea, DataType::Binary),
        18 => value(PgType::Char, DataType::Utf8),
        20 => value(PgType::Int8, DataType::Int64),
        21 => value(PgType::Int2, DataType::Int16),
        23 => value(PgType::Int4, DataType::Int32),
        // name, text, json, bpchar, varchar
        19 | 25 | 114 | 1042 | 1043 => Some(text()),
        700 => value(PgType::Float4, DataType::Float32),
        701 => value(PgType::Float8, DataType::Float64),
        1082 => value(PgType::Date, DataType::Date32),
        1083 => value(PgType::Time, DataType::Time64(TimeUnit::Microsecond)),
        1114 => value(
            PgType::Timestamp,
            DataType::Timestamp(TimeUnit::Microsecond, None),
        ),
        1184 => value(
            PgType::Timestamp,
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ),
        1700 => Some(numeric(modifier)),
        2950 => value(PgType::Uuid, DataType::FixedSizeBinary(16)),
        3802 => value(PgType::Jsonb, DataType::Utf8),
        _ => None,
    }
}

/// `numeric(p,s)`: the modifier is `((p << 16) | (s & 0x7ff)) + 4`, the scale of 11 bits signed. Without a precision, or
/// with more digits than Decimal128 has, numbers are text.
fn numeric(modifier: i32) -> (DecodedType, DataType) {
    let packed = modifier - 4;
    let precision = (packed >> 16) & 0xffff;
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    let fits = (1..=DECIMAL_DIGITS_MAX).contains(&precision) && (0..=precision).contains(&scale);
    if modifier < 4 || !fits {
        return (DecodedType::Value(PgType::Numeric), DataType::Utf8);
    }
    let (precision, scale) = (precision as u8, scale as i8);
    (
        DecodedType::Decimal { precision, scale },
        DataType::Decimal128(precision, scale),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimals_where_these_have_their_digits() {
        let modifier = |precision: i32, scale: i32| ((precision << 16) | (scale & 0x7ff)) + 4;
        let decimal = |precision, scale| {
            (
                DecodedType::Decimal { precision, scale },
                DataType::Decimal128(precision, scale),
            )
        };
        assert_eq!(numeric(modifier(15, 2)), decimal(15, 2));
        assert_eq!(numeric(modifier(38, 38)), decimal(38, 38));
        for other in [-1, modifier(39, 2), modifier(5, -3), modifier(3, 5)] {
            assert_eq!(numeric(other).1, DataType::Utf8, "{other}");
        }
    }

    #[test]
    fn types_have_short_names() {
        let shown = [
            "character varying(20)",
            "timestamp(3) without time zone",
            "numeric(12,2)",
            "double precision",
            "time without time zone",
        ];
        let short = [
            "varchar(20)",
            "timestamp(3)",
            "numeric(12,2)",
            "double precision",
            "time",
        ];
        assert_eq!(shown.map(short_type), short);
    }
}
