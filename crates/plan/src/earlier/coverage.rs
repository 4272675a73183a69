//! Checks that the ledger's ranges cover each file exactly, and that the account of each range holds.
//!
//! The check uses the ledger, not the memory of this process, so units that earlier attempts loaded count like those of
//! this attempt.

use std::ops::Range;

use inrush_source::Input;

use crate::ledger::SplitRecord;
use crate::verify::VerifyError;

/// The most ranges that a message shows.
const RANGES_SHOWN: usize = 12;

/// The byte at which the ranges of a file must end.
#[derive(Clone, Copy, Debug)]
pub enum FileEnd {
    /// The file's last byte, because the file is not fed.
    File,
    /// The end of its text, known once the feed has read the whole file in this process.
    Fed(Option<u64>),
}

/// Checks a file by its records in the ledger: their ranges cover it exactly, and all its bytes were read.
pub fn check(file: &dyn Input, end: FileEnd, own: &[&SplitRecord]) -> Result<(), VerifyError> {
    match end {
        FileEnd::File => {
            // The size of a file that is read as a whole may not be known beforehand.
            let ends = own.iter().all(|split| split.byte_end.is_some());
            check_file(file, own, ends.then_some(file.size_bytes()))?;
            check_bytes(file, own)
        }
        FileEnd::Fed(end) => check_file(file, own, end),
    }
}

/// Checks that all bytes of a file were read, if it is read without translation.
fn check_bytes(file: &dyn Input, splits: &[&SplitRecord]) -> Result<(), VerifyError> {
    if !file.is_stored_as_text() {
        return Ok(());
    }
    let read = splits.iter().map(|split| split.account.bytes_read).sum();
    if read != file.size_bytes() {
        return Err(VerifyError::Bytes {
            file: file.name().display().to_string(),
            read,
            size: file.size_bytes(),
        });
    }
    Ok(())
}

/// Checks the account of each range of a file, and that the ranges follow each other from 0 to
/// the file's end.
pub fn check_file(
    file: &dyn Input,
    splits: &[&SplitRecord],
    end: Option<u64>,
) -> Result<(), VerifyError> {
    let name = || file.name().display().to_string();
    let mut ranges = Vec::with_capacity(splits.len());
    for split in splits {
        let range = split.byte_start..split.byte_end.or(end).unwrap_or(split.byte_start);
        if !split.account.holds() {
            return Err(VerifyError::Account {
                file: name(),
                start: split.byte_start,
                end: split.byte_end.or(end),
                account: split.account,
            });
        }
        ranges.push(range);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    match fault_of(&ranges, end) {
        None => Ok(()),
        Some(Fault::Gap(gap)) => Err(VerifyError::Gap {
            file: name(),
            start: gap.start,
            end: gap.end,
            ranges: words(&ranges),
        }),
        Some(Fault::Overlap(overlap)) => Err(VerifyError::Overlap {
            file: name(),
            start: overlap.start,
            end: overlap.end,
            ranges: words(&ranges),
        }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Gap(Range<u64>),
    Overlap(Range<u64>),
}

/// The first gap or overlap of sorted ranges.
fn fault_of(ranges: &[Range<u64>], end: Option<u64>) -> Option<Fault> {
    let mut reached = 0;
    for range in ranges {
        if range.start > reached {
            return Some(Fault::Gap(reached..range.start));
        }
        if range.start < reached && range.end > range.start {
            return Some(Fault::Overlap(range.start..range.end.min(reached)));
        }
        reached = reached.max(range.end);
    }
    match end {
        Some(end) if reached < end => Some(Fault::Gap(reached..end)),
        Some(end) if reached > end => Some(Fault::Overlap(end..reached)),
        _ => None,
    }
}

fn words(ranges: &[Range<u64>]) -> String {
    let shown = ranges.iter().take(RANGES_SHOWN);
    let mut words: Vec<String> = shown
        .map(|range| format!("{}-{}", range.start, range.end))
        .collect();
    match ranges.len() {
        0 => words.push("none".to_owned()),
        count if count > RANGES_SHOWN => words.push(format!("{} more", count - RANGES_SHOWN)),
        _ => {}
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! ranges_are {
        ($($name:ident: $ranges:expr, $end:expr => $fault:expr;)*) => {$(
            #[test]
            fn $name() {
                let ranges: Vec<Range<u64>> = $ranges.map(|(start, end): (u64, u64)| start..end).to_vec();
                assert_eq!(fault_of(&ranges, $end), $fault);
            }
        )*};
    }

    ranges_are! {
        one_range_is_the_file: [(0, 9)], Some(9) => None;
        ranges_follow_each_other: [(0, 3), (3, 5), (5, 9)], Some(9) => None;
        nobody_knows_the_end: [(0, 3), (3, 5)], None => None;
        an_empty_file_has_an_empty_range: [(0, 0)], Some(0) => None;
        an_empty_file_has_no_range_to_lack: [], Some(0) => None;
        a_file_without_ranges: [], Some(9) => Some(Fault::Gap(0..9));
        the_first_is_missing: [(3, 9)], Some(9) => Some(Fault::Gap(0..3));
        one_in_the_middle_is_missing: [(0, 3), (5, 9)], Some(9) => Some(Fault::Gap(3..5));
        the_last_is_missing: [(0, 3), (3, 5)], Some(9) => Some(Fault::Gap(5..9));
        one_is_there_twice: [(0, 3), (3, 5), (3, 5), (5, 9)], Some(9) => Some(Fault::Overlap(3..5));
        two_overlap: [(0, 4), (3, 9)], Some(9) => Some(Fault::Overlap(3..4));
        one_is_past_the_end: [(0, 3), (3, 10)], Some(9) => Some(Fault::Overlap(9..10));
        one_holds_the_others: [(0, 9), (2, 3), (9, 9)], Some(9) => Some(Fault::Overlap(2..3));
    }
}
