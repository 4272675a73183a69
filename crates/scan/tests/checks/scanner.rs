//! Checks that the fast scanner gives the result of the slow one: with every instruction set, and for a text that is
//! scanned in two parts.

use inrush_scan::masks::InstructionSet;
use inrush_scan::reference::scan_reference;
use inrush_scan::{Dialect, Records, ScanError, Scanner, TextEnd};

type Scanned = Result<(usize, Records), ScanError>;

fn fast(dialect: &Dialect, instruction_set: InstructionSet, text: &[u8], end: TextEnd) -> Scanned {
    let mut records = Records::default();
    Scanner::with_instruction_set(dialect, instruction_set)
        .scan(text, end, &mut records)
        .map(|scan| (scan.bytes_consumed, records))
}

fn slow(dialect: &Dialect, text: &[u8], end: TextEnd) -> Scanned {
    let mut records = Records::default();
    scan_reference(dialect, text, end, &mut records).map(|scan| (scan.bytes_consumed, records))
}

/// Checks `text` with every kind of end.
///
/// # Panics
///
/// If the two scanners differ.
pub fn check(dialect: &Dialect, text: &[u8]) {
    for end in [TextEnd::File, TextEnd::More, TextEnd::MoreRecords] {
        let expected = slow(dialect, text, end);
        for instruction_set in InstructionSet::available() {
            assert_eq!(
                fast(dialect, instruction_set, text, end),
                expected,
                "{instruction_set:?} {end:?} {}\n{dialect:?}",
                text.escape_ascii()
            );
        }
    }
}

/// Checks that `text` gives the same records when it is scanned in two parts.
///
/// # Panics
///
/// If the records differ.
pub fn check_in_two_parts(dialect: &Dialect, text: &[u8], cut: usize) {
    let whole = places(&[slow(dialect, text, TextEnd::File)], text.len());
    let first = fast(dialect, InstructionSet::best(), &text[..cut], TextEnd::More);
    let consumed = first.as_ref().map_or(0, |first| first.0);
    let mut parts = vec![first];
    if parts[0].is_ok() {
        let rest = &text[consumed..];
        parts.push(fast(dialect, InstructionSet::best(), rest, TextEnd::File));
    }
    assert_eq!(
        places(&parts, text.len()),
        whole,
        "cut at {cut}: {}\n{dialect:?}",
        text.escape_ascii()
    );
}

/// The first byte, end, line and fields of a record, and its fault if it has one.
type FieldPlace = (u64, u64, u64, Vec<(usize, usize)>, Option<String>);

/// The records of consecutive parts and the number of lines, or byte and line of the first record that is too long.
fn places(parts: &[Scanned], bytes: usize) -> Result<(Vec<FieldPlace>, u64), (u64, u64)> {
    let mut all = Vec::new();
    let (mut offset, mut line) = (0u64, 0u64);
    for part in parts {
        match part {
            Ok((consumed, records)) => {
                for (index, record) in records.records.iter().enumerate() {
                    let fields = (0..records.field_count(index))
                        .map(|field| records.field(index, field))
                        .map(|field| (field.start + offset as usize, field.end + offset as usize));
                    let fault = records
                        .faults
                        .iter()
                        .find(|fault| fault.record_index as usize == index)
                        .map(|fault| {
                            format!("{:?} {}", fault.kind, u64::from(fault.position) + offset)
                        });
                    all.push((
                        u64::from(record.start) + offset,
                        u64::from(record.end) + offset,
                        u64::from(record.line) + line,
                        fields.collect(),
                        fault,
                    ));
                }
                offset += *consumed as u64;
                line += u64::from(records.line_count);
            }
            Err(ScanError::RecordTooLong {
                start,
                line: line_before,
                ..
            }) => return Err((u64::from(*start) + offset, u64::from(*line_before) + line)),
        }
    }
    assert_eq!(offset, bytes as u64, "all of a file is consumed");
    Ok((all, line))
}
