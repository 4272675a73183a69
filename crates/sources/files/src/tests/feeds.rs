//! Tests of feeds: the streams together get what one reader reads.

use std::io::Write;
use std::ops::Range;

use proptest::prelude::*;
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::tempdir;
use tokio::runtime::{Builder, Runtime};

use super::super::{Feed, FeedRange, FeedSettings};
use super::*;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

fn settings(range_bytes: usize, chunk_bytes: usize) -> FeedSettings {
    FeedSettings {
        range_bytes,
        chunk_bytes,
        streams: 2,
    }
}

/// All ranges that are not finished, each with its records.
fn ranges(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    settings: FeedSettings,
    finished: &[Range<u64>],
) -> Result<Vec<(Range<u64>, Read)>, SourceError> {
    let feed = Feed::start(file, dialect, settings, finished)?;
    let mut found = Vec::new();
    while let Some(mut range) = runtime().block_on(feed.next_range())? {
        let read = read_range(&mut range)?;
        found.push((range.text_range.clone(), read));
    }
    for _ in 0..2 {
        let end = runtime().block_on(feed.next_range())?;
        assert!(end.is_none(), "the end stays the end");
    }
    let meter = feed.meter();
    if finished.is_empty() {
        let end = found.last().map_or(0, |(range, _)| range.end);
        assert_eq!(meter.text_bytes, end);
        assert_eq!(meter.stored_bytes, file.size_bytes);
    }
    if let Some((_, first)) = found.first_mut() {
        first.header = feed.header().map(<[String]>::to_vec);
    }
    Ok(found)
}

fn read_range(range: &mut FeedRange) -> Result<Read, SourceError> {
    let mut read = Read::default();
    let mut records = Records::default();
    while let Some(chunk) = range.next_chunk(&mut records)? {
        assert!(chunk.byte_offset >= range.text_range.start);
        assert!(chunk.line_offset + 1 >= range.first_line);
        add_chunk(&mut read, &chunk, &records);
        range.recycle(chunk);
    }
    let meter = range.meter();
    assert_eq!(meter.record_count, read.records.len() as u64);
    assert_eq!(meter.buffer_lost_count, 0);
    assert_eq!(
        meter.text_bytes,
        range.text_range.end - range.text_range.start
    );
    read.skipped_line_count = meter.skipped_line_count;
    Ok(read)
}

fn together(ranges: Vec<(Range<u64>, Read)>) -> Read {
    let mut whole = Read::default();
    let mut next = 0;
    for (range, read) in ranges {
        assert_eq!(range.start, next, "ranges follow each other");
        next = range.end;
        whole.header = whole.header.or(read.header);
        whole.records.extend(read.records);
        whole.skipped_line_count += read.skipped_line_count;
    }
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_feed_has_what_a_reader_has(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "|", ",", "\n", "\r\n", "\"", "\"\"", "\\", "é", "\u{feff}", "\"x\ny\"",
            "long text, of words\n", ".", "\\.\n", "\n\\.\n", "\n\\.\r\n",
        ]), 0..80),
        which in 0usize..5,
        header in any::<bool>(),
        wide in any::<bool>(),
        range_bytes in 1usize..80,
        chunk_bytes in 1usize..50,
        other_chunk_bytes in 1usize..50,
    ) {
        let backslashes = Dialect {
            escape: inrush_scan::Escape::Byte(b'\\'),
            ..Dialect::csv()
        };
        let plain = Dialect { quote: None, escape: inrush_scan::Escape::None, ..Dialect::csv() };
        let dialects = [Dialect::tbl(), Dialect::csv(), Dialect::tsv(), backslashes, plain];
        let dialect = Dialect { header, ..dialects[which].clone() };
        let folder = tempdir().expect("a folder");
        let text = pieces.concat();
        let file = if wide {
            let wide: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect();
            write(folder.path(), "file", wide)
        } else {
            write(folder.path(), "file", text)
        };
        let whole = read(&file, &dialect, 1 << 20).map_err(|error| error.to_string());
        let fed = ranges(&file, &dialect, settings(range_bytes, chunk_bytes), &[])
            .map_err(|error| error.to_string());
        match (whole, fed) {
            (Ok(whole), Ok(fed)) => {
                let cuts: Vec<_> = fed.iter().map(|(range, _)| range.clone()).collect();
                prop_assert_eq!(together(fed), whole);
                // The cuts do not depend on the chunks.
                let other = ranges(&file, &dialect, settings(range_bytes, other_chunk_bytes), &[]);
                let other: Vec<_> = other.expect("readable").into_iter().map(|(r, _)| r).collect();
                prop_assert_eq!(other, cuts);
            }
            (whole, fed) => prop_assert_eq!(whole.map(drop), fed.map(drop)),
        }
    }
}

