//! An input: a file, a table, a query.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use inrush_rows::location::Location;

use crate::error::SourceError;

/// Something that a source reads rows of: a file, a table, a query. Splits are pieces of it.
///
/// It is what it was when the source was opened; only [`state_now`](Input::state_now) looks again. A plan holds each of its
/// inputs once, and there may be a hundred thousand.
pub trait Input: fmt::Debug + Send + Sync {
    /// Its place among the inputs of its source, counted from 0.
    fn index(&self) -> usize;

    /// Its name in messages and [places](Location): the path as the user wrote it, or the name of a
    /// table. It holds no secret.
    fn name(&self) -> &Arc<Path>;

    /// Bytes as they are stored; 0 where that is not known. Inputs of different sizes are not the same.
    fn size_bytes(&self) -> u64;

    /// When it was written last, in nanoseconds since 1970; 0 where that is not known.
    fn modified_ns(&self) -> i64;

    /// What else differs after it was written to, in the source's own words: an inode and the time of its change, the
    /// number of a snapshot.
    fn mark(&self) -> String;

    /// Its size, time and mark now; none where that cannot be asked.
    fn state_now(&self) -> Option<InputState>;

    /// Texts that name it beside its state: two runs that read the same input get the same texts, wherever their
    /// command is given. An input that is [read once](Input::is_read_once) has others each time.
    fn identity(&self) -> Vec<String>;

    /// Its size, time and mark.
    fn state(&self) -> InputState {
        InputState {
            size_bytes: self.size_bytes(),
            modified_ns: self.modified_ns(),
            mark: self.mark(),
        }
    }

    /// Its rows, where they are known without reading it.
    fn row_count(&self) -> Option<u64> {
        None
    }

    /// It can be read only once, and is never the same again: a pipe.
    fn is_read_once(&self) -> bool {
        false
    }

    /// Its rows are those at the moment when the source was opened, whatever is written to it later. Another process that
    /// opens the source sees another moment.
    fn is_snapshot(&self) -> bool {
        false
    }

    /// Whether it can be read once more after it was loaded: what is read once can if it is [kept](Input::keep_in).
    fn is_read_again(&self) -> bool {
        !self.is_read_once()
    }

    /// Keeps what is read of it in a folder, if it is read once.
    fn keep_in(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    /// All streams can read it as one [shared split](crate::Source::share).
    fn is_shareable(&self) -> bool {
        false
    }

    /// Its rows are typed values, and no text.
    fn is_typed(&self) -> bool {
        false
    }

    /// Its stored bytes are the bytes of its text, one by one: what was read of its splits must add up to its size.
    fn is_stored_as_text(&self) -> bool {
        false
    }

    /// A piece of it can be read from its middle, and has as many bytes of text as are stored. It may have to be looked at.
    fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        Ok(false)
    }

    /// Why no piece of it can be read from its middle, in words (`compressed`, `a pipe`); nothing where one can.
    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(Some("of a kind that is read from its beginning"))
    }

    /// Its text is translated into UTF-8 while it is read.
    fn is_translated(&self) -> bool {
        false
    }

    /// About how many bytes of text so many stored bytes hold.
    fn text_bytes(&self, stored_bytes: u64) -> u64 {
        stored_bytes
    }

    /// Memory that its decompressor takes; none where there is no decompressor.
    fn decoder_bytes(&self) -> Option<u64> {
        None
    }

    /// Memory that its largest block takes where a block is decoded as a whole: a row group.
    fn block_bytes(&self) -> u64 {
        0
    }

    /// The file on this machine's disk that holds its bytes, and where they begin there.
    fn stored_at(&self) -> Option<(&Path, u64)> {
        None
    }
}

/// What the system that has an input tells of it without reading its rows. If it is what it was, nobody has written to the
/// input; if it is not, the rows may still be the same ([`Source::has_same_content`](crate::Source::has_same_content)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputState {
    /// [`Input::size_bytes`].
    pub size_bytes: u64,
    /// [`Input::modified_ns`].
    pub modified_ns: i64,
    /// [`Input::mark`].
    pub mark: String,
}

/// The first row of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRow {
    /// Where it is.
    pub location: Location,
    /// Its fields as text; none is NULL.
    pub fields: Vec<Option<String>>,
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
