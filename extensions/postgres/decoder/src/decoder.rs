//! The state machine over the bytes of a COPY BINARY stream: header, rows, trailer.
//!
//! The caller passes the received bytes that are not used yet; the result says what is needed next ([`Status`]).
//! Between two calls the whole state is in the [`Decoder`], so a row may begin in one message and end in another.

use crate::column::Column;
use crate::kernels::{self, Sink, Taken};
use crate::tuple::{Placement, Tuple, TupleSink, TupleState};

/// The most columns of a table: `MaxHeapAttributeNumber`.
pub const MAX_COLUMNS: usize = 1600;
/// The first eleven bytes of a COPY BINARY stream.
const SIGNATURE: [u8; 11] = *b"PGCOPY\n\xff\r\n\0";
/// The longest field: the server's StringInfo cannot hold a longer one.
const MAX_FIELD: i32 = 0x3fff_ffff - 1;
/// Tuples begin at multiples of this number of bytes.
const TUPLE_ALIGN: usize = 8;

/// What the decoder needs, or why it stopped. The values from [`Status::FieldCount`] on are errors of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// More bytes are needed: the bytes from [`Stream::used`] on are not enough.
    NeedInput = 0,
    /// The caller must store the tuples of this batch, and then make the same call with an empty arena.
    BatchFull = 1,
    /// A larger arena with the same bytes is needed: a single tuple does not fit.
    NeedRoom = 2,
    /// A value is needed. The caller calls the receive function of [`Stream::column`] on the field at
    /// [`Stream::field`], which has [`Stream::field_len`] bytes (-1 for NULL), and passes the result to the decoder.
    NeedValue = 3,
    /// The last tuple of the batch has NULL in a NOT NULL column.
    NullRefused = 4,
    /// A row is complete (only if rows go through the executor).
    Row = 5,
    /// The stream has ended, and nothing is needed.
    End = 6,

    /// A row has [`Stream::field_len`] fields.
    FieldCount = 16,
    /// A field has a length below -1.
    FieldSize = 17,
    /// A field has [`Stream::field_len`] bytes, more than the server can hold.
    FieldTooLong = 18,
    /// The stream ends within a row.
    EndInRow = 19,
    /// Bytes follow the trailer.
    DataAfterEnd = 20,
    /// The header does not begin as a COPY BINARY stream.
    Signature = 21,
    /// The stream ends before the header's flags.
    MissingFlags = 22,
    /// The header says that rows have OIDs.
    WithOids = 23,
    /// The header has unknown flags that must not be ignored.
    CriticalFlags = 24,
    /// The stream ends before the length of the header's extension, or this length is below 0.
    MissingLength = 25,
    /// The stream ends within the header's extension.
    WrongLength = 26,
}

/// The state of one stream and of its current row. C creates it, with zeros except for `fields` and `utf8`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Decoder {
    /// The part that the caller reads.
    pub stream: Stream,
    tuple: TupleState,
}

/// The position in the stream, and the results that the caller reads.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Stream {
    /// How many fields a row has in the stream.
    pub fields: i32,
    /// Not 0 if the encoding of server and client is UTF-8.
    pub utf8: u8,
    /// Not 0 if no byte will follow those of this call.
    pub input_ends: u8,

    /// The current part of the stream: header, its extension, rows, trailer.
    phase: u8,
    /// Not 0 within a row.
    in_row: u8,
    /// Not 0 if the row has NULL in a NOT NULL column.
    null_refused: u8,
    /// Not 0 if `key_min` and `key_max` are set.
    pub has_key: u8,
    unused: [u8; 6],

    /// How many bytes of this call's input are used. The caller keeps the bytes after them, and sets this to 0.
    pub used: usize,
    /// How many bytes of the arena are used. The caller sets it to 0 when the batch is stored.
    pub arena_used: usize,
    /// How many tuples the batch has. The caller sets it to 0 when the batch is stored.
    pub tuples: usize,
    /// The number of the row, from 1: `cur_lineno`.
    pub line: u64,
    /// The column of the table that a status is about, from 0; only within a row.
    pub column: usize,
    /// Where the field of [`Status::NeedValue`] begins in the input.
    pub field: usize,
    /// The length of this field; or the number that an error is about.
    pub field_len: i64,
    /// The smallest key.
    pub key_min: i64,
    /// The largest key.
    pub key_max: i64,

    /// How many bytes of the row are decoded, from `used` on.
    row_used: usize,
    /// How many bytes of the header's extension are still to come.
    extension: usize,
}

