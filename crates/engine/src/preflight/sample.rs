//! The sample: pieces from all parts of the files or tables, few enough to be read in seconds. Each piece is a split that the
//! engine reads like any other.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_plan::units::pieces::pieces;
use inrush_source::{Input, Source, SourceSplit, Split};

use crate::error::Error;

/// Bytes of a portion of a file or table that can be read from any place.
const PORTION_BYTES: u64 = 8 << 20;

/// The most stored bytes that are read of a file that can be read only from its beginning.
const BEGINNING_BYTES: u64 = 128 << 20;

/// Portions for each stream: more than a fast stream reads in the time of a preflight.
const PORTIONS_PER_STREAM: u64 = 24;

/// The most bytes of all portions together.
const SAMPLE_BYTES_MAX: u64 = 2 << 30;

/// A piece of a file or a table that belongs to the sample.
#[derive(Clone, Debug)]
pub struct Portion {
    /// The split that the engine reads.
    pub split: Split,
    /// The place where its bytes are stored; `None` for rows of a database.
    pub place: Option<StoredRange>,
}

impl Portion {
    /// True if its rows come from a database.
    pub fn is_of_database(&self) -> bool {
        self.place.is_none()
    }
}

/// True if the rows of an input come from a database.
pub fn is_in_database(input: &dyn Input) -> bool {
    input.is_snapshot() && input.stored_at().is_none() && !input.is_read_once()
}

/// A range of bytes of a file on disk.
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

/// Where a range of a file is stored; `None` for a pipe.
pub fn place(file: &dyn Input, byte_range: Range<u64>) -> Option<StoredRange> {
    let (path, from) = file.stored_at()?;
    Some(StoredRange {
        path: path.to_owned(),
        byte_range: from + byte_range.start..from + byte_range.end,
    })
}

/// The portions to measure of each piece of work, for this number of streams. The first portions in each list are far
/// from each other.
pub fn portions(
    source: &dyn Source,
    works: &[Vec<Split>],
    streams: usize,
) -> Result<Vec<Vec<Portion>>, Error> {
    let wanted = (PORTIONS_PER_STREAM * streams as u64).min(SAMPLE_BYTES_MAX / PORTION_BYTES);
    let of_each = (wanted / works.len().max(1) as u64).max(1);
    works
        .iter()
        .map(|splits| of_work(source, splits, of_each))
        .collect()
}

fn of_work(source: &dyn Source, splits: &[Split], wanted: u64) -> Result<Vec<Portion>, Error> {
    let mut found = Vec::new();
    for split in splits {
        found.extend(candidates(source, split)?);
    }
    let candidates = found;
    let count = candidates.len() as u64;
    let mut chosen = Vec::new();
    for number in far_apart(count.min(wanted)) {
        // The chosen pieces are spread evenly over all pieces.
        let index = number * count / count.min(wanted);
        let split = candidates[index as usize].clone();
        let place = place(&*split.input, stored_range(&split));
        if place.is_some() || is_in_database(&*split.input) {
            chosen.push(Portion { split, place });
        }
    }
    Ok(chosen)
}

/// The parts of a split that can be read without the rest.
fn candidates(source: &dyn Source, split: &Split) -> Result<Vec<Split>, Error> {
    let input = &split.input;
    if is_in_database(&**input) {
        return pieces_of_table(source, split);
    }
    if split.size_bytes == 0 || input.is_read_once() {
        return Ok(Vec::new());
    }
    let range = &split.range;
    if input.is_typed() {
        let whole = Split::of(Arc::clone(input), source.whole(input.index()));
        let pieces = pieces(source, &whole)?.into_iter();
        let is_own =
            |piece: &Split| piece.range.start >= range.start && piece.range.end <= range.end;
        return Ok(pieces.filter(is_own).collect());
    }
    if input.reads_in_ranges()? && !source.needs_locate(input.index()) {
        let count = (split.size_bytes / PORTION_BYTES).max(1);
        let bound = |index: u64| {
            range.start
                + (u128::from(split.size_bytes) * u128::from(index) / u128::from(count)) as u64
        };
        let portion = |index| {
            let size_bytes = PORTION_BYTES.min(bound(index + 1) - bound(index));
            let portion = SourceSplit {
                input: input.index(),
                range: bound(index)..bound(index) + size_bytes,
                first_record: None,
                is_shared: false,
                size_bytes,
            };
            Split::of(Arc::clone(input), portion)
        };
        return Ok((0..count).map(portion).collect());
    }
    // A file that cannot be read from its middle is read from its beginning, so only its first range can be a sample.
    match split.range.start {
        0 => Ok(vec![split.clone()]),
        _ => Ok(Vec::new()),
    }
}

/// The pieces of a split of a table or a query, each as small as a portion; the split itself if it cannot be cut further.
fn pieces_of_table(source: &dyn Source, split: &Split) -> Result<Vec<Split>, Error> {
    let input = &split.input;
    let is_own = |piece: &SourceSplit| {
        piece.range.start >= split.range.start && piece.range.end <= split.range.end
    };
    let pieces = source.splits(input.index(), PORTION_BYTES)?;
    let own: Vec<Split> = pieces
        .into_iter()
        .filter(is_own)
        .map(|piece| Split::of(Arc::clone(input), piece))
        .collect();
    Ok(match own.is_empty() {
        true => vec![split.clone()],
        false => own,
    })
}

/// The range of stored bytes that is read of a portion: at most [`BEGINNING_BYTES`], unless its rows are typed.
fn stored_range(split: &Split) -> Range<u64> {
    let range = split.range.clone();
    let end = match split.input.is_typed() {
        true => range.end,
        false => range.end.min(range.start + BEGINNING_BYTES),
    };
    range.start..end
}

/// The numbers below `count`, each once. Consecutive numbers are far from each other.
fn far_apart(count: u64) -> impl Iterator<Item = u64> {
    // The step is near the golden section of the count, and has no common divisor with it.
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
    use inrush_plan::reading::test_source::{TestInput, TestSource};

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

    fn stored(portion: &Portion) -> &StoredRange {
        portion.place.as_ref().expect("a file")
    }

    #[test]
    fn portions_lie_in_their_split_and_are_spread_over_it() {
        let source = |needs_locate| TestSource {
            needs_locate,
            ..TestSource::new(TestInput::new("a.tbl", 100 << 20))
        };
        let plain = source(false);
        let whole = Split::of(plain.input(0), plain.whole(0));
        let split = Split {
            range: 10 << 20..90 << 20,
            size_bytes: 80 << 20,
            ..whole.clone()
        };
        let found = of_work(&plain, std::slice::from_ref(&split), 5).expect("portions");
        assert_eq!(found.len(), 5);
        let mut starts: Vec<u64> = found
            .iter()
            .map(|found| stored(found).byte_range.start)
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, [10 << 20, 26 << 20, 42 << 20, 58 << 20, 74 << 20]);
        for portion in &found {
            assert_eq!(stored(portion).size_bytes(), PORTION_BYTES);
            assert_eq!(portion.split.range, stored(portion).byte_range);
        }
        // A dialect with quotes cannot be read from the middle.
        let quoted = source(true);
        assert!(of_work(&quoted, &[split], 5).expect("portions").is_empty());
        let whole = of_work(&quoted, &[whole], 5).expect("portions");
        assert_eq!(whole.len(), 1);
    }
}
