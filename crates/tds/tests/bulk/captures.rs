//! Compares the encoder's bytes with those of foreign clients, which are known to work with SQL Server.
//!
//! Each client loaded the same table into a server that records (`tests/sqlserver`, `make capture-tds`). Here the same
//! values are encoded for the columns that the client described. Each value's bytes must be the client's, or differ as
//! listed in [`DIFFERENCES`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use inrush_tds::{RowMetadata, SqlType, TypeInfo};
use serde_json::Value as Json;

use crate::batches::{batch, encoder, message};
use crate::decoder;

/// A permitted difference between a client's bytes of a value and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// The same value in other bytes.
    OtherBytes,
    /// Another value.
    OtherValue,
}

use Difference::{OtherBytes, OtherValue};

/// The clients whose captures are committed, by the names of the files. `freetds` is FreeTDS's `freebcp`.
/// `mssql-python` is the Python module of `mssql-tds` and calls its code.
const CLIENTS: [&str; 6] = [
    "freetds",
    "go-mssqldb",
    "mssql-jdbc",
    "mssql-python",
    "python-tds",
    "tedious",
];

/// Client, column, difference, reason.
const DIFFERENCES: &[(&str, &str, Difference, &str)] = &[
    (
        "freetds",
        "c_date",
        OtherValue,
        "it reads the year 0001 of a file as 2001",
    ),
    ("freetds", "c_datetime2_0", OtherValue, "likewise"),
    (
        "freetds",
        "c_decimal_15",
        OtherBytes,
        "it describes and sends the 8 bytes that 15 digits need",
    ),
    (
        "freetds",
        "c_nvarchar_max",
        OtherValue,
        "it drops the blanks at the end of a text",
    ),
    (
        "freetds",
        "c_varchar_utf8",
        OtherValue,
        "it describes the collation of the database, and sends UTF-8",
    ),
    (
        "go-mssqldb",
        "c_char",
        OtherValue,
        "it sends UTF-8 into a code page, which damages all but ASCII",
    ),
    ("go-mssqldb", "c_varchar", OtherValue, "likewise"),
    (
        "mssql-jdbc",
        "c_decimal_9",
        OtherBytes,
        "it describes and sends 17 bytes for every precision",
    ),
    ("mssql-jdbc", "c_decimal_15", OtherBytes, "likewise"),
    ("mssql-jdbc", "c_decimal_28", OtherBytes, "likewise"),
    (
        "mssql-python",
        "c_varchar_utf8",
        OtherValue,
        "it sends the code page of the locale into a collation that ends in _UTF8, which damages all but ASCII",
    ),
    (
        "python-tds",
        "c_decimal_9",
        OtherBytes,
        "its zero has the sign of a negative number",
    ),
    ("python-tds", "c_decimal_15", OtherBytes, "likewise"),
];

/// The folder of the captures.
pub fn captures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/sqlserver/captures")
}

/// A capture, or the table.
pub fn json(name: &str) -> Json {
    let path = captures().join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Bytes of hexadecimal text.
pub fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|digits| {
            let digits = std::str::from_utf8(digits).expect("ASCII");
            u8::from_str_radix(digits, 16).expect("hexadecimal")
        })
        .collect()
}

/// The values of a column of the table, for a column as the client described it.
pub fn array(type_info: &TypeInfo, column: &Json) -> ArrayRef {
    let values = |form: &str| -> Vec<Option<&str>> {
        let values = column[form].as_array().expect("values");
        values.iter().map(Json::as_str).collect()
    };
    let texts = values("numbers");
    macro_rules! parsed {
        ($array:ident) => {
            Arc::new($array::from_iter(
                texts
                    .iter()
                    .map(|text| text.map(|text| text.parse().expect("a number"))),
            ))
        };
    }
    match type_info.sql_type {
        SqlType::Bit => Arc::new(BooleanArray::from_iter(
            texts.iter().map(|text| text.map(|text| text == "1")),
        )),
        SqlType::TinyInt | SqlType::SmallInt => parsed!(Int16Array),
        SqlType::Int => parsed!(Int32Array),
        SqlType::BigInt => parsed!(Int64Array),
        SqlType::Real => parsed!(Float32Array),
        SqlType::Float => parsed!(Float64Array),
        SqlType::Decimal { scale, .. } => {
            let array: Decimal128Array = texts
                .iter()
                .map(|text| text.map(|text| text.parse().expect("digits")))
                .collect();
            Arc::new(
                array
                    .with_precision_and_scale(38, scale as i8)
                    .expect("38 digits"),
            )
        }
        SqlType::Date => parsed!(Date32Array),
        SqlType::Time(_) => parsed!(Time64MicrosecondArray),
        SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime => {
            parsed!(TimestampMicrosecondArray)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) => Arc::new(BinaryViewArray::from_iter(
            texts.iter().map(|text| text.map(hex)),
        )),
        SqlType::UniqueIdentifier => Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                texts.iter().map(|text| text.map(hex)),
                16,
            )
            .expect("16 bytes"),
        ),
        // Some clients send dates as texts.
        _ => Arc::new(StringViewArray::from_iter(values("texts"))),
    }
}

