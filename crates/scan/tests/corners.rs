//! Tests of the grammar's corner cases, one line each: a text and its fields. The fast and the slow scanner are both
//! compared with these fields, because both could have the same wrong rule.

use inrush_scan::reference::scan_reference;
use inrush_scan::{
    Dialect, Escape, ExtraFields, FaultKind, FieldPosition, FixedWidth, MissingFields,
    PositionUnit, RecordEnd, Records, ScanError, Scanner, ShortText, Terminator, TextEnd,
};

/// The fields of each record, joined with `·`; faults as `!Kind@position` after their record.
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

fn ended(terminator: Terminator) -> Dialect {
    Dialect {
        terminator,
        ..Dialect::csv()
    }
}

fn lf() -> Dialect {
    ended(Terminator::Lf)
}

fn crlf_only() -> Dialect {
    ended(Terminator::CrLf)
}

fn cr() -> Dialect {
    ended(Terminator::Cr)
}

fn short(text: &str) -> ShortText {
    ShortText::new(text.as_bytes()).expect("one to eight bytes")
}

fn crcrlf() -> Dialect {
    ended(Terminator::Text(short("\r\r\n")))
}

fn at_at() -> Dialect {
    ended(Terminator::Text(short("@@")))
}

fn commented() -> Dialect {
    Dialect {
        comment: Some(b'#'),
        ..Dialect::csv()
    }
}

fn bars() -> Dialect {
    Dialect {
        delimiter: short("||"),
        ..Dialect::csv()
    }
}

fn accents() -> Dialect {
    Dialect {
        delimiter: short("é"),
        ..Dialect::csv()
    }
}

fn escaped_bars() -> Dialect {
    Dialect {
        delimiter: short("||"),
        ..Dialect::tsv()
    }
}

fn trailing_bars() -> Dialect {
    Dialect {
        delimiter: short("||"),
        ..Dialect::tbl()
    }
}

/// The form of bcp with `-t "|" -r "|\n"`.
fn bcp() -> Dialect {
    Dialect {
        delimiter: short("|"),
        terminator: Terminator::Text(short("|\n")),
        trailing_delimiter: false,
        ..Dialect::tbl()
    }
}

fn positions(unit: PositionUnit, record: RecordEnd) -> Dialect {
    let fields = [(0, 3), (3, 2)].map(|(start, length)| FieldPosition { start, length });
    Dialect::fixed_width(FixedWidth {
        fields: fields.to_vec(),
        unit,
        record,
    })
}

fn fixed() -> Dialect {
    positions(PositionUnit::Bytes, RecordEnd::Line { length: None })
}

fn fixed_characters() -> Dialect {
    positions(PositionUnit::Characters, RecordEnd::Line { length: None })
}

fn fixed_long() -> Dialect {
    positions(PositionUnit::Bytes, RecordEnd::Line { length: Some(7) })
}

fn fixed_blocks() -> Dialect {
    positions(PositionUnit::Bytes, RecordEnd::Bytes(6))
}

fn fixed_lenient() -> Dialect {
    Dialect {
        missing_fields: MissingFields::Null,
        extra_fields: ExtraFields::Ignore,
        comment: Some(b'#'),
        ..fixed()
    }
}

