//! The tokens of an answer ([MS-TDS] 2.2.7). The whole message is in memory; wrong bytes cause at most an error.

use inrush_tds::RowMetadata;

use crate::answer::{Answer, Rowset};
use crate::error::ServerMessage;
use crate::login::UTF8_SUPPORT;
use crate::reader::Reader;
use crate::values::read_row;

pub(crate) mod token {
    pub(crate) const OFFSET: u8 = 0x78;
    pub(crate) const RETURN_STATUS: u8 = 0x79;
    pub(crate) const COLUMNS: u8 = 0x81;
    pub(crate) const TABLE_NAMES: u8 = 0xa4;
    pub(crate) const COLUMN_INFO: u8 = 0xa5;
    pub(crate) const ORDER: u8 = 0xa9;
    pub(crate) const ERROR: u8 = 0xaa;
    pub(crate) const INFO: u8 = 0xab;
    pub(crate) const LOGIN_ACK: u8 = 0xad;
    pub(crate) const FEATURES: u8 = 0xae;
    pub(crate) const ROW: u8 = 0xd1;
    pub(crate) const ROW_WITH_NULLS: u8 = 0xd2;
    pub(crate) const CHANGE: u8 = 0xe3;
    pub(crate) const SESSION_STATE: u8 = 0xe4;
    pub(crate) const SSPI: u8 = 0xed;
    pub(crate) const FEDERATION: u8 = 0xee;
    pub(crate) const DONE: u8 = 0xfd;
    pub(crate) const DONE_OF_PROCEDURE: u8 = 0xfe;
    pub(crate) const DONE_IN_PROCEDURE: u8 = 0xff;
}

/// Kinds of ENVCHANGE ([MS-TDS] 2.2.7.9).
mod change {
    pub(super) const DATABASE: u8 = 1;
    pub(super) const PACKET_SIZE: u8 = 4;
    pub(super) const BEGIN: u8 = 8;
    pub(super) const COMMIT: u8 = 9;
    pub(super) const ROLLBACK: u8 = 10;
    pub(super) const ENDED: u8 = 17;
    pub(super) const ROUTING: u8 = 20;
}

/// Bits of DONE's status.
const DONE_COUNT: u16 = 0x0010;
const DONE_ATTENTION: u16 = 0x0020;

/// The content of a message.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) answer: Answer,
    pub(crate) errors: Vec<ServerMessage>,
    pub(crate) changes: Changes,
    /// The message has the answer to ATTENTION.
    pub(crate) answers_attention: bool,
}

/// What changed in the session.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) logged_in: Option<LoginAck>,
    pub(crate) database: Option<String>,
    pub(crate) packet_bytes: Option<u32>,
    /// The transaction: its descriptor, 0 if it ended.
    pub(crate) transaction: Option<u64>,
    /// The server that must be asked instead: host and port.
    pub(crate) routing: Option<(String, u16)>,
    pub(crate) takes_utf8: bool,
    /// A token of a Kerberos login, for the client.
    pub(crate) security_token: Option<Vec<u8>>,
}

/// The server that answers the login.
#[derive(Clone, Debug)]
pub(crate) struct LoginAck {
    /// The program's name and version.
    pub(crate) program: String,
    pub(crate) version: (u8, u8, u16),
}

/// Reads a message; `Err` says what is wrong with it.
pub(crate) fn read(bytes: &[u8]) -> Result<Message, String> {
    let mut reader = Reader::new(bytes);
    let mut message = Message::default();
    while !reader.is_at_end() {
        let at = reader.position();
        let token = reader.byte()?;
        match token {
            token::COLUMNS => {
                // There is no description here: the previous one applies, if there was one.
                if reader.rest().starts_with(&[0xff, 0xff]) {
                    reader.skip(2)?;
                    continue;
                }
                let (columns, length) =
                    RowMetadata::parse(&bytes[at..]).map_err(|error| error.to_string())?;
                reader.skip(length - 1)?;
                message.answer.rowsets.push(Rowset {
                    columns,
                    rows: Vec::new(),
                });
            }
            token::ROW | token::ROW_WITH_NULLS => {
                let rowset = message
                    .answer
                    .rowsets
                    .last_mut()
                    .ok_or("a row comes before its columns")?;
                let row = read_row(&mut reader, &rowset.columns, token == token::ROW_WITH_NULLS)?;
                rowset.rows.push(row);
            }
            other => read_one(other, at, &mut reader, &mut message)?,
        }
    }
    Ok(message)
}

