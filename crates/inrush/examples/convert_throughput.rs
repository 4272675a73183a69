//! How fast fields become arrays, on one core: lines like those of TPC-H's `lineitem`, in chunks
//! and batches of the default size. Each chunk is scanned right before it is converted, as in
//! a load, so that it lies in the cache; the conversion is measured alone, and together with the
//! scan, in processor time, so that a busy machine does not count. All is done with each kind of
//! instructions that the machine has (the scan always with the best ones).
//!
//! - `lineitem`: no column may be NULL
//! - `nullable`: all may, and none is
//! - `nulls`: all may, and one field of ten is
//! - `text quoted`: commas, and quotes around the fields of text
//! - `quoted`: commas, and quotes around all fields
//! - `timestamp`, `timestamptz`: a day and the time of day, alone, the latter in UTC
//! - the name of a column: it alone
//!
//! ```console
//! $ cargo run --release -p inrush --example convert_throughput [chunk KiB] [batch rows] [NAME]
//! ```

use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_buffer::Buffer;
use inrush::chunk::{CHUNK_PADDING_BYTES, Chunk};
use inrush::column::{Column, ColumnType};
use inrush::convert::{Converter, Instructions};
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
    let chunks_of = |form: &mut dyn FnMut(&str) -> String| -> Vec<Chunk> {
        texts.iter().map(|text| chunk(form(text))).collect()
    };
    let plain = chunks_of(&mut str::to_owned);
    let nulls = chunks_of(&mut |text| lines.with_nulls(text));
    let text_quoted = chunks_of(&mut |text| quoted(text, |field| TEXT_FIELDS.contains(&field)));
    let all_quoted = chunks_of(&mut |text| quoted(text, |_| true));
    let times = chunks_of(&mut |text| with_times(text, ""));
    let times_utc = chunks_of(&mut |text| with_times(text, "Z"));
    let tbl = Dialect::tbl();
    let csv = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let columns = columns();
    let nullable: Vec<Column> = columns
        .iter()
        .map(|column| Column {
            nullable: true,
            ..column.clone()
        })
        .collect();
    let mut cases = vec![
        Case::new("lineitem", &columns, &tbl, &plain),
        Case::new("nullable", &nullable, &tbl, &plain),
        Case::new("nulls", &nullable, &tbl, &nulls),
        Case::new("text quoted", &columns, &csv, &text_quoted),
        Case::new("quoted", &columns, &csv, &all_quoted),
    ];
    let timestamp = [Column::new(
        "l_shipped",
        ColumnType::Timestamp { fraction_digits: 6 },
        SHIP_DATE_FIELD,
    )];
    let timestamptz = [Column::new(
        "l_shipped",
        ColumnType::TimestampTz { fraction_digits: 6 },
        SHIP_DATE_FIELD,
    )];
    cases.push(Case::new("timestamp", &timestamp, &tbl, &times));
    cases.push(Case::new("timestamptz", &timestamptz, &tbl, &times_utc));
    for column in columns.chunks(1) {
        cases.push(Case::new(&column[0].name, column, &tbl, &plain));
    }
    if let Some(wanted) = arguments.next() {
        cases.retain(|case| case.name == wanted);
    }

    println!(
        "chunks of {} KiB, batches of {batch_rows} rows, medians of {REPETITIONS}",
        chunk_bytes >> 10
    );
    for instructions in Instructions::available() {
        println!("{instructions:?}");
        println!("                       convert                     scan and convert");
        for case in &cases {
            measure(case, batch_rows, instructions);
        }
    }
}

/// What is measured.
struct Case<'a> {
    name: &'a str,
    columns: &'a [Column],
    dialect: &'a Dialect,
    chunks: &'a [Chunk],
}

impl<'a> Case<'a> {
    fn new(
        name: &'a str,
        columns: &'a [Column],
        dialect: &'a Dialect,
        chunks: &'a [Chunk],
    ) -> Case<'a> {
        Case {
            name,
            columns,
            dialect,
            chunks,
        }
    }
}

/// Prints medians of the repetitions. The text counts whole, for single columns too.
fn measure(case: &Case<'_>, batch_rows: usize, instructions: Instructions) {
    let mut converter = Converter::new(case.columns, case.dialect, 16)
        .expect("columns that can be converted")
        .with_instructions(instructions);
    let bytes: usize = case.chunks.iter().map(|chunk| chunk.bytes_count).sum();
    let mut rows = 0;
    let mut rejects = Vec::new();
    let mut scanner = Scanner::new(case.dialect);
    let mut records = Records::default();
    let (mut converting, mut both) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        let mut seconds = [0.0; 2];
        rows = 0;
        for chunk in case.chunks {
            let start = processor_seconds();
            scanner
                .scan(chunk.text(), true, &mut records)
                .expect("a text without faults");
            let scanned = processor_seconds();
            rows += records.len();
            let mut first = 0;
            while first < records.len() {
                let end = (first + batch_rows).min(records.len());
                black_box(converter.convert(chunk, &records, first..end, &mut rejects));
                first = end;
            }
            let end = processor_seconds();
            seconds[0] += end - scanned;
            seconds[1] += end - start;
        }
        converting.push(seconds[0]);
        both.push(seconds[1]);
    }
    assert!(rejects.is_empty(), "{:?}", rejects[0]);
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[REPETITIONS / 2]
    };
    let (converting, both) = (median(converting), median(both));
    println!(
        "{:>16}  {:5.2} GB/s  {:6.2} ns/row      {:5.2} GB/s  {:6.2} ns/row",
        case.name,
        bytes as f64 / converting / 1e9,
        converting / rows as f64 * 1e9,
        bytes as f64 / both / 1e9,
        both / rows as f64 * 1e9,
    );
}

/// The fields that have quotes around them where only text has.
const TEXT_FIELDS: [usize; 5] = [8, 9, 13, 14, 15];

/// The same lines with quotes around fields and commas between them.
fn quoted(text: &str, is_quoted: impl Fn(usize) -> bool) -> String {
    text.lines()
        .map(|line| {
            let fields = line.trim_end_matches('|').split('|').enumerate();
            let fields: Vec<String> = fields
                .map(|(index, field)| match is_quoted(index) {
                    true => format!("\"{field}\""),
                    false => field.to_owned(),
                })
                .collect();
            fields.join(",") + "\n"
        })
        .collect()
}

/// The field of the day of shipping.
const SHIP_DATE_FIELD: usize = 10;

/// The same lines with a time of day, and what stands behind it, at the day of shipping.
fn with_times(text: &str, zone: &str) -> String {
    let mut minutes = 0;
    text.lines()
        .map(|line| {
            let fields = line.trim_end_matches('|').split('|').enumerate();
            let fields: Vec<String> = fields
                .map(|(index, field)| match index {
                    SHIP_DATE_FIELD => {
                        minutes = (minutes + 7) % 1_440;
                        format!("{field} {:02}:{:02}:15{zone}", minutes / 60, minutes % 60)
                    }
                    _ => field.to_owned(),
                })
                .collect();
            fields.join("|") + "|\n"
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
        typed: None,
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

    /// A text with every tenth field empty, by chance.
    fn with_nulls(&mut self, text: &str) -> String {
        let mut sparse = String::with_capacity(text.len());
        for line in text.lines() {
            for field in line.trim_end_matches('|').split('|') {
                if self.below(10) > 0 {
                    sparse.push_str(field);
                }
                sparse.push('|');
            }
            sparse.push('\n');
        }
        sparse
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
