//! Files of typed rows, written by the libraries' own writers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, IntervalDayTime, IntervalMonthDayNano};
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema};
use inrush_scan::Records;
use inrush_source::{Chunks, SourceError};

use super::TableFile;
use crate::{BufferPool, RowReader, SourceFile, Split, TextReader, pieces_of, resolve};

pub(super) struct Folder(tempfile::TempDir);

impl Folder {
    pub(super) fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn find(&self, name: &str) -> Result<Arc<SourceFile>, SourceError> {
        let mut files = resolve(&[name.to_owned()], self.0.path())?;
        Ok(Arc::new(files.remove(0)))
    }
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, values)| Field::new(*name, values.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, values)| values).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

pub(super) fn write_parquet(path: &Path, batch: &RecordBatch, group_rows: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let file = File::create(path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("written");
    writer.close().expect("closed");
}

fn write_arrow(path: &Path, batch: &RecordBatch, group_rows: usize) {
    let file = File::create(path).expect("a file");
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).expect("a writer");
    for start in (0..batch.num_rows()).step_by(group_rows) {
        let rows = group_rows.min(batch.num_rows() - start);
        writer.write(&batch.slice(start, rows)).expect("written");
    }
    writer.finish().expect("finished");
}

/// The line and the byte offset of a record.
type RowPlace = (u64, u64);

/// The text of a split, and the place of each of its records.
pub(super) fn read(split: Split) -> Result<(Vec<u8>, Vec<RowPlace>), SourceError> {
    let mut reader =
        TextReader::open(split, &TableFile::dialect(), 4 << 10, BufferPool::default())?;
    let mut text = Vec::new();
    let mut places = Vec::new();
    let mut records = Records::default();
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        text.extend_from_slice(chunk.text());
        for record in &records.records {
            let place = chunk.location(record.start, record.line);
            places.push((place.line, place.byte_offset));
        }
        reader.recycle(chunk);
    }
    assert_eq!(reader.meter().stored_bytes, reader.split().size_bytes());
    assert_eq!(reader.meter().record_count, places.len() as u64);
    let header = reader.header().map(<[String]>::to_vec);
    check_typed(reader.split(), header.as_deref(), &text, &places)?;
    Ok((text, places))
}

/// Reads the split as typed rows, and checks their text, places and digests.
fn check_typed(
    split: &Split,
    header: Option<&[String]>,
    text: &[u8],
    places: &[RowPlace],
) -> Result<(), SourceError> {
    let dialect = TableFile::dialect();
    let mut reader = RowReader::open(split.clone(), &dialect, 4 << 10, BufferPool::default())?;
    assert_eq!(reader.header(), header);
    let mut typed_text = Vec::new();
    let mut typed_places = Vec::new();
    let mut content = Vec::new();
    let mut records = Records::default();
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        content.extend_from_slice(chunk.content());
        for record in &records.records {
            typed_text.extend_from_slice(&chunk.record_text(record));
            typed_text.push(b'\n');
            let place = chunk.location(record.start, record.line);
            typed_places.push((place.line, place.byte_offset));
        }
        reader.recycle(chunk);
    }
    let meter = reader.meter();
    assert_eq!(meter.stored_bytes, split.size_bytes());
    // If the text of a row is a blank line, the text has one row fewer.
    let count = typed_places.len();
    assert_eq!(meter.record_count, count as u64);
    if count == places.len() {
        assert_eq!(typed_places, places);
        assert!(typed_text == text, "the text of typed rows");
    }
    let table = split.file.table().expect("a table");
    let digests = TableFile::digests(&split.file, table, &split.byte_range)?;
    let digests = digests.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(content, digests.concat());
    Ok(())
}

