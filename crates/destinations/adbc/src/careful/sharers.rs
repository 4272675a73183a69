//! Finds the rows of a batch that are refused because they share a key with an earlier one.

use std::collections::{BTreeMap, HashSet};

use super::queries::Cause;

/// A row that shares a key with others of its batch.
#[derive(Debug)]
pub struct Sharer<'a> {
    /// Its place in the batch.
    pub row: usize,
    /// The key: the test that found it, and the number of its value there.
    pub key: (usize, usize),
    /// The reason for its refusal.
    pub cause: &'a Cause,
}

/// Refuses each row that shares a key with an earlier row of the batch that is not refused itself, row by row.
pub fn refuse_sharers<'a>(mut sharing: Vec<Sharer<'a>>, refused: &mut BTreeMap<usize, &'a Cause>) {
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
    use inrush_rows::reject::RejectCode;

    use super::*;

    fn cause(column: usize) -> Cause {
        Cause {
            column: Some(column),
            code: RejectCode::DuplicateKey,
            reason: String::new(),
        }
    }

    #[test]
    fn of_rows_that_share_a_key_the_first_that_is_taken_stays() {
        let causes = [cause(0), cause(1)];
        let sharer = |row, key: usize, value| Sharer {
            row,
            key: (key, value),
            cause: &causes[key],
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
        let found: Vec<(usize, Option<usize>)> = refused
            .iter()
            .map(|(row, cause)| (*row, cause.column))
            .collect();
        assert_eq!(found, [(1, Some(1)), (4, Some(1))]);
    }

    #[test]
    fn a_row_that_is_refused_already_takes_no_key() {
        let (check, key) = (cause(5), cause(0));
        let sharing = [0, 1, 2].map(|row| Sharer {
            row,
            key: (0, 1),
            cause: &key,
        });
        let mut refused = BTreeMap::from([(0, &check)]);
        refuse_sharers(sharing.into(), &mut refused);
        let rows: Vec<(usize, Option<usize>)> = refused
            .iter()
            .map(|(row, cause)| (*row, cause.column))
            .collect();
        assert_eq!(rows, [(0, Some(5)), (2, Some(0))]);
    }
}
