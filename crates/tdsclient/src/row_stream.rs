//! The rows of one query, as their packets come. No more than one packet and one row are held, whatever the number of
//! rows.

use std::ops::Range;

use inrush_tds::result::row_bytes;
use inrush_tds::{MetadataError, RowMetadata};

use crate::tokens::{self, Message, token};

/// The longest row. Servers send longer values only of types `(max)`, and a peer that never ends a row must not fill
/// the memory.
const ROW_BYTES_MAX: usize = 256 << 20;

/// The reason why an answer cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The description of the columns cannot be read: a type is not supported, for example.
    Columns(MetadataError),
    /// Any other reason, in words.
    Garbage(String),
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault::Garbage(what)
    }
}

/// The next part of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The description of the columns was read.
    Columns,
    /// Whole rows, in [`RowStream::bytes`].
    Rows(Range<usize>),
    /// Another packet must be added.
    Packet,
    /// The message is over. It has the errors of the server, if there are any.
    End,
}

/// An answer to one query.
#[derive(Debug, Default)]
pub(crate) struct RowStream {
    pub(crate) columns: Option<RowMetadata>,
    /// Errors and changes that came with the rows.
    pub(crate) message: Message,
    bytes: Vec<u8>,
    /// The number of bytes of `bytes` that were read.
    read: usize,
    row_count: u64,
    is_last: bool,
    is_done: bool,
}

