//! The traits by which a destination loads a unit in transactions, for the streams of a run.

use inrush_destination::LoadMethod;

use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::gathered::Gathered;
use crate::pipeline::row_loop::RowLoop;
use crate::pipeline::work::Work;
use crate::plan::{PlannedFlow, UnitPlace};

/// A stream's connection to a destination.
pub trait Transactions {
    /// A flow of the plan.
    type Flow: PlannedFlow;
    /// A transaction of a unit.
    type Transaction<'t>: UnitTransaction
    where
        Self: 't;

    /// The stream's gauge.
    fn gauge(&self) -> &Gauge;

    /// A transaction that loads a part of a unit; it begins when `perform` is called.
    fn transaction<'t>(
        &'t self,
        unit: UnitPlace,
        part: Part,
        method: LoadMethod,
    ) -> Self::Transaction<'t>;

    /// The name of the file in the run's folder that holds the rejects of a part of a unit.
    fn reject_file_name(&self, unit: UnitPlace, part: Part) -> String;

    /// Called when all splits of a shared unit are committed: counts it, and prepares it for publishing.
    fn finish_shared(&self, unit: UnitPlace) -> impl Future<Output = Result<(), Error>>;
}

/// A transaction of a unit. It is rolled back if it is dropped before its end.
pub trait UnitTransaction {
    /// Begins it, writes the rows of its work by the row loop, and commits them with their records in the ledger.
    /// Returns the committed part.
    fn perform(
        &mut self,
        rows: &mut RowLoop<'_>,
        work: Work<'_>,
    ) -> impl Future<Output = Result<Gathered, Error>>;

    /// Rolls it back and waits until that is done.
    fn roll_back(&mut self) -> impl Future<Output = Result<(), Error>>;
}

/// A part of a unit that is loaded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The split with this number, counted from 1.
    Split(usize),
    /// Ranges of a split that is fed.
    Ranges {
        /// The split's number, counted from 1.
        split: usize,
        /// First byte of the text of the first range.
        text_start: u64,
    },
}