#[test]
fn every_type_has_an_exact_text() {
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    words.append_value("low");
    words.append_null();
    words.append_value("low");
    let words = words.finish();
    let columns: Vec<(&str, ArrayRef, [&str; 3])> = vec![
        ("null", Arc::new(NullArray::new(3)), ["", "", ""]),
        (
            "bool",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            ["t", "", "f"],
        ),
        (
            "int8",
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(127)])),
            ["-128", "", "127"],
        ),
        (
            "uint64",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)])),
            ["18446744073709551615", "", "0"],
        ),
        (
            "int64",
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)])),
            ["-9223372036854775808", "", "9223372036854775807"],
        ),
        (
            "float32",
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::MAX)])),
            ["0.10000000149011612", "", "3.4028234663852886e38"],
        ),
        (
            "float64",
            Arc::new(Float64Array::from(vec![
                Some(0.1),
                Some(-0.0),
                Some(5e-324),
            ])),
            ["0.1", "-0", "5e-324"],
        ),
        (
            "special",
            Arc::new(Float64Array::from(vec![
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ])),
            ["NaN", "Infinity", "-Infinity"],
        ),
        (
            "large",
            Arc::new(Float64Array::from(vec![1e15, 1e22, 123_456.0])),
            ["1000000000000000", "10000000000000000000000", "123456"],
        ),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(-5), None, Some(123_456)])
                    .with_precision_and_scale(10, 2)
                    .expect("fits"),
            ),
            ["-0.05", "", "1234.56"],
        ),
        (
            "whole",
            Arc::new(
                Decimal128Array::from(vec![Some(i128::from(i64::MIN) * 10), None, Some(0)])
                    .with_precision_and_scale(38, 0)
                    .expect("fits"),
            ),
            ["-92233720368547758080", "", "0"],
        ),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(vec![
                    Some(i256::from_i128(-10)),
                    None,
                    Some(i256::from_i128(100)),
                ])
                .with_precision_and_scale(76, 3)
                .expect("fits"),
            ),
            ["-0.010", "", "0.100"],
        ),
        (
            "text",
            Arc::new(StringArray::from(vec![Some("a,\"b\"\n"), None, Some("")])),
            ["\"a,\"\"b\"\"\n\"", "", "\"\""],
        ),
        (
            "view",
            Arc::new(StringViewArray::from(vec![
                Some("plain"),
                Some("\\."),
                Some("längeres Wort"),
            ])),
            ["plain", "\"\\.\"", "längeres Wort"],
        ),
        (
            "bytes",
            Arc::new(BinaryArray::from(vec![
                Some(&b"\x00\xff"[..]),
                None,
                Some(b""),
            ])),
            ["\\x00ff", "", "\\x"],
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_iter(vec![[1_u8, 2], [3, 4], [5, 255]].into_iter())
                    .expect("two each"),
            ),
            ["\\x0102", "\\x0304", "\\x05ff"],
        ),
        (
            "date32",
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(-719_163),
                Some(2_932_897),
            ])),
            ["1970-01-01", "0001-12-31 BC", "10000-01-01"],
        ),
        (
            "date64",
            Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(1)])),
            ["1970-01-02", "", "1970-01-01 00:00:00.001"],
        ),
        (
            "time32",
            Arc::new(Time32SecondArray::from(vec![Some(0), None, Some(86_399)])),
            ["00:00:00", "", "23:59:59"],
        ),
        (
            "time64",
            Arc::new(Time64NanosecondArray::from(vec![
                Some(1),
                None,
                Some(86_399_999_999_000),
            ])),
            ["00:00:00.000000001", "", "23:59:59.999999"],
        ),
        (
            "seconds",
            Arc::new(TimestampSecondArray::from(vec![
                Some(-1),
                None,
                Some(951_782_400),
            ])),
            ["1969-12-31 23:59:59", "", "2000-02-29 00:00:00"],
        ),
        (
            "micros",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(-1),
                None,
                Some(1_500_000),
            ])),
            ["1969-12-31 23:59:59.999999", "", "1970-01-01 00:00:01.5"],
        ),
        (
            "zoned",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(0), None, Some(-62_135_596_800_000_001)])
                    .with_timezone("Europe/Berlin"),
            ),
            [
                "1970-01-01 00:00:00+00",
                "",
                "0001-12-31 23:59:59.999999+00 BC",
            ],
        ),
        (
            "nanos",
            Arc::new(TimestampNanosecondArray::from(vec![
                Some(i64::MIN),
                None,
                Some(1),
            ])),
            [
                "1677-09-21 00:12:43.145224192",
                "",
                "1970-01-01 00:00:00.000000001",
            ],
        ),
        ("words", Arc::new(words), ["low", "", "low"]),
    ];
    let batch = batch(
        columns
            .iter()
            .map(|(name, values, _)| (*name, Arc::clone(values)))
            .collect(),
    );
    let folder = Folder::new();
    write_parquet(&folder.path("all.parquet"), &batch, 1000);
    write_arrow(&folder.path("all.arrow"), &batch, 1000);
    let expected: Vec<u8> = (0..3)
        .flat_map(|row| {
            let fields: Vec<&str> = columns.iter().map(|(_, _, texts)| texts[row]).collect();
            (fields.join(",") + "\n").into_bytes()
        })
        .collect();
    for name in ["all.parquet", "all.arrow"] {
        let file = folder.find(name).expect(name);
        let (text, places) = read(Split::whole(file)).expect(name);
        assert_eq!(
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&expected),
            "{name}"
        );
        assert_eq!(places, [(1, 0), (2, 1), (3, 2)], "{name}");
    }
}

