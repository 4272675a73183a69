//! The connection's options: how files are written.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::{Error, Result};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::EnabledStatistics;

/// The known names.
const KNOWN: [&str; 11] = [
    "bloom_filters",
    "codec",
    "dictionary",
    "encodings",
    "file_bytes_max",
    "level",
    "merge_bytes",
    "partition_buffer_bytes",
    "row_group_bytes_max",
    "row_group_rows",
    "statistics",
];

/// The rows of a row group: enough to make dictionaries worthwhile, and few enough that readers can share the row
/// groups and that writing to the disk begins early. For lineitem, files are 0.5 % larger than with four times as many
/// rows.
const ROW_GROUP_ROWS: usize = 1 << 18;
/// The most bytes of a row group, which is kept in memory, encoded, until it is complete.
const ROW_GROUP_BYTES_MAX: usize = 64 << 20;

/// A stream's memory for rows of partitions that wait until their row groups are large enough.
const PARTITION_BUFFER_BYTES: usize = 128 << 20;

/// How integers and texts are encoded if they repeat too little for a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encodings {
    /// `DELTA_BINARY_PACKED` and `DELTA_LENGTH_BYTE_ARRAY`.
    Delta,
    /// `PLAIN`, for readers that know no other encoding.
    Plain,
}

/// How files are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub(super) compression: Compression,
    pub(super) dictionary: bool,
    pub(super) encodings: Encodings,
    pub(super) statistics: EnabledStatistics,
    pub(super) bloom_filters: BTreeSet<String>,
    pub(super) row_group_rows: usize,
    pub(super) row_group_bytes_max: usize,
    pub(super) partition_buffer_bytes: usize,
    pub(super) file_bytes_max: Option<u64>,
    /// Consecutive input files with up to this many bytes of text are one unit.
    pub(super) merge_bytes: Option<u64>,
}

impl Options {
    /// Reads the options; refuses unknown names and invalid values.
    pub(super) fn read(options: &BTreeMap<String, String>) -> Result<Options> {
        if let Some(unknown) = options.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(Error::Address {
                what: format!("{unknown:?} is not an option of a Parquet destination"),
                hint: format!("the options are {}", KNOWN.join(", ")),
            });
        }
        let get = |name: &str| options.get(name).map(|value| value.trim());
        let wrong = |name: &str, value: &str, right: &str| Error::Address {
            what: format!("option {name} of the Parquet destination: {value:?} is not understood"),
            hint: format!("write {right}"),
        };
        let count = |name: &'static str, smallest: u64, largest: u64| -> Result<Option<u64>> {
            let Some(text) = get(name) else {
                return Ok(None);
            };
            match text.parse::<u64>() {
                Ok(number) if (smallest..=largest).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(
                    name,
                    text,
                    &format!("a whole number from {smallest} to {largest}"),
                )),
            }
        };
        Ok(Options {
            compression: compression(get("codec").unwrap_or("zstd"), get("level"))?,
            dictionary: match get("dictionary").unwrap_or("true") {
                "true" => true,
                "false" => false,
                other => return Err(wrong("dictionary", other, "true or false")),
            },
            encodings: match get("encodings").unwrap_or("delta") {
                "delta" => Encodings::Delta,
                "plain" => Encodings::Plain,
                other => return Err(wrong("encodings", other, "delta or plain")),
            },
            statistics: match get("statistics").unwrap_or("page") {
                "none" => EnabledStatistics::None,
                "chunk" => EnabledStatistics::Chunk,
                "page" => EnabledStatistics::Page,
                other => return Err(wrong("statistics", other, "none, chunk or page")),
            },
            bloom_filters: get("bloom_filters")
                .unwrap_or_default()
                .split(',')
                .map(|column| column.trim().to_owned())
                .filter(|column| !column.is_empty())
                .collect(),
            row_group_rows: count("row_group_rows", 1, i32::MAX as u64)?
                .map_or(ROW_GROUP_ROWS, |rows| rows as usize),
            row_group_bytes_max: count("row_group_bytes_max", 1 << 16, 2 << 30)?
                .map_or(ROW_GROUP_BYTES_MAX, |bytes| bytes as usize),
            partition_buffer_bytes: count("partition_buffer_bytes", 1 << 16, 1 << 40)?
                .map_or(PARTITION_BUFFER_BYTES, |bytes| bytes as usize),
            file_bytes_max: count("file_bytes_max", 1 << 16, i64::MAX as u64)?,
            merge_bytes: count("merge_bytes", 1, i64::MAX as u64)?,
        })
    }
}

