//! Finds the rows of a batch that are refused because they share a key with an earlier one.

use std::collections::{BTreeMap, HashSet};

/// A row that shares a key with others of its batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharer<C> {
    /// Its place in the batch.
    pub(crate) row: usize,
    /// The key: the number of the test that found it, and the number that its value has in this test.
    pub(crate) key: (usize, usize),
    /// The reason for its refusal.
    pub(crate) cause: C,
}

/// Goes through the rows in order, and refuses each row that shares a key with an earlier row that was not refused.
pub(crate) fn refuse_sharers<C: Copy>(
    mut sharing: Vec<Sharer<C>>,
    refused: &mut BTreeMap<usize, C>,
) {
    sharing.sort_by_key(|sharer| sharer.row);
    let mut taken: HashSet<(usize, usize)> = HashSet::new();
    for of_row in sharing.chunk_by(|first, second| first.row == second.row) {
        let row = of_row[0].row;
        if refused.contains_key(&row) {
            continue;
        }
        match of_row.iter().find(|sharer| taken.contains(&sharer.key)) {
            Some(sharer) => {
                refused.insert(row, sharer.cause);
            }
            None => taken.extend(of_row.iter().map(|sharer| sharer.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_rows_that_share_a_key_the_first_that_is_taken_stays() {
        let sharer = |row, key: usize, value| Sharer {
            row,
            key: (key, value),
            cause: key,
        };
        // Row 1 is refused for its second key, so row 2 may have its first one.
        let sharing = vec![
            sharer(1, 0, 7),
            sharer(2, 0, 7),
            sharer(0, 1, 3),
            sharer(1, 1, 3),
            sharer(4, 1, 3),
        ];
        let mut refused = BTreeMap::new();
        refuse_sharers(sharing, &mut refused);
        assert_eq!(refused, BTreeMap::from([(1, 1), (4, 1)]));
    }

    #[test]
    fn a_row_that_is_refused_already_takes_no_key() {
        let sharing = [0, 1, 2].map(|row| Sharer {
            row,
            key: (0, 1),
            cause: "key",
        });
        let mut refused = BTreeMap::from([(0, "check")]);
        refuse_sharers(sharing.into(), &mut refused);
        assert_eq!(refused, BTreeMap::from([(0, "check"), (2, "key")]));
    }
}