/// The values of [`Stream::phase`].
mod phase {
    pub const HEADER: u8 = 0;
    pub const EXTENSION: u8 = 1;
    pub const ROWS: u8 = 2;
    pub const TRAILER: u8 = 3;
}

impl Decoder {
    /// The state before the first byte of a stream whose rows have this many fields.
    pub fn new(fields: i32, utf8: bool) -> Decoder {
        let stream = Stream {
            fields,
            utf8: u8::from(utf8),
            ..Stream::default()
        };
        Decoder {
            stream,
            tuple: TupleState::default(),
        }
    }

    /// Makes tuples of rows until something is needed.
    ///
    /// `input` has the bytes that are not used yet: after a call the caller drops the first `used` bytes, sets `used`
    /// to 0, and appends new bytes. The arena keeps its bytes until the batch is stored; it may grow.
    pub fn decode(
        &mut self,
        columns: &[Column],
        input: &[u8],
        arena: &mut [u8],
        tuples: &mut [Tuple],
    ) -> Status {
        if let Some(status) = self.stream.before_rows(input) {
            return status;
        }
        loop {
            if self.stream.in_row == 0 {
                if self.stream.tuples >= tuples.len() {
                    return Status::BatchFull;
                }
                if let Some(status) = self.stream.begin_row(input) {
                    return status;
                }
                TupleSink::resumed(&mut self.tuple, arena, 0)
                    .begin(self.stream.arena_used, columns.len());
            }
            let mut sink = TupleSink::resumed(&mut self.tuple, arena, self.stream.column);
            if let Some(status) = self.stream.fields_into(columns, input, &mut sink) {
                return self.stream.or_flush(status);
            }
            let finished = sink.finish(columns.len());
            let (Some(tuple), Some(place)) = (finished, tuples.get_mut(self.stream.tuples)) else {
                return self.stream.or_flush(Status::NeedRoom);
            };
            *place = tuple;
            self.stream.tuples += 1;
            self.stream.arena_used = (tuple.offset + tuple.len).next_multiple_of(TUPLE_ALIGN);
            self.stream.end_row();
            if self.stream.null_refused != 0 {
                self.stream.null_refused = 0;
                return Status::NullRefused;
            }
        }
    }

    /// Makes Datums of one row.
    ///
    /// A Datum of kind 2 (in `kinds`) is an offset in the arena, whose bytes are valid until the next row.
    pub fn row(
        &mut self,
        columns: &[Column],
        input: &[u8],
        arena: &mut [u8],
        values: &mut [u64],
        kinds: &mut [u8],
    ) -> Status {
        if let Some(status) = self.stream.before_rows(input) {
            return status;
        }
        if self.stream.in_row == 0 {
            if let Some(status) = self.stream.begin_row(input) {
                return status;
            }
            self.stream.arena_used = 0;
        }
        let mut used = self.stream.arena_used;
        let mut sink = crate::datums::DatumSink {
            values,
            kinds,
            arena,
            used: &mut used,
            column: self.stream.column,
        };
        let status = self.stream.fields_into(columns, input, &mut sink);
        self.stream.arena_used = used;
        if let Some(status) = status {
            return status;
        }
        self.stream.end_row();
        Status::Row
    }

