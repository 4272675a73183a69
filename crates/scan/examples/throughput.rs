//! How fast the scanner is, in GB/s of processor time per kernel and dialect:
//! `cargo run --release -p inrush-scan --example throughput`. The median of a few runs, each
//! long against the clock's ticks.

use std::fs;

use inrush_scan::masks::Kernel;
use inrush_scan::{Dialect, Escape, Records, Scanner};

const CHUNK_BYTES: usize = 512 << 10;
const ROUNDS: usize = 400;
const REPEATS: usize = 5;

fn main() {
    let quoted = |at: usize| at == 8 || at == 9 || at == 15;
    let quote = |at: usize, field: &str| match quoted(at) {
        true => format!("\"{field}\""),
        false => field.to_owned(),
    };
    let quote_all = |_: usize, field: &str| format!("\"{field}\"");
    let escape = |at: usize, field: &str| match quoted(at) {
        true => "\\N".to_owned(),
        false => field.to_owned(),
    };
    let same = |_: usize, field: &str| field.to_owned();
    let backslashes = Dialect {
        escape: Escape::Byte(b'\\'),
        ..Dialect::csv()
    };
    let cases: [(&str, Dialect, Vec<u8>); 7] = [
        ("tbl, lineitem", Dialect::tbl(), lineitem("|", "|\n", same)),
        (
            "tbl, lineitem, crlf",
            Dialect::tbl(),
            lineitem("|", "|\r\n", same),
        ),
        ("csv, no quotes", Dialect::csv(), lineitem(",", "\n", same)),
        (
            "csv, 3 of 16 quoted",
            Dialect::csv(),
            lineitem(",", "\n", quote),
        ),
        (
            "csv, all quoted, crlf",
            Dialect::csv(),
            lineitem(",", "\r\n", quote_all),
        ),
        (
            "csv, backslash escapes",
            backslashes,
            lineitem(",", "\n", quote),
        ),
        (
            "tsv, 3 of 16 NULL",
            Dialect::tsv(),
            lineitem("\t", "\n", escape),
        ),
    ];
    for (name, dialect, text) in &cases {
        for kernel in Kernel::available() {
            let mut scanner = Scanner::with_kernel(dialect, kernel);
            let mut records = Records::default();
            let mut speeds: Vec<f64> = (0..REPEATS)
                .map(|_| {
                    let start = processor_ns();
                    for _ in 0..ROUNDS {
                        let scan = scanner.scan(text, true, &mut records);
                        scan.expect("records are short");
                    }
                    (text.len() * ROUNDS) as f64 / (processor_ns() - start) as f64
                })
                .collect();
            speeds.sort_by(f64::total_cmp);
            let speed = speeds[REPEATS / 2];
            println!(
                "{name:24} {kernel:?}: {speed:.2} GB/s, {} records",
                records.len()
            );
        }
    }
}

/// Nanoseconds that this process has run, as Linux counts them.
fn processor_ns() -> u64 {
    let counts = fs::read_to_string("/proc/self/schedstat").expect("Linux counts run times");
    let run = counts.split(' ').next().and_then(|run| run.parse().ok());
    run.expect("the first number is the run time")
}

/// A chunk of rows as long and as full of fields as TPC-H's lineitem.
fn lineitem(delimiter: &str, end: &str, write: impl Fn(usize, &str) -> String) -> Vec<u8> {
    const WORDS: [&str; 6] = ["furiously", "even", "deposits", "haggle", "slyly", "ironic"];
    let mut text = String::new();
    let mut number = 1u64;
    while text.len() < CHUNK_BYTES {
        number = number
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let random = number >> 33;
        let comment: Vec<_> = (0..2 + random % 5)
            .map(|at| WORDS[((random >> at) % 6) as usize])
            .collect();
        let fields = [
            (random % 6_000_000).to_string(),
            (random % 200_000).to_string(),
            (random % 10_000).to_string(),
            (random % 7).to_string(),
            (random % 50).to_string(),
            format!("{}.{:02}", random % 90_000, random % 100),
            "0.04".to_owned(),
            "0.02".to_owned(),
            "N".to_owned(),
            "O".to_owned(),
            "1996-03-13".to_owned(),
            "1996-02-12".to_owned(),
            "1996-03-22".to_owned(),
            "DELIVER IN PERSON".to_owned(),
            "TRUCK".to_owned(),
            comment.join(" "),
        ];
        let written: Vec<_> = fields
            .iter()
            .enumerate()
            .map(|(at, f)| write(at, f))
            .collect();
        text += &written.join(delimiter);
        text += end;
    }
    text.into_bytes()
}