impl RowStream {
    /// The buffer to which the payload of the next packet is added.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.read);
        self.read = 0;
        &mut self.bytes
    }

    /// No packet follows.
    pub(crate) fn end(&mut self) {
        self.is_last = true;
    }

    /// The bytes of rows.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Reads the next part.
    pub(crate) fn next(&mut self) -> Result<Next, Fault> {
        loop {
            let rest = &self.bytes[self.read..];
            match rest.first() {
                None if !self.is_last => return Ok(Next::Packet),
                None if !self.is_done => {
                    return Err(Fault::Garbage("it ends without DONE".to_owned()));
                }
                None => return Ok(Next::End),
                Some(&token::COLUMNS) => {
                    if self.columns.is_some() {
                        let what = "it has the rows of a second statement, and one was asked for";
                        return Err(Fault::Garbage(what.to_owned()));
                    }
                    match RowMetadata::parse(rest) {
                        Ok((columns, length)) => {
                            self.columns = Some(columns);
                            self.read += length;
                            return Ok(Next::Columns);
                        }
                        Err(MetadataError::Truncated { .. }) if !self.is_last => {
                            return Ok(Next::Packet);
                        }
                        Err(error) => return Err(Fault::Columns(error)),
                    }
                }
                Some(&(token::ROW | token::ROW_WITH_NULLS)) => return self.rows(),
                Some(&other) => {
                    let Some(length) = tokens::whole_bytes(rest)? else {
                        return self.more("a part of it");
                    };
                    self.is_done = tokens::is_done(other);
                    tokens::read_part(&rest[..length], &mut self.message)?;
                    self.read += length;
                    if let Some(count) = self.message.answer.counts.pop()
                        && self.columns.is_some()
                        && self.message.errors.is_empty()
                        && !self.message.answers_attention
                        && count != self.row_count
                    {
                        let sent = self.row_count;
                        return Err(Fault::Garbage(format!(
                            "{sent} rows came, and the server counts {count}"
                        )));
                    }
                }
            }
        }
    }

    /// The whole rows that were received so far.
    fn rows(&mut self) -> Result<Next, Fault> {
        let columns = self.columns.as_ref();
        let columns = columns.ok_or_else(|| "a row comes before its columns".to_owned())?;
        let start = self.read;
        while let Some(&(token::ROW | token::ROW_WITH_NULLS)) = self.bytes.get(self.read) {
            let length = row_bytes(columns, &self.bytes[self.read..]);
            let Some(length) = length.map_err(|error| error.to_string())? else {
                break;
            };
            self.read += length;
            self.row_count += 1;
        }
        self.is_done = false;
        match self.read == start {
            true => self.more("a row"),
            false => Ok(Next::Rows(start..self.read)),
        }
    }

    /// Asks for another packet, because a part is incomplete.
    fn more(&self, part: &str) -> Result<Next, Fault> {
        if self.is_last {
            return Err(Fault::Garbage(format!("it ends within {part}")));
        }
        if self.bytes.len() - self.read > ROW_BYTES_MAX {
            let limit = ROW_BYTES_MAX >> 20;
            return Err(Fault::Garbage(format!("{part} has more than {limit} MiB")));
        }
        Ok(Next::Packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of `id int NOT NULL, note nvarchar(4) NULL`.
    fn description() -> Vec<u8> {
        let id = [0, 0, 0, 0, 0, 0, 0x38, 2, b'i', 0, b'd', 0];
        let note = [
            0, 0, 0, 0, 1, 0, 0xe7, 8, 0, 9, 4, 0xd0, 0, 0x34, 1, b'n', 0,
        ];
        [&[0x81, 2, 0][..], &id, &note].concat()
    }

    fn done(count: u64) -> Vec<u8> {
        [&[0xfd, 0x10, 0, 0xc1, 0][..], &count.to_le_bytes()].concat()
    }

    const ROWS: [&[u8]; 3] = [
        &[0xd1, 7, 0, 0, 0, 2, 0, b'a', 0],
        &[0xd1, 8, 0, 0, 0, 0xff, 0xff],
        &[0xd2, 0b10, 9, 0, 0, 0],
    ];

    fn answer() -> Vec<u8> {
        [description(), ROWS.concat(), done(3)].concat()
    }

    /// The rows of an answer that comes in these packets.
    fn read<'a>(packets: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, String> {
        let mut packets = packets.into_iter().peekable();
        let mut stream = RowStream::default();
        let mut found = Vec::new();
        loop {
            let next = stream.next().map_err(|fault| match fault {
                Fault::Columns(error) => error.to_string(),
                Fault::Garbage(what) => what,
            })?;
            match next {
                Next::Columns => {}
                Next::Rows(range) => found.extend_from_slice(stream.bytes(range)),
                Next::Packet => {
                    let packet = packets.next().ok_or("no packet is left")?;
                    stream.buffer().extend_from_slice(packet);
                    if packets.peek().is_none() {
                        stream.end();
                    }
                }
                Next::End => return Ok(found),
            }
        }
    }

    #[test]
    fn rows_are_those_of_any_packets() {
        let answer = answer();
        for bytes in 1..=answer.len() {
            assert_eq!(read(answer.chunks(bytes)), Ok(ROWS.concat()), "{bytes}");
        }
        // A message may end with an empty packet.
        assert_eq!(read([&answer[..], &[]]), Ok(ROWS.concat()));
    }

    #[test]
    fn rows_that_were_read_are_not_held() {
        let mut stream = RowStream::default();
        stream.buffer().extend_from_slice(&description());
        assert_eq!(stream.next().expect("columns"), Next::Columns);
        for _ in 0..10_000 {
            stream.buffer().extend_from_slice(&ROWS.concat());
            assert!(matches!(stream.next(), Ok(Next::Rows(_))));
            assert_eq!(stream.next().expect("whole rows"), Next::Packet);
        }
        assert!(stream.bytes.capacity() < 1_000);
    }

    #[test]
    fn an_answer_that_is_cut_or_wrong_is_an_error() {
        let answer = answer();
        for end in 0..answer.len() {
            assert!(read([&answer[..end]]).is_err(), "{end}");
        }
        for (wrong, said) in [
            (
                [description(), ROWS.concat(), done(2)].concat(),
                "3 rows came",
            ),
            (
                [description(), done(0), description()].concat(),
                "second statement",
            ),
            (ROWS.concat(), "before its columns"),
            (vec![0x00], "0x00"),
            (
                vec![0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x62, 9, 0, 0, 0, 0],
                "sql_variant",
            ),
        ] {
            let found = read([&wrong[..]]);
            assert!(
                found.as_ref().is_err_and(|text| text.contains(said)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn the_servers_error_ends_the_rows() {
        let text: Vec<u8> = "Bad".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let error = [
            &245u32.to_le_bytes()[..],
            &[1, 16, 3, 0],
            &text,
            &[0, 0],
            &1u32.to_le_bytes(),
        ]
        .concat();
        let error = [&[0xaa][..], &(error.len() as u16).to_le_bytes(), &error].concat();
        let answer = [description(), ROWS[0].to_vec(), error, done(9)].concat();
        let mut stream = RowStream::default();
        stream.buffer().extend_from_slice(&answer);
        stream.end();
        while stream.next().expect("it is well-formed") != Next::End {}
        assert_eq!(stream.message.errors[0].number, 245);
    }
}