#[test]
fn intervals_are_those_of_postgresql() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "duration",
            Arc::new(DurationMicrosecondArray::from(vec![
                -1_500_000,
                360_000_000_000,
            ])),
        ),
        (
            "months",
            Arc::new(IntervalYearMonthArray::from(vec![-13, 2])),
        ),
        (
            "days",
            Arc::new(IntervalDayTimeArray::from(vec![
                IntervalDayTime::new(-1, 1),
                IntervalDayTime::new(2, -1),
            ])),
        ),
        (
            "all",
            Arc::new(IntervalMonthDayNanoArray::from(vec![
                IntervalMonthDayNano::new(1, -2, 3_000),
                IntervalMonthDayNano::new(0, 0, 0),
            ])),
        ),
    ];
    let folder = Folder::new();
    write_arrow(&folder.path("intervals.arrow"), &batch(columns), 1000);
    let file = folder.find("intervals.arrow").expect("it is there");
    let (text, _) = read(Split::whole(file)).expect("it can be read");
    assert_eq!(
        String::from_utf8_lossy(&text),
        "-00:00:01.5,-13 mons,-1 days 00:00:00.001,1 mons -2 days 00:00:00.000003\n\
         100:00:00,2 mons,2 days -00:00:00.001,0 mons 0 days 00:00:00\n"
    );
}

#[test]
fn intervals_of_parquet_keep_all_their_parts() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "months",
            Arc::new(IntervalYearMonthArray::from(vec![Some(14), None])),
        ),
        (
            "rest",
            Arc::new(IntervalDayTimeArray::from(vec![
                IntervalDayTime::new(2, 3_001),
                IntervalDayTime::new(0, 0),
            ])),
        ),
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
    ];
    let folder = Folder::new();
    write_parquet(&folder.path("i.parquet"), &batch(columns), 50);
    let file = folder.find("i.parquet").expect("it is there");
    let (text, _) = read(Split::whole(file)).expect("it can be read");
    assert_eq!(
        String::from_utf8_lossy(&text),
        "14 mons 0 days 00:00:00,0 mons 2 days 00:00:03.001,1\n,0 mons 0 days 00:00:00,2\n"
    );
}