/// Reads a part of an answer that is neither a description nor a row. The token of the part, which was at this byte, is
/// already read.
fn read_one(
    token: u8,
    at: usize,
    reader: &mut Reader<'_>,
    message: &mut Message,
) -> Result<(), String> {
    match token {
        token::DONE | token::DONE_OF_PROCEDURE | token::DONE_IN_PROCEDURE => {
            let status = reader.u16()?;
            reader.u16()?;
            let count = reader.u64()?;
            if status & DONE_COUNT != 0 {
                message.answer.counts.push(count);
            }
            message.answers_attention |= status & DONE_ATTENTION != 0;
        }
        token::ERROR => message.errors.push(read_message(reader.counted()?)?),
        token::INFO => message.answer.notes.push(read_message(reader.counted()?)?),
        token::CHANGE => read_change(reader.counted()?, &mut message.changes)?,
        token::LOGIN_ACK => message.changes.logged_in = Some(read_login_ack(reader.counted()?)?),
        token::FEATURES => loop {
            let feature = reader.byte()?;
            if feature == 0xff {
                break;
            }
            let length = reader.u32()? as usize;
            let data = reader.take(length)?;
            message.changes.takes_utf8 |= feature == UTF8_SUPPORT && data == [1];
        },
        token::RETURN_STATUS => message.answer.return_status = Some(reader.u32()? as i32),
        token::OFFSET => {
            reader.take(4)?;
        }
        token::SSPI => {
            let length = usize::from(reader.u16()?);
            message.changes.security_token = Some(reader.take(length)?.to_vec());
        }
        token::ORDER | token::TABLE_NAMES | token::COLUMN_INFO => {
            reader.counted()?;
        }
        token::SESSION_STATE | token::FEDERATION => {
            let length = reader.u32()? as usize;
            reader.take(length)?;
        }
        other => {
            return Err(format!(
                "byte {at} is 0x{other:02x}, which begins no part of an answer"
            ));
        }
    }
    Ok(())
}

/// Reads a part of an answer that is neither a description nor a row, from its token to its end.
pub(crate) fn read_part(bytes: &[u8], message: &mut Message) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    read_one(reader.byte()?, 0, &mut reader, message)
}

/// The number of bytes of the part of an answer that begins here; `None` if the part is incomplete. The part must be
/// neither a description nor a row.
pub(crate) fn whole_bytes(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut reader = Reader::new(bytes);
    let token = reader.byte()?;
    let length = match token {
        token::DONE | token::DONE_OF_PROCEDURE | token::DONE_IN_PROCEDURE => Ok(12),
        token::RETURN_STATUS | token::OFFSET => Ok(4),
        token::SESSION_STATE | token::FEDERATION => reader.u32().map(|length| length as usize),
        token::ERROR
        | token::INFO
        | token::CHANGE
        | token::ORDER
        | token::TABLE_NAMES
        | token::COLUMN_INFO => reader.u16().map(usize::from),
        other => {
            return Err(format!(
                "0x{other:02x} begins no part of an answer to a query"
            ));
        }
    };
    let whole = length.map(|length| reader.position().saturating_add(length));
    Ok(whole.ok().filter(|whole| *whole <= bytes.len()))
}

/// True if this token ends the answer of a statement.
pub(crate) fn is_done(token: u8) -> bool {
    matches!(
        token,
        token::DONE | token::DONE_OF_PROCEDURE | token::DONE_IN_PROCEDURE
    )
}

fn read_message(mut reader: Reader<'_>) -> Result<ServerMessage, String> {
    let number = reader.u32()? as i32;
    let (state, class) = (reader.byte()?, reader.byte()?);
    let units = usize::from(reader.u16()?);
    let text = reader.text(units)?;
    let units = usize::from(reader.byte()?);
    reader.text(units)?;
    let units = usize::from(reader.byte()?);
    let procedure = reader.text(units)?;
    Ok(ServerMessage {
        number,
        state,
        class,
        text,
        procedure,
        line: reader.u32()?,
    })
}

fn read_login_ack(mut reader: Reader<'_>) -> Result<LoginAck, String> {
    reader.byte()?;
    reader.u32()?;
    let units = usize::from(reader.byte()?);
    let program = reader.text(units)?;
    let version = reader.take(4)?;
    Ok(LoginAck {
        program,
        version: (
            version[0],
            version[1],
            u16::from_be_bytes([version[2], version[3]]),
        ),
    })
}

