//! Counts of a flow's steps for the rows of a piece of work.

use std::collections::BTreeMap;

use inrush_transform::outcome::{StepCount, Stepped};
use serde::{Deserialize, Serialize};

/// The most different keys that are counted for each lookup.
const KEYS_MAX: usize = 1_000;

/// The counts of each step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTally {
    /// The counts in the order of the steps; empty without steps.
    pub counts: Vec<StepCount>,
    /// Keys that a lookup did not find, with their rows, by the index of the step.
    pub unmatched: BTreeMap<usize, BTreeMap<String, u64>>,
}

impl StepTally {
    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds the counts of a batch.
    pub fn add_batch(&mut self, stepped: &Stepped) {
        self.add_counts(&stepped.counts);
        for (step, key) in &stepped.unmatched_keys {
            self.add_key(*step, key, 1);
        }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &StepTally) {
        self.add_counts(&other.counts);
        for (step, keys) in &other.unmatched {
            for (key, rows) in keys {
                self.add_key(*step, key, *rows);
            }
        }
    }

    fn add_counts(&mut self, counts: &[StepCount]) {
        let length = self.counts.len().max(counts.len());
        self.counts.resize(length, StepCount::default());
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            sum.add(count);
        }
    }

    fn add_key(&mut self, step: usize, key: &str, rows: u64) {
        let keys = self.unmatched.entry(step).or_default();
        if let Some(known) = keys.get_mut(key) {
            *known += rows;
        } else if keys.len() < KEYS_MAX {
            keys.insert(key.to_owned(), rows);
        }
    }

    /// The most frequent keys that a lookup did not find, each with its number of rows; at most `count` keys.
    pub fn most_frequent(&self, step: usize, count: usize) -> Vec<(String, u64)> {
        let keys = self.unmatched.get(&step).into_iter().flatten();
        let mut keys: Vec<(String, u64)> = keys.map(|(key, rows)| (key.clone(), *rows)).collect();
        // Keys with the same number of rows stay in the order of the keys.
        keys.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        keys.truncate(count);
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pairs: &[(&str, u64)]) -> StepTally {
        let own = pairs.iter().map(|(key, rows)| ((*key).to_owned(), *rows));
        StepTally {
            counts: vec![StepCount::default()],
            unmatched: BTreeMap::from([(0, own.collect())]),
        }
    }

    #[test]
    fn the_most_frequent_keys_come_first() {
        let mut sum = keys(&[("a", 1), ("b", 5)]);
        sum.add(&keys(&[("c", 3), ("a", 2)]));
        let told = sum.most_frequent(0, 2);
        assert_eq!(told, [("b".to_owned(), 5), ("a".to_owned(), 3)]);
        assert_eq!(sum.most_frequent(1, 2), []);
    }

    #[test]
    fn memory_for_keys_is_limited() {
        let mut sum = StepTally::default();
        for number in 0..2 * KEYS_MAX {
            sum.add(&keys(&[(&number.to_string(), 1)]));
        }
        sum.add(&keys(&[("0", 7)]));
        assert_eq!(sum.unmatched[&0].len(), KEYS_MAX);
        assert_eq!(sum.most_frequent(0, 1), [("0".to_owned(), 8)]);
    }
}