/// Rows, some of which contain line ends and quotes, and the same rows as text.
fn many_rows(count: usize) -> (RecordBatch, Vec<u8>) {
    let notes: Vec<Option<String>> = (0..count)
        .map(|row| match row % 5 {
            0 => None,
            1 => Some(format!("line one\nof \"{row}\"")),
            _ => Some("x".repeat(row % 300)),
        })
        .collect();
    let mut text = Vec::new();
    for (row, note) in notes.iter().enumerate() {
        let note = match note.as_deref() {
            None => String::new(),
            Some(note) if note.is_empty() || note.contains('"') => {
                format!("\"{}\"", note.replace('"', "\"\""))
            }
            Some(note) => note.to_owned(),
        };
        text.extend_from_slice(format!("{row},{note}\n").as_bytes());
    }
    let rows: Vec<i64> = (0..count as i64).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(rows))),
        ("note", Arc::new(StringArray::from(notes))),
    ];
    (batch(columns), text)
}

#[test]
fn ranges_hold_each_row_once() {
    let (batch, expected) = many_rows(5_000);
    let folder = Folder::new();
    write_parquet(&folder.path("rows.parquet"), &batch, 700);
    write_arrow(&folder.path("rows.feather"), &batch, 700);
    for name in ["rows.parquet", "rows.feather"] {
        let file = folder.find(name).expect(name);
        let table = file.table().expect("it has typed rows");
        assert_eq!(table.row_count(), 5_000);
        // Small ranges, so that this file is cut like a large one.
        for (wanted_bytes, count) in [(1, 8), (30_000, 0), (u64::MAX / 2, 1)] {
            let ranges = table.ranges(wanted_bytes);
            assert!(
                count == 0 || ranges.len() == count,
                "{name} {wanted_bytes} {ranges:?}"
            );
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, file.size_bytes);
            let mut text = Vec::new();
            let mut places = Vec::new();
            for range in ranges {
                let split = Split::range(Arc::clone(&file), range, None);
                let (part, found) = read(split).expect(name);
                text.extend(part);
                places.extend(found);
            }
            assert!(text == expected, "{name} {wanted_bytes}");
            let rows: Vec<(u64, u64)> = (0..5_000).map(|row| (row + 1, row)).collect();
            assert_eq!(places, rows, "{name} {wanted_bytes}");
        }
        assert_eq!(
            pieces_of(&Split::whole(Arc::clone(&file)), 8 << 20)
                .expect(name)
                .len(),
            1
        );
    }
}

#[test]
fn a_file_without_rows_has_a_header() {
    let (batch, _) = many_rows(3);
    let folder = Folder::new();
    write_parquet(&folder.path("none.parquet"), &batch.slice(0, 0), 10);
    write_arrow(&folder.path("none.arrow"), &batch.slice(0, 0), 10);
    for name in ["none.parquet", "none.arrow"] {
        let file = folder.find(name).expect(name);
        let split = Split::whole(Arc::clone(&file));
        let reader = TextReader::open(
            split.clone(),
            &TableFile::dialect(),
            4096,
            BufferPool::default(),
        );
        let reader = reader.expect(name);
        assert_eq!(
            reader.header(),
            Some(&["id".to_owned(), "note".to_owned()][..])
        );
        assert_eq!(read(split).expect(name).1, []);
    }
}

#[test]
fn damaged_files_are_errors() {
    let (batch, _) = many_rows(2_000);
    let folder = Folder::new();
    write_parquet(&folder.path("good.parquet"), &batch, 500);
    write_arrow(&folder.path("good.arrow"), &batch, 500);
    for (good, bad) in [("good.parquet", "bad.parquet"), ("good.arrow", "bad.arrow")] {
        let bytes = std::fs::read(folder.path(good)).expect("it is there");
        let mut refused = 0;
        // Cut files, and files with one changed byte.
        std::fs::write(folder.path(bad), &bytes[..bytes.len() - 1]).expect("written");
        let error = folder.find(bad).expect_err("it is cut");
        assert!(error.to_string().contains("last bytes"), "{error}");
        for at in (8..bytes.len() - 8).step_by(bytes.len() / 97) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            std::fs::write(folder.path(bad), &changed).expect("written");
            // In every case, no panic leaves the reader, and errors name the file.
            let read = folder.find(bad).and_then(|file| read(Split::whole(file)));
            if let Err(error) = read {
                assert!(error.to_string().contains(bad), "{error}");
                refused += 1;
            }
        }
        assert!(refused > 0, "{good}");
    }
    std::fs::write(folder.path("text.parquet"), "id,name\n1,Ann\n").expect("written");
    let error = folder.find("text.parquet").expect_err("it is text");
    assert!(error.to_string().contains("first bytes"), "{error}");
    // A text that begins like a file of typed rows is still text.
    std::fs::write(folder.path("par.csv"), "PAR1,b\n1,2\n").expect("written");
    assert!(
        folder
            .find("par.csv")
            .expect("it is text")
            .table()
            .is_none()
    );
}

