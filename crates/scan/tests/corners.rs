//! The corners of the grammar, one line each: text in, fields out. Each is asked of the fast
//! scanner and of the slow one, so that a wrong rule cannot hide in their agreement.

use inrush_scan::reference::scan_reference;
use inrush_scan::{Dialect, Escape, FaultKind, Records, ScanError, Scanner};

/// Fields of each record, joined with `·`; faults as `!Kind@position` behind their record.
fn shown(text: &[u8], records: &Records) -> Vec<String> {
    let mut lines = Vec::new();
    for index in 0..records.len() {
        let fields: Vec<_> = (0..records.field_count(index))
            .map(|field| text[records.field(index, field)].escape_ascii().to_string())
            .collect();
        let mut line = fields.join("·");
        for fault in &records.faults {
            if fault.record_index as usize == index {
                line += &format!("!{:?}@{}", fault.kind, fault.position);
            }
        }
        lines.push(line);
    }
    lines
}

fn scan_all(dialect: &Dialect, text: &[u8], at_end: bool) -> (Records, usize) {
    let mut fast = Records::default();
    let scan = Scanner::new(dialect)
        .scan(text, at_end, &mut fast)
        .expect("short records");
    let mut slow = Records::default();
    let reference = scan_reference(dialect, text, at_end, &mut slow).expect("short records");
    assert_eq!(fast, slow);
    assert_eq!(scan, reference);
    (fast, scan.bytes_consumed)
}

fn tbl() -> Dialect {
    Dialect::tbl()
}

fn csv() -> Dialect {
    Dialect::csv()
}

fn tsv() -> Dialect {
    Dialect::tsv()
}

fn plain() -> Dialect {
    Dialect {
        trailing_delimiter: false,
        ..Dialect::tbl()
    }
}

fn backslash_csv() -> Dialect {
    Dialect {
        escape: Escape::Byte(b'\\'),
        ..Dialect::csv()
    }
}

fn unescaped_csv() -> Dialect {
    Dialect {
        escape: Escape::None,
        ..Dialect::csv()
    }
}

fn trailing_csv() -> Dialect {
    Dialect {
        trailing_delimiter: true,
        ..Dialect::csv()
    }
}

macro_rules! finds {
    ($($name:ident, $dialect:ident, $text:expr, [$($record:expr),*];)*) => {$(
        #[test]
        fn $name() {
            let text: &[u8] = $text;
            let (records, consumed) = scan_all(&$dialect(), text, true);
            let expected: Vec<String> = vec![$($record.to_string()),*];
            assert_eq!(shown(text, &records), expected);
            assert_eq!(consumed, text.len());
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(records.line_count as usize, lines);
        }
    )*};
}