/// COPY's end-of-data marker is the end if the file ends with it, and a reject otherwise, wherever chunks and ranges
/// end.
#[test]
fn an_end_marker_is_the_end_of_the_file_only() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect::tsv();
    for (text, marked, skipped) in [
        ("1\ta\n\\.\n2\tb\n3\tc\n", 1, 0),
        ("1\ta\n\\.\n2\tb\n\\.\n", 1, 1),
        ("\\.\n\\.\n\\.\n\\.", 3, 1),
        ("1\ta\n\\.\n\n\n", 1, 2),
    ] {
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let wide: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_be_bytes)
                .collect();
            for file in [
                write(folder.path(), "file.tsv", &text),
                write(folder.path(), "wide.tsv", wide),
            ] {
                let whole = read(&file, &dialect, 1 << 20).expect("readable");
                let faults = |read: &Read| {
                    let marked = |record: &&ReadRecord| {
                        matches!(record.fault, Some((FaultKind::EndMarker, _)))
                    };
                    read.records.iter().filter(marked).count()
                };
                assert_eq!(faults(&whole), marked, "{text:?}");
                assert_eq!(whole.skipped_line_count, skipped, "{text:?}");
                for range_bytes in 1..=text.len() + 1 {
                    for chunk_bytes in 1..=range_bytes {
                        let settings = settings(range_bytes, chunk_bytes);
                        let fed = ranges(&file, &dialect, settings, &[]).expect("readable");
                        assert_eq!(together(fed), whole, "{text:?} {settings:?}");
                    }
                }
            }
        }
    }
}

fn gzip_file(folder: &Path, rows: usize) -> Arc<SourceFile> {
    let text: String = (0..rows)
        .map(|row| format!("{row}|name {row}|\n"))
        .collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    write(folder, "file.tbl.gz", encoder.finish().expect("memory"))
}

#[test]
fn finished_ranges_are_passed_over() {
    let folder = tempdir().expect("a folder");
    let file = gzip_file(folder.path(), 5000);
    let all = ranges(&file, &Dialect::tbl(), settings(10_000, 1000), &[]).expect("readable");
    assert!(all.len() > 5);
    let is_finished = |index: &usize| index % 3 != 1;
    let finished: Vec<_> = (0..all.len())
        .rev()
        .filter(is_finished)
        .map(|index| all[index].0.clone())
        .collect();
    let left = ranges(&file, &Dialect::tbl(), settings(10_000, 700), &finished).expect("readable");
    let expected: Vec<_> = all
        .into_iter()
        .enumerate()
        .filter(|(index, _)| !is_finished(index))
        .map(|(_, range)| range)
        .collect();
    assert_eq!(left, expected);
    // Cuts that differ from the cuts of the previous run are refused.
    let error = ranges(&file, &Dialect::tbl(), settings(9_000, 1000), &finished);
    assert!(matches!(error, Err(SourceError::RangesDiffer { .. })));
    let beyond = 1_000_000..1_000_001;
    let beyond = std::slice::from_ref(&beyond);
    let error = ranges(&file, &Dialect::tbl(), settings(9_000, 1000), beyond);
    assert!(matches!(error, Err(SourceError::RangesDiffer { .. })));
}

#[test]
fn memory_is_bounded_by_the_ranges() {
    let folder = tempdir().expect("a folder");
    let file = gzip_file(folder.path(), 50_000);
    let feed = Feed::start(&file, &Dialect::tbl(), settings(8192, 1024), &[]).expect("opens");
    let runtime = runtime();
    let mut addresses = std::collections::BTreeSet::new();
    let mut records = Records::default();
    while let Some(mut range) = runtime.block_on(feed.next_range()).expect("readable") {
        while let Some(chunk) = range.next_chunk(&mut records).expect("readable") {
            addresses.insert(chunk.text().as_ptr() as usize);
            range.recycle(chunk);
        }
    }
    assert!(addresses.len() <= 3 * 10, "{} buffers", addresses.len());
}

