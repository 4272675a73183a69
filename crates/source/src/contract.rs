//! The traits of a source, in the order in which the engine calls them. `docs/specs/source.md` has the promises.
//!
//! ```text
//! Source                    opened by its own constructor, with the run's stop; opening changes nothing
//!   columns, input           the columns and the inputs to read
//!   splits, needs_locate, locate   the pieces of an input
//!   open_stream -> SourceStream   one for each of the engine's threads
//!     open -> SplitReader    one split after the other
//!       next_chunk*, end        or native_rows, then end
//!   share -> SharedSplit     a split of which all streams take parts
//!     next_part -> SharedPart     a SplitReader, for the stream that asks
//!   has_same_content         for a later run: have the rows changed?
//!   sampler -> SessionSampler     asks the server what the sessions of readers do
//! Input                     a file, a table, a query
//!   name, state, identity    its name, and facts that show a change
//!   text_bytes, decoder_bytes, ...   estimates, for the plan
//! ```
//!
//! Every call may block. Once the run is asked to stop, a call that reads or waits ends soon with
//! [`SourceError::Stopped`]. An implementation may have its own threads; they end with the value that started them.
//!
//! Rows come as [chunks](Chunks): the source's own text or typed values, in the source's own columns. The engine
//! converts them to the target's rows, by one converter for all sources. So a source cannot change a value, and knows
//! nothing of targets. Calls are per chunk, never per row.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use inrush_rows::finding::Finding;
use inrush_rows::native_type::NativeType;
use inrush_rows::pace::Pace;

use crate::chunks::{Chunks, NativeRows};
use crate::content::{SplitContent, SplitEnd};
use crate::error::SourceError;
use crate::expected_reading::ExpectedReading;
use crate::input::{FirstRow, Input, SourceColumn};
use crate::meter::SourceMeter;
use crate::sampling::{ReadingSession, SessionSampler};
use crate::split::SourceSplit;

/// The origin of a flow's rows: files, a table, a query.
pub trait Source: fmt::Debug + Send + Sync {
    /// Its kind and place, for plans and reports, without secrets.
    fn describe(&self) -> String;

    /// Its columns, in the order of a row's fields; `None` if only the flow defines them.
    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError>;

    /// The number of its inputs. Their order never changes.
    fn input_count(&self) -> usize;

    /// The input with this index.
    fn input(&self, index: usize) -> Arc<dyn Input>;

    /// All of an input as one split.
    fn whole(&self, input: usize) -> SourceSplit;

    /// The splits of an input, with about this many bytes each, in order. Each row of the input is in exactly one
    /// split. The splits depend only on the input and this number, so that a stopped run can be resumed with the
    /// missing splits.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError>;

    /// True if all sources of a run that read this database, or these files, read it as of the same moment, and so see the
    /// same rows. True for
    /// files, too: they may change, but a run notices this.
    fn has_one_moment(&self) -> bool {
        true
    }

    /// True if the splits of an input must be [located](Source::locate), if it has more than one.
    fn needs_locate(&self, _input: usize) -> bool {
        false
    }

    /// Finds facts that are needed to read the splits, and that only a pass over the input can find. It uses this many
    /// threads. `splits` are all splits of one input, in order.
    fn locate(&self, _splits: &mut [SourceSplit], _threads: usize) -> Result<(), SourceError> {
        Ok(())
    }

    /// A stream for one thread.
    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError>;

    /// Begins a split of which all streams take parts. The parts depend only on the input. The ranges in `finished`
    /// are parts that are already loaded and are skipped; a range that is not a part is [`SourceError::RangesDiffer`].
    /// Called only for [inputs that can be shared](Input::is_shareable).
    fn share(
        &self,
        split: &SourceSplit,
        _settings: ShareSettings,
        _finished: &[Range<u64>],
    ) -> Result<Box<dyn SharedSplit>, SourceError> {
        Err(SourceError::Input {
            input: self.input(split.input).name().to_path_buf(),
            what: "several streams cannot read it at once".to_owned(),
            fix: "load it by one stream".to_owned(),
        })
    }

    /// Reads again what an earlier run has read of an input, and returns true if the content is still the same. The
    /// input has the same size as in the earlier run.
    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError>;

    /// The first row of an input, for plans in which it decides the input's partition; `None` if the input has no rows.
    fn first_row(&self, input: usize) -> Result<Option<FirstRow>, SourceError> {
        Err(SourceError::Input {
            input: self.input(input).name().to_path_buf(),
            what: "its first row cannot be looked at before it is loaded".to_owned(),
            fix: "leave out `bounds`, or set `routing = true`".to_owned(),
        })
    }

