//! The rejects of a flow, counted over all streams and compared with the limits of its package.

use std::sync::{Mutex, PoisonError};

use inrush_package::RejectLimit;
use inrush_plan::Reading;
use inrush_plan::ledger::Account;
use inrush_rows::reject::Reject;
use inrush_scan::MissingFields;
use inrush_source::{InputKind, Split};

use crate::error::Error;

/// Bytes of rejects between two checks of the free space of their disk.
const LOOK_EVERY_BYTES: u64 = 1 << 20;

/// Numbers of rows that were read and rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowTally {
    /// Rows that were rejected.
    pub rejects: u64,
    /// Rows that were read, including the rejected ones.
    pub rows: u64,
    /// Bytes of text of the rows and of the skipped lines between them.
    pub bytes: u64,
    /// Bytes of the files of rejected rows.
    pub kept_bytes: u64,
}

impl RowTally {
    /// Adds another tally.
    pub fn add(&mut self, other: RowTally) {
        self.rejects += other.rejects;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.kept_bytes += other.kept_bytes;
    }
}

impl From<Account> for RowTally {
    fn from(account: Account) -> RowTally {
        RowTally {
            rejects: account.rows_rejected,
            rows: account.rows_read.saturating_sub(account.rows_skipped),
            bytes: account.bytes_read,
            kept_bytes: 0,
        }
    }
}

/// Rejects of a flow so far.
#[derive(Debug)]
pub struct RejectCount {
    tally: Mutex<RowTally>,
    limit: RejectLimit,
    /// The kind of the flow's inputs, for hints.
    inputs: InputKind,
    /// Bytes of text in all of the flow's files, if that is known before they are read.
    bytes_total: Option<u64>,
    /// The smallest size of a record.
    record_bytes_min: u64,
    /// The largest number of rows that are made of one record.
    fan_out: u64,
    /// A hint about the types, if they were guessed.
    hint: Option<String>,
}

