//! Compares the rows of two sources by hashes that the engine makes, for databases whose servers have no hash in common.
//!
//! The rows of both sides are converted to the types of the target, as a load converts them, so equal values have equal
//! bytes, whichever database sends them. A hash of its key puts each row into one of 65,536 buckets. The first pass counts the
//! rows of each bucket and sums up their hashes; neighbouring buckets are a split of the result. If buckets differ, a second pass
//! keeps the hashes of their rows, up to a number for each split, and compares them by their keys. So the memory does not depend
//! on the number of rows.

mod side;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use inrush_source::{Comparison, Source, SplitDifference, UnfitRows};

use self::side::{RowHash, SideReader};
use crate::error::Error;

/// The number of buckets.
const BUCKETS: usize = 1 << 16;
/// The approximate number of rows in a split.
const SPLIT_ROWS: u64 = 10_000;
/// The most splits.
const SPLITS_MAX: u64 = 64;
/// The most rows of a split, of both sides together, that are compared one by one.
const ROWS_KEPT_MAX: u64 = 10_000;

/// One of the two sides.
#[derive(Debug)]
pub struct ComparedSide {
    /// The table or query and its place, for messages.
    pub name: String,
    /// Its rows.
    pub source: Arc<dyn Source>,
    /// The columns that are compared. Both sides have them in the same order and with the same types, the types of the
    /// target.
    pub columns: Vec<Column>,
    /// How its values are written.
    pub dialect: Dialect,
    /// The number of its fields.
    pub field_count: usize,
}

/// The options of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions<'a> {
    /// The flow, for messages.
    pub flow: &'a str,
    /// The indexes of the columns by which a row of one side belongs to a row of the other.
    pub key: &'a [usize],
    /// The threads that read a side.
    pub threads: usize,
    /// Ends the comparison.
    pub stop: &'a Stop,
}

/// Compares the rows of two sides, the source first.
pub fn compare(
    sides: &[ComparedSide; 2],
    options: CompareOptions<'_>,
) -> Result<Comparison, Error> {
    let [source, target] = sides;
    let (here, there) = (count(source, options)?, count(target, options)?);
    let rows = [here.all.rows, there.all.rows];
    let counts = [here.buckets, there.buckets];
    let wanted = (rows[0].max(rows[1]) / SPLIT_ROWS).clamp(1, SPLITS_MAX);
    let mut splits = Splits::of(wanted as usize, &counts);
    if !splits.differing.is_empty() {
        let kept = [
            keep(source, &splits.looked_at, options)?,
            keep(target, &splits.looked_at, options)?,
        ];
        let names = [source.name.as_str(), target.name.as_str()];
        for (number, split) in &mut splits.differing {
            let none = BTreeMap::new();
            let of = |side: usize| kept[side].get(number).unwrap_or(&none);
            split.compare_rows([of(0), of(1)], names);
        }
    }
    Ok(Comparison {
        rows,
        splits_all: splits.count,
        splits: splits.differing.into_values().collect(),
        unfit: [here.all.unfit, there.all.unfit],
    })
}

/// The number of rows of a bucket, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    hashes: u128,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.rows += other.rows;
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// The counts of a pass, besides its own result.
#[derive(Debug, Default)]
struct Totals {
    rows: u64,
    unfit: UnfitRows,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.rows += other.rows;
        self.unfit.count += other.unfit.count;
        self.unfit.example = self.unfit.example.take().or(other.unfit.example);
    }
}

/// The sums of a side.
struct Counted {
    all: Totals,
    buckets: Vec<Sum>,
}

fn bucket_of(key_hash: u64) -> usize {
    (key_hash >> 48) as usize
}

/// The first pass over a side.
fn count(side: &ComparedSide, options: CompareOptions<'_>) -> Result<Counted, Error> {
    let reader = SideReader::new(side, options)?;
    let parts = reader.read(
        &|| vec![Sum::default(); BUCKETS],
        &|buckets: &mut Vec<Sum>, row: &RowHash<'_>| {
            buckets[bucket_of(row.key)].add(Sum {
                rows: 1,
                hashes: row.all.into(),
            });
        },
    )?;
    let mut found = Counted {
        all: Totals::default(),
        buckets: vec![Sum::default(); BUCKETS],
    };
    for (totals, buckets) in parts {
        found.all.add(totals);
        for (sum, part) in found.buckets.iter_mut().zip(buckets) {
            sum.add(part);
        }
    }
    Ok(found)
}

