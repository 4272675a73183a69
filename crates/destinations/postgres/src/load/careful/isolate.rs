//! Finds the rows that a server refuses, one by one, and loads all others.
//!
//! Rows are sent in ranges, each of which is loaded completely or not at all (a savepoint). If a range is refused and
//! the server names the row, the rows before it are sent first; if the server names none, the range is halved. A row is
//! rejected only if it is refused when all rows before it are loaded or rejected. So the result is the same as the
//! result of loading row by row: the first of several duplicates is kept, even if the server finds faults in another
//! order.

use std::ops::Range;

use crate::RefusalFacts;

/// The smallest range, for places where faults are close together.
const WINDOW_ROWS_MIN: usize = 16;

/// Why a range of rows was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRefusal {
    /// The row that the server was processing, counted from 0 within the range.
    pub row: Option<usize>,
    /// The server's error.
    pub facts: Box<RefusalFacts>,
}

/// A row that the server refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Its index.
    pub row: usize,
    /// The server's error.
    pub facts: Box<RefusalFacts>,
}

/// Loads rows into a server.
pub trait RowSink {
    /// An error that no row has caused.
    type Error;

    /// Loads these rows, all or none.
    async fn load(&mut self, rows: Range<usize>) -> Result<Result<(), RowRefusal>, Self::Error>;
}

/// Sends rows in ranges that are as long as possible.
#[derive(Clone, Copy, Debug)]
pub struct Isolator {
    window_rows: usize,
    window_rows_max: usize,
}

impl Isolator {
    /// Ranges of at most `window_rows_max` rows.
    pub fn new(window_rows_max: usize) -> Isolator {
        Isolator {
            window_rows: window_rows_max.max(1),
            window_rows_max: window_rows_max.max(1),
        }
    }

    /// Loads these rows, except those that it returns, in order. It stops after `refused_max` refused rows; the index
    /// where it stopped is also returned.
    pub async fn run<S: RowSink>(
        &mut self,
        sink: &mut S,
        rows: Range<usize>,
        refused_max: usize,
    ) -> Result<(Vec<RefusedRow>, usize), S::Error> {
        let mut refused = Vec::new();
        let mut at = rows.start;
        // A refused row that follows rows which are not loaded yet. Once all of them are loaded, this row is at fault.
        let mut suspect: Option<RefusedRow> = None;
        while at < rows.end {
            if suspect.as_ref().is_some_and(|suspect| suspect.row == at) {
                refused.extend(suspect.take());
                at += 1;
                if refused.len() >= refused_max.max(1) {
                    break;
                }
                continue;
            }
            let window_end = rows.end.min(at + self.window_rows);
            let end = suspect
                .as_ref()
                .map_or(window_end, |suspect| suspect.row.min(window_end));
            match sink.load(at..end).await? {
                Ok(()) => {
                    at = end;
                    if suspect.is_none() {
                        self.window_rows = (self.window_rows * 2).min(self.window_rows_max);
                    }
                }
                Err(RowRefusal { row, facts }) => {
                    // The rows before the suspect are not loaded, so it is unknown again whether the suspect is at
                    // fault.
                    suspect = None;
                    let length = end - at;
                    let row = if length == 1 { Some(0) } else { row };
                    match row.filter(|row| *row < length) {
                        Some(row) => {
                            suspect = Some(RefusedRow {
                                row: at + row,
                                facts,
                            });
                            self.window_rows = (2 * row).clamp(
                                WINDOW_ROWS_MIN.min(self.window_rows_max),
                                self.window_rows_max,
                            );
                        }
                        None => self.window_rows = length / 2,
                    }
                }
            }
        }
        Ok((refused, at))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// A fault of a row, apart from its key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fault {
        None,
        /// Found as the rows arrive, before the keys of earlier rows are checked.
        Check,
        /// Found at the end of the statement, without naming the row.
        Trigger,
        /// Found without naming the row, as a server in another language may report it.
        Unplaced,
    }

    /// A table with a unique key; its transactions are rolled back as a whole.
    struct Table {
        rows: Vec<(u8, Fault)>,
        keys: BTreeSet<u8>,
        loaded: Vec<usize>,
        statements: usize,
        rows_sent: usize,
    }

