//! Tests that a stop ends reading at any moment: between two chunks, in a record without an end, and in a decompressor
//! that returns no text.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use inrush_rows::cancel::{Stop, StopReason};
use inrush_scan::{Dialect, Records};
use inrush_source::SourceError;
use tempfile::tempdir;

use crate::stored::{Purpose, StoredFile};
use crate::{
    BufferPool, Feed, FeedSettings, Pipes, ResolveOptions, SourceFile, Split, TextReader,
    resolve_as,
};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
}

fn resolved(folder: &Path, name: &str, stop: &Stop) -> Arc<SourceFile> {
    let options = ResolveOptions {
        pipes: Pipes::new(stop.clone()),
        ..ResolveOptions::default()
    };
    let mut files = resolve_as(&[name.to_owned()], folder, &options).expect("it is there");
    Arc::new(files.remove(0))
}

fn is_stopped<T>(result: Result<T, SourceError>) -> bool {
    matches!(result, Err(SourceError::Stopped { .. }))
}

#[test]
fn a_reader_stops() {
    let folder = tempdir().expect("a folder");
    let text = [b"1|\n".repeat(100_000), b"x".repeat(1 << 20)].concat();
    let contents = [
        ("plain.tbl", text.clone()),
        ("text.tbl.gz", gzip(&text)),
        (
            "text.tbl.zst",
            zstd::encode_all(&text[..], 1).expect("compressed"),
        ),
    ];
    for (name, bytes) in contents {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        let stop = Stop::default();
        let file = resolved(folder.path(), name, &stop);
        let open = || {
            let split = Split::whole(Arc::clone(&file));
            TextReader::open(split, &Dialect::tbl(), 1 << 16, BufferPool::default())
        };
        let mut reader = open().expect("opened");
        let mut records = Records::default();
        assert!(matches!(reader.next_chunk(&mut records), Ok(Some(_))));
        stop.ask(StopReason::Interrupted);
        assert!(is_stopped(reader.next_chunk(&mut records)), "{name}");
        assert!(is_stopped(open()), "{name}");
        let settings = FeedSettings {
            range_bytes: 1 << 20,
            chunk_bytes: 1 << 16,
            streams: 2,
        };
        let feed = Feed::start(&file, &Dialect::tbl(), settings, &[]);
        assert!(is_stopped(feed), "{name}");
    }
}

/// Empty members follow each other within one read of the decompressor: it must not go through all of them.
#[test]
fn a_decompressor_that_gives_no_text_stops() {
    let folder = tempdir().expect("a folder");
    let name = "empty.tbl.gz";
    std::fs::write(folder.path().join(name), gzip(b"").repeat(10_000)).expect("written");
    let stop = Stop::default();
    let file = resolved(folder.path(), name, &stop);
    let mut stored = StoredFile::open(&file, Purpose::Load, 0).expect("opened");
    let mut bytes = [0; 1000];
    stored.read_exact(&mut bytes).expect("read");
    stop.ask(StopReason::Failed);
    assert!(stored.read(&mut bytes).is_err());
    assert!(stored.is_stopped());
    assert_eq!(stored.bytes_read, 1000);
}