#[test]
fn several_streams_share_the_ranges() {
    let folder = tempdir().expect("a folder");
    let file = gzip_file(folder.path(), 20_000);
    let expected = read(&file, &Dialect::tbl(), 1 << 20).expect("readable");
    for _ in 0..20 {
        let feed = Feed::start(&file, &Dialect::tbl(), settings(5000, 1000), &[]).expect("opens");
        let mut all: Vec<(Range<u64>, Read)> = std::thread::scope(|scope| {
            let stream = || {
                let runtime = runtime();
                let mut own = Vec::new();
                while let Some(mut range) = runtime.block_on(feed.next_range()).expect("readable") {
                    let read = read_range(&mut range).expect("readable");
                    own.push((range.text_range.clone(), read));
                }
                own
            };
            let streams: Vec<_> = (0..4).map(|_| scope.spawn(stream)).collect();
            let own = streams
                .into_iter()
                .map(|stream| stream.join().expect("it ends"));
            own.flatten().collect()
        });
        all.sort_by_key(|(range, _)| range.start);
        assert_eq!(together(all), expected);
    }
}

#[test]
fn an_error_reaches_all_streams() {
    let folder = tempdir().expect("a folder");
    let whole = gzip_file(folder.path(), 5000);
    let bytes = fs::read(&whole.path).expect("readable");
    let file = write(folder.path(), "cut.tbl.gz", &bytes[..bytes.len() / 2]);
    let feed = Feed::start(&file, &Dialect::tbl(), settings(1000, 500), &[]).expect("opens");
    let runtime = runtime();
    let error = loop {
        match runtime.block_on(feed.next_range()) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the end of half a file"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SourceError::Truncated { .. }), "{error}");
    for _ in 0..2 {
        let error = runtime.block_on(feed.next_range()).map(drop);
        assert!(matches!(error, Err(SourceError::FeedFailed { .. })));
    }
}

#[test]
fn a_feed_that_is_dropped_leaves_no_thread() {
    let folder = tempdir().expect("a folder");
    let file = gzip_file(folder.path(), 50_000);
    let feed = Feed::start(&file, &Dialect::tbl(), settings(1000, 500), &[]).expect("opens");
    let first = runtime().block_on(feed.next_range()).expect("readable");
    // Waits for the thread: the test would hang if the thread did not end.
    drop(feed);
    assert!(first.is_some());
}

#[test]
fn a_feed_of_a_silent_pipe_can_be_dropped() {
    let folder = tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
    let name = path.to_string_lossy().into_owned();
    let file = Arc::new(
        super::super::resolve(&[name], Path::new(""))
            .expect("there")
            .remove(0),
    );
    let writer = fs::OpenOptions::new().write(true).open(&path);
    let mut writer = writer.expect("it is open for reading");
    writer
        .write_all(b"id|\n1|some text|\n")
        .expect("there is room");
    let dialect = Dialect {
        header: true,
        ..Dialect::tbl()
    };
    let feed = Feed::start(&file, &dialect, settings(16, 16), &[]);
    drop(feed.expect("the header is there"));
    drop(writer);
}

#[test]
fn a_feed_that_is_read_keeps_no_memory() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file.tbl", "1|some text|\n".repeat(1000));
    let feed = Feed::start(&file, &Dialect::tbl(), settings(1000, 100), &[]).expect("begins");
    let mut last = None;
    let mut most = 0;
    while let Some(range) = runtime().block_on(feed.next_range()).expect("readable") {
        if let Some(mut before) = last.take() {
            read_range(&mut before).expect("readable");
        }
        most = most.max(feed.spare_bytes());
        last = Some(range);
    }
    assert!(most > 0, "buffers go around");
    // A stream still had the last range when the end was seen.
    read_range(&mut last.expect("there are ranges")).expect("readable");
    assert_eq!(feed.spare_bytes(), 0);
}
