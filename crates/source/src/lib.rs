//! The contract of a source: inputs, their splits, and chunks of whole rows with their places; errors, and the cost of
//! reading.
//!
//! The traits are in [`contract`](Source). Their promises are in `docs/specs/source.md`, and `crates/source_conformance`
//! tests each source against these promises. Files are the first implementation (`crates/sources/files`). Nothing in
//! this crate opens anything.

mod chosen_columns;
mod chunks;
mod comparison;
mod content;
mod contract;
mod database_input;
mod database_rows;
mod error;
mod expected_reading;
mod input;
mod input_kind;
mod key_ranges;
mod limits;
mod meter;
mod permits;
mod ranges_mark;
mod reread;
mod row_places;
mod rows_hash;
mod sampling;
mod since;
mod split;
mod split_key;
mod steps;
mod stream_by;
mod structure;
mod wait;

pub use chosen_columns::{AS_TEXT, choose_columns, read_as_text};
pub use chunks::{Chunks, NativeRows};
pub use comparison::{Comparison, SplitDifference, UnfitRows};
pub use content::{ContentHash, SplitContent, SplitEnd};
pub use contract::{
    NextPart, PART_BYTES, PARTS_AHEAD, ReadSettings, ShareSettings, SharedPart, SharedSplit,
    Source, SourceStream, SplitReader,
};
pub use database_input::{DatabaseInput, never_the_same};
pub use database_rows::{DatabaseSettings, Rows};
pub use error::{SourceError, input_error, unsuitable};
pub use expected_reading::ExpectedReading;
pub use input::{FirstRow, Input, InputState, SourceColumn};
pub use input_kind::InputKind;
pub use inrush_verdict::{BackendState, SeenSession};
pub use key_ranges::{KEY_ROW_BITS, KeyRanges, evenly};
pub use limits::{ReadLimits, ReadPace};
pub use meter::{SourceMeter, nanoseconds_since};
pub use permits::Permits;
pub use ranges_mark::{ProvenRanges, RangesMark};
pub use reread::has_same_hashes;
pub use row_places::KeyPlaces;
pub use rows_hash::RowsHash;
pub use sampling::{ReadingSession, SessionSampler};
pub use since::{BoundBy, ColumnOfSince, FoundRange, Since, SinceRange, range_condition};
pub use split::{RecordStart, SourceSplit, Split};
pub use split_key::{chosen_rows, null_key, refuse_unknown_key, unsteady_word};
pub use steps::Steps;
pub use stream_by::stream_by;
pub use structure::{
    ColumnCollation, NeededObject, TableIndex, TablePartition, TablePartitioning, TableStructure,
};
pub use wait::wait;
