//! Measures two passes of the scanner. One finds the ends of records and fields, for each instruction set; the other
//! reads a range of a file and finds where its records begin.
//!
//! The text is a chunk of lineitem's lines in many dialects.

#[path = "shared/cpu_time.rs"]
mod cpu_time;

use std::hint::black_box;

use criterion::Criterion;
use inrush_kernels::forms::{all_quoted, as_it_is, rewritten, text_quoted};
use inrush_kernels::{CHUNKS, instructions, lineitem};
use inrush_scan::masks::InstructionSet;
use inrush_scan::split::RangeScanner;
use inrush_scan::{Dialect, Escape, Records, Scanner, ShortText, Terminator};

use cpu_time::{CpuTime, criterion, measure, time};

fn main() {
    let mut criterion = criterion();
    let texts = lineitem::texts(1);
    let cases = cases(&texts[0]);
    scan(&mut criterion, &cases);
    split(&mut criterion, &cases);
    criterion.final_summary();
}

fn scan(criterion: &mut Criterion<CpuTime>, cases: &[Case]) {
    let mut group = criterion.benchmark_group("scan");
    for Case {
        name,
        dialect,
        text,
    } in cases
    {
        for kernel in InstructionSet::available() {
            let mut scanner = Scanner::with_instruction_set(dialect, kernel);
            let mut records = Records::default();
            let instructions = instructions::name(&kernel);
            measure(&mut group, name, instructions, text.len(), |iterations| {
                time(iterations, || {
                    let scan = scanner.scan(black_box(text), true, &mut records);
                    black_box(scan.expect("records are short"));
                })
            });
        }
    }
}

/// Measures the reading of a range that begins in the middle of a field. It is read in chunks.
fn split(criterion: &mut Criterion<CpuTime>, cases: &[Case]) {
    let mut group = criterion.benchmark_group("split");
    for Case {
        name,
        dialect,
        text,
    } in cases
    {
        let first = &text[text.len() / 2 + 5..];
        let bytes = first.len() + (CHUNKS - 1) * text.len();
        measure(&mut group, name, "best", bytes, |iterations| {
            time(iterations, || {
                let mut range = RangeScanner::new(dialect);
                range.push(black_box(first));
                for _ in 1..CHUNKS {
                    range.push(black_box(text));
                }
                black_box(range.finish());
            })
        });
    }
}

struct Case {
    name: &'static str,
    dialect: Dialect,
    text: Vec<u8>,
}

fn cases(tbl: &str) -> Vec<Case> {
    type Write = fn(&mut String, usize, &str);
    let case = |name, dialect, delimiter: &str, end: &str, write: Write| Case {
        name,
        dialect,
        text: rewritten(tbl, delimiter, end, write).into_bytes(),
    };
    let undelimited = Dialect {
        trailing_delimiter: false,
        delimiter: ShortText::byte(b','),
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
    let long = Dialect {
        delimiter: ShortText::new(b"||").expect("it is short"),
        ..Dialect::csv()
    };
    let ended = |terminator| Dialect {
        terminator,
        ..Dialect::csv()
    };
    let own = Terminator::Text(ShortText::new(b"~\n").expect("it is short"));
    let null: Write = |written, index, field| match index {
        8 | 9 | 15 => written.push_str("\\N"),
        _ => written.push_str(field),
    };
    vec![
        case("tbl", Dialect::tbl(), "|", "|\n", as_it_is),
        case("tbl crlf", Dialect::tbl(), "|", "|\r\n", as_it_is),
        case("no quotes declared", undelimited, ",", "\n", as_it_is),
        case("csv", Dialect::csv(), ",", "\n", as_it_is),
        case("csv text quoted", Dialect::csv(), ",", "\n", text_quoted),
        case("csv all quoted", Dialect::csv(), ",", "\n", all_quoted),
        case(
            "csv all quoted crlf",
            Dialect::csv(),
            ",",
            "\r\n",
            all_quoted,
        ),
        case("csv comments", comments, ",", "\n", text_quoted),
        case(
            "csv backslashes",
            backslashes.clone(),
            ",",
            "\n",
            text_quoted,
        ),
        case(
            "csv backslashes all quoted",
            backslashes,
            ",",
            "\n",
            all_quoted,
        ),
        case("csv two-byte delimiter", long, "||", "\n", text_quoted),
        case(
            "csv crlf only",
            ended(Terminator::CrLf),
            ",",
            "\r\n",
            text_quoted,
        ),
        case("csv own terminator", ended(own), ",", "~\n", text_quoted),
        case("tsv", Dialect::tsv(), "\t", "\n", as_it_is),
        case("tsv nulls", Dialect::tsv(), "\t", "\n", null),
    ]
}
