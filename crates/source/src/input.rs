//! An input: a file, a table, a query.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use inrush_rows::location::Location;
use inrush_rows::native_type::NativeType;

use crate::error::SourceError;
use crate::input_kind::InputKind;

/// A file, a table or a query whose rows a source reads. Splits are pieces of it.
///
/// It has the facts from when the source was opened; only [`state_now`](Input::state_now) asks again. A plan has each
/// of its inputs once, and there may be a hundred thousand inputs.
pub trait Input: fmt::Debug + Send + Sync {
    /// Its index among the inputs of its source, counted from 0.
    fn index(&self) -> usize;

    /// Its name in messages and [places](Location): the path as the user wrote it, or the name of a
    /// table. It holds no secret.
    fn name(&self) -> &Arc<Path>;

    /// What kind of input it is for the user.
    fn kind(&self) -> InputKind {
        InputKind::File
    }

    /// The stored size in bytes; 0 if unknown. Inputs of different sizes are not the same.
    fn size_bytes(&self) -> u64;

    /// When it was last written, in nanoseconds since 1970; 0 if unknown.
    fn modified_ns(&self) -> i64;

    /// A text that differs after a write, in the source's own form: an inode and the time of its change, the number of
    /// a snapshot.
    fn mark(&self) -> String;

    /// Its size, time and mark now; `None` if it has none.
    fn state_now(&self) -> Option<InputState>;

    /// Texts that identify it, in addition to its state: two runs that read the same input get the same texts, whatever
    /// the current folder of their commands. An input that is [read once](Input::is_read_once) has other texts each
    /// time.
    fn identity(&self) -> Vec<String>;

    /// Its size, time and mark.
    fn state(&self) -> InputState {
        InputState {
            size_bytes: self.size_bytes(),
            modified_ns: self.modified_ns(),
            mark: self.mark(),
        }
    }

    /// The number of its rows, if it is known without reading them.
    fn row_count(&self) -> Option<u64> {
        None
    }

    /// True if it can be read only once, and is never the same again: a pipe.
    fn is_read_once(&self) -> bool {
        false
    }

    /// True if its rows are as of the moment when the source was opened, whatever is written later. Another process
    /// that opens the source sees another moment.
    fn is_snapshot(&self) -> bool {
        false
    }

    /// True if a resumed run loads only this input again when its rows have changed. The other inputs are kept if their
    /// rows are unchanged, so all rows are as in the new snapshot.
    fn is_loaded_alone_again(&self) -> bool {
        false
    }

    /// True if it can be read again after it was loaded. An input that is read once can be read again if it is
    /// [kept](Input::keep_in).
    fn is_read_again(&self) -> bool {
        !self.is_read_once()
    }

    /// Keeps what is read of it in a folder, if it is read once.
    fn keep_in(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    /// True if each reading of it gives a row the same [place](Location): bytes of a file, or a number that the source
    /// keeps. The order in which a server sends rows is not such a place.
    fn keeps_places(&self) -> bool {
        !self.is_read_once() && !self.is_snapshot()
    }

    /// How it can be read so that its rows keep their places, in words for people; `None` if it cannot.
    fn places_by(&self) -> Option<&'static str> {
        None
    }

    /// True if all streams can read it as one [shared split](crate::Source::share).
    fn is_shareable(&self) -> bool {
        false
    }

    /// True if its rows are typed values, not text.
    fn is_typed(&self) -> bool {
        false
    }

    /// True if its stored bytes are the bytes of its text, so that the bytes read of its splits must add up to its
    /// size.
    fn is_stored_as_text(&self) -> bool {
        false
    }

    /// True if a piece of the input can be read from its middle, and has as many bytes of text as are stored. This
    /// call may read a part of the input.
    fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        Ok(false)
    }

    /// Why no piece of it can be read from its middle, in words (`compressed`, `a pipe`); `None` if it can.
    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(Some("of a kind that is read from its beginning"))
    }

    /// True if its text is translated to UTF-8 while it is read.
    fn is_translated(&self) -> bool {
        false
    }

    /// The approximate number of bytes of text in this many stored bytes.
    fn text_bytes(&self, stored_bytes: u64) -> u64 {
        stored_bytes
    }

    /// The memory that its decompressor needs; `None` if there is none.
    fn decoder_bytes(&self) -> Option<u64> {
        None
    }

    /// The memory for its largest block, if blocks are decoded as a whole, such as row groups.
    fn block_bytes(&self) -> u64 {
        0
    }

    /// The file on this machine's disk that contains its bytes, and their position in this file.
    fn stored_at(&self) -> Option<(&Path, u64)> {
        None
    }
}

/// Facts about an input that are known without reading its rows. If they are the same as before, nobody has written to
/// the input; if not, the rows may still be the same ([`Source::has_same_content`](crate::Source::has_same_content)).
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
    /// Its place.
    pub location: Location,
    /// Its fields as text; `None` is NULL.
    pub fields: Vec<Option<String>>,
}

/// A column of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// The type of its values; `None` for text whose type the flow defines.
    pub data_type: Option<DataType>,
    /// True if its values are 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
    /// The form of its values, if they are bytes in the source's own binary form: their type is then `Binary`.
    pub native: Option<NativeType>,
    /// Its type as the database declares it, for the plan: `numeric(10,2)`, the name of a domain. `None` if nothing declares one.
    pub declared: Option<String>,
}