impl RejectCount {
    /// Continues counting from the kept rows of an earlier attempt.
    pub fn new<'a>(
        flow: &Reading,
        splits: impl Iterator<Item = &'a Split>,
        kept: RowTally,
    ) -> RejectCount {
        RejectCount {
            tally: Mutex::new(kept),
            limit: flow.reject_limit,
            inputs: flow.input_kind(),
            bytes_total: bytes_total(splits),
            record_bytes_min: record_bytes_min(flow),
            fan_out: flow.fan_out(),
            hint: flow.reject_hint.clone(),
        }
    }

    /// The number of further rejects that are accepted by `rows_max`.
    pub fn left(&self) -> u64 {
        let rejects = self.locked().rejects;
        self.limit.rows_accepted().saturating_sub(rejects)
    }

    /// Counts rows that were read.
    pub fn note_read(&self, rows: u64, bytes: u64) {
        let mut tally = self.locked();
        tally.rows += rows;
        tally.bytes += bytes;
    }

    /// Subtracts the rows of a transaction that was rolled back.
    pub fn take_back(&self, undone: RowTally) {
        let mut tally = self.locked();
        // In the ledger, the bytes of a unit include the bytes before its first row. Here they are not counted.
        tally.rejects = tally.rejects.saturating_sub(undone.rejects);
        tally.rows = tally.rows.saturating_sub(undone.rows);
        tally.bytes = tally.bytes.saturating_sub(undone.bytes);
        tally.kept_bytes = tally.kept_bytes.saturating_sub(undone.kept_bytes);
    }

    /// Counts bytes of reject files. Returns true if `look_every` (or [`LOOK_EVERY_BYTES`]) more bytes are written, so
    /// that it is time to check the free space of their disk.
    pub fn note_kept(&self, bytes: u64, look_every: u64) -> bool {
        let mut tally = self.locked();
        let before = tally.kept_bytes;
        tally.kept_bytes += bytes;
        let look_every = look_every.clamp(1, LOOK_EVERY_BYTES);
        before / look_every != tally.kept_bytes / look_every
    }

    /// Counts more rejects. Returns an error if they exceed the limit. The limit on the share counts as exceeded as
    /// soon as the rejects so far exceed that share of all rows that the flow can have.
    pub fn add(&self, flow: &str, rejects: &[Reject]) -> Result<(), Error> {
        let Some(last) = rejects.last() else {
            return Ok(());
        };
        let (before, tally) = {
            let mut tally = self.locked();
            let before = tally.rejects;
            tally.rejects += rejects.len() as u64;
            (before, *tally)
        };
        let rows_max = self.limit.rows_accepted();
        if tally.rejects > rows_max {
            // The first reject beyond the limit; the first of `rejects` if the limit was already exceeded.
            let index = usize::try_from(rows_max.saturating_sub(before)).unwrap_or(usize::MAX);
            let reject = &rejects[index.min(rejects.len() - 1)];
            return Err(Error::RejectLimit {
                flow: flow.to_owned(),
                limit: rows_max,
                inputs: self.inputs,
                types: self.hint.clone().filter(|_| reject.column.is_some()),
                reject: Box::new(reject.clone()),
            });
        }
        let bytes_max = self.limit.bytes_accepted();
        if tally.kept_bytes > bytes_max {
            return Err(Error::RejectBytes {
                flow: flow.to_owned(),
                bytes_max,
                inputs: self.inputs,
                rejected: tally.rejects,
                reject: Box::new(last.clone()),
            });
        }
        match (self.limit.share_max, self.rows_at_most(&tally)) {
            (Some(share_max), Some(rows)) if is_past(tally.rejects, rows, share_max) => {
                Err(Error::RejectShare {
                    flow: flow.to_owned(),
                    rejected: tally.rejects,
                    rows: rows.max(tally.rejects),
                    at_end: false,
                    share_max,
                    inputs: self.inputs,
                    reject: Some(Box::new(last.clone())),
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks the share of rejected rows at the switch, when all rows are read.
    pub fn judge_share_of_all(&self, flow: &str) -> Result<(), Error> {
        let tally = *self.locked();
        self.judge_share(flow, tally.rejects, tally.rows.saturating_mul(self.fan_out))
    }

    /// Checks the share of rejected rows of a flow whose rows are all read.
    pub fn judge_share(&self, flow: &str, rejected: u64, rows: u64) -> Result<(), Error> {
        match self.limit.share_max {
            Some(share_max) if is_past(rejected, rows, share_max) => Err(Error::RejectShare {
                flow: flow.to_owned(),
                rejected,
                rows,
                at_end: true,
                share_max,
                inputs: self.inputs,
                reject: None,
            }),
            _ => Ok(()),
        }
    }

    /// The most rows that the flow can have.
    fn rows_at_most(&self, tally: &RowTally) -> Option<u64> {
        let bytes_left = self.bytes_total?.saturating_sub(tally.bytes);
        // The last record may lack its line end.
        let records = tally.rows + bytes_left.div_ceil(self.record_bytes_min);
        Some(records.saturating_mul(self.fan_out))
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, RowTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_past(rejected: u64, rows: u64, share_max: f64) -> bool {
    rejected as f64 > share_max * rows as f64
}

/// Bytes of text in all splits of a flow; `None` if one has to be decompressed or translated, or is a pipe.
fn bytes_total<'a>(splits: impl Iterator<Item = &'a Split>) -> Option<u64> {
    let mut total = 0;
    for split in splits {
        if !split.input.reads_in_ranges().unwrap_or(false) {
            return None;
        }
        total += split.size_bytes;
    }
    Some(total)
}

/// The bytes of the shortest record, its end included.
fn record_bytes_min(flow: &Reading) -> u64 {
    let dialect = &flow.dialect;
    // If an empty line may be a row, one byte; else two, because even a row with too few fields has a byte and a line
    // end.
    let may_be_empty = dialect.blank_lines_are_records
        || dialect.missing_fields == MissingFields::Null
        || dialect.fixed.is_some();
    if may_be_empty { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use inrush_rows::location::Location;
    use inrush_rows::reject::RejectCode;

    use super::*;

    fn count(limit: RejectLimit, bytes_total: Option<u64>) -> RejectCount {
        RejectCount {
            tally: Mutex::default(),
            limit,
            inputs: InputKind::File,
            bytes_total,
            record_bytes_min: 2,
            fan_out: 1,
            hint: None,
        }
    }

    fn rejects(count: usize) -> Vec<Reject> {
        (1..=count as u64)
            .map(|line| Reject {
                location: Location {
                    file: Arc::from(Path::new("f")),
                    line,
                    byte_offset: 0,
                    key: None,
                },
                column: None,
                value: None,
                code: RejectCode::Syntax,
                reason: String::new(),
                raw: Vec::new(),
                encoding: None,
                of_target: false,
            })
            .collect()
    }

    #[test]
    fn the_one_past_the_limit_is_told() {
        let count = count(RejectLimit::rows(3), None);
        assert!(count.add("f", &rejects(2)).is_ok());
        assert_eq!(count.left(), 1);
        match count.add("f", &rejects(2)) {
            Err(Error::RejectLimit {
                limit: 3, reject, ..
            }) => {
                assert_eq!(reject.location.line, 2);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_undone_does_not_count() {
        let count = count(RejectLimit::rows(3), None);
        let undone = RowTally {
            rejects: 3,
            rows: 9,
            bytes: 90,
            kept_bytes: 30,
        };
        assert!(count.add("f", &rejects(3)).is_ok());
        assert!(!count.note_kept(30, 1 << 20));
        count.note_read(9, 90);
        count.take_back(undone);
        assert!(count.add("f", &rejects(3)).is_ok());
        assert!(count.add("f", &rejects(1)).is_err());
    }

    #[test]
    fn files_of_rejects_have_a_limit_of_their_own() {
        let limit = RejectLimit {
            bytes_max: Some(3 << 20),
            ..RejectLimit::rows(100)
        };
        let count = count(limit, None);
        assert!(!count.note_kept(1 << 19, 1 << 20));
        assert!(count.add("f", &rejects(1)).is_ok());
        assert!(
            count.note_kept(5 << 19, 1 << 20),
            "it is time to look at the disk"
        );
        assert!(count.add("f", &rejects(1)).is_ok(), "exactly the limit");
        count.note_kept(1, 1 << 20);
        match count.add("f", &rejects(1)) {
            Err(Error::RejectBytes { rejected: 3, .. }) => {}
            other => panic!("{other:?}"),
        }
        // Rejects that were subtracted use no disk space any more.
        count.take_back(RowTally {
            rejects: 1,
            kept_bytes: 1,
            ..RowTally::default()
        });
        assert!(count.add("f", &rejects(1)).is_ok());
    }

    #[test]
    fn a_share_stops_as_soon_as_it_cannot_be_met() {
        let share = RejectLimit {
            share_max: Some(0.1),
            ..RejectLimit::default()
        };
        let count = count(share, Some(200));
        // 100 rows at most: ten may be bad.
        assert!(count.add("f", &rejects(10)).is_ok());
        // 80 bytes held 10 rows: 70 at most in all.
        count.note_read(10, 80);
        match count.add("f", &rejects(1)) {
            Err(Error::RejectShare {
                rejected: 11,
                rows: 70,
                at_end: false,
                ..
            }) => {}
            other => panic!("{other:?}"),
        }
        assert!(count.judge_share("f", 10, 100).is_ok());
        assert!(count.judge_share("f", 11, 100).is_err());
        assert!(count.judge_share("f", 0, 0).is_ok());
    }

    #[test]
    fn a_share_of_what_has_no_known_size_is_judged_at_the_end() {
        let share = RejectLimit {
            rows_max: Some(100),
            share_max: Some(0.1),
            ..RejectLimit::default()
        };
        let count = count(share, None);
        assert!(count.add("f", &rejects(100)).is_ok());
        assert!(matches!(
            count.add("f", &rejects(1)),
            Err(Error::RejectLimit { limit: 100, .. })
        ));
    }
}
