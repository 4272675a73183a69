//! The results of streams.

use std::collections::BTreeMap;

use inrush_plan::ledger::Account;
use inrush_plan::step_tally::StepTally;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::reject::Reject;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::meter::Meter;
use crate::report::RejectReport;

/// The most rejects in the report itself.
pub const REJECTS_SHOWN: usize = 20;

/// The result of one stream.
#[derive(Default)]
pub struct StreamResult {
    /// Pieces of work that it finished.
    pub loaded: LoadedPieces,
    /// The first rejects of unfinished work.
    pub rejects: Vec<Reject>,
    /// The time that it spent in each phase.
    pub meter: Meter,
    /// Seconds from the start of loading to its end.
    pub ended_s: f64,
    /// Why it stopped early.
    pub error: Option<Error>,
}

/// Committed pieces of work, in their order. Consecutive pieces of one unit are joined, because a unit may have a
/// hundred thousand small files.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LoadedPieces {
    pieces: Vec<Loaded>,
    count: usize,
}

impl LoadedPieces {
    /// Adds a piece.
    pub fn push(&mut self, piece: Loaded) {
        self.count += 1;
        self.join(piece);
    }

    /// Appends the pieces of another stream.
    pub fn add_all(&mut self, others: LoadedPieces) {
        self.count += others.count;
        if self.pieces.is_empty() {
            self.pieces = others.pieces;
            return;
        }
        self.pieces.reserve_exact(others.pieces.len());
        for piece in others.pieces {
            self.join(piece);
        }
    }

    /// The number of pieces that were added.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The pieces, joined.
    pub fn iter(&self) -> std::slice::Iter<'_, Loaded> {
        self.pieces.iter()
    }

    fn join(&mut self, piece: Loaded) {
        match self.pieces.last_mut() {
            Some(last) if last.goes_on_with(&piece) => last.add(piece),
            _ => self.pieces.push(piece),
        }
    }
}

impl<'a> IntoIterator for &'a LoadedPieces {
    type Item = &'a Loaded;
    type IntoIter = std::slice::Iter<'a, Loaded>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Loaded {
    /// True if the other piece continues this one. Pieces of a unit that is loaded as a whole are not joined, because
    /// only its last attempt counts.
    fn goes_on_with(&self, other: &Loaded) -> bool {
        let of_unit = |piece: &Loaded| (piece.flow, piece.unit, piece.is_careful);
        !self.is_whole && !other.is_whole && of_unit(self) == of_unit(other)
    }

    fn add(&mut self, other: Loaded) {
        self.account.add(&other.account);
        self.meter.add(&other.meter);
        for (column, changes) in other.changes {
            self.changes.entry(column).or_default().add(&changes);
        }
        self.steps.add(&other.steps);
        let room = REJECTS_SHOWN.saturating_sub(self.rejects.len());
        self.rejects.extend(other.rejects.into_iter().take(room));
    }
}

/// A piece of work that is committed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the unit in it.
    pub unit: usize,
    /// True if the piece is the whole unit. Then the counts of earlier attempts are dropped.
    pub is_whole: bool,
    /// True if the server could refuse single rows of the piece.
    pub is_careful: bool,
    /// Its rows.
    pub account: Account,
    /// The time by phase.
    pub meter: Meter,
    /// Values that were changed, by column.
    pub changes: BTreeMap<String, ColumnChanges>,
    /// The counts of the flow's steps; empty without steps.
    #[serde(default, skip_serializing_if = "StepTally::is_empty")]
    pub steps: StepTally,
    /// Its first rejects.
    pub rejects: Vec<RejectReport>,
}
