//! The traits of a source: what the engine asks of it, step by step. The promises are in `docs/specs/source.md`.
//!
//! ```text
//! Source                    opened by its own constructor, with the run's stop; nothing is changed
//!   columns, input           what there is to read
//!   splits, needs_locate, locate   the pieces of an input
//!   open_stream -> SourceStream   one for each of the engine's threads
//!     open -> SplitReader    one split after the other
//!       next_chunk*, end
//!   share -> SharedSplit     a split that all streams take parts of
//!     next_part -> SharedPart     a SplitReader, in whichever stream asks
//!   has_same_content         for a later run: are the rows what they were?
//! Input                     a file, a table, a query
//!   name, state, identity    what it is called, and is it what it was?
//!   text_bytes, decoder_bytes, ...   estimates, for the plan
//! ```
//!
//! Every call may block. Once the run is asked to stop, a call that reads or waits ends soon with
//! [`SourceError::Stopped`]. An implementation may have threads of its own; they end with the value that started them.
//!
//! Rows come as [chunks](Chunks): the source's own text or typed values, in the source's own columns. The engine makes the
//! target's rows of them by one converter for all sources, so that a source cannot change a value, and does not know of
//! targets. Calls are per chunk, never per row.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use crate::chunks::Chunks;
use crate::content::{SplitContent, SplitEnd};
use crate::error::SourceError;
use crate::input::{FirstRow, Input, SourceColumn};
use crate::meter::SourceMeter;
use crate::split::SourceSplit;

/// Where the rows of a flow come from: files, a table, a query.
pub trait Source: fmt::Debug + Send + Sync {
    /// Kind and place, for plans and reports: never with a secret in it.
    fn describe(&self) -> String;

    /// Its columns, in the order of a row's fields; none where the flow alone says what they are.
    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError>;

    /// How many inputs it has. Their order never changes.
    fn input_count(&self) -> usize;

    /// The input with this index.
    fn input(&self, index: usize) -> Arc<dyn Input>;

    /// All of an input as one split.
    fn whole(&self, input: usize) -> SourceSplit;

    /// The splits of an input with about so many bytes each. They are in order, and have each of its rows in exactly one.
    /// They depend on the input and that number alone, so that a run that was stopped continues with those that are missing.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError>;

    /// Whether the splits of an input must be [located](Source::locate), if it has more than one.
    fn needs_locate(&self, _input: usize) -> bool {
        false
    }

    /// Finds what reading the splits of one input needs and what only a look through the input tells, by so many threads.
    /// They are all splits of that input, in their order.
    fn locate(&self, _splits: &mut [SourceSplit], _threads: usize) -> Result<(), SourceError> {
        Ok(())
    }

    /// A stream of its own for one thread.
    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError>;

    /// Begins a split that all streams take parts of. The parts depend on the input alone. Those with these ranges are
    /// loaded already and are passed over; a range that is no part is [`SourceError::RangesDiffer`].
    /// Asked only of [inputs that can be shared](Input::is_shareable).
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

    /// Reads what an earlier run has read of an input, and says whether it is the same. The input's size is what it was.
    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError>;

    /// The first row of an input, for plans in which it decides where the input goes; nothing where it has no row.
    fn first_row(&self, input: usize) -> Result<Option<FirstRow>, SourceError> {
        Err(SourceError::Input {
            input: self.input(input).name().to_path_buf(),
            what: "its first row cannot be looked at before it is loaded".to_owned(),
            fix: "leave out `bounds`".to_owned(),
        })
    }

    /// The text of a field in the first and in the last row of a split, where both are found without a look at all rows.
    fn ends_of(&self, _split: &SourceSplit, _field: usize) -> Option<(String, String)> {
        None
    }

    /// What a user should know of it, in whole sentences, for the plan.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How a stream reads.
#[derive(Clone, Copy, Debug)]
pub struct ReadSettings {
    /// About how many bytes a chunk has. It has more only where one row has more.
    pub chunk_bytes: usize,
}

/// About how many bytes of text a part of a shared split has: few enough that all streams have one soon, many enough to hand
/// over seldom. The ledger has the ranges of parts, so this never changes.
pub const PART_BYTES: usize = 4 << 20;

/// Parts of a shared split beside those in the hands of the streams: one that waits and one that is filled.
pub const PARTS_AHEAD: usize = 2;

/// How a split is shared.
#[derive(Clone, Copy, Debug)]
pub struct ShareSettings {
    /// About how many bytes a chunk has.
    pub chunk_bytes: usize,
    /// Streams that take parts.
    pub streams: usize,
}

/// The way of one thread through the splits of a source. It keeps what can be used again from split to split: buffers, a
/// connection.
pub trait SourceStream: Send {
    /// Opens a split that is not shared.
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError>;
}

/// Reads one split, or one part of a shared one. Dropped before its end, it leaves nothing.
pub trait SplitReader: Chunks + Send {
    /// Ends the split, after the last chunk.
    fn end(self: Box<Self>) -> SplitEnd;
}

/// A split of which each stream takes the next part.
pub trait SharedSplit: Send + Sync {
    /// The next part; nothing at the end, however often it is asked. An error reaches the stream that asks next; those that
    /// ask after it get [`SourceError::FeedFailed`]. To stop waiting, drop what this returns; a thread waits for it with
    /// [`wait`](crate::wait).
    fn next_part(&self) -> NextPart<'_>;

    /// What reading has cost so far. Rows are counted by the parts.
    fn meter(&self) -> SourceMeter;
}

/// A part of a shared split to come.
pub type NextPart<'a> =
    Pin<Box<dyn Future<Output = Result<Option<SharedPart>, SourceError>> + Send + 'a>>;

/// A part of a shared split.
pub struct SharedPart {
    /// Which part, in the input's own unit after decompression. The parts follow each other without a gap.
    pub range: Range<u64>,
    /// Its rows.
    pub reader: Box<dyn SplitReader>,
}