fn compression(codec: &str, level: Option<&str>) -> Result<Compression> {
    let number = |range: &str| -> Result<Option<i64>> {
        let Some(text) = level else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(wrong_level(codec, text, range)),
        }
    };
    let without_level = |compression| match level {
        None => Ok(compression),
        Some(text) => Err(Error::Address {
            what: format!(
                "option level of the Parquet destination: {text:?}, but codec {codec} has no levels"
            ),
            hint: "leave level out, or use zstd, gzip or brotli".to_owned(),
        }),
    };
    match codec {
        "zstd" => {
            let range = "1 to 22";
            let number = number(range)?.unwrap_or(3);
            i32::try_from(number)
                .ok()
                .and_then(|level| ZstdLevel::try_new(level).ok())
                .map(Compression::ZSTD)
                .ok_or_else(|| wrong_level(codec, &number.to_string(), range))
        }
        "gzip" => {
            let range = "0 to 9";
            let number = number(range)?.unwrap_or(6);
            u32::try_from(number)
                .ok()
                .and_then(|level| GzipLevel::try_new(level).ok())
                .map(Compression::GZIP)
                .ok_or_else(|| wrong_level(codec, &number.to_string(), range))
        }
        "brotli" => {
            let range = "0 to 11";
            let number = number(range)?.unwrap_or(1);
            u32::try_from(number)
                .ok()
                .and_then(|level| BrotliLevel::try_new(level).ok())
                .map(Compression::BROTLI)
                .ok_or_else(|| wrong_level(codec, &number.to_string(), range))
        }
        "snappy" => without_level(Compression::SNAPPY),
        "lz4" => without_level(Compression::LZ4_RAW),
        "none" => without_level(Compression::UNCOMPRESSED),
        other => Err(Error::Address {
            what: format!("option codec of the Parquet destination: there is no codec {other:?}"),
            hint: "write zstd, snappy, gzip, lz4, brotli or none".to_owned(),
        }),
    }
}

fn wrong_level(codec: &str, level: &str, range: &str) -> Error {
    Error::Address {
        what: format!(
            "option level of the Parquet destination: {level:?} is not a level of {codec}"
        ),
        hint: format!("write a whole number from {range}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<Options> {
        let options = options
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        Options::read(&options)
    }

    #[test]
    fn options_are_read() {
        let options = read(&[
            ("codec", "gzip"),
            ("level", "9"),
            ("statistics", "chunk"),
            ("bloom_filters", "a, b"),
            ("row_group_rows", "1000"),
            ("file_bytes_max", "1000000"),
            ("merge_bytes", "33554432"),
        ])
        .unwrap();
        assert_eq!(
            options,
            Options {
                compression: Compression::GZIP(GzipLevel::try_new(9).unwrap()),
                dictionary: true,
                encodings: Encodings::Delta,
                statistics: EnabledStatistics::Chunk,
                bloom_filters: ["a".to_owned(), "b".to_owned()].into(),
                row_group_rows: 1000,
                row_group_bytes_max: ROW_GROUP_BYTES_MAX,
                partition_buffer_bytes: PARTITION_BUFFER_BYTES,
                file_bytes_max: Some(1_000_000),
                merge_bytes: Some(32 << 20),
            }
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for wrong in [
            ("codecs", "zstd"),
            ("codec", "lzo"),
            ("level", "23"),
            ("level", "high"),
            ("dictionary", "yes"),
            ("statistics", "all"),
            ("row_group_rows", "0"),
            ("row_group_bytes_max", "-1"),
            ("file_bytes_max", "1"),
            ("merge_bytes", "0"),
        ] {
            let error = read(&[wrong]).unwrap_err();
            assert!(matches!(error, Error::Address { .. }), "{wrong:?}");
        }
        assert!(read(&[("codec", "snappy"), ("level", "1")]).is_err());
    }
}
