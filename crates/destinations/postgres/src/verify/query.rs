//! The server's side of the verification: one query over a staging table, whose answer is an array of numbers as text.

use inrush_destination::sums::{ColumnForm, SumForm};
use inrush_package::Verify;

use super::hash::hash_of_test;
use super::plan::{ComparedColumn, Comparison};
use crate::quote::identifier;

/// The query for the server's sums over a table, for [`Comparison::differences`]; `None` if rows are only counted.
pub fn compared(plan: &Comparison, table: &str) -> Option<String> {
    let mut items = vec!["count(*)".to_owned()];
    match plan.level {
        Verify::Count => return None,
        Verify::Sums => {
            for column in &plan.columns {
                items.push(format!("count({})", identifier(&column.name)));
                items.extend(sums_of(column, plan.is_utf8));
            }
        }
        Verify::Rows => {
            // The hash of a record is a sum over its columns, so a sum of these hashes would be the same if values were
            // exchanged between rows. So each row's hash is hashed once more.
            let columns: Vec<String> = hashed_columns(plan).collect();
            let row = format!("hash_record_extended(ROW({}), 0)", columns.join(", "));
            items.push(hash_sum(&format!("int8send({row})")));
        }
    }
    Some(select(&items, table))
}

/// The query for the hashes of each column, for [`Comparison::column_differences`]; used only if rows differ.
pub fn by_column(plan: &Comparison, table: &str) -> String {
    let items: Vec<String> = hashed_columns(plan)
        .map(|column| hash_sum(&column))
        .collect();
    select(&items, table)
}

/// A query, and the result that the server must return for it: bytes of many lengths, a text, a number and a NULL. For
/// a database that does not store text in UTF-8, the query hashes the bytes of the text.
pub fn self_test(is_utf8: bool) -> (String, i64) {
    let text = match is_utf8 {
        true => "'Gr\u{f6}\u{df}e \u{20ac}'::text COLLATE \"C\"",
        false => "'\\x4772c3b6c39f6520e282ac'::bytea",
    };
    let columns = format!(
        "'\\x'::bytea, '\\x00112233445566778899aabbccddeeff'::bytea, {text}, NULL::int4, \
         (-3)::int2, 7::int4, true, '2000-01-02'::date"
    );
    let row = format!("hash_record_extended(ROW({columns}), 0)");
    let statement = format!("SELECT hash_record_extended(ROW(int8send({row})), 0)");
    (statement, hash_of_test())
}

fn select(items: &[String], table: &str) -> String {
    // The result is one array and not one column for each sum. A table can have 1,600 columns, but a result cannot have
    // two columns for each of them.
    let texts: Vec<String> = items.iter().map(|item| format!("({item})::text")).collect();
    format!("SELECT ARRAY[{}] FROM {table}", texts.join(", "))
}

fn hash_sum(columns: &str) -> String {
    format!("coalesce(sum(hash_record_extended(ROW({columns}), 0)), 0)")
}

/// The bytes of a binary form as a signed integer.
fn number_of(bytes: &str, bits: u32) -> String {
    let integer = if bits == 32 { "int4" } else { "int8" };
    format!("('x' || encode({bytes}, 'hex'))::bit({bits})::{integer}")
}

