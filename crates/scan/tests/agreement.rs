//! The fast scanner must give the result of the slow one, for every instruction set, every dialect and every split of
//! the text.

use inrush_scan::masks::{BLOCK_BYTES, InstructionSet, Masks, Needles};
use inrush_scan::reference::scan_reference;
use inrush_scan::{
    Dialect, Escape, ExtraFields, Fault, FieldPosition, FixedWidth, MissingFields, PositionUnit,
    Record, RecordEnd, Records, ScanError, Scanner, ShortText, Terminator, TextEnd,
};
use proptest::prelude::*;

fn text(text: &str) -> ShortText {
    ShortText::new(text.as_bytes()).expect("one to eight bytes")
}

fn any_quoting() -> impl Strategy<Value = (Option<u8>, Escape)> {
    prop_oneof![
        Just((None, Escape::None)),
        Just((None, Escape::Byte(b'\\'))),
        Just((Some(b'"'), Escape::None)),
        Just((Some(b'"'), Escape::DoubledQuote)),
        Just((Some(b'"'), Escape::Byte(b'\\'))),
    ]
}

fn any_limit() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(1 << 20), 1 => 1usize..40]
}

/// Dialects that the scanner reads in its fastest way.
fn common_dialect() -> impl Strategy<Value = Dialect> {
    let terminator = prop_oneof![
        6 => Just(Terminator::Any),
        1 => Just(Terminator::Lf),
        1 => Just(Terminator::Cr),
    ];
    (
        any_quoting(),
        terminator,
        any::<bool>(),
        any::<bool>(),
        any_limit(),
    )
        .prop_map(
            |((quote, escape), terminator, trailing_delimiter, blank_lines_are_records, limit)| {
                Dialect {
                    quote,
                    escape,
                    terminator,
                    trailing_delimiter,
                    blank_lines_are_records,
                    record_bytes_max: limit,
                    ..Dialect::csv()
                }
            },
        )
}

fn any_terminator() -> impl Strategy<Value = Terminator> {
    prop_oneof![
        4 => Just(Terminator::Any),
        1 => Just(Terminator::Lf),
        1 => Just(Terminator::CrLf),
        1 => Just(Terminator::Cr),
        3 => prop::sample::select(vec!["\r\r\n", ",\n", "@@", "\n", "a@a", ",,\r"])
            .prop_map(|terminator| Terminator::Text(text(terminator))),
    ]
}

fn uncommon_dialect() -> impl Strategy<Value = Dialect> {
    let delimiter = prop::sample::select(vec![",", ",,", ",a,", "é", ",;", "@,"]);
    let comment = prop_oneof![Just(None), Just(Some(b'#'))];
    let rest = (any_quoting(), any_terminator(), delimiter, comment);
    (rest, any::<bool>(), any::<bool>(), any_limit()).prop_map(
        |(rest, trailing_delimiter, blank_lines_are_records, limit)| {
            let ((quote, escape), terminator, delimiter, comment) = rest;
            Dialect {
                delimiter: text(delimiter),
                quote,
                escape,
                terminator,
                comment,
                trailing_delimiter,
                blank_lines_are_records,
                record_bytes_max: limit,
                ..Dialect::csv()
            }
        },
    )
}

fn fixed_dialect() -> impl Strategy<Value = Dialect> {
    let position = (0u32..8, 1u32..6).prop_map(|(start, length)| FieldPosition { start, length });
    let unit = prop_oneof![Just(PositionUnit::Bytes), Just(PositionUnit::Characters)];
    let record = prop_oneof![
        3 => Just(RecordEnd::Line { length: None }),
        1 => (13u32..20).prop_map(|length| RecordEnd::Line { length: Some(length) }),
        1 => (13u32..20).prop_map(RecordEnd::Bytes),
    ];
    let fixed =
        (prop::collection::vec(position, 1..5), unit, record).prop_map(|(fields, unit, record)| {
            FixedWidth {
                fields,
                // `check` refuses other units for records of a fixed number of bytes.
                unit: match record {
                    RecordEnd::Bytes(_) => PositionUnit::Bytes,
                    RecordEnd::Line { .. } => unit,
                },
                record,
            }
        });
    let allowed = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (fixed, any_terminator(), allowed, any_limit()).prop_map(
        |(fixed, terminator, (missing, extra, comment, blank), limit)| Dialect {
            terminator,
            comment: (comment && !matches!(fixed.record, RecordEnd::Bytes(_))).then_some(b'#'),
            missing_fields: match missing {
                true => MissingFields::Null,
                false => MissingFields::Reject,
            },
            extra_fields: match extra {
                true => ExtraFields::Ignore,
                false => ExtraFields::Reject,
            },
            blank_lines_are_records: blank,
            record_bytes_max: limit,
            ..Dialect::fixed_width(fixed)
        },
    )
}

