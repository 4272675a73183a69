//! The sample: pieces of the files, few enough for seconds, spread over the files, each of them a split that the engine
//! reads like any other.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_files::{SourceFile, Split, needs_place, pieces};
use inrush_rows::compression::Compression;
use inrush_scan::Dialect;

use crate::error::Error;

/// Text of a portion of a file that can be read from its middle.
const PORTION_BYTES: u64 = 8 << 20;

/// Stored bytes of the beginning of a file that cannot be.
const BEGINNING_BYTES: u64 = 128 << 20;

/// Portions for each stream: more than a fast loader takes in the seconds that it is given.
const PORTIONS_PER_STREAM: u64 = 24;

/// Bytes of all portions together.
const SAMPLE_BYTES_MAX: u64 = 2 << 30;

/// A piece of a file that belongs to the sample.
#[derive(Clone, Debug)]
pub struct Portion {
    /// The split that the engine reads.
    pub split: Split,
    /// The place where its bytes are stored.
    pub place: StoredRange,
}

/// Bytes of a file on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRange {
    /// The file, or the archive that holds it.
    pub path: PathBuf,
    /// The byte range.
    pub byte_range: Range<u64>,
}

impl StoredRange {
    /// The number of bytes.
    pub fn size_bytes(&self) -> u64 {
        self.byte_range.end - self.byte_range.start
    }
}

/// The place where a range of a file is stored; `None` for a pipe.
pub fn place(file: &SourceFile, byte_range: Range<u64>) -> Option<StoredRange> {
    let (path, from) = file.stored_at()?;
    Some(StoredRange {
        path: path.to_owned(),
        byte_range: from + byte_range.start..from + byte_range.end,
    })
}

/// The portions of pieces of work, one list for each piece, for this number of streams: the portions that are taken
/// first are far from each other.
pub fn portions(
    works: &[Vec<Split>],
    dialect: &Dialect,
    streams: usize,
) -> Result<Vec<Vec<Portion>>, Error> {
    let wanted = (PORTIONS_PER_STREAM * streams as u64).min(SAMPLE_BYTES_MAX / PORTION_BYTES);
    let of_each = (wanted / works.len().max(1) as u64).max(1);
    works
        .iter()
        .map(|splits| of_work(splits, dialect, of_each))
        .collect()
}

fn of_work(splits: &[Split], dialect: &Dialect, wanted: u64) -> Result<Vec<Portion>, Error> {
    let mut found = Vec::new();
    for split in splits {
        found.extend(candidates(split, dialect)?);
    }
    let candidates = found;
    let count = candidates.len() as u64;
    let mut chosen = Vec::new();
    for number in far_apart(count.min(wanted)) {
        // Evenly over all pieces, for any number of them.
        let index = number * count / count.min(wanted);
        let split = candidates[index as usize].clone();
        let range = stored_range(&split);
        if let Some(place) = place(&split.file, range) {
            chosen.push(Portion { split, place });
        }
    }
    Ok(chosen)
}

/// The parts of a split that can be read without the rest.
fn candidates(split: &Split, dialect: &Dialect) -> Result<Vec<Split>, Error> {
    let file = &split.file;
    if split.size_bytes() == 0 || file.is_pipe() {
        return Ok(Vec::new());
    }
    if file.table().is_some() {
        let whole = Split::whole(Arc::clone(file));
        let ranges = pieces(&whole)?.into_iter();
        let range = &split.byte_range;
        let is_own = |piece: &Split| {
            piece.byte_range.start >= range.start && piece.byte_range.end <= range.end
        };
        return Ok(ranges.filter(is_own).collect());
    }
    let can_be_cut = file.reads_in_ranges()?;
    if can_be_cut && !needs_place(dialect) {
        let range = &split.byte_range;
        let count = (split.size_bytes() / PORTION_BYTES).max(1);
        let bound = |index: u64| {
            range.start
                + (u128::from(split.size_bytes()) * u128::from(index) / u128::from(count)) as u64
        };
        let portion =
            |index| bound(index)..bound(index) + PORTION_BYTES.min(bound(index + 1) - bound(index));
        return Ok((0..count)
            .map(|index| Split::range(Arc::clone(file), portion(index), None))
            .collect());
    }
    // A split that cannot be read from its middle is read from its beginning, so only the first range has a portion.
    match split.byte_range.start {
        0 => Ok(vec![split.clone()]),
        _ => Ok(Vec::new()),
    }
}

/// The stored bytes of a portion that are read; for a portion that begins at the file's beginning, a part of them.
fn stored_range(split: &Split) -> Range<u64> {
    let range = split.byte_range.clone();
    let end = match split.file.compression {
        Compression::None if split.file.table().is_some() => range.end,
        _ => range.end.min(range.start + BEGINNING_BYTES),
    };
    range.start..end
}

/// The numbers below `count`, each once, those that follow each other far from each other.
fn far_apart(count: u64) -> impl Iterator<Item = u64> {
    // A step near the golden section of the count, which has no divisor in common with it.
    let divides = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a > 1
    };
    let mut step = (count * 618 / 1000).max(1);
    while divides(step, count.max(1)) {
        step += 1;
    }
    (0..count).map(move |index| index * step % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once_and_neighbours_lie_apart() {
        for count in [0_u64, 1, 2, 3, 7, 24, 96, 256] {
            let mut numbers: Vec<u64> = far_apart(count).collect();
            if count >= 24 {
                let apart = numbers.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
                assert!(apart.min().expect("pairs") >= count / 4, "{count}");
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn portions_lie_in_their_split_and_are_spread_over_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tbl");
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(100 << 20).expect("a sparse file");
        let file = Arc::new(SourceFile::open(path).expect("it is there"));
        let split = Split::range(Arc::clone(&file), 10 << 20..90 << 20, None);
        let dialect = Dialect::tbl();
        let found = of_work(std::slice::from_ref(&split), &dialect, 5).expect("portions");
        assert_eq!(found.len(), 5);
        let mut starts: Vec<u64> = found
            .iter()
            .map(|found| found.place.byte_range.start)
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, [10 << 20, 26 << 20, 42 << 20, 58 << 20, 74 << 20]);
        for portion in &found {
            assert_eq!(portion.place.size_bytes(), PORTION_BYTES);
            assert_eq!(portion.split.byte_range, portion.place.byte_range);
        }
        // A dialect with quotes has no way into the middle.
        let quoted = Dialect::csv();
        assert!(of_work(&[split], &quoted, 5).expect("portions").is_empty());
        let whole = of_work(&[Split::whole(file)], &quoted, 5).expect("portions");
        assert_eq!(whole.len(), 1);
    }
}