/// The sums of a column, in the order of `ColumnForm::measures`.
fn sums_of(column: &ComparedColumn, is_utf8: bool) -> Vec<String> {
    let name = identifier(&column.name);
    let sum = |what: String| format!("coalesce(sum({what}), 0)");
    // Infinities count as the largest and the smallest integer, as in the loader. For timestamps, these are
    // microseconds since 2000.
    let finite = |value: &str, type_sql: &str, largest: &str, smallest: &str| {
        sum(format!(
            "CASE WHEN isfinite({name}) THEN {value} \
             WHEN {name} > {type_sql} '2000-01-01' THEN {largest} \
             WHEN {name} < {type_sql} '2000-01-01' THEN {smallest} END"
        ))
    };
    match column.form {
        ColumnForm::Bool => vec![format!("count(*) FILTER (WHERE {name})")],
        ColumnForm::Number(SumForm::DecimalText { scale: None }) => {
            // The sum of two of the largest numbers does not fit into numeric. NaN compares as larger than all numbers.
            let is_small = format!("{name} > -1e1000 AND {name} < 1e1000");
            vec![
                sum(format!("CASE WHEN {is_small} THEN {name} END")),
                format!("count(*) FILTER (WHERE NOT ({is_small}))"),
            ]
        }
        ColumnForm::Number(_) => vec![sum(name)],
        ColumnForm::Float4 => vec![sum(number_of(&format!("float4send({name})"), 32))],
        ColumnForm::Float8 => vec![sum(number_of(&format!("float8send({name})"), 64))],
        ColumnForm::Bytea => vec![sum(format!("octet_length({name})"))],
        ColumnForm::Text | ColumnForm::PaddedText | ColumnForm::Enum | ColumnForm::Json => {
            let text = match is_utf8 {
                true => format!("{name}::text"),
                false => in_utf8(&name),
            };
            vec![sum(format!("octet_length({text})"))]
        }
        ColumnForm::Date => vec![finite(
            &format!("{name} - date '1970-01-01'"),
            "date",
            "2147483647",
            "-2147483648",
        )],
        ColumnForm::Time => vec![sum(format!("extract(epoch FROM {name})"))],
        ColumnForm::Timestamp | ColumnForm::TimestampTz => {
            let type_sql = match column.form {
                ColumnForm::Timestamp => "timestamp",
                _ => "timestamptz",
            };
            // In the last thirty years of the server's range, microseconds since 1970 do not fit into 64 bits and
            // extract() divides with too few digits, so they are counted from another moment.
            let seconds = format!(
                "CASE WHEN {name} < {type_sql} '294247-01-01' THEN extract(epoch FROM {name}) \
                 ELSE extract(epoch FROM {name} - interval '36500000 days') + 3153600000000 END"
            );
            vec![finite(
                &seconds,
                type_sql,
                "9224318721654.775807",
                "-9222425352054.775808",
            )]
        }
        ColumnForm::Interval => {
            // interval_send: the time as an int64, then days, then months.
            let part = |from: u32, bytes: u32| {
                let part = format!("substr(interval_send({name}), {from}, {bytes})");
                sum(number_of(&part, bytes * 8))
            };
            vec![part(1, 8), part(9, 4), part(13, 4)]
        }
        ColumnForm::Uuid => {
            let half = |from: u32| {
                sum(number_of(
                    &format!("substr(uuid_send({name}), {from}, 8)"),
                    64,
                ))
            };
            vec![half(1), half(9)]
        }
        ColumnForm::Money => vec![sum(number_of(&format!("cash_send({name})"), 64))],
        ColumnForm::TimeTz => {
            // timetz_send: the time as an int64, then the zone.
            let part = |from: u32, bytes: u32| {
                let part = format!("substr(timetz_send({name}), {from}, {bytes})");
                sum(number_of(&part, bytes * 8))
            };
            vec![part(1, 8), part(9, 4)]
        }
        ColumnForm::Jsonb | ColumnForm::Opaque => Vec::new(),
    }
}

/// The bytes of a text in UTF-8, for any encoding of the database.
fn in_utf8(name: &str) -> String {
    format!("convert_to({name}::text, 'UTF8')")
}

fn hashed_columns(plan: &Comparison) -> impl Iterator<Item = String> {
    let columns = plan.columns.iter();
    columns.map(|column| hashed(column, plan.is_utf8))
}

/// The expression that is hashed for a row. Types of at most 32 bits, texts and bytes are hashed as they are. Other
/// types are hashed in their binary form, because their own hashes leave something out: the hash of int8 folds its
/// halves, the hash of numeric ignores the sign, and the hash of interval counts 30 days as a month.
fn hashed(column: &ComparedColumn, is_utf8: bool) -> String {
    let name = identifier(&column.name);
    match column.form {
        ColumnForm::Bool => format!("{name}::bool"),
        ColumnForm::Number(SumForm::Int16) => format!("{name}::int2"),
        ColumnForm::Number(SumForm::Int32) => format!("{name}::int4"),
        ColumnForm::Number(SumForm::Int64) => format!("int8send({name})"),
        ColumnForm::Float4 => format!("float4send({name})"),
        ColumnForm::Float8 => format!("float8send({name})"),
        ColumnForm::Number(SumForm::Decimal { .. })
        | ColumnForm::Number(SumForm::DecimalText { .. }) => format!("numeric_send({name})"),
        // Collations that treat different texts as equal give them the same hash.
        ColumnForm::Text | ColumnForm::PaddedText | ColumnForm::Enum | ColumnForm::Json => {
            match is_utf8 {
                true => format!("{name}::text COLLATE \"C\""),
                // Texts are hashed like their bytes.
                false => in_utf8(&name),
            }
        }
        ColumnForm::Jsonb => format!("jsonb_send({name})"),
        ColumnForm::Bytea => format!("{name}::bytea"),
        ColumnForm::Date => format!("{name}::date"),
        ColumnForm::Time => format!("time_send({name})"),
        ColumnForm::Timestamp => format!("timestamp_send({name})"),
        ColumnForm::TimestampTz => format!("timestamptz_send({name})"),
        ColumnForm::Interval => format!("interval_send({name})"),
        ColumnForm::Money => format!("cash_send({name})"),
        ColumnForm::TimeTz => format!("timetz_send({name})"),
        // A UUID is hashed like its 16 bytes.
        ColumnForm::Uuid => format!("{name}::uuid"),
        // Not `IS NOT NULL`, because a composite value that contains a NULL is a value.
        ColumnForm::Opaque => format!("num_nonnulls({name})"),
    }
}
