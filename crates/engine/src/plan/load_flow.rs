//! A flow of a plan, for any destination.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_package::Mode;

use super::Reading;
use super::since::NothingNew;
use super::steps::AskedMembers;
use crate::verify::ColumnSums;

/// The part of a planned flow that does not depend on the destination. Its load units are beside it
/// ([`PlannedFlow`](super::PlannedFlow)).
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
    /// The members that its lookups add, in the order of the target's, if the open run gives their numbers.
    pub asked_members: Vec<AskedMembers>,
    /// Units of flows with a smaller number are loaded first.
    pub turn: usize,
    /// The sums of all its rows, which are compared with the destination's own before the publish; none if its rows are only
    /// counted, or if each unit is compared when it is committed.
    pub sums: Option<Arc<ColumnSums>>,
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
}