fn fixed_overlapping() -> Dialect {
    let fields = [(4, 2), (0, 6), (1, 1)].map(|(start, length)| FieldPosition { start, length });
    Dialect::fixed_width(FixedWidth {
        fields: fields.to_vec(),
        unit: PositionUnit::Bytes,
        record: RecordEnd::Line { length: None },
    })
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
            if let Some(line_byte) = $dialect().line_byte() {
                let lines = text.iter().filter(|byte| **byte == line_byte).count();
                assert_eq!(records.line_count as usize, lines);
            }
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
    mixed_terminators, csv, b"a\r\nb\nc\r\n\nd", ["a", "b", "c", "d"];
    old_mac_lines, csv, b"a,b\rc,d\r", ["a·b\\rc·d\\r!BareCarriageReturn@3"];
    first_bare_return_counts, csv, b"a\rb\rc\nd\re\n",
        ["a\\rb\\rc!BareCarriageReturn@1", "d\\re!BareCarriageReturn@7"];
    bare_return_before_stray_quote, csv, b"a\r\"\n", ["a\\r\\\"!BareCarriageReturn@1"];
    bare_return_before_missing_delimiter, tbl, b"1|a\rb\n2|\n",
        ["1·a\\rb!BareCarriageReturn@3", "2"];
    bare_return_at_a_block_end, csv, &[[b'x'; 63].as_slice(), b"\ry\n"].concat(),
        [&format!("{}\\ry!BareCarriageReturn@63", "x".repeat(63))];
    crlf_over_a_block_end, csv, &[[b'x'; 63].as_slice(), b"\r\ny\n"].concat(),
        [&"x".repeat(63), "y"];
    escaped_return_is_text, tsv, b"a\\\rb\n", ["a\\\\\\rb"];
    bare_return_after_escape, tsv, b"a\\\\\rb\n", ["a\\\\\\\\\\rb!BareCarriageReturn@3"];
    lf_keeps_returns, lf, b"a\r\n\"b\"\nc\rd\n\r\n", ["a\\r", "\\\"b\\\"", "c\\rd", "\\r"];
    lf_return_after_quote, lf, b"\"a\"\r\n", ["\\\"a\\\"\\r!TextAfterQuote@3"];
    crlf_keeps_lone_ones, crlf_only, b"a\nb\rc\r\nd", ["a\\nb\\rc", "d"];
    cr_ends_records, cr, b"a,\"b\rc\"\rd\n,e\r\rf", ["a·\\\"b\\rc\\\"", "d\\n·e", "f"];
    twice_copied_lines, crcrlf, b"a,b\r\r\nc\r\n,d\r\r\n", ["a·b", "c\\r\\n·d"];
    own_terminator, at_at, b"a@,b@@\"@@\"@@@@\nc@", ["a@·b", "\\\"@@\\\"", "\\nc@"];
    bcp_files, bcp, b"1|a|\n2||\n|\n3", ["1·a", "2·", "3"];

    comments, commented, b"#a\n1,#2\n#\"\n#\r\n\"\n#\",3\n#last",
        ["1·#2", "\\\"\\n#\\\"·3"];
    a_return_in_a_comment_is_no_fault, commented, b"#a\rb\n1\n", ["1"];

    bar_delimiters, bars, b"a||b|c||\n|||d\n\"||\"||\n", ["a·b|c·", "·|d", "\\\"||\\\"·"];
    half_a_delimiter_at_end, bars, b"a|", ["a|"];
    half_a_delimiter_after_quote, bars, b"\"a\"|b\n", ["\\\"a\\\"|b!TextAfterQuote@3"];
    quote_behind_half_a_delimiter, bars, b"|\"a\"\n", ["|\\\"a\\\"!StrayQuote@1"];
    delimiter_of_one_character, accents, "aéb\u{e8}\n".as_bytes(), ["a·b\\xc3\\xa8"];
    escaped_half_of_a_delimiter, escaped_bars, b"a\\|||b\n", ["a\\\\|·b"];
    long_delimiters_at_the_end, trailing_bars, b"1||a||\n2|\n", ["1·a", "2|!TrailingDelimiterMissing@9"];

    end_marker, tsv, b"a\n\\.\n", ["a"];
    end_marker_without_terminator, tsv, b"a\n\\.", ["a"];
    end_marker_crlf, tsv, b"\\.\r\n", [];
    end_marker_and_text, tsv, b"a\n\\.\nb\n", ["a", "\\\\.!EndMarker@2", "b"];
    end_marker_and_blank_line, tsv, b"\\.\n\n", ["\\\\.!EndMarker@0"];
    end_marker_twice, tsv, b"\\.\n\\.\n", ["\\\\.!EndMarker@0"];
    no_end_marker, tsv, b"\\.a\na\t\\.\n\\\\.\n", ["\\\\.a", "a·\\\\.", "\\\\\\\\."];
    end_marker_is_text_elsewhere, csv, b"\\.\n", ["\\\\."];

    ragged_records_are_listed, csv, b"a\na,b,c\n", ["a", "a·b·c"];
    header_only, csv, b"id,name\n", ["id·name"];
    null_markers_are_text_here, csv, b"\\N,\"\\N\",\n", ["\\\\N·\\\"\\\\N\\\"·"];

    fixed_fields, fixed, b"abc12\nd   4\r\n", ["abc·12", "d  · 4"];
    fixed_blank_lines, fixed, b"\nabc12\n\n", ["abc·12"];
    fixed_last_line, fixed, b"abc12", ["abc·12"];
    fixed_short, fixed, b"abc1\nab\n", ["abc·1!RecordLength@4", "ab·!RecordLength@7"];
    fixed_too_long, fixed, b"abc123\n", ["abc·12!RecordLength@5"];
    fixed_gap_at_end, fixed_long, b"abc12  \nabc12\n", ["abc·12", "abc·12!RecordLength@13"];
    fixed_quotes_are_text, fixed, b"\"a,\\\"\n", ["\\\"a,·\\\\\\\""];
    fixed_bare_return, fixed, b"ab\r12\n", ["ab\\r·12!BareCarriageReturn@2"];
    fixed_characters_are_counted, fixed_characters, "äöü12\nabc12\n".as_bytes(),
        ["\\xc3\\xa4\\xc3\\xb6\\xc3\\xbc·12", "abc·12"];
    fixed_characters_missing, fixed_characters, "äöü1\n".as_bytes(),
        ["\\xc3\\xa4\\xc3\\xb6\\xc3\\xbc·1!RecordLength@7"];
    fixed_without_line_ends, fixed_blocks, b"abc12 def\n4 xy", ["abc·12", "def·\\n4", "xy·!RecordLength@14"];
    fixed_lenient_lengths, fixed_lenient, b"abc123\n#x\nab\nabc1\n",
        ["abc·12", "ab·", "abc·1"];
    fixed_positions_overlap, fixed_overlapping, b"abcdef\n", ["ef·abcdef·b"];

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
fn what_is_passed_over_is_counted() {
    let (records, _) = scan_all(&commented(), b"#a\n\nb\n#c", true);
    assert_eq!((records.comment_count, records.blank_count), (2, 1));
    assert_eq!(records.skipped_count(), 3);
    let (records, _) = scan_all(&tsv(), b"\na\n\\.\n", true);
    assert_eq!((records.end_marker_count, records.blank_count), (1, 1));
    assert_eq!(records.line_count, 3);
}

/// Only the end of the file shows that a marker is the last record.
#[test]
fn an_end_marker_waits_for_the_end() {
    let scan = |text: &[u8], end: TextEnd| {
        let mut records = Records::default();
        let scan = Scanner::new(&tsv()).scan(text, end, &mut records);
        let faults: Vec<_> = records.faults.iter().map(|fault| fault.kind).collect();
        (scan.expect("short").bytes_consumed, records.len(), faults)
    };
    let fault = vec![FaultKind::EndMarker];
    assert_eq!(scan(b"a\n\\.\n", TextEnd::More), (2, 1, vec![]));
    assert_eq!(
        scan(b"a\n\\.\n", TextEnd::MoreRecords),
        (5, 2, fault.clone())
    );
    assert_eq!(scan(b"a\n\\.\n", TextEnd::File), (5, 1, vec![]));
    assert_eq!(scan(b"a\n\\.\nb", TextEnd::More), (5, 2, fault));
}

#[test]
fn lines_without_line_ends_are_records() {
    let lines = |dialect: Dialect, text: &[u8]| -> Vec<u32> {
        let (records, _) = scan_all(&dialect, text, true);
        records.records.iter().map(|record| record.line).collect()
    };
    assert_eq!(lines(at_at(), b"a@@\n@@@@b"), [0, 1, 3]);
    assert_eq!(lines(fixed_blocks(), b"abc12 def\n4 xy"), [0, 1, 2]);
    assert_eq!(lines(cr(), b"a\r\"\r\"\rb"), [0, 1, 3]);
}

#[test]
fn missing_fields_are_told_from_empty_ones() {
    let present = |dialect: Dialect, text: &[u8]| -> Vec<bool> {
        let (records, _) = scan_all(&dialect, text, true);
        (0..2)
            .map(|field| records.field_if_present(0, field).is_some())
            .collect()
    };
    assert_eq!(present(csv(), b"a,\n"), [true, true]);
    assert_eq!(present(csv(), b"a\n"), [true, false]);
    assert_eq!(present(fixed_lenient(), b"abc1\n"), [true, true]);
    assert_eq!(present(fixed_lenient(), b"abc\n"), [true, false]);
}

#[test]
fn very_wide_and_very_long_records() {
    let wide = vec!["x"; 10_000].join(",") + "\n";
    let (records, _) = scan_all(&csv(), wide.as_bytes(), true);
    assert_eq!(records.field_count(0), 10_000);
    let wide = vec!["x"; 10_000].join("||") + "\n";
    let (records, _) = scan_all(&bars(), wide.as_bytes(), true);
    assert_eq!(records.field_count(0), 10_000);
    assert_eq!(records.field(0, 9_999), 29_997..29_998);
    let long = format!("\"{}\",b\n", "x\n".repeat(1 << 20));
    let (records, _) = scan_all(&csv(), long.as_bytes(), true);
    assert_eq!(records.field(0, 0), 0..(2 << 20) + 2);
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
    // The end of a text is refused as soon as no continuation can make it valid.
    assert_eq!(too_long(&dialect, &text(1024, ""), false), None);
    assert_eq!(too_long(&dialect, &text(1024, "\r"), false), None);
    assert_eq!(
        too_long(&dialect, &text(1025, ""), false),
        Some((4, 2, false))
    );
    // The message for an unclosed quote is not the message for a long line.
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
