//! The beginning and the end of a piece of work, for the observer, the log and the report.

use std::collections::BTreeMap;

use inrush_plan::Reading;
use inrush_plan::ledger::Account;
use inrush_plan::step_tally::StepTally;
use inrush_rows::column_policy::ColumnChanges;
use inrush_source::SourceMeter;

use super::event_sink::EventSink;
use super::kept_rejects::KeptRejects;
use super::results::{Loaded, StreamResult};
use super::row_loop::RowLoop;
use crate::event::Event;
use crate::meter::Meter;
use crate::report::RejectReport;

/// A piece of work that a stream loads.
#[derive(Clone, Copy)]
pub struct PieceEvents<'a> {
    /// Gets the events.
    pub event_sink: EventSink<'a>,
    /// The flow.
    pub reading: &'a Reading,
    /// Index of the flow in the plan.
    pub flow: usize,
    /// Index of the unit in the flow.
    pub unit: usize,
    /// The unit's number in the flow, as messages show it.
    pub unit_number: usize,
    /// The stream, counted from 1; 0 once all streams have ended.
    pub stream: usize,
}

/// A piece of work whose transaction has ended, committed or not.
pub struct EndedPiece<'a> {
    /// True if the piece is the whole unit. Then the counts of earlier attempts are dropped.
    pub is_whole: bool,
    /// True if the destination could refuse single rows of the piece.
    pub is_careful: bool,
    /// Its rejects.
    pub rejects: KeptRejects<'a>,
    /// Values that were changed, by column.
    pub changes: BTreeMap<String, ColumnChanges>,
    /// What the steps of the flow have counted.
    pub steps: StepTally,
    /// The cost of the thread that read the rows of this piece. `meter` includes it.
    pub fed: SourceMeter,
    /// The time that it spent in each phase.
    pub meter: Meter,
}

impl<'a> EndedPiece<'a> {
    /// `meter` is the measurement of the stream's gauge for this piece.
    pub fn of(rows: RowLoop<'a>, mut meter: Meter) -> EndedPiece<'a> {
        let RowLoop {
            rejects,
            changes,
            steps,
            fed,
            ..
        } = rows;
        meter.add_reading(&fed);
        EndedPiece {
            is_whole: false,
            is_careful: false,
            rejects,
            changes,
            steps,
            fed,
            meter,
        }
    }
}

impl PieceEvents<'_> {
    /// Reports that a stream takes the piece. `file` is its first file.
    pub fn started(&self, file: String) {
        self.event_sink.notice(&Event::UnitStarted {
            flow: self.reading.name.clone(),
            unit: self.unit_number,
            stream: self.stream,
            file,
        });
    }

    /// Reports that the destination refused a row of it.
    pub fn refused(&self, reason: String) {
        self.event_sink.notice(&Event::UnitRefused {
            flow: self.reading.name.clone(),
            unit: self.unit_number,
            reason,
        });
    }

    /// Reports that the destination could not pass its rows through the steps.
    pub fn steps_failed(&self, reason: String) {
        self.event_sink.notice(&Event::Note {
            text: format!(
                "flow {}, unit {}: the steps in the destination's statement failed for a row ({reason}); from this \
                 unit on, Inrush evaluates the steps before it sends the rows, and rejects the row if a step rejects \
                 it",
                self.reading.name, self.unit_number
            ),
        });
    }

    /// Reports that its progress so far, in bytes of its files as stored, does not count.
    pub fn aborted(&self, stored_bytes: u64) {
        self.event_sink.notice(&Event::UnitAborted {
            flow: self.reading.name.clone(),
            unit: self.unit_number,
            bytes: stored_bytes,
        });
    }

    /// Reports that its rows are committed.
    pub fn committed(&self, ended: EndedPiece<'_>, account: Account, result: &mut StreamResult) {
        self.event_sink.notice(&Event::UnitCommitted {
            flow: self.reading.name.clone(),
            unit: self.unit_number,
            stream: self.stream,
            account,
            stored_bytes: ended.meter.stored_bytes,
        });
        result.loaded.push(Loaded {
            flow: self.flow,
            unit: self.unit,
            is_whole: ended.is_whole,
            is_careful: ended.is_careful,
            account,
            meter: ended.meter,
            changes: ended.changes,
            steps: ended.steps,
            rejects: ended
                .rejects
                .told()
                .iter()
                .map(RejectReport::from)
                .collect(),
        });
    }
}
