//! Measures how fast files of each kind are read into chunks of records, by one reader and by a feed.
//!
//! Run with `cargo run --release -p inrush-files --example source_throughput -- FILE...`. A file's name shows its
//! compression; `NAME=FILE` reads it in the encoding of that name.

#![expect(clippy::disallowed_macros, reason = "it prints its own results")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use inrush_files::{
    BufferPool, Feed, FeedSettings, ResolveOptions, SourceFile, Split, TextReader, resolve_as,
};
use inrush_rows::encoding::TextEncoding;
use inrush_scan::{Dialect, Records};

const CHUNK_BYTES: usize = 512 << 10;

fn main() {
    for argument in std::env::args().skip(1) {
        let (encoding, path) = match argument.split_once('=') {
            Some((name, path)) => (Some(TextEncoding::parse(name).expect("a name")), path),
            None => (None, argument.as_str()),
        };
        let options = ResolveOptions {
            encoding,
            ..ResolveOptions::default()
        };
        let files = resolve_as(&[path.to_owned()], &PathBuf::new(), &options).expect("files");
        for file in files {
            let file = Arc::new(file);
            for dialect in [Dialect::tbl(), Dialect::csv()] {
                println!(
                    "{argument} quotes {}: reader {:.0} MB/s, feed {:.0} MB/s",
                    dialect.quote.is_some(),
                    best(|| read(&file, &dialect)),
                    best(|| feed(&file, &dialect))
                );
            }
        }
    }
}

/// The best of three rounds: the first one warms the page cache.
fn best(measure: impl Fn() -> f64) -> f64 {
    (0..3).map(|_| measure()).fold(0.0, f64::max)
}

/// Megabytes of text per second.
fn read(file: &Arc<SourceFile>, dialect: &Dialect) -> f64 {
    let start = Instant::now();
    let split = Split::whole(Arc::clone(file));
    let mut reader =
        TextReader::open(split, dialect, CHUNK_BYTES, BufferPool::default()).expect("opens");
    let mut records = Records::default();
    while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
        reader.recycle(chunk);
    }
    rate(reader.meter().text_bytes, start)
}

fn feed(file: &Arc<SourceFile>, dialect: &Dialect) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let start = Instant::now();
    let settings = FeedSettings {
        range_bytes: 4 << 20,
        chunk_bytes: CHUNK_BYTES,
        streams: 2,
    };
    let feed = Feed::start(file, dialect, settings, &[]).expect("opens");
    let mut records = Records::default();
    while let Some(mut range) = runtime.block_on(feed.next_range()).expect("readable") {
        while let Some(chunk) = range.next_chunk(&mut records).expect("readable") {
            range.recycle(chunk);
        }
    }
    rate(feed.meter().text_bytes, start)
}

fn rate(bytes: u64, start: Instant) -> f64 {
    let seconds = start.elapsed().as_secs_f64();
    bytes as f64 / seconds / 1e6
}
