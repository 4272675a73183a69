//! How fast fields become arrays, on one core: lines like those of TPC-H's `lineitem`, in chunks
//! and batches of the default size. Each chunk is scanned right before it is converted, as in
//! a load, so that it lies in the cache; only the conversion is measured, in processor time, so
//! that a busy machine does not count.
//!
//! ```console
//! $ cargo run --release -p inrush --example convert_throughput [chunk KiB] [batch rows] [lineitem|quoted|COLUMN]
//! ```

use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_buffer::Buffer;
use inrush::chunk::{CHUNK_PADDING_BYTES, Chunk};
use inrush::column::{Column, ColumnType};
use inrush::convert::Converter;
use inrush_scan::{Dialect, Records, Scanner};

const REPETITIONS: usize = 9;
const TEXT_BYTES: usize = 32 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| {
        arguments.next().map_or(default, |text| {
            text.parse().expect("a number as the argument")
        })
    };
    let chunk_bytes = number(512) << 10;
    let batch_rows = number(1024);

    let mut lines = Lines::default();
    let texts: Vec<String> = (0..TEXT_BYTES / chunk_bytes)
        .map(|_| lines.text(chunk_bytes))
        .collect();
    let chunks: Vec<Chunk> = texts.iter().map(|text| chunk(text.clone())).collect();
    let quoted: Vec<Chunk> = texts.iter().map(|text| chunk(quoted(text))).collect();
    let tbl = Dialect::tbl();
    let csv = Dialect {
        header: false,
        ..Dialect::csv()
    };

    let all = columns();
    println!(
        "chunks of {} KiB, batches of {batch_rows} rows",
        chunk_bytes >> 10
    );
    let wanted = arguments.next();
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if is_wanted("lineitem") {
        measure("lineitem", &all, &tbl, &chunks, batch_rows);
    }
    if is_wanted("quoted") {
        measure("quoted", &all, &csv, &quoted, batch_rows);
    }
    for column in &all {
        if is_wanted(&column.name) {
            let single = std::slice::from_ref(column);
            measure(&column.name, single, &tbl, &chunks, batch_rows);
        }
    }
}

/// Prints the median and the best of the repetitions. The text counts whole, for single columns too.
fn measure(name: &str, columns: &[Column], dialect: &Dialect, chunks: &[Chunk], batch_rows: usize) {
    let mut converter =
        Converter::new(columns, dialect, 16).expect("columns that can be converted");
    let bytes: usize = chunks.iter().map(|chunk| chunk.bytes_count).sum();
    let mut rows = 0;
    let mut rejects = Vec::new();
    let mut scanner = Scanner::new(dialect);
    let mut records = Records::default();
    let mut seconds: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let mut seconds = 0.0;
            rows = 0;
            for chunk in chunks {
                scanner
                    .scan(chunk.text(), true, &mut records)
                    .expect("a text without faults");
                rows += records.len();
                let start = processor_seconds();
                let mut first = 0;
                while first < records.len() {
                    let end = (first + batch_rows).min(records.len());
                    black_box(converter.convert(chunk, &records, first..end, &mut rejects));
                    first = end;
                }
                seconds += processor_seconds() - start;
            }
            seconds
        })
        .collect();
    assert!(rejects.is_empty(), "{:?}", rejects[0]);
    seconds.sort_by(f64::total_cmp);
    let (best, median) = (seconds[0], seconds[REPETITIONS / 2]);
    println!(
        "{name:>16}  {:5.2} GB/s  {:6.2} ns/row   best {:5.2} GB/s  {:6.2} ns/row",
        bytes as f64 / median / 1e9,
        median / rows as f64 * 1e9,
        bytes as f64 / best / 1e9,
        best / rows as f64 * 1e9
    );
}

/// The same lines with quotes around every field and commas between them.
fn quoted(text: &str) -> String {
    text.lines()
        .map(|line| {
            let fields = line.trim_end_matches('|').split('|');
            let quoted: Vec<String> = fields.map(|field| format!("\"{field}\"")).collect();
            quoted.join(",") + "\n"
        })
        .collect()
}

