//! How fast the pass over ranges is beside the scan itself, in GB/s of processor time:
//! `cargo run --release -p inrush-scan --example split_throughput`. The median of a few runs,
//! each long against the clock's ticks. Each run is one range that begins in the middle of a
//! record, read in chunks.

use std::fs;

use inrush_scan::split::{Method, RangeScanner};
use inrush_scan::{Dialect, Escape, Records, Scanner, ShortText, Terminator};

const CHUNK_BYTES: usize = 512 << 10;
const ROUNDS: usize = 400;
const REPEATS: usize = 5;

fn main() {
    let some = |at: usize| at == 8 || at == 9 || at == 15;
    let none = |_: usize| false;
    let all = |_: usize| true;
    let plain = Dialect {
        trailing_delimiter: false,
        ..Dialect::tbl()
    };
    let backslashes = Dialect {
        escape: Escape::Byte(b'\\'),
        ..Dialect::csv()
    };
    let comments = Dialect {
        comment: Some(b'#'),
        ..Dialect::csv()
    };
    let long = |text: &[u8]| Dialect {
        delimiter: ShortText::new(text).expect("it is short"),
        ..Dialect::csv()
    };
    let ended = |terminator| Dialect {
        terminator,
        ..Dialect::csv()
    };
    let own = ended(Terminator::Text(
        ShortText::new(b"~\n").expect("it is short"),
    ));
    let cases: [(&str, Dialect, Vec<u8>); 12] = [
        ("no quotes declared", plain, lineitem(",", "\n", none)),
        ("csv, no quotes", Dialect::csv(), lineitem(",", "\n", none)),
        (
            "csv, 3 of 16 quoted",
            Dialect::csv(),
            lineitem(",", "\n", some),
        ),
        ("csv, all quoted", Dialect::csv(), lineitem(",", "\n", all)),
        (
            "csv, all quoted, crlf",
            Dialect::csv(),
            lineitem(",", "\r\n", all),
        ),
        (
            "csv, comments, 3 quoted",
            comments,
            lineitem(",", "\n", some),
        ),
        (
            "backslashes, 3 quoted",
            backslashes.clone(),
            lineitem(",", "\n", some),
        ),
        (
            "backslashes, all quoted",
            backslashes,
            lineitem(",", "\n", all),
        ),
        ("tsv", Dialect::tsv(), lineitem("\t", "\n", none)),
        (
            "csv with ||, 3 quoted",
            long(b"||"),
            lineitem("||", "\n", some),
        ),
        (
            "csv, crlf only, 3 quoted",
            ended(Terminator::CrLf),
            lineitem(",", "\r\n", some),
        ),
        ("csv, own terminator", own, lineitem(",", "~\n", some)),
    ];
    for (name, dialect, text) in &cases {
        let method = Method::of(dialect);
        let pass = speed(text, || {
            let mut range = RangeScanner::new(dialect);
            for chunk in 0..ROUNDS {
                // The first chunk begins in the middle of a field.
                range.push(if chunk == 0 {
                    &text[CHUNK_BYTES / 2 + 5..]
                } else {
                    text
                });
            }
            range.finish();
        });
        let mut scanner = Scanner::new(dialect);
        let mut records = Records::default();
        let scan = speed(text, || {
            for _ in 0..ROUNDS {
                let scan = scanner.scan(text, true, &mut records);
                scan.expect("records are short");
            }
        });
        println!("{name:26} pass {pass:.2} GB/s, scan {scan:.2} GB/s, {method:?}");
    }
}

fn speed(text: &[u8], mut round: impl FnMut()) -> f64 {
    let mut speeds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = processor_ns();
            round();
            (text.len() * ROUNDS) as f64 / (processor_ns() - start) as f64
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[REPEATS / 2]
}

/// Nanoseconds that this process has run, as Linux counts them.
fn processor_ns() -> u64 {
    let counts = fs::read_to_string("/proc/self/schedstat").expect("Linux counts run times");
    let run = counts.split(' ').next().and_then(|run| run.parse().ok());
    run.expect("the first number is the run time")
}

/// A chunk of rows as long and as full of fields as TPC-H's lineitem.
fn lineitem(delimiter: &str, end: &str, is_quoted: impl Fn(usize) -> bool) -> Vec<u8> {
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
            .map(|(at, field)| match is_quoted(at) {
                true => format!("\"{field}\""),
                false => field.clone(),
            })
            .collect();
        text += &written.join(delimiter);
        text += end;
    }
    text.into_bytes()
}
