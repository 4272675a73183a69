//! Trial loads: a preflight loads rows of its sample as a run does, and none of them stay. The engine measures; the
//! destination chooses the place, and removes the rows that were written there.
//!
//! ```text
//! TrialPlace             tables that nobody else sees
//!   begin -> TrialLoad     a trial of one target
//!     open_stream -> TrialStream   one for each thread: connects
//!       begin                creates the table of a unit
//!       begin_rows, (write | write_encoded)*, end_rows
//!       finish               the work of a unit after its rows
//!     publish                the work of the run after its streams
//!   log_position           before and after a trial
//! ```
//!
//! A stream takes rows by the same code as the [`UnitStream`](crate::UnitStream) of a run. Everything that a stream has
//! written is rolled back or removed when the stream is dropped, or at the latest when the place is dropped. If the
//! process is killed, nothing stays that a reader could take for rows.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::loading::StreamSetup;
use crate::rows_not_taken::Written;

/// The place of trial loads. Anything that is left there is removed on drop.
pub trait TrialPlace {
    /// How its tables differ from those of the run, as a sentence for the report; `None` if they do not.
    fn note(&self) -> Option<String> {
        None
    }

    /// Begins a trial load of the target with this index. Only one trial load runs at a time.
    fn begin(&self, target: usize, scope: TrialScope) -> Result<Box<dyn TrialLoad + '_>>;

    /// The end of the server's log, in bytes from any fixed position; `None` if there is no log, or if the role may not
    /// ask for it.
    fn log_position(&self) -> Option<i64> {
        None
    }
}

/// The part of a load that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialScope {
    /// Writing rows. These may be rows of any unit of the target, so work that depends on a unit's keys is left out.
    Rows,
    /// Writing the rows of each stream's unit, and the work of the unit after its rows.
    Units,
    /// The same as [`Units`](Self::Units), and the publish.
    UnitsAndPublish,
}

/// A trial load of one target. Its streams work at the same time, each in its own thread.
pub trait TrialLoad: Sync {
    /// Connects a stream. Streams are numbered from 1.
    fn open_stream<'s>(&'s self, setup: &StreamSetup<'s>) -> Result<Box<dyn TrialStream + 's>>;

    /// Makes the rows part of their target, and returns the seconds that this took; `None` if the publish only changes
    /// metadata. Called once, after all streams of a trial with [`TrialScope::UnitsAndPublish`] have ended.
    fn publish(&self) -> Result<Option<f64>>;

    /// The server's message about a row that it has refused, if it has refused one.
    fn refused_row(&self) -> Option<String> {
        None
    }
}

/// A stream of a trial load.
pub trait TrialStream {
    /// Creates the table of the unit with this index, or begins the unit in a table that all streams fill.
    fn begin(&mut self, unit: usize) -> Result<()>;

    /// Called before the first row. The time of this call counts only in [`TrialScope::Rows`].
    fn begin_rows(&mut self) -> Result<()> {
        Ok(())
    }

    /// Writes the rows of a batch, as a quick load does.
    fn write(&mut self, batch: &RecordBatch) -> Result<Written>;

    /// Writes rows that an [`EncodeRows`] of this destination has encoded. Never called for a destination without one.
    fn write_encoded(&mut self, _block: &[u8], _rows: u64) -> Result<()> {
        unreachable!("a destination that encodes rows takes them")
    }

    /// Called after the last row. Waits for the answer of the server.
    fn end_rows(&mut self) -> Result<()> {
        Ok(())
    }

    /// Does the work of a unit after its rows, up to its COMMIT; some destinations include the COMMIT. `rows` is the
    /// number of rows that were written and not refused. A destination that counts them itself fails if its count
    /// differs.
    fn finish(&mut self, rows: u64) -> Result<AfterRows>;

    /// CPU seconds that the server has spent for this stream so far; `None` if they cannot be seen.
    fn server_cpu_s(&self) -> Option<f64> {
        None
    }

    /// True if the stream itself reports to the meter what it does and waits for, like
    /// [`UnitStream::is_metered`](crate::UnitStream::is_metered).
    fn is_metered(&self) -> bool {
        false
    }
}

/// The measured work of a unit after its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AfterRows {
    /// Bytes that the unit's table takes; 0 if that is not known.
    pub table_bytes: u64,
    /// Seconds of counting and verifying.
    pub measure_s: f64,
    /// Seconds of constraints and indexes, and of the COMMIT if the trial has one.
    pub ready_s: f64,
    /// Seconds of ANALYZE.
    pub analyze_s: f64,
}

/// Encodes rows into the form that the destination gets, so that a preflight measures encoding and writing separately.
pub trait EncodeRows {
    /// Appends the rows of a batch.
    fn encode(&mut self, batch: &RecordBatch, block: &mut Vec<u8>) -> Result<()>;
}
