//! An input: a file, a table, a query.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;

/// Something that a source reads rows of: a file, a table, a query. Splits are pieces of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name in messages and [places](inrush_rows::location::Location): the path as the user wrote it, or the name of a
    /// table. It holds no secret.
    pub name: Arc<Path>,
    /// What it was when the source was opened.
    pub state: InputState,
    /// Its rows, where they are known without reading it.
    pub row_count: Option<u64>,
    /// It can be read only once, and is never the same again: a pipe.
    pub is_read_once: bool,
    /// All streams can read it as one [shared split](crate::Source::share).
    pub is_shareable: bool,
}

/// What the system that has an input tells of it without reading its rows. If it is what it was, nobody has written to the
/// input; if it is not, the rows may still be the same ([`Source::has_same_content`](crate::Source::has_same_content)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputState {
    /// Bytes as they are stored; 0 where that is not known. Inputs of different sizes are not the same.
    pub size_bytes: u64,
    /// When it was written last, in nanoseconds since 1970; 0 where that is not known.
    pub modified_ns: i64,
    /// What else differs after it was written to, in the source's own words: an inode and the time of its change, the
    /// number of a snapshot.
    pub mark: String,
}

/// A column of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// The type of its values; none where they are text that the flow says how to read.
    pub data_type: Option<DataType>,
    /// 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
}
