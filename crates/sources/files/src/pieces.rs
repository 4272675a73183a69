//! Shares a large file among streams: in ranges, or by a feed.

use std::ops::Range;
use std::sync::Arc;

use inrush_source::SourceError;

use super::split::Split;

/// A range has no less: below it the transaction and its ledger row would cost too much.
const RANGE_BYTES_MIN: u64 = 8 << 20;
/// A range has no more: what a stop throws away.
const RANGE_BYTES_MAX: u64 = 256 << 20;
/// Ranges of a file of middle size: enough for many streams, and for an even end.
const RANGES_WANTED: u64 = 64;

/// Bytes of text for each byte of a file of typed rows, about.
const TABLE_FACTOR: u64 = 4;

/// The pieces of a whole file that several streams can load at the same time; one where it is too
/// small to be worth it. They depend on the file alone, not on the streams, so that a stopped run
/// goes on with those that are missing.
pub fn pieces(split: &Split) -> Result<Vec<Split>, SourceError> {
    let file = &split.file;
    if !split.is_whole() {
        return Ok(vec![split.clone()]);
    }
    if let Some(table) = file.table() {
        let wanted_bytes = wanted_bytes(file.size_bytes * TABLE_FACTOR) / TABLE_FACTOR;
        let ranges = table.ranges(wanted_bytes);
        let splits = ranges.into_iter();
        return Ok(splits
            .map(|range| Split::range(Arc::clone(file), range, None))
            .collect());
    }
    if !file.reads_in_ranges()? {
        return Ok(vec![fed(split)]);
    }
    Ok(nominal_ranges(file.size_bytes)
        .into_iter()
        .map(|range| Split::range(Arc::clone(file), range, None))
        .collect())
}

/// A file that cannot be read from its middle: fed to the streams, unless it is too small to be worth it.
fn fed(split: &Split) -> Split {
    let is_worth_it = split.file.is_pipe() || split.size_bytes() >= RANGE_BYTES_MIN / 4;
    Split {
        is_fed: is_worth_it,
        ..split.clone()
    }
}

/// The pieces of a whole file, of about so many bytes of text each; one where it cannot be read from
/// its middle, and that one is fed. They depend on the file and that number alone.
pub fn pieces_of(split: &Split, wanted_bytes: u64) -> Result<Vec<Split>, SourceError> {
    let file = &split.file;
    let range = |range| Split::range(Arc::clone(file), range, None);
    if let Some(table) = file.table() {
        let ranges = table.ranges(wanted_bytes / TABLE_FACTOR);
        return Ok(ranges.into_iter().map(range).collect());
    }
    if !file.reads_in_ranges()? {
        return Ok(vec![fed(split)]);
    }
    if file.size_bytes < 2 * wanted_bytes {
        return Ok(vec![split.clone()]);
    }
    let ranges = even_ranges(file.size_bytes, file.size_bytes / wanted_bytes);
    Ok(ranges.map(range).collect())
}

/// Bytes of text that a range should have.
fn wanted_bytes(size_bytes: u64) -> u64 {
    (size_bytes / RANGES_WANTED).clamp(RANGE_BYTES_MIN, RANGE_BYTES_MAX)
}

/// Ranges of about the same size, one after the other, over all bytes of a file.
fn nominal_ranges(size_bytes: u64) -> Vec<Range<u64>> {
    even_ranges(size_bytes, (size_bytes / wanted_bytes(size_bytes)).max(1)).collect()
}

fn even_ranges(size_bytes: u64, count: u64) -> impl Iterator<Item = Range<u64>> {
    let start = move |index: u64| {
        // Multiplied in 128 bits: sizes are beyond any 64 bits can hold when multiplied.
        (u128::from(size_bytes) * u128::from(index) / u128::from(count)) as u64
    };
    (0..count).map(move |index| start(index)..start(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_without_a_gap() {
        for size_bytes in [0, 1, (16 << 20) - 1, 16 << 20, 760 << 20, 3 << 40] {
            let ranges = nominal_ranges(size_bytes);
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, size_bytes);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = ranges.iter().map(|range| range.end - range.start);
            assert!(
                sizes
                    .clone()
                    .all(|size| size <= RANGE_BYTES_MAX + (1 << 20))
            );
            assert!(ranges.len() == 1 || sizes.clone().all(|size| size >= RANGE_BYTES_MIN));
        }
        assert_eq!(nominal_ranges((16 << 20) - 1).len(), 1);
        assert_eq!(nominal_ranges(16 << 20).len(), 2);
    }
}