    /// The text of a field in the first and in the last row of a split, if both can be found without reading all rows.
    fn ends_of(&self, _split: &SourceSplit, _field: usize) -> Option<(String, String)> {
        None
    }

    /// Names of the stored tables from which its rows come, also through views, with their partitions. The names are
    /// the same however the address of the database is written. A destination that knows its target by one of these
    /// names refuses to write into a table that is read.
    fn stored_tables(&self) -> Vec<String> {
        Vec::new()
    }

    /// The form in which it sends the values of each column, if its readers can hand out rows in this form
    /// ([`SplitReader::native_rows`]).
    fn native_forms(&self) -> Option<Vec<NativeType>> {
        None
    }

    /// Asks the server what the [sessions of readers](SplitReader::session) do; `None` if rows come from no server, or if
    /// it cannot be asked.
    fn sampler(&self) -> Option<Arc<dyn SessionSampler>> {
        None
    }

    /// The approximate number of rows of an input, if its source knows it without reading it. For a preflight, where the
    /// input's size in bytes is unknown.
    fn estimated_rows(&self, input: usize) -> Result<Option<u64>, SourceError> {
        Ok(self.input(input).row_count())
    }

    /// What would stop or disturb a run that reads this source, for a preflight.
    fn hazards(&self, _expected: &ExpectedReading) -> Result<Vec<Finding>, SourceError> {
        Ok(Vec::new())
    }

    /// The pace of its readers, if their rate is limited. Sources that share a limit return the same one.
    fn pace(&self) -> Option<&Arc<Pace>> {
        None
    }

    /// Notes for the user about this source, in whole sentences, for the plan.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The settings of a stream.
#[derive(Clone, Copy, Debug)]
pub struct ReadSettings {
    /// The approximate bytes of a chunk. It has more only if a single row has more.
    pub chunk_bytes: usize,
}

/// The approximate bytes of text in a part of a shared split: few enough that all streams get one soon, and enough that
/// handing over is rare. The ledger has the ranges of parts, so this number never changes.
pub const PART_BYTES: usize = 4 << 20;

/// The number of parts of a shared split in addition to those that the streams have: one that waits and one that is
/// being filled.
pub const PARTS_AHEAD: usize = 2;

/// The settings of a shared split.
#[derive(Clone, Copy, Debug)]
pub struct ShareSettings {
    /// The approximate bytes of a chunk.
    pub chunk_bytes: usize,
    /// The number of streams that take parts.
    pub streams: usize,
}

/// Reads splits of a source for one thread. It keeps what can be reused from split to split: buffers, a connection.
pub trait SourceStream: Send {
    /// Opens a split that is not shared.
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError>;
}

/// Reads one split, or one part of a shared split. If it is dropped before its end, nothing is left behind.
pub trait SplitReader: Chunks + Send {
    /// Its rows in the source's own form, if the source has [such a form](Source::native_forms) for all columns. Must
    /// be called before the first chunk is read.
    fn native_rows(&mut self) -> Option<&mut dyn NativeRows> {
        None
    }

    /// Ends the split, after the last chunk.
    fn end(self: Box<Self>) -> SplitEnd;

    /// The session that sends the rows; `None` if there is none, or once all rows were received.
    fn session(&self) -> Option<ReadingSession> {
        None
    }
}

/// A split of which each stream takes the next part.
pub trait SharedSplit: Send + Sync {
    /// The next part; `None` at the end, also when called again. An error is returned to the stream that asks next;
    /// later callers get [`SourceError::FeedFailed`]. To stop waiting, drop the returned future; a thread waits for it
    /// with [`wait`](crate::wait).
    fn next_part(&self) -> NextPart<'_>;

    /// The cost of reading so far. Rows are counted by the parts.
    fn meter(&self) -> SourceMeter;
}

/// The future of a part of a shared split.
pub type NextPart<'a> =
    Pin<Box<dyn Future<Output = Result<Option<SharedPart>, SourceError>> + Send + 'a>>;

/// A part of a shared split.
pub struct SharedPart {
    /// The range of the part, in the input's own unit after decompression. Parts follow each other without a gap.
    pub range: Range<u64>,
    /// Its rows.
    pub reader: Box<dyn SplitReader>,
}
