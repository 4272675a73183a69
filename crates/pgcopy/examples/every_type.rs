//! Writes the same rows, extremes of every type, in both forms of COPY, to see the values that a real server reads from
//! them.
//!
//! `cargo run --release -p inrush-pgcopy --example every_type -- DIRECTORY` writes `binary.copy`, `text.copy` and
//! `check.sql`. The script loads both files and prints the rows in which the server's values differ from the intended
//! ones; there should be none:
//!
//! ```sh
//! psql -v ON_ERROR_STOP=1 -v directory=DIRECTORY -f DIRECTORY/check.sql
//! ```
//!
//! The server must have version 17 or later, because earlier intervals have no infinity.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields};
use inrush_pgcopy::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN};
use inrush_pgcopy::{BinaryEncoder, PgType, TextEncoder};
use inrush_rows::{interval, timestamp};

/// Rows of the table: the values of the longest sample, and NULL for all.
const ROWS: usize = 12;

/// A column: its type in SQL, how it is sent, its values, and the same values written in SQL.
struct Sample {
    sql_type: &'static str,
    pg_type: PgType,
    array: ArrayRef,
    meant: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(
        std::env::args()
            .nth(1)
            .ok_or("usage: every_type DIRECTORY")?,
    );
    let samples = samples();
    let mut columns: Vec<(String, ArrayRef)> = samples
        .iter()
        .enumerate()
        .map(|(index, sample)| (format!("c{index}"), Arc::clone(&sample.array)))
        .collect();
    let row_numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
    columns.push(("row".to_owned(), row_numbers));
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )?;
    let mut types: Vec<PgType> = samples.iter().map(|sample| sample.pg_type).collect();
    types.push(PgType::Int4);

    let mut binary = Vec::new();
    let mut encoder = BinaryEncoder::new(types);
    encoder.check(&batch.schema())?;
    encoder.begin(&mut binary);
    encoder.encode(&batch, &mut binary)?;
    encoder.end(&mut binary);
    fs::write(directory.join("binary.copy"), binary)?;

    let mut text = Vec::new();
    TextEncoder::new().encode(&batch, &mut text)?;
    fs::write(directory.join("text.copy"), text)?;
    fs::write(directory.join("check.sql"), script(&samples))?;
    Ok(())
}

fn script(samples: &[Sample]) -> String {
    let mut columns: Vec<String> = samples
        .iter()
        .enumerate()
        .map(|(index, sample)| format!("c{index} {}", sample.sql_type))
        .collect();
    columns.push("row int4".to_owned());
    let mut sql = format!(
        "CREATE TYPE pg_temp.mood AS ENUM ('sad', 'happy');\n\
         CREATE TEMPORARY TABLE meant ({columns});\n\
         CREATE TEMPORARY TABLE from_binary (LIKE meant);\n\
         CREATE TEMPORARY TABLE from_text (LIKE meant);\n",
        columns = columns.join(", ")
    );
    for row in 0..ROWS {
        let values: Vec<String> = samples
            .iter()
            .map(|sample| sample.meant.get(row).cloned().unwrap_or("NULL".to_owned()))
            .collect();
        sql += &format!("INSERT INTO meant VALUES ({}, {row});\n", values.join(", "));
    }
    for form in ["binary", "text"] {
        sql += &format!(
            "SELECT 'COPY from_{form} FROM ' || quote_literal(:'directory' || '/{form}.copy') \
             || ' (FORMAT {form})' \\gexec\n"
        );
        for (index, sample) in samples.iter().enumerate() {
            // Values are compared as text, which shows differences that equality does not: -0 and 0, 1.0 and 1.00.
            sql += &format!(
                "SELECT '{form}' AS form, '{}' AS type, row, meant.c{index} AS meant, \
                 loaded.c{index} AS loaded FROM meant JOIN from_{form} loaded USING (row) \
                 WHERE meant.c{index}::text IS DISTINCT FROM loaded.c{index}::text;\n",
                sample.sql_type
            );
        }
        sql += &format!("SELECT '{form}' AS form, count(*) AS rows FROM from_{form};\n");
    }
    sql
}

/// A sample of these values, each with its form in SQL; NULLs follow.
fn sample<T: Clone>(
    sql_type: &'static str,
    pg_type: PgType,
    values: &[(T, &str)],
    array: impl FnOnce(Vec<Option<T>>) -> ArrayRef,
) -> Sample {
    let mut column: Vec<Option<T>> = values
        .iter()
        .map(|(value, _)| Some(value.clone()))
        .collect();
    column.resize(ROWS, None);
    Sample {
        sql_type,
        pg_type,
        array: array(column),
        meant: values
            .iter()
            .map(|(_, meant)| format!("'{}'", meant.replace('\'', "''")))
            .collect(),
    }
}

fn texts(values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(StringViewArray::from(values))
}