#[test]
fn files_without_columns_are_told_as_such() {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let folder = Folder::new();
    write_parquet(&folder.path("a.parquet"), &none, 500);
    write_arrow(&folder.path("a.arrow"), &none, 500);
    for name in ["a.parquet", "a.arrow"] {
        let error = folder.find(name).expect_err("there is nothing to load");
        let error = error.to_string();
        assert!(
            error.contains(name) && error.contains("has no columns"),
            "{error}"
        );
    }
}

#[test]
fn joined_files_are_refused() {
    let folder = Folder::new();
    let (rows, _) = many_rows(2_000);
    let none = rows.slice(0, 0);
    for (kind, write) in [
        ("parquet", write_parquet as fn(&Path, &RecordBatch, usize)),
        ("arrow", write_arrow),
    ] {
        // Files of the same size, of different sizes, and without rows.
        let parts = [
            (rows.slice(0, 1_000), rows.slice(0, 1_000)),
            (rows.slice(0, 1_900), rows.slice(1_900, 100)),
            (rows.slice(0, 100), rows.slice(100, 1_900)),
            (rows.clone(), none.clone()),
            (none.clone(), rows.clone()),
        ];
        for (first, second) in parts {
            let name = format!("joined.{kind}");
            let mut joined = Vec::new();
            for part in [&first, &second] {
                write(&folder.path("part"), part, 500);
                joined.extend(std::fs::read(folder.path("part")).expect("it is there"));
            }
            std::fs::write(folder.path(&name), joined).expect("written");
            let error = folder.find(&name).expect_err("it is refused").to_string();
            assert!(error.contains("joined into one"), "{kind}: {error}");
        }
    }
}

#[test]
fn a_file_that_changes_is_told() {
    let (batch, _) = many_rows(100);
    let folder = Folder::new();
    write_parquet(&folder.path("a.parquet"), &batch, 50);
    let file = folder.find("a.parquet").expect("it is there");
    write_parquet(&folder.path("a.parquet"), &batch.slice(0, 90), 50);
    let error = read(Split::whole(file)).expect_err("it was written again");
    assert!(matches!(error, SourceError::Changed { .. }), "{error}");
}

#[test]
fn what_has_no_text_is_told_by_its_field() {
    let list = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(vec![
        Some(vec![Some(1)]),
        None,
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("list", Arc::new(list)),
        ("last", Arc::new(StringArray::from(vec!["a", "b"]))),
    ];
    let folder = Folder::new();
    write_parquet(&folder.path("nested.parquet"), &batch(columns.clone()), 50);
    write_arrow(&folder.path("nested.arrow"), &batch(columns), 50);
    for name in ["nested.parquet", "nested.arrow"] {
        let file = folder.find(name).expect(name);
        let fields = &file.table().expect("it has typed rows").fields;
        let readable: Vec<bool> = fields.iter().map(super::TableField::is_readable).collect();
        assert_eq!(readable, [true, false, true]);
        assert!(matches!(fields[1].data_type, DataType::List(_)));
        let (text, _) = read(Split::whole(file)).expect(name);
        assert_eq!(String::from_utf8_lossy(&text), "1,,a\n2,,b\n");
    }
}