finds! {
    nothing, csv, b"", [];
    one_field, csv, b"a\n", ["a"];
    missing_last_newline, csv, b"a,b\nc,d", ["a·b", "c·d"];
    empty_fields, csv, b",,\n", ["··"];
    blank_lines, csv, b"\n\r\na\n\n\nb\n\n", ["a", "b"];
    blank_line_of_blanks_is_a_record, csv, b" \n", [" "];
    crlf, csv, b"a,b\r\nc,d\r\n", ["a·b", "c·d"];
    crlf_after_empty_field, csv, b"a,\r\n", ["a·"];
    crlf_after_quote, csv, b"\"a\",\"b\"\r\n", ["\\\"a\\\"·\\\"b\\\""];
    two_crs_before_lf, csv, b"a\r\r\n", ["a\\r!BareCarriageReturn@1"];
    only_two_crs_before_lf, csv, b"\r\r\n", ["\\r!BareCarriageReturn@0"];
    lone_cr, csv, b"a\rb\n", ["a\\rb!BareCarriageReturn@1"];
    cr_at_end, csv, b"a\r", ["a\\r!BareCarriageReturn@1"];
    only_a_cr, csv, b"\r", ["\\r!BareCarriageReturn@0"];
    cr_in_quotes_is_text, csv, b"\"a\r\nb\"\n", ["\\\"a\\r\\nb\\\""];
    nul_is_text, csv, b"a\0b,\0\n", ["a\\x00b·\\x00"];
    high_bytes_are_text, csv, b"\xff,\xc3\xa9\n", ["\\xff·\\xc3\\xa9"];

    delimiter_in_quotes, csv, b"\"a,b\",c\n", ["\\\"a,b\\\"·c"];
    newline_in_quotes, csv, b"\"a\nb\",c\nd,e\n", ["\\\"a\\nb\\\"·c", "d·e"];
    doubled_quotes, csv, b"\"a\"\"b\",\"\"\"\"\n", ["\\\"a\\\"\\\"b\\\"·\\\"\\\"\\\"\\\""];
    empty_quotes, csv, b"\"\",\"\"\n\"\"\n", ["\\\"\\\"·\\\"\\\"", "\\\"\\\""];
    empty_quotes_at_end, csv, b"\"\"", ["\\\"\\\""];
    stray_quote, csv, b"a\"b,c\nd\n", ["a\\\"b·c!StrayQuote@1", "d"];
    stray_quotes_hold_nothing, csv, b"a\"b,c\"\n", ["a\\\"b·c\\\"!StrayQuote@1"];
    text_after_quote, csv, b"\"a\"b,c\nd\n", ["\\\"a\\\"b·c!TextAfterQuote@3", "d"];
    blank_after_quote, csv, b"\"a\" ,c\n", ["\\\"a\\\" ·c!TextAfterQuote@3"];
    cr_after_quote, csv, b"\"a\"\r,c\n", ["\\\"a\\\"\\r·c!BareCarriageReturn@3"];
    cr_after_quote_at_end, csv, b"\"a\"\r", ["\\\"a\\\"\\r!BareCarriageReturn@3"];
    two_crs_after_quote, csv, b"\"a\"\r\r\n", ["\\\"a\\\"\\r!BareCarriageReturn@3"];
    quote_after_text_after_quote, csv, b"\"a\"b\"c\nd\n", ["\\\"a\\\"b\\\"c!TextAfterQuote@3", "d"];
    unclosed_quote, csv, b"a,\"b\nc,d\n", ["a·\\\"b\\nc,d\\n!UnclosedQuote@2"];
    unclosed_quote_after_doubled, csv, b"\"a\"\"", ["\\\"a\\\"\\\"!UnclosedQuote@0"];
    unclosed_quote_alone, csv, b"\"", ["\\\"!UnclosedQuote@0"];
    first_fault_counts, csv, b"a\",\"b", ["a\\\"·\\\"b!StrayQuote@1"];

    doubled_without_escape, unescaped_csv, b"\"a\"\"b\",c\n", ["\\\"a\\\"\\\"b\\\"·c!TextAfterQuote@3"];

    escaped_quote, backslash_csv, b"\"a\\\"b\",c\n", ["\\\"a\\\\\\\"b\\\"·c"];
    escaped_escape, backslash_csv, b"\"a\\\\\",c\n", ["\\\"a\\\\\\\\\\\"·c"];
    escape_outside_quotes_is_text, backslash_csv, b"a\\,b\n", ["a\\\\·b"];
    escape_after_quote, backslash_csv, b"\"a\"\\\n", ["\\\"a\\\"\\\\!TextAfterQuote@3"];
    escape_at_end_in_quotes, backslash_csv, b"\"a\\", ["\\\"a\\\\!UnclosedQuote@0"];
    doubled_quote_under_backslash, backslash_csv, b"\"a\"\"b\"\n", ["\\\"a\\\"\\\"b\\\"!TextAfterQuote@3"];

    escaped_delimiter, tsv, b"a\\\tb\tc\n", ["a\\\\\\tb·c"];
    escaped_newline, tsv, b"a\\\nb\tc\n", ["a\\\\\\nb·c"];
    escaped_cr, tsv, b"a\\\r\nb\n", ["a\\\\\\r", "b"];
    escaped_escape_before_newline, tsv, b"a\\\\\nb\n", ["a\\\\\\\\", "b"];
    escapes_over_a_block, tsv, &[[b'\\'; 66].as_slice(), b"\nb\n"].concat(),
        [&"\\\\".repeat(66), "b"];
    odd_escapes_over_a_block, tsv, &[[b'\\'; 65].as_slice(), b"\nb\n"].concat(),
        [&format!("{}\\nb", "\\\\".repeat(65))];
    dangling_escape, tsv, b"a\tb\\", ["a·b\\\\!DanglingEscape@3"];
    no_dangling_escape, tsv, b"a\tb\\\\", ["a·b\\\\\\\\"];
    dangling_escape_at_a_block_end, tsv, &[[b'x'; 63].as_slice(), b"\\"].concat(),
        [&format!("{}\\\\!DanglingEscape@63", "x".repeat(63))];
    quotes_are_text_without_quotes, tsv, b"\"a\tb\n", ["\\\"a·b"];

    trailing_delimiter, tbl, b"1|a|\n2|b|\n", ["1·a", "2·b"];
    trailing_delimiter_crlf, tbl, b"1|a|\r\n2|b|\r\n", ["1·a", "2·b"];
    trailing_delimiter_missing, tbl, b"1|a\n2|b|\n", ["1·a!TrailingDelimiterMissing@3", "2·b"];
    trailing_delimiter_missing_crlf, tbl, b"1|a\r\n", ["1·a!TrailingDelimiterMissing@3"];
    trailing_delimiter_missing_alone, tbl, b"a\n", ["a!TrailingDelimiterMissing@1"];
    trailing_delimiter_missing_at_end, tbl, b"1|a", ["1·a!TrailingDelimiterMissing@3"];
    trailing_delimiter_missing_often, tbl, b"a\nb\nc|\nd\n",
        ["a!TrailingDelimiterMissing@1", "b!TrailingDelimiterMissing@3", "c",
         "d!TrailingDelimiterMissing@8"];
    trailing_delimiter_no_newline, tbl, b"1|a|", ["1·a"];
    trailing_delimiter_alone, tbl, b"|\n", [""];
    trailing_delimiters_alone, tbl, b"||\n", ["·"];
    trailing_blank_lines, tbl, b"\n\r\n1|\n\n", ["1"];
    trailing_delimiter_after_quotes, trailing_csv, b"\"a\",\"b\",\n", ["\\\"a\\\"·\\\"b\\\""];
    trailing_delimiter_only_in_quotes, trailing_csv, b"\"a,\"\n",
        ["\\\"a,\\\"!TrailingDelimiterMissing@4"];

    plain_fields, plain, b"1|a\n2|b\r\n|\n", ["1·a", "2·b", "·"];
    plain_blank_lines, plain, b"\n\n1|2\n\n\r\n3|4\n\n", ["1·2", "3·4"];
}

