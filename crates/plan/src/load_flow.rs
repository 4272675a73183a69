//! A flow of a plan, for any destination.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_package::Mode;
use inrush_source::{Input, Split};

use crate::Reading;
use crate::reading::since::NothingNew;
use crate::steps::AskedMembers;
use crate::units::load_unit::LoadUnit;
use crate::verify::ColumnSums;

/// A flow of a plan, with everything that the engine needs to run it.
///
/// The planner's own flow has beside it what only the destination knows.
#[derive(Clone, Debug)]
pub struct LoadFlow {
    /// The reading of its files.
    pub reading: Reading,
    /// What becomes of the rows of its target.
    pub mode: Mode,
    /// Before the run: true if its target has rows; `None` if the target does not exist.
    pub has_rows: Option<bool>,
    /// Why it has nothing to load, if it loads only new rows and there are none.
    pub nothing_new: Option<NothingNew>,
    /// Where its rows are written.
    pub writes: Writes,
    /// The name of its target in the package that the run's folder keeps.
    pub saved_table: String,
    /// The members that its lookups add, in the order of the target's `members`. Empty if the open run does not give their
    /// numbers (`OpenRun::member_numbers`).
    pub asked_members: Vec<AskedMembers>,
    /// Units of flows with a smaller number are loaded first.
    pub turn: usize,
    /// The sums of all its rows, which are compared with the destination's own before the publish; none if its rows are only
    /// counted, or if each unit is compared when it is committed.
    pub sums: Option<Arc<ColumnSums>>,
    /// Its target keeps versions of rows.
    pub keeps_versions: bool,
    /// Its target is analyzed after the publish.
    pub is_analyzed: bool,
    /// The data of its pipes is kept until the load is done, so that rows which the destination refuses can be found and all
    /// others loaded again.
    pub keeps_pipes: bool,
    /// Its load units, in the order of their numbers.
    pub units: Vec<LoadUnit>,
}

/// Where the rows of a flow are written, and when they are committed in its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// In staging. The publish makes them part of the target.
    Staged,
    /// Directly to the target, committed split by split.
    EachSplit,
    /// Directly to the target, committed together with those of all flows.
    AtPublish,
}

/// Most callers need the reading of its files.
impl Deref for LoadFlow {
    type Target = Reading;

    fn deref(&self) -> &Reading {
        &self.reading
    }
}

impl DerefMut for LoadFlow {
    fn deref_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl LoadFlow {
    /// True if its rows are written directly to the target.
    pub fn is_straight(&self) -> bool {
        self.writes != Writes::Staged
    }

    /// True if its rows are written directly to the target and committed split by split.
    pub fn commits_each_split(&self) -> bool {
        self.writes == Writes::EachSplit
    }

    /// True if its rows are written directly to the target and committed together with those of all flows.
    pub fn commits_at_publish(&self) -> bool {
        self.writes == Writes::AtPublish
    }

    /// The splits of all units.
    pub fn splits(&self) -> impl Iterator<Item = &Split> {
        self.units.iter().flat_map(|unit| &unit.splits)
    }

    /// Its files, each once, in the order of the flow.
    pub fn files(&self) -> Vec<&Arc<dyn Input>> {
        let mut files: Vec<&Arc<dyn Input>> = self.splits().map(|split| &split.input).collect();
        files.sort_by_key(|file| file.index());
        files.dedup_by(|file, before| Arc::ptr_eq(file, before));
        files
    }

    /// Bytes of its files as they are stored.
    pub fn stored_bytes(&self) -> u64 {
        self.splits().map(|split| split.size_bytes).sum()
    }

    /// True if a pipe is among its files.
    pub fn has_pipes(&self) -> bool {
        self.splits().any(|split| split.input.is_read_once())
    }
}
