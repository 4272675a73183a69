//! How fast the scanner is, in GB/s of processor time per kernel and dialect:
//! `cargo run --release -p inrush-scan --example throughput`. The median of a few runs, each
//! long against the clock's ticks.

mod lineitem;
mod speed;

use inrush_scan::masks::Kernel;
use inrush_scan::{Dialect, Escape, Records, Scanner};

use lineitem::lineitem;
use speed::{ROUNDS, speed};

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
            let speed = speed(text, || {
                for _ in 0..ROUNDS {
                    let scan = scanner.scan(text, true, &mut records);
                    scan.expect("records are short");
                }
            });
            println!(
                "{name:24} {kernel:?}: {speed:.2} GB/s, {} records",
                records.len()
            );
        }
    }
}