/// The rows of a client, and ours for the same columns.
fn compare(client: &str) -> BTreeSet<(String, Difference)> {
    let table = json("table");
    let capture = json(client);
    let theirs = hex(capture["payload"].as_str().expect("a payload"));
    let (target, _) = RowMetadata::parse(&with_lengths_of_decimals(&theirs))
        .unwrap_or_else(|error| panic!("{client}: {error}"));
    let columns = table["columns"].as_array().expect("columns");
    let arrays: Vec<ArrayRef> = target
        .columns()
        .iter()
        .map(|column| {
            let values = columns
                .iter()
                .find(|one| one["name"] == column.name.as_str());
            array(&column.type_info, values.expect("a column of the table"))
        })
        .collect();
    let rows = arrays[0].len();
    let packets = message(&mut encoder(&target, 32_767), &[batch(arrays, rows)])
        .unwrap_or_else(|error| panic!("{client}: {error}"));
    let ours = decoder::decode_any(&decoder::payload(&packets, 32_767));
    let theirs = decoder::decode_any(&theirs);
    assert_eq!(ours.columns.len(), theirs.columns.len());
    assert_eq!(ours.rows.len(), theirs.rows.len(), "{client}");
    // DONE counts with four or with eight bytes. FreeTDS ends a load by the end mark of the last packet alone.
    let is_done = match theirs.done.len() {
        8 | 12 => true,
        0 => client == "freetds",
        _ => false,
    };
    assert!(is_done, "{client}: {:?}", theirs.done);
    let mut found = BTreeSet::new();
    for (our_row, their_row) in ours.rows.iter().zip(&theirs.rows) {
        for ((column, ours), theirs) in ours.columns.iter().zip(our_row).zip(their_row) {
            if ours.1 == theirs.1 {
                continue;
            }
            let difference = match ours.0 == theirs.0 {
                true => OtherBytes,
                false => OtherValue,
            };
            found.insert((column.name.clone(), difference));
        }
    }
    found
}

/// A description in which decimals have their lengths. `mssql-tds` sends the type's token in place of the length, and
/// FreeTDS the bytes that the digits need, so SQL Server evidently ignores this length.
fn with_lengths_of_decimals(description: &[u8]) -> Vec<u8> {
    let mut bytes = description.to_vec();
    for at in 0..bytes.len() - 3 {
        // A bulk load of the table has no other such bytes in its description.
        if let [0x6a, length @ (0x6a | 2..=17), precision @ 1..=38, 0..=38] = &mut bytes[at..at + 4]
        {
            *length = match *precision {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            };
        }
    }
    bytes
}

#[test]
fn the_bytes_are_those_of_other_clients() {
    let clients: BTreeSet<String> = std::fs::read_dir(captures())
        .expect("the captures are committed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "table")
        .collect();
    let committed = CLIENTS.map(str::to_owned);
    assert_eq!(clients, BTreeSet::from(committed));
    let found: BTreeSet<(String, String, Difference)> = clients
        .iter()
        .flat_map(|client| {
            let differences = compare(client);
            differences
                .into_iter()
                .map(move |(column, difference)| (client.clone(), column, difference))
        })
        .collect();
    let expected: BTreeSet<(String, String, Difference)> = DIFFERENCES
        .iter()
        .map(|(client, column, difference, _)| {
            (client.to_string(), column.to_string(), *difference)
        })
        .collect();
    let new: Vec<_> = found.difference(&expected).collect();
    let gone: Vec<_> = expected.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not on the list: {new:#?}\nno longer there: {gone:#?}"
    );
}