/// Processor time of this thread.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to the place that it is given and nowhere else.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "Linux has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn chunk(text: String) -> Chunk {
    let mut bytes = text.into_bytes();
    let bytes_count = bytes.len();
    bytes.resize(bytes_count + CHUNK_PADDING_BYTES, 0);
    Chunk {
        bytes: Buffer::from_vec(bytes),
        bytes_count,
        file: Arc::new(PathBuf::from("lineitem.tbl")),
        byte_offset: 0,
        line_offset: 0,
        invalid_utf8: Vec::new(),
        places: None,
    }
}

fn columns() -> Vec<Column> {
    let money = ColumnType::Decimal {
        precision: 15,
        scale: 2,
    };
    let text = |characters, blank_padded| ColumnType::Text {
        characters_max: Some(characters),
        blank_padded,
    };
    let types = [
        ("l_orderkey", ColumnType::Int64),
        ("l_partkey", ColumnType::Int32),
        ("l_suppkey", ColumnType::Int32),
        ("l_linenumber", ColumnType::Int32),
        ("l_quantity", money.clone()),
        ("l_extendedprice", money.clone()),
        ("l_discount", money.clone()),
        ("l_tax", money),
        ("l_returnflag", text(1, true)),
        ("l_linestatus", text(1, true)),
        ("l_shipdate", ColumnType::Date),
        ("l_commitdate", ColumnType::Date),
        ("l_receiptdate", ColumnType::Date),
        ("l_shipinstruct", text(25, true)),
        ("l_shipmode", text(10, true)),
        ("l_comment", text(44, false)),
    ];
    types
        .into_iter()
        .enumerate()
        .map(|(field_index, (name, column_type))| Column {
            nullable: false,
            ..Column::new(name, column_type, field_index)
        })
        .collect()
}

/// Writes lines with the shapes and widths of lineitem's.
#[derive(Default)]
struct Lines {
    state: u64,
    order: u64,
}

impl Lines {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        // Knuth's MMIX generator; its high bits are the good ones.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % end
    }

    fn text(&mut self, bytes: usize) -> String {
        const INSTRUCTIONS: [&str; 4] = [
            "DELIVER IN PERSON",
            "COLLECT COD",
            "NONE",
            "TAKE BACK RETURN",
        ];
        const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
        const WORDS: &str = "egular courts above the carefully final packages sleep furiously \
                             among the quickly ironic deposits about the blithely express ideas";
        let mut text = String::with_capacity(bytes + 200);
        while text.len() < bytes {
            self.order += 1;
            for line in 1..=self.below(7) + 1 {
                let quantity = self.below(50) + 1;
                let price = self.below(10_000_000) + 90_000;
                let (comment_start, comment_bytes) =
                    (self.below(80) as usize, self.below(34) as usize + 10);
                write!(
                    text,
                    "{}|{}|{}|{line}|{quantity}|{}.{:02}|0.{:02}|0.{:02}|{}|{}|",
                    self.order * 4,
                    self.below(200_000) + 1,
                    self.below(10_000) + 1,
                    price / 100,
                    price % 100,
                    self.below(11),
                    self.below(9),
                    ["R", "A", "N"][self.below(3) as usize],
                    ["O", "F"][self.below(2) as usize],
                )
                .expect("a string takes everything");
                for _ in 0..3 {
                    let (year, month, day) =
                        (1992 + self.below(7), self.below(12) + 1, self.below(28) + 1);
                    write!(text, "{year}-{month:02}-{day:02}|").expect("a string takes everything");
                }
                writeln!(
                    text,
                    "{}|{}|{}|",
                    INSTRUCTIONS[self.below(4) as usize],
                    MODES[self.below(7) as usize],
                    &WORDS[comment_start..comment_start + comment_bytes]
                )
                .expect("a string takes everything");
            }
        }
        text
    }
}