    impl Table {
        fn new(rows: Vec<(u8, Fault)>) -> Table {
            Table {
                rows,
                keys: BTreeSet::new(),
                loaded: Vec::new(),
                statements: 0,
                rows_sent: 0,
            }
        }
    }

    fn refusal(row: Option<usize>) -> Result<Result<(), RowRefusal>, Infallible> {
        Ok(Err(RowRefusal {
            row,
            facts: Box::default(),
        }))
    }

    impl RowSink for Table {
        type Error = Infallible;

        async fn load(
            &mut self,
            range: Range<usize>,
        ) -> Result<Result<(), RowRefusal>, Infallible> {
            self.statements += 1;
            self.rows_sent += range.len();
            let rows = &self.rows[range.clone()];
            if let Some(row) = rows.iter().position(|row| row.1 == Fault::Check) {
                return refusal(Some(row));
            }
            let mut keys = self.keys.clone();
            for (row, (key, _)) in rows.iter().enumerate() {
                if !keys.insert(*key) {
                    return refusal(Some(row));
                }
            }
            if rows
                .iter()
                .any(|row| matches!(row.1, Fault::Trigger | Fault::Unplaced))
            {
                return refusal(None);
            }
            self.keys = keys;
            self.loaded.extend(range);
            Ok(Ok(()))
        }
    }

    /// The rows that a load row by row accepts.
    fn serial(rows: &[(u8, Fault)]) -> Vec<usize> {
        let mut keys = BTreeSet::new();
        let taken =
            |(_, (key, fault)): &(usize, &(u8, Fault))| *fault == Fault::None && keys.insert(*key);
        rows.iter()
            .enumerate()
            .filter(taken)
            .map(|(row, _)| row)
            .collect()
    }

    fn run(table: &mut Table, window_rows_max: usize, refused_max: usize) -> Vec<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime without drivers");
        let count = table.rows.len();
        let mut isolator = Isolator::new(window_rows_max);
        let mut found = Vec::new();
        let mut at = 0;
        while at < count {
            let (refused, end) = runtime
                .block_on(isolator.run(table, at..count, refused_max))
                .expect("the table does not fail");
            assert!(end == count || refused.len() == refused_max);
            found.extend(refused.into_iter().map(|refused| refused.row));
            at = end;
        }
        found
    }

    proptest! {
        #[test]
        fn it_is_a_load_row_by_row(
            rows in prop::collection::vec(
                (
                    0..40_u8,
                    prop_oneof![
                        12 => Just(Fault::None),
                        1 => Just(Fault::Check),
                        1 => Just(Fault::Trigger),
                        1 => Just(Fault::Unplaced),
                    ],
                ),
                0..200,
            ),
            window_rows_max in 1..128_usize,
            refused_max in 1..20_usize,
        ) {
            let expected = serial(&rows);
            let count = rows.len();
            let mut table = Table::new(rows);
            let refused = run(&mut table, window_rows_max, refused_max);
            prop_assert_eq!(&table.loaded, &expected);
            let others: Vec<usize> = (0..count).filter(|row| !expected.contains(row)).collect();
            prop_assert_eq!(refused, others);
        }
    }

    #[test]
    fn a_lone_fault_costs_little() {
        let mut rows: Vec<(u8, Fault)> = Vec::new();
        rows.resize(200, (0, Fault::None));
        for (key, row) in rows.iter_mut().enumerate() {
            row.0 = key as u8;
        }
        rows[150].1 = Fault::Check;
        let mut table = Table::new(rows.clone());
        assert_eq!(run(&mut table, 1024, usize::MAX), [150]);
        assert_eq!(table.statements, 3);
        rows[150].1 = Fault::Trigger;
        let mut table = Table::new(rows);
        assert_eq!(run(&mut table, 1024, usize::MAX), [150]);
        assert!(table.statements < 20, "{}", table.statements);
    }

    #[test]
    fn faults_everywhere_do_not_send_everything_again_and_again() {
        let mut table = Table::new(vec![(1, Fault::Check); 1000]);
        assert_eq!(run(&mut table, 1024, usize::MAX).len(), 1000);
        assert!(table.rows_sent < 20_000, "{}", table.rows_sent);
    }
}