fn read_change(mut reader: Reader<'_>, changes: &mut Changes) -> Result<(), String> {
    match reader.byte()? {
        change::DATABASE => {
            let units = usize::from(reader.byte()?);
            changes.database = Some(reader.text(units)?);
        }
        change::PACKET_SIZE => {
            let units = usize::from(reader.byte()?);
            let text = reader.text(units)?;
            let bytes = text
                .parse()
                .map_err(|_| format!("the packet size {text:?} is not a number"))?;
            changes.packet_bytes = Some(bytes);
        }
        change::BEGIN => {
            let length = usize::from(reader.byte()?);
            let bytes = reader
                .take(length)?
                .try_into()
                .map_err(|_| "a transaction's descriptor does not have 8 bytes")?;
            changes.transaction = Some(u64::from_le_bytes(bytes));
        }
        change::COMMIT | change::ROLLBACK | change::ENDED => changes.transaction = Some(0),
        change::ROUTING => {
            reader.u16()?;
            reader.byte()?;
            let port = reader.u16()?;
            let units = usize::from(reader.u16()?);
            changes.routing = Some((reader.text(units)?, port));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Value;

    /// The answer to a login in section 4.4 of [MS-TDS], without its packet header, shortened to one ENVCHANGE, INFO
    /// and LOGINACK.
    fn login_answer() -> Vec<u8> {
        let text =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let counted = |token: u8, data: Vec<u8>| {
            [&[token], &(data.len() as u16).to_le_bytes()[..], &data].concat()
        };
        let named = |name: &str| [&[name.len() as u8][..], &text(name)].concat();
        let size = [&[4][..], &named("16380"), &named("4096")].concat();
        let begin = [&[8, 8][..], &7u64.to_le_bytes(), &[0]].concat();
        let info = [
            &5701u32.to_le_bytes()[..],
            &[2, 0],
            &7u16.to_le_bytes(),
            &text("Changed"),
            &named("dw"),
            &named(""),
            &1u32.to_le_bytes(),
        ]
        .concat();
        let ack = [
            &[1, 0x74, 0, 0, 4][..],
            &named("Microsoft SQL Server"),
            &[16, 0, 3, 0xe8],
        ]
        .concat();
        [
            counted(0xe3, size),
            counted(0xe3, begin),
            counted(0xab, info),
            counted(0xad, ack),
            vec![0xae, 0x0a, 1, 0, 0, 0, 1, 0xff],
            vec![0xfd, 0x10, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat()
    }

    #[test]
    fn an_answer_to_a_login_is_read() {
        let message = read(&login_answer()).expect("read");
        assert_eq!(message.changes.packet_bytes, Some(16_380));
        assert_eq!(message.changes.transaction, Some(7));
        assert!(message.changes.takes_utf8);
        assert_eq!(
            message.changes.logged_in.expect("acknowledged").version,
            (16, 0, 1000)
        );
        assert_eq!(message.answer.notes[0].to_string(), "Changed (error 5701)");
        assert_eq!(message.answer.counts, [3]);
    }

    /// An answer that is cut anywhere, or has any byte changed, is an error or another answer, never a panic.
    #[test]
    fn wrong_bytes_are_an_error_at_worst() {
        let right = [login_answer(), rowset()].concat();
        for end in 0..right.len() {
            let _ = read(&right[..end]);
            for byte in [0, 0x7f, 0xff] {
                let mut wrong = right.clone();
                wrong[end] = byte;
                let _ = read(&wrong);
            }
        }
        assert!(read(&right[..right.len() - 1]).is_err());
        assert!(read(&[0xd1, 1]).is_err_and(|said| said.contains("before its columns")));
        assert!(read(&[0x00]).is_err_and(|said| said.contains("0x00")));
    }

    /// int NOT NULL, bigint NULL, nvarchar(4) NULL, nvarchar(max) NULL, date NULL.
    fn rowset() -> Vec<u8> {
        let column =
            |flags: u8, info: &[u8]| [&[0, 0, 0, 0, flags, 0][..], info, &[1, b'c', 0]].concat();
        let collation = [9, 4, 0xd0, 0, 0x34];
        [
            vec![0x81, 5, 0],
            column(0, &[0x38]),
            column(1, &[0x26, 8]),
            column(1, &[&[0xe7, 8, 0][..], &collation].concat()),
            column(1, &[&[0xe7, 0xff, 0xff][..], &collation].concat()),
            column(1, &[0x28]),
            vec![
                0xd1, 0xfe, 0xff, 0xff, 0xff, 8, 1, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, b'a', 0,
            ],
            vec![
                0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0xe4, 0, 2, 0, 0, 0,
                b'b', 0, 0, 0, 0, 0,
            ],
            vec![3, 1, 2, 3],
            // The bitmap of NULLs: all but the first two.
            vec![0xd2, 0b11100, 1, 0, 0, 0, 0],
            vec![0xfd, 0x10, 0, 0xc1, 0, 2, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat()
    }

    #[test]
    fn rows_are_read() {
        let answer = read(&rowset()).expect("read").answer;
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(
            answer.rowsets[0].rows,
            [
                vec![
                    Value::Integer(-2),
                    Value::Integer(i64::MIN + 1),
                    text("a"),
                    text("äb"),
                    Value::Unread("date".to_owned())
                ],
                vec![
                    Value::Integer(1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null
                ],
            ]
        );
        assert_eq!(answer.count(), Some(2));
        assert_eq!(answer.into_rows()[0][4].as_deref(), Some("(date)"));
    }
}
