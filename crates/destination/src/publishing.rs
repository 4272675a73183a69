//! A publish gets callbacks from the engine, and returns what it has written.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use inrush_rows::ids::{SplitKey, UnitKey};
use inrush_rows::reject::RejectCode;

use crate::error::{Error, Result};
use crate::members::AddedMembers;
use crate::split_record::SplitRecord;

/// Steps of [`OpenRun::publish`](crate::OpenRun::publish) and of [`RunLedger::undo`](crate::RunLedger::undo), for tests
/// that end the process at one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishStep {
    /// Some of the work is done, and none of it is visible.
    Under,
    /// Everything is ready to be committed.
    BeforeCommit,
    /// Everything is committed.
    Committed,
    /// The run is recorded as switched, and leftovers of staging are about to be removed, if that is a separate step.
    Tidying,
}

/// Finds rows of staging in their source. A destination needs this if a target refuses some of its staged rows: it then
/// copies the rows into the target one by one, and the refused ones become rejects. The units of the target were loaded
/// carefully, so the rows of each are in the order of the source.
///
/// An error of these calls is [`Error::Interrupted`]: the engine knows the reason. The publish is rolled back, and ends
/// with this error. Rejects of a publish that is rolled back do not count.
pub trait RowsInSource {
    /// Begins with a unit, and returns the number of rejects that its flow still accepts. If the same publish has begun
    /// with this unit before, the rejects of that time do not count any more.
    fn begin(&mut self, target: usize, unit: usize) -> Result<u64>;

    /// Finds rows of the unit, and passes each one to `see`, so that the destination can compare it with the staged
    /// row. `refused` has rows in their order, and `records` has the records of the run's splits. Returns the number of
    /// rows that were found in each split; `None` if the source has other rows than those that were loaded.
    fn find(
        &mut self,
        refused: &[RefusedStagedRow],
        records: &[SplitRecord],
        see: &mut dyn FnMut(&RecordBatch),
    ) -> Result<Option<Vec<(SplitKey, u64)>>>;

    /// Makes rejects of the rows that were found.
    fn reject(&mut self) -> Result<()>;
}

/// The units of a target that are loaded again, carefully, because it has refused rows at the publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadedUnits {
    /// All units of the target. The engine removes their records first ([`OpenRun::forget`](crate::OpenRun::forget)).
    All,
    /// The units with these keys. The careful load of such a unit replaces its staged rows.
    Replaced(Vec<UnitKey>),
}

/// A row of staging that its target refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedStagedRow {
    /// The number of rows of its unit before it.
    pub number: u64,
    /// The column at fault by its name, if it is one column.
    pub column: Option<String>,
    /// The kind of fault.
    pub code: RejectCode,
    /// The fault, the likely cause and the fix.
    pub reason: String,
}

/// The source of a publish that copies no rows one by one.
#[derive(Debug)]
pub struct NoSource;

impl RowsInSource for NoSource {
    fn begin(&mut self, _: usize, _: usize) -> Result<u64> {
        Err(Error::Interrupted)
    }

    fn find(
        &mut self,
        _: &[RefusedStagedRow],
        _: &[SplitRecord],
        _: &mut dyn FnMut(&RecordBatch),
    ) -> Result<Option<Vec<(SplitKey, u64)>>> {
        Ok(None)
    }

    fn reject(&mut self) -> Result<()> {
        Err(Error::Interrupted)
    }
}

/// The rows that were merged into a target, by what they did there. Each staged row is counted in one of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedRows {
    /// Rows whose key had no row in the target, or no current version.
    pub new: u64,
    /// Rows that ended the current version of their key and added a new one.
    pub changed: u64,
    /// Rows that were written over the row of their key, or over its current version.
    pub overwritten: u64,
    /// Rows that are equal to the current version of their key. Without versions each row with a known key is
    /// overwritten.
    pub unchanged: u64,
}

/// The result of a publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Rows in each target after the publish, in the plan's order, if known.
    pub rows: Vec<Option<u64>>,
    /// Partitions of each target that were written.
    pub partitions: BTreeMap<usize, Vec<PublishedPartition>>,
    /// The members that were added to the references of lookups, once for each reference.
    pub members: Vec<AddedMembers>,
    /// The merged rows of each target with [`WriteMode::Upsert`](crate::WriteMode::Upsert).
    pub merged: BTreeMap<usize, MergedRows>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A partition that a publish has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedPartition {
    /// Its name.
    pub name: String,
    /// The first key that it may have, as text, if it has a range of keys with such a bound.
    pub lower: Option<String>,
    /// The end of its keys, as text.
    pub upper: Option<String>,
}

impl From<String> for PublishedPartition {
    /// A partition without a range of keys.
    fn from(name: String) -> PublishedPartition {
        PublishedPartition {
            name,
            lower: None,
            upper: None,
        }
    }
}