    /// Stores the value that the receive function made from the field of [`Status::NeedValue`].
    ///
    /// Returns false if the arena is too small: the caller enlarges it and passes the value again.
    pub fn give(
        &mut self,
        columns: &[Column],
        arena: &mut [u8],
        bytes: &[u8],
        placement: Placement,
    ) -> bool {
        let Some(column) = columns.get(self.stream.column) else {
            return false;
        };
        let given = TupleSink::resumed(&mut self.tuple, arena, self.stream.column)
            .give(bytes, placement, column);
        if given.is_some() {
            self.stream.field_done();
        }
        given.is_some()
    }

    /// Stores the NULL that the receive function returned. If the column is NOT NULL, the row is marked as refused.
    /// Only for tuples.
    pub fn give_null(&mut self, columns: &[Column]) {
        let refused = columns
            .get(self.stream.column)
            .is_some_and(|column| column.not_null != 0);
        self.stream.null_refused |= u8::from(refused);
        // NULL needs no space.
        let _ = TupleSink::resumed(&mut self.tuple, &mut [], self.stream.column).null();
        self.stream.field_done();
    }

    /// Discards the current row, so that it is decoded again from its first field.
    pub fn restart_row(&mut self) {
        self.stream.restart_row();
    }
}

impl Stream {
    /// Continues with the next field, after the value of the receive function was stored. C calls this only for rows as
    /// Datums.
    pub fn field_done(&mut self) {
        let len = usize::try_from(self.field_len).unwrap_or(0);
        self.row_used += 4 + len;
        self.column += 1;
    }

    /// Decodes the header and the trailer; returns `None` if rows may follow.
    fn before_rows(&mut self, input: &[u8]) -> Option<Status> {
        if self.phase == phase::HEADER
            && let Some(status) = self.header(input)
        {
            return Some(status);
        }
        if self.phase == phase::EXTENSION {
            let there = input.len().saturating_sub(self.used).min(self.extension);
            self.used += there;
            self.extension -= there;
            if self.extension > 0 {
                return Some(self.more_or(Status::WrongLength));
            }
            self.phase = phase::ROWS;
        }
        (self.phase == phase::TRAILER).then(|| self.trailer(input))
    }

    /// Decodes the fixed part of the header: 19 bytes.
    fn header(&mut self, input: &[u8]) -> Option<Status> {
        let input = input.get(self.used..).unwrap_or(&[]);
        let Some((signature, rest)) = input.split_first_chunk::<11>() else {
            return Some(self.more_or(Status::Signature));
        };
        if *signature != SIGNATURE {
            return Some(Status::Signature);
        }
        let Some((flags, rest)) = rest.split_first_chunk::<4>() else {
            return Some(self.more_or(Status::MissingFlags));
        };
        let flags = i32::from_be_bytes(*flags);
        if flags & (1 << 16) != 0 {
            return Some(Status::WithOids);
        }
        if flags >> 16 != 0 {
            return Some(Status::CriticalFlags);
        }
        let Some((length, _)) = rest.split_first_chunk::<4>() else {
            return Some(self.more_or(Status::MissingLength));
        };
        let Ok(extension) = usize::try_from(i32::from_be_bytes(*length)) else {
            return Some(Status::MissingLength);
        };
        self.extension = extension;
        self.used += 19;
        self.phase = phase::EXTENSION;
        None
    }

    /// Checks that nothing follows the trailer.
    fn trailer(&self, input: &[u8]) -> Status {
        if input.len() > self.used {
            Status::DataAfterEnd
        } else {
            self.more_or(Status::End)
        }
    }

    /// Decodes the number of fields of a row; returns `None` if it is right.
    #[inline(always)]
    fn begin_row(&mut self, input: &[u8]) -> Option<Status> {
        let Some((count, _)) = input
            .get(self.used..)
            .and_then(|input| input.split_first_chunk::<2>())
        else {
            // A stream may end without a trailer, even within the number of fields. COPY accepts this, too.
            return Some(self.more_or(Status::End));
        };
        let count = i16::from_be_bytes(*count);
        self.line += 1;
        if count == -1 {
            self.used += 2;
            self.phase = phase::TRAILER;
            return Some(self.trailer(input));
        }
        if i32::from(count) != self.fields {
            self.field_len = count.into();
            return Some(Status::FieldCount);
        }
        self.in_row = 1;
        self.row_used = 2;
        self.column = 0;
        None
    }

