//! Shares a large file among streams: in ranges, or by a feed.

use std::ops::Range;
use std::sync::Arc;

use inrush_source::SourceError;

use super::split::Split;

/// The smallest file that is fed to the streams if it cannot be read from its middle. For smaller files it is not worth
/// the cost.
const FED_BYTES_MIN: u64 = 2 << 20;

/// The approximate bytes of text for each byte of a file of typed rows.
const TABLE_FACTOR: u64 = 4;

/// The only piece of a file that cannot be read from its middle. It is fed to the streams unless it is too small.
fn fed(split: &Split) -> Split {
    let is_worth_it = split.file.is_pipe() || split.size_bytes() >= FED_BYTES_MIN;
    Split {
        is_fed: is_worth_it,
        ..split.clone()
    }
}

/// The pieces of a whole file, with about this many bytes of text each. A file that cannot be read from its middle is
/// one piece, which is fed. The pieces depend only on the file and this number.
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

fn even_ranges(size_bytes: u64, count: u64) -> impl Iterator<Item = Range<u64>> {
    let start = move |index: u64| {
        // The product of a size and an index may not fit into 64 bits.
        (u128::from(size_bytes) * u128::from(index) / u128::from(count)) as u64
    };
    (0..count).map(move |index| start(index)..start(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_without_a_gap() {
        const WANTED: u64 = 8 << 20;
        for size_bytes in [0, 1, (16 << 20) - 1, 16 << 20, 760 << 20, 3 << 40] {
            let count = (size_bytes / WANTED).max(1);
            let ranges: Vec<_> = even_ranges(size_bytes, count).collect();
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, size_bytes);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = ranges.iter().map(|range| range.end - range.start);
            assert!(sizes.clone().all(|size| size <= 2 * WANTED));
            assert!(ranges.len() == 1 || sizes.clone().all(|size| size >= WANTED));
        }
    }
}
