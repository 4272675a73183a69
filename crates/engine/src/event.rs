//! The events that a running load sends to its caller.

use inrush_plan::ledger::Account;
use inrush_plan::lineage::RunLineage;
use inrush_rows::ids::RunName;
use serde::Serialize;

/// An event.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The plan is made.
    Planned {
        /// The package.
        package: String,
        /// The URL of the destination.
        destination: String,
        /// The number of streams.
        streams: usize,
        /// The targets, and the size of the files for each.
        targets: Vec<TargetSize>,
    },
    /// Something that a user should know.
    Note {
        /// The text of the note.
        text: String,
    },
    /// The run is in the ledger, and loading begins.
    Started {
        /// Its name.
        run: RunName,
        /// True if it resumes an earlier run.
        resumed: bool,
        /// Units of the earlier run that are kept.
        units_kept: usize,
        /// Its folder.
        folder: String,
    },
    /// A file is searched for the first record of each of its ranges.
    Splitting {
        /// The flow.
        flow: String,
        /// The file.
        file: String,
        /// Its bytes.
        bytes: u64,
    },
    /// A stream begins a piece of work.
    UnitStarted {
        /// The flow.
        flow: String,
        /// The unit's number in the flow.
        unit: usize,
        /// The stream.
        stream: usize,
        /// The first file of the piece.
        file: String,
    },
    /// Rows were sent. One event for each chunk; never logged.
    Progress {
        /// The flow.
        flow: String,
        /// Rows since the last event.
        rows: u64,
        /// Bytes of the files as stored, since the last event.
        bytes: u64,
    },
    /// A unit, or a split of a shared unit, is committed. With `staging = false`, its rows are only written, and the
    /// switch commits them.
    UnitCommitted {
        /// The flow.
        flow: String,
        /// The unit's number in the flow.
        unit: usize,
        /// The stream.
        stream: usize,
        /// Its rows.
        account: Account,
        /// Bytes of its files as stored.
        stored_bytes: u64,
    },
    /// A transaction of a stream was rolled back, so its progress does not count.
    UnitAborted {
        /// The flow.
        flow: String,
        /// The unit's number in the flow.
        unit: usize,
        /// Bytes of its progress events.
        bytes: u64,
    },
    /// The server refused a row. The unit is loaded once more, and the rows that the server refuses are rejected.
    UnitRefused {
        /// The flow.
        flow: String,
        /// The unit's number in the flow.
        unit: usize,
        /// The server's message.
        reason: String,
    },
    /// A row was rejected. One event for each of the first rejects of a piece of work.
    Rejected {
        /// The flow.
        flow: String,
        /// The place, in words.
        place: String,
        /// The column, if the error is in one column.
        column: Option<String>,
        /// Stable name of the cause.
        code: String,
        /// The cause.
        reason: String,
    },
    /// The switch begins.
    Switching {
        /// The targets.
        targets: Vec<String>,
    },
    /// The switch is committed.
    Switched {
        /// The targets.
        targets: Vec<String>,
    },
    /// A target's statistics are updated.
    Analyzed {
        /// The target.
        target: String,
    },
    /// The run is over.
    Finished {
        /// Its name.
        run: RunName,
        /// `loaded`, `already_loaded`, `nothing_new`, `failed` or `interrupted`.
        outcome: String,
        /// All rows.
        account: Account,
        /// The report.
        report: Option<String>,
    },
}

/// A target, and how much there is to load into it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetSize {
    /// The flow.
    pub flow: String,
    /// The target.
    pub target: String,
    /// Bytes of its files as stored, without pipes.
    pub stored_bytes: u64,
    /// True if a pipe, whose length is unknown, brings more data.
    pub has_pipe: bool,
    /// Its units.
    pub units: usize,
}

/// A run that begins to load.
#[derive(Clone, Copy, Debug)]
pub struct BegunRun<'a> {
    /// Its name.
    pub name: &'a RunName,
    /// The origin of its columns.
    pub lineage: &'a RunLineage,
}

/// Receives the events. It is called from several threads, and they wait until it returns.
pub trait Observer: Sync {
    /// Called when an event has happened.
    fn notice(&self, event: &Event);

    /// Called when the run is in the ledger and loading begins. `run` has the origin of its columns.
    fn begun(&self, _run: &BegunRun<'_>) {}
}

/// Ignores all events.
pub struct Silent;

impl Observer for Silent {
    fn notice(&self, _: &Event) {}
}