fn intervals(values: Vec<Option<(i32, i32, i64)>>) -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new("months", DataType::Int32, false),
        Field::new("days", DataType::Int32, false),
        Field::new("microseconds", DataType::Int64, false),
    ]);
    let part = |value: Option<(i32, i32, i64)>| value.unwrap_or_default();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(
            values.iter().map(|&value| part(value).0),
        )),
        Arc::new(Int32Array::from_iter_values(
            values.iter().map(|&value| part(value).1),
        )),
        Arc::new(Int64Array::from_iter_values(
            values.iter().map(|&value| part(value).2),
        )),
    ];
    let nulls = values.iter().map(Option::is_some).collect::<Vec<bool>>();
    Arc::new(StructArray::new(fields, columns, Some(nulls.into())))
}

fn timestamps(values: Vec<Option<i64>>) -> TimestampMicrosecondArray {
    TimestampMicrosecondArray::from(values)
}

fn samples() -> Vec<Sample> {
    let long_number = format!("-{}.{}", "1234567890".repeat(300), "0987654321".repeat(200));
    let widest_number = format!("{}.{}", "9".repeat(131_072), "9".repeat(16_383));
    let local = [
        (timestamp::MINUS_INFINITY, "-infinity"),
        (timestamp::INFINITY, "infinity"),
        (0, "1970-01-01 00:00:00"),
        (timestamp::MIN, "4714-11-24 00:00:00 BC"),
        (i64::MAX, "294247-01-10 04:00:54.775807"),
        (i64::MIN, "294247-01-10 04:00:54.775808"),
        (timestamp::MAX, "294276-12-31 23:59:59.999999"),
        (-1, "1969-12-31 23:59:59.999999"),
        (-63_517_780_500_000_000, "0044-03-15 12:05:00 BC"),
    ];
    let zoned: Vec<(i64, String)> = local
        .iter()
        .map(|(value, meant)| match meant.strip_suffix(" BC") {
            Some(meant) => (*value, format!("{meant}+00 BC")),
            None if meant.ends_with("infinity") => (*value, meant.to_string()),
            None => (*value, format!("{meant}+00")),
        })
        .collect();
    let zoned: Vec<(i64, &str)> = zoned
        .iter()
        .map(|(value, meant)| (*value, &meant[..]))
        .collect();
    let odd_text = "tab\t newline\n return\r backslash \\ \\N \\. \u{8}\u{b}\u{c} \u{1F600} end";
    let words: Vec<(&str, &str)> = [
        "",
        "a",
        "twelve bytes",
        "thirteen byte",
        odd_text,
        "\\N",
        "\\.",
        " blanks ",
    ]
    .map(|text| (text, text))
    .to_vec();
    let documents: Vec<(&str, &str)> = [
        "{}",
        "null",
        r#"{"b": [1, 2.50, "\n\\ \""], "a": {"long key that is not inline": 1e5}}"#,
    ]
    .map(|text| (text, text))
    .to_vec();
    vec![
        sample(
            "bool",
            PgType::Bool,
            &[(true, "t"), (false, "f")],
            |values| Arc::new(BooleanArray::from(values)),
        ),
        sample(
            "int2",
            PgType::Int2,
            &[(i16::MIN, "-32768"), (i16::MAX, "32767"), (0, "0")],
            |values| Arc::new(Int16Array::from(values)),
        ),
        sample(
            "int4",
            PgType::Int4,
            &[
                (i32::MIN, "-2147483648"),
                (i32::MAX, "2147483647"),
                (-1, "-1"),
            ],
            |values| Arc::new(Int32Array::from(values)),
        ),
        sample(
            "int8",
            PgType::Int8,
            &[
                (i64::MIN, "-9223372036854775808"),
                (i64::MAX, "9223372036854775807"),
                (7, "7"),
            ],
            |values| Arc::new(Int64Array::from(values)),
        ),
        sample(
            "float4",
            PgType::Float4,
            &[
                (f32::NAN, "NaN"),
                (f32::INFINITY, "Infinity"),
                (f32::NEG_INFINITY, "-Infinity"),
                (-0.0, "-0"),
                (f32::MAX, "3.4028235e38"),
                (f32::from_bits(1), "1e-45"),
                (0.1, "0.1"),
                (16_777_216.0, "16777216"),
            ],
            |values| Arc::new(Float32Array::from(values)),
        ),
        sample(
            "float8",
            PgType::Float8,
            &[
                (f64::NAN, "NaN"),
                (f64::INFINITY, "Infinity"),
                (f64::NEG_INFINITY, "-Infinity"),
                (-0.0, "-0"),
                (f64::MAX, "1.7976931348623157e308"),
                (f64::from_bits(1), "5e-324"),
                (0.1, "0.1"),
                (1e15, "1e15"),
            ],
            |values| Arc::new(Float64Array::from(values)),
        ),
        sample(
            "numeric(15,2)",
            PgType::Numeric,
            &[
                (0i128, "0.00"),
                (1, "0.01"),
                (-1, "-0.01"),
                (999_999_999_999_999, "9999999999999.99"),
                (-10_000, "-100.00"),
                (10_000_000_000, "100000000.00"),
                (123_456_789, "1234567.89"),
            ],
            |values| {
                Arc::new(Decimal128Array::from(values).with_data_type(DataType::Decimal128(15, 2)))
            },
        ),
        sample(
            "numeric(38,38)",
            PgType::Numeric,
            &[
                (0i128, "0.00000000000000000000000000000000000000"),
                (1, "0.00000000000000000000000000000000000001"),
                (
                    10i128.pow(38) - 1,
                    "0.99999999999999999999999999999999999999",
                ),
                (
                    -(10i128.pow(37)),
                    "-0.10000000000000000000000000000000000000",
                ),
            ],
            |values| {
                Arc::new(Decimal128Array::from(values).with_data_type(DataType::Decimal128(38, 38)))
            },
        ),
        sample(
            "numeric(38,0)",
            PgType::Numeric,
            &[
                (10i128.pow(38) - 1, "99999999999999999999999999999999999999"),
                (-(10i128.pow(37)), "-10000000000000000000000000000000000000"),
                (10_000, "10000"),
            ],
            |values| {
                Arc::new(Decimal128Array::from(values).with_data_type(DataType::Decimal128(38, 0)))
            },
        ),
        sample(
            "numeric",
            PgType::Numeric,
            &[
                ("0", "0"),
                ("-0", "0"),
                ("-000.00", "0.00"),
                ("0.0001", "0.0001"),
                ("-12345678901234567890.50", "-12345678901234567890.50"),
                ("10000000000000000000000", "10000000000000000000000"),
                (long_number.as_str(), long_number.as_str()),
                (widest_number.as_str(), widest_number.as_str()),
                ("NaN", "NaN"),
                ("Infinity", "Infinity"),
                ("-Infinity", "-Infinity"),
            ],
            texts,
        ),
        sample("text", PgType::Text, &words, texts),
        sample("varchar(60)", PgType::Text, &words, texts),
        sample("char(60)", PgType::Text, &words, texts),
        sample("name", PgType::Text, &[("a name", "a name")], texts),
        sample(
            "mood",
            PgType::Text,
            &[("sad", "sad"), ("happy", "happy")],
            texts,
        ),
        sample("json", PgType::Text, &documents, texts),
        sample("jsonb", PgType::Jsonb, &documents, texts),
        sample(
            "date",
            PgType::Date,
            &[
                (i32::MIN, "-infinity"),
                (i32::MAX, "infinity"),
                (0, "1970-01-01"),
                (DATE_DAYS_MIN, "4714-11-24 BC"),
                (DATE_DAYS_MAX, "5874897-12-31"),
                (-735_160, "0044-03-15 BC"),
                (-719_162, "0001-01-01"),
                (2_932_897, "10000-01-01"),
                (11_016, "2000-02-29"),
            ],
            |values| Arc::new(Date32Array::from(values)),
        ),
        sample(
            "time",
            PgType::Time,
            &[
                (0i64, "00:00:00"),
                (86_400_000_000, "24:00:00"),
                (86_399_999_999, "23:59:59.999999"),
                (1, "00:00:00.000001"),
            ],
            |values| Arc::new(Time64MicrosecondArray::from(values)),
        ),
        sample("timestamp", PgType::Timestamp, &local, |values| {
            Arc::new(timestamps(values))
        }),
        sample("timestamptz", PgType::Timestamp, &zoned, |values| {
            Arc::new(timestamps(values).with_timezone("UTC"))
        }),
        sample(
            "interval",
            PgType::Interval,
            &[
                ((0, 0, 0), "0"),
                ((14, -3, 4_500_000), "1 year 2 months -3 days 4.5 seconds"),
                ((-1, 0, -1), "-1 month -0.000001 seconds"),
                ((0, 0, 3_600_000_000_000), "1000 hours"),
                (
                    (i32::MAX, i32::MAX, i64::MAX - 1),
                    "2147483647 mons 2147483647 days 2562047788 hours 54.775806 secs",
                ),
                (
                    (i32::MIN, i32::MIN, i64::MIN + 1),
                    "-2147483648 mons -2147483648 days -2562047788 hours -54.775807 secs",
                ),
                (interval::INFINITY, "infinity"),
                (interval::MINUS_INFINITY, "-infinity"),
            ],
            intervals,
        ),
        sample(
            "uuid",
            PgType::Uuid,
            &[
                ([0u8; 16], "00000000-0000-0000-0000-000000000000"),
                (*b"0123456789abcdef", "30313233-3435-3637-3839-616263646566"),
                ([255; 16], "ffffffff-ffff-ffff-ffff-ffffffffffff"),
            ],
            |values| {
                let values = values
                    .iter()
                    .map(|value| value.as_ref().map(|bytes| &bytes[..]));
                Arc::new(
                    FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16)
                        .expect("16 bytes each"),
                )
            },
        ),
        sample(
            "bytea",
            PgType::Bytea,
            &[
                (&b""[..], "\\x"),
                (b"\0\xff\\", "\\x00ff5c"),
                (
                    b"more than twelve bytes",
                    "\\x6d6f7265207468616e207477656c7665206279746573",
                ),
            ],
            |values| Arc::new(BinaryViewArray::from(values)),
        ),
    ]
}