#[test]
fn blank_lines_are_counted() {
    let (records, _) = scan_all(&csv(), b"\n\na\n\r\n", true);
    assert_eq!(records.blank_count, 3);
    let (records, _) = scan_all(&tbl(), b"\n\n1|\n\r\n", true);
    assert_eq!(records.blank_count, 3);
}

#[test]
fn lines_are_counted_inside_quotes_too() {
    let (records, _) = scan_all(&csv(), b"\"a\n\nb\"\n\nc\nd", true);
    let lines: Vec<u32> = records.records.iter().map(|record| record.line).collect();
    assert_eq!(lines, [0, 4, 5]);
    assert_eq!(records.line_count, 5);
}

#[test]
fn only_records_with_specials_are_flagged() {
    let flags = |dialect: Dialect, text: &[u8]| -> Vec<bool> {
        let (records, _) = scan_all(&dialect, text, true);
        records
            .records
            .iter()
            .map(|record| record.escaped)
            .collect()
    };
    assert_eq!(
        flags(csv(), b"a,b\n\"a\",b\na,b\na,b\"\n"),
        [false, true, false, true]
    );
    assert_eq!(flags(tsv(), b"a\tb\na\t\\N\na\"\n"), [false, true, false]);
    assert_eq!(flags(tbl(), b"\"a\\|\n"), [false]);
}

#[test]
fn the_tail_is_not_consumed() {
    for (dialect, text, expected) in [
        (csv(), b"a\nb".as_slice(), 2),
        (csv(), b"a\r", 0),
        (csv(), b"a\n\"b\n", 2),
        (csv(), b"\n\n", 2),
        (tsv(), b"a\\\n", 0),
        (tbl(), b"1|\n2|", 3),
    ] {
        let (records, consumed) = scan_all(&dialect, text, false);
        assert_eq!(consumed, expected, "{}", text.escape_ascii());
        assert_eq!(records.faults, []);
        let fields: usize = (0..records.len()).map(|i| records.field_count(i)).sum();
        assert_eq!(records.field_ends.len(), fields);
    }
}

fn too_long(dialect: &Dialect, text: &[u8], at_end: bool) -> Option<(u32, u32, bool)> {
    let mut records = Records::default();
    let fast = Scanner::new(dialect).scan(text, at_end, &mut records);
    let slow = scan_reference(dialect, text, at_end, &mut Records::default());
    assert_eq!(fast, slow);
    match fast {
        Ok(_) => None,
        Err(ScanError::RecordTooLong {
            start,
            line,
            multiline,
            ..
        }) => Some((start, line, multiline)),
    }
}

#[test]
fn records_have_a_limit() {
    let dialect = Dialect {
        record_bytes_max: 1024,
        ..Dialect::csv()
    };
    let text = |bytes: usize, end: &str| ["a\nb\n", &"x".repeat(bytes), end].concat().into_bytes();
    for end in ["\n", "\r\n", "\nc\n", ""] {
        assert_eq!(too_long(&dialect, &text(1024, end), true), None, "{end:?}");
        assert_eq!(
            too_long(&dialect, &text(1025, end), true),
            Some((4, 2, false)),
            "{end:?}"
        );
    }
    // A tail is refused as soon as no end can save it.
    assert_eq!(too_long(&dialect, &text(1024, ""), false), None);
    assert_eq!(too_long(&dialect, &text(1024, "\r"), false), None);
    assert_eq!(
        too_long(&dialect, &text(1025, ""), false),
        Some((4, 2, false))
    );
    // An unclosed quote is told from a long line.
    let text = ["a\n\"b\n", &"x,y\n".repeat(500)].concat().into_bytes();
    assert_eq!(too_long(&dialect, &text, false), Some((2, 1, true)));
}

#[test]
fn a_scanner_is_reused() {
    let dialect = csv();
    let mut scanner = Scanner::new(&dialect);
    let mut records = Records::default();
    scanner.scan(b"\"a", true, &mut records).expect("short");
    assert_eq!(records.faults[0].kind, FaultKind::UnclosedQuote);
    scanner.scan(b"a,b\n", true, &mut records).expect("short");
    assert_eq!(records.faults, []);
    assert_eq!(records.field_ends, [1, 3]);
}