    /// Ends the current row: its bytes are used.
    #[inline(always)]
    fn end_row(&mut self) {
        self.used += self.row_used;
        self.in_row = 0;
        self.row_used = 0;
    }

    /// Decodes the fields of the row from the current column on; returns `None` if the row is complete.
    #[inline(always)]
    fn fields_into(
        &mut self,
        columns: &[Column],
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Option<Status> {
        let mut rest = input
            .get(self.used..)
            .and_then(|row| row.get(self.row_used..))
            .unwrap_or(&[]);
        let utf8 = self.utf8 != 0;
        let begin = rest.len();
        let already = self.row_used;
        let coming = columns.get(self.column..)?;
        for column in coming {
            if column.given == 0 {
                self.null_refused |= column.not_null;
                if sink.null().is_none() {
                    return Some(Status::NeedRoom);
                }
                self.column += 1;
                continue;
            }
            let Some((len, behind)) = rest.split_first_chunk::<4>() else {
                return Some(self.more_or(Status::EndInRow));
            };
            let len = i32::from_be_bytes(*len);
            let Ok(size) = usize::try_from(len) else {
                if len != -1 {
                    return Some(Status::FieldSize);
                }
                if column.null_is_received != 0 {
                    return Some(self.ask(-1, 0));
                }
                self.null_refused |= column.not_null;
                if sink.null().is_none() {
                    return Some(Status::NeedRoom);
                }
                self.column += 1;
                rest = behind;
                self.row_used = already + (begin - rest.len());
                continue;
            };
            let Some((field, behind)) = behind.split_at_checked(size) else {
                if len > MAX_FIELD {
                    self.field_len = len.into();
                    return Some(Status::FieldTooLong);
                }
                return Some(self.more_or(Status::EndInRow));
            };
            match kernels::take(field, column, utf8, sink) {
                Taken::Yes => {}
                Taken::Number(number) => {
                    if column.key != 0 {
                        self.see_key(number);
                    }
                }
                Taken::Receive => {
                    let at = self.used + already + (begin - rest.len()) + 4;
                    return Some(self.ask(len.into(), at));
                }
                Taken::NoRoom => return Some(Status::NeedRoom),
            }
            self.column += 1;
            rest = behind;
            self.row_used = already + (begin - rest.len());
        }
        None
    }

    /// The status that asks for the receive function to be called on a field.
    #[cold]
    fn ask(&mut self, len: i64, at: usize) -> Status {
        self.field_len = len;
        self.field = at;
        Status::NeedValue
    }

    /// If space is needed and tuples wait, they are stored first, and the row begins again.
    #[inline(always)]
    fn or_flush(&mut self, status: Status) -> Status {
        if status != Status::NeedRoom || self.tuples == 0 {
            return status;
        }
        self.restart_row();
        Status::BatchFull
    }

    /// See [`Decoder::restart_row`].
    fn restart_row(&mut self) {
        if self.in_row != 0 {
            self.in_row = 0;
            self.row_used = 0;
            self.line -= 1;
            self.null_refused = 0;
        }
    }

    /// Asks for more bytes if there may be some; otherwise returns the error of the missing bytes.
    #[inline(always)]
    fn more_or(&self, at_end: Status) -> Status {
        if self.input_ends == 0 {
            Status::NeedInput
        } else {
            at_end
        }
    }

    #[inline(always)]
    fn see_key(&mut self, number: i64) {
        if self.has_key == 0 {
            self.has_key = 1;
            self.key_min = number;
            self.key_max = number;
        } else {
            self.key_min = self.key_min.min(number);
            self.key_max = self.key_max.max(number);
        }
    }
}
