//! The result of comparing the rows of a source with those of its target, split by split.

use std::collections::BTreeMap;

use inrush_rows::plural::counted;

/// The most keys of a split that a result names.
const KEYS_MAX: usize = 10;

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of rows of each side.
    pub rows: [u64; 2],
    /// The number of splits into which the rows were cut.
    pub splits_all: usize,
    /// The splits in which the sides differ.
    pub splits: Vec<SplitDifference>,
    /// The rows of each side that have a value which the types of the target cannot hold.
    pub unfit: [UnfitRows; 2],
}

/// Rows that are not compared, because a value does not fit the type of its column in the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnfitRows {
    /// The number of these rows.
    pub count: u64,
    /// One of these rows, with the reason.
    pub example: Option<String>,
}

/// A split in which the sides differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitDifference {
    /// Its name: a partition, a range of the key, or a part by a hash of the key.
    pub name: String,
    /// The number of its rows on each side.
    pub rows: [u64; 2],
    /// The sum of the hashes of its rows on each side.
    pub sums: [String; 2],
    /// For each side, the number of rows that have no counterpart with the same key on the other side.
    pub only: [u64; 2],
    /// The number of keys whose rows have different values on the two sides.
    pub changed: u64,
    /// The number of rows, of both sides, in parts that differ but have too many rows to be compared one by one.
    pub unseen: u64,
    /// Some of the keys that differ, each with its difference in words.
    pub keys: Vec<String>,
}

impl Comparison {
    /// True if both sides have the same rows.
    pub fn is_equal(&self) -> bool {
        self.splits.is_empty() && self.unfit.iter().all(|unfit| unfit.count == 0)
    }

    /// For each side, the number of rows that have no counterpart with the same key on the other side.
    pub fn only(&self) -> [u64; 2] {
        let sum = |side: usize| self.splits.iter().map(|split| split.only[side]).sum();
        [sum(0), sum(1)]
    }

    /// The number of keys whose rows have different values on the two sides.
    pub fn changed(&self) -> u64 {
        self.splits.iter().map(|split| split.changed).sum()
    }

    /// The number of rows in all splits that were not compared one by one, although their part differs.
    pub fn unseen(&self) -> u64 {
        self.splits.iter().map(|split| split.unseen).sum()
    }
}

impl SplitDifference {
    /// Compares some rows of the split one by one. Each side maps a key to the sorted hashes of all its rows with that
    /// key.
    pub fn compare_rows<H: PartialEq>(
        &mut self,
        [here, there]: [&BTreeMap<String, Vec<H>>; 2],
        names: [&str; 2],
    ) {
        for (key, hashes) in here {
            match there.get(key) {
                None => {
                    self.only[0] += hashes.len() as u64;
                    self.tell(key, &format!("is only in {}", names[0]));
                }
                Some(others) if others.len() != hashes.len() => {
                    let (mine, theirs) = (hashes.len() as u64, others.len() as u64);
                    self.only[0] += mine.saturating_sub(theirs);
                    self.only[1] += theirs.saturating_sub(mine);
                    let mine = counted(mine, "row");
                    let what = format!("has {mine} in the source and {theirs} in the target");
                    self.tell(key, &what);
                }
                Some(others) if others != hashes => {
                    self.changed += 1;
                    self.tell(key, "has other values");
                }
                Some(_) => {}
            }
        }
        for (key, hashes) in there {
            if !here.contains_key(key) {
                self.only[1] += hashes.len() as u64;
                self.tell(key, &format!("is only in {}", names[1]));
            }
        }
    }

    fn tell(&mut self, key: &str, what: &str) {
        if self.keys.len() < KEYS_MAX {
            self.keys.push(format!("{key} {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_by_their_keys() {
        let rows = |rows: &[(&str, &[u64])]| -> BTreeMap<String, Vec<u64>> {
            let own = |(key, hashes): &(&str, &[u64])| ((*key).to_owned(), hashes.to_vec());
            rows.iter().map(own).collect()
        };
        let here = rows(&[
            ("(1)", &[7]),
            ("(2)", &[8]),
            ("(3)", &[9]),
            ("(4)", &[1, 1]),
        ]);
        let there = rows(&[("(1)", &[7]), ("(3)", &[0]), ("(4)", &[1]), ("(5)", &[5])]);
        let mut split = SplitDifference::default();
        split.compare_rows([&here, &there], ["a", "b"]);
        assert_eq!((split.only, split.changed), ([2, 1], 1));
        assert_eq!(
            split.keys,
            [
                "(2) is only in a",
                "(3) has other values",
                "(4) has 2 rows in the source and 1 in the target",
                "(5) is only in b",
            ]
        );
    }
}
