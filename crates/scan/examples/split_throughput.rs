//! How fast the pass over ranges is beside the scan itself, in GB/s of processor time:
//! `cargo run --release -p inrush-scan --example split_throughput`. The median of a few runs,
//! each long against the clock's ticks. Each run is one range that begins in the middle of a
//! record, read in chunks.

mod lineitem;
mod speed;

use inrush_scan::split::{Method, RangeScanner};
use inrush_scan::{Dialect, Escape, Records, Scanner, ShortText, Terminator};

use lineitem::{CHUNK_BYTES, lineitem};
use speed::{ROUNDS, speed};

fn main() {
    let some = |at: usize, field: &str| match at {
        8 | 9 | 15 => format!("\"{field}\""),
        _ => field.to_owned(),
    };
    let none = |_: usize, field: &str| field.to_owned();
    let all = |_: usize, field: &str| format!("\"{field}\"");
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