fn any_dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![
        2 => common_dialect(),
        2 => uncommon_dialect(),
        1 => fixed_dialect(),
    ]
}

/// Pieces whose combinations are hard to scan: special bytes next to each other, line ends of all kinds, and long runs
/// that push the next bytes over the edge of a block.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            ",", "\n", "\r\n", "\r", "\"", "\"\"", "\\", "\\\\", "\\\n", "\\,", "\\\"", "a", "\0",
            "é", ",\n", "\",\"", "\"\n\"", "\"\r\n", "\n\n", "\r\r\n", "#", "\n#", ";", "@", "@@",
            "\\.", "\n\\.\n", "\n\\.\r\n", "a@a", ",,\r", "twelve bytes",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => (55usize..70).prop_map(|count| vec![b'x'; count]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Text with almost no faults, so that the fast paths are taken.
fn regular_text() -> impl Strategy<Value = Vec<u8>> {
    let field = prop::sample::select(vec![
        "",
        "1",
        "twelve bytes",
        "\"quoted\"",
        "\"two\nlines, and \"\"more\"\"\"",
        "\"\"",
        "\"\"\"\"",
        "\"a field that goes past the end of a block, however it begins: 64 bytes, and a few\"",
    ]);
    let record = prop::collection::vec(field, 1..12).prop_map(|fields| fields.join(","));
    let end = prop::sample::select(vec!["\n", "\r\n", ",\n", ",\r\n", "\r", "\r\r\n", "@@"]);
    prop::collection::vec((record, end), 0..20).prop_map(|records| {
        let records: Vec<_> = records.into_iter().map(|(r, end)| r + end).collect();
        records.concat().into_bytes()
    })
}

const ENDS: [TextEnd; 3] = [TextEnd::File, TextEnd::More, TextEnd::MoreRecords];

type Scanned = Result<(usize, Records), ScanError>;

fn slow(dialect: &Dialect, text: &[u8], end: impl Into<TextEnd>) -> Scanned {
    let mut records = Records::default();
    scan_reference(dialect, text, end, &mut records).map(|scan| (scan.bytes_consumed, records))
}

fn fast(
    dialect: &Dialect,
    instruction_set: InstructionSet,
    text: &[u8],
    end: impl Into<TextEnd>,
) -> Scanned {
    let mut records = Records::default();
    Scanner::with_instruction_set(dialect, instruction_set)
        .scan(text, end, &mut records)
        .map(|scan| (scan.bytes_consumed, records))
}

/// Scans `text` in two parts, the tail of the first carried over to the second.
fn in_two_parts(dialect: &Dialect, text: &[u8], cut: usize) -> Scanned {
    let mut scanner = Scanner::with_instruction_set(dialect, InstructionSet::best());
    let mut all = Records::default();
    let consumed = scanner.scan(&text[..cut], false, &mut all)?.bytes_consumed;
    let mut rest = Records::default();
    let lines = all.line_count;
    scanner.scan(&text[consumed..], true, &mut rest).map_err(
        |ScanError::RecordTooLong {
             start,
             line,
             record_bytes_max,
             ..
         }| {
            ScanError::RecordTooLong {
                start: start + consumed as u32,
                line: line + lines,
                record_bytes_max,
                multiline: false,
            }
        },
    )?;
    let offset = consumed as u32;
    let (record_count, field_count) = (all.records.len() as u32, all.field_ends.len() as u32);
    all.records.extend(rest.records.iter().map(|record| Record {
        start: record.start + offset,
        end: record.end + offset,
        line: record.line + lines,
        first_field: record.first_field + field_count,
        escaped: record.escaped,
    }));
    all.field_ends
        .extend(rest.field_ends.iter().map(|end| end + offset));
    let starts = rest.field_starts.iter();
    all.field_starts.extend(starts.map(|start| start + offset));
    all.faults.extend(rest.faults.iter().map(|fault| Fault {
        record_index: fault.record_index + record_count,
        kind: fault.kind,
        position: fault.position + offset,
    }));
    all.blank_count += rest.blank_count;
    all.comment_count += rest.comment_count;
    all.end_marker_count += rest.end_marker_count;
    all.line_count += rest.line_count;
    Ok((text.len(), all))
}

/// The result without `multiline`: this hint about a record that is too long may differ between splits.
fn without_hint(scanned: Scanned) -> Scanned {
    scanned.map_err(
        |ScanError::RecordTooLong {
             start,
             line,
             record_bytes_max,
             ..
         }| {
            ScanError::RecordTooLong {
                start,
                line,
                record_bytes_max,
                multiline: false,
            }
        },
    )
}

fn agree(dialect: &Dialect, text: &[u8]) -> Result<(), TestCaseError> {
    for end in ENDS {
        let expected = slow(dialect, text, end);
        for instruction_set in InstructionSet::available() {
            let found = fast(dialect, instruction_set, text, end);
            prop_assert_eq!(&found, &expected, "{:?}, {:?}", instruction_set, end);
        }
    }
    Ok(())
}

fn agree_however_split(dialect: &Dialect, text: &[u8]) -> Result<(), TestCaseError> {
    let whole = without_hint(slow(dialect, text, true));
    for cut in 0..=text.len() {
        let split = without_hint(in_two_parts(dialect, text, cut));
        prop_assert_eq!(&split, &whole, "cut at {}", cut);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn fast_finds_what_slow_finds(dialect in any_dialect(), text in any_text()) {
        agree(&dialect, &text)?;
    }

    #[test]
    fn fast_finds_what_slow_finds_in_regular_text(
        dialect in any_dialect(),
        text in regular_text(),
    ) {
        agree(&dialect, &text)?;
    }

    #[test]
    fn kernels_find_the_same_bits(
        bytes in prop::collection::vec(
            prop_oneof![
                Just(b','), Just(b'\n'), Just(b'\r'), Just(b'"'), Just(b'\\'), any::<u8>(),
            ],
            BLOCK_BYTES * 3,
        ),
        special_count in 0usize..3,
    ) {
        let needles = Needles { delimiter: b',', newline: b'\n', special: [b'"', b'\\'], special_count };
        let blocks = bytes.as_chunks::<BLOCK_BYTES>().0;
        for instruction_set in InstructionSet::available() {
            let mut masks = [Masks::default(); 3];
            instruction_set.find(blocks, &needles, &mut masks);
            for (at, byte) in bytes.iter().enumerate() {
                let (mask, bit) = (masks[at / BLOCK_BYTES], at % BLOCK_BYTES);
                let special = needles.special[..special_count].contains(byte);
                prop_assert_eq!(mask.delimiters >> bit & 1 != 0, *byte == b',');
                prop_assert_eq!(mask.newlines >> bit & 1 != 0, *byte == b'\n');
                prop_assert_eq!(mask.returns >> bit & 1 != 0, *byte == b'\r');
                prop_assert_eq!(mask.specials >> bit & 1 != 0, special, "{:?} {}", instruction_set, at);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_split_finds_the_same(dialect in any_dialect(), text in any_text()) {
        agree_however_split(&dialect, &text)?;
    }

    #[test]
    fn every_split_of_regular_text_finds_the_same(
        dialect in any_dialect(),
        text in regular_text(),
    ) {
        agree_however_split(&dialect, &text)?;
    }
}

/// Every text of up to six of these bytes, so that no short text is left to chance.
#[test]
fn every_short_text_agrees() {
    const LETTERS: &[u8] = b",\"\\\r\nx";
    let dialects = [
        (None, Escape::None),
        (None, Escape::Byte(b'\\')),
        (Some(b'"'), Escape::None),
        (Some(b'"'), Escape::DoubledQuote),
        (Some(b'"'), Escape::Byte(b'\\')),
    ];
    // After `lead` bytes of a first field, the same text is at the edge of a block.
    for lead in [0, 59] {
        for letters in 0..=6u32 {
            for number in 0..LETTERS.len().pow(letters) {
                let mut text = vec![b'x'; lead];
                let mut rest = number;
                for _ in 0..letters {
                    text.push(LETTERS[rest % LETTERS.len()]);
                    rest /= LETTERS.len();
                }
                for (quote, escape) in dialects {
                    for (trailing_delimiter, blank_lines_are_records) in
                        [(false, false), (true, false), (false, true), (true, true)]
                    {
                        let dialect = Dialect {
                            quote,
                            escape,
                            trailing_delimiter,
                            header: false,
                            nulls: Vec::new(),
                            blank_lines_are_records,
                            record_bytes_max: 1 << 20,
                            ..Dialect::csv()
                        };
                        for end in ENDS {
                            let found = fast(&dialect, InstructionSet::best(), &text, end);
                            let expected = slow(&dialect, &text, end);
                            assert_eq!(
                                found,
                                expected,
                                "{dialect:?} {end:?} {}",
                                text.escape_ascii()
                            );
                        }
                    }
                }
            }
        }
    }
}