/// The hashes of rows by the texts of their keys.
type RowsByKey = BTreeMap<String, Vec<u64>>;

/// The second pass over a side: the rows of some buckets, by the numbers of their splits.
fn keep(
    side: &ComparedSide,
    looked_at: &HashMap<usize, usize>,
    options: CompareOptions<'_>,
) -> Result<BTreeMap<usize, RowsByKey>, Error> {
    let reader = SideReader::new(side, options)?;
    let parts = reader.read(
        &BTreeMap::new,
        &|kept: &mut BTreeMap<usize, RowsByKey>, row: &RowHash<'_>| {
            if let Some(split) = looked_at.get(&bucket_of(row.key)) {
                let rows = kept.entry(*split).or_default();
                rows.entry(row.key_text()).or_default().push(row.all);
            }
        },
    )?;
    let mut all: BTreeMap<usize, RowsByKey> = BTreeMap::new();
    for (_, part) in parts {
        for (split, rows) in part {
            let of_split = all.entry(split).or_default();
            for (key, hashes) in rows {
                of_split.entry(key).or_default().extend(hashes);
            }
        }
    }
    for hashes in all.values_mut().flat_map(BTreeMap::values_mut) {
        hashes.sort_unstable();
    }
    Ok(all)
}

/// The splits of a result.
struct Splits {
    count: usize,
    /// The splits that differ, by their numbers.
    differing: BTreeMap<usize, SplitDifference>,
    /// The buckets whose rows are compared one by one, with the numbers of their splits.
    looked_at: HashMap<usize, usize>,
}

impl Splits {
    fn of(count: usize, counts: &[Vec<Sum>; 2]) -> Splits {
        let mut splits = Splits {
            count,
            differing: BTreeMap::new(),
            looked_at: HashMap::new(),
        };
        for number in 0..count {
            let buckets = BUCKETS * number / count..BUCKETS * (number + 1) / count;
            let mut sums = [Sum::default(); 2];
            let mut kept = 0;
            let mut unseen = 0;
            let mut differs = false;
            for bucket in buckets {
                let both = [counts[0][bucket], counts[1][bucket]];
                sums[0].add(both[0]);
                sums[1].add(both[1]);
                if both[0] == both[1] {
                    continue;
                }
                differs = true;
                let rows = both[0].rows + both[1].rows;
                if kept + rows <= ROWS_KEPT_MAX {
                    kept += rows;
                    splits.looked_at.insert(bucket, number);
                } else {
                    unseen += rows;
                }
            }
            if differs {
                let found = SplitDifference {
                    name: match count {
                        1 => "all rows".to_owned(),
                        _ => format!("part {} of {count}, by a hash of the key", number + 1),
                    },
                    rows: sums.map(|sum| sum.rows),
                    sums: sums.map(|sum| sum.hashes.to_string()),
                    unseen,
                    ..SplitDifference::default()
                };
                splits.differing.insert(number, found);
            }
        }
        splits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_keeps_a_limited_number_of_rows() {
        let sum = |rows, hashes| Sum { rows, hashes };
        let mut here = vec![Sum::default(); BUCKETS];
        here[0] = sum(3, 5);
        here[BUCKETS / 2] = sum(ROWS_KEPT_MAX, 1);
        here[BUCKETS / 2 + 1] = sum(1, 9);
        let mut there = here.clone();
        assert!(
            Splits::of(4, &[here.clone(), there.clone()])
                .differing
                .is_empty()
        );
        there[BUCKETS / 2].rows += 1;
        there[BUCKETS / 2 + 1].hashes = 8;
        let splits = Splits::of(4, &[here, there]);
        let [(number, split)] = &Vec::from_iter(&splits.differing)[..] else {
            panic!("one split differs");
        };
        assert_eq!(**number, 2);
        assert_eq!(split.rows, [ROWS_KEPT_MAX + 1, ROWS_KEPT_MAX + 2]);
        assert_eq!(split.sums, ["10".to_owned(), "9".to_owned()]);
        assert_eq!(split.unseen, 2 * ROWS_KEPT_MAX + 1);
        assert_eq!(splits.looked_at, HashMap::from([(BUCKETS / 2 + 1, 2)]));
    }
}
