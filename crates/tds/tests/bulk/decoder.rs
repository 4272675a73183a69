//! Reads a bulk load back, by [MS-TDS]: packets, the description of the columns, rows, DONE. It is simple, and
//! independent of the encoder; text of a code page is left as bytes.

/// A value as SQL Server would store it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// `bit`.
    Bit(bool),
    /// Integers; `money` and `smallmoney` in ten thousandths.
    Integer(i64),
    /// Bits of a `real`.
    Real(u32),
    /// Bits of a `float`.
    Float(u64),
    /// The digits of a `decimal` without its point, as a number.
    Decimal(i128),
    /// Days since 0001-01-01, steps of the type's fraction since midnight, minutes of an offset. A part that the type
    /// lacks is 0.
    Moment(u32, u64, i16),
    /// `datetime`: days since 1900-01-01 and steps of 1/300 s; `smalldatetime`: days and minutes.
    Old(i32, u32),
    /// Text in UTF-16.
    Wide(Vec<u16>),
    /// Bytes, and text of any other encoding.
    Bytes(Vec<u8>),
    /// `uniqueidentifier`, as it is written.
    Guid([u8; 16]),
}

/// A column as the stream describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub flags: u16,
    pub type_token: u8,
    pub scale: u8,
    /// The length of the type's description, or 0.
    pub length: u16,
}

/// A whole message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().expect("N bytes")
    }

    fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A little-endian number of this number of bytes.
    fn number(&mut self, bytes: usize) -> u128 {
        let bytes = self.take(bytes);
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u128::from(*byte))
    }

    fn utf16(&mut self, units: usize) -> Vec<u16> {
        (0..units).map(|_| self.u16()).collect()
    }
}

/// The payload of a message's packets. Their headers must be correct for this packet size.
pub fn payload(packets: &[u8], packet_bytes: usize) -> Vec<u8> {
    let mut rest = packets;
    let mut payload = Vec::new();
    let mut id = 1u8;
    loop {
        assert!(rest.len() > 8, "a packet has a header and a payload");
        assert_eq!(rest[0], 7, "the kind of message");
        let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        assert_eq!(rest[4..6], [0, 0], "the process of the server");
        assert_eq!(rest[6], id, "packets are numbered");
        assert_eq!(rest[7], 0, "the window");
        id = id.wrapping_add(1);
        payload.extend_from_slice(&rest[8..length]);
        match rest[1] {
            0 => assert_eq!(length, packet_bytes, "only the last packet may be short"),
            1 => {
                assert!(length <= packet_bytes, "the last packet is not longer");
                assert_eq!(rest.len(), length, "nothing behind the end of the message");
                return payload;
            }
            other => panic!("a status of {other}"),
        }
        rest = &rest[length..];
    }
}

/// A message of ours, without the headers of its packets.
pub fn decode(payload: &[u8]) -> Message {
    let message = decode_any(payload);
    assert_eq!(message.done, [0; 12], "status, command and count of DONE");
    for (column, (value, sent)) in message
        .rows
        .iter()
        .flat_map(|row| message.columns.iter().zip(row))
    {
        if let Value::Decimal(_) = value {
            // The length comes first. FreeTDS sends other lengths.
            assert!(matches!(sent[0], 5 | 9 | 13 | 17), "{sent:?}");
        }
        let bytes = match value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Wide(units) => 2 * units.len(),
            _ => 0,
        };
        let is_max = column.length == 0xffff;
        assert!(
            is_max || bytes <= column.length.into(),
            "a value is not longer than its column"
        );
    }
    Message {
        columns: message.columns,
        rows: message
            .rows
            .into_iter()
            .map(|row| row.into_iter().map(|(value, _)| value).collect())
            .collect(),
    }
}

/// A message of any client: each value with its bytes, and the bytes after the token of DONE. They are empty if there
/// is no DONE.
pub struct AnyMessage {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<(Value, Vec<u8>)>>,
    pub done: Vec<u8>,
}

/// A message of any client, without the headers of its packets.
pub fn decode_any(payload: &[u8]) -> AnyMessage {
    let mut reader = Reader(payload);
    assert_eq!(reader.byte(), 0x81, "COLMETADATA");
    let count = reader.u16();
    let columns: Vec<Column> = (0..count).map(|_| column(&mut reader)).collect();
    let mut rows = Vec::new();
    loop {
        if reader.0.is_empty() {
            return AnyMessage {
                columns,
                rows,
                done: Vec::new(),
            };
        }
        match reader.byte() {
            0xd1 => rows.push(
                columns
                    .iter()
                    .map(|one| {
                        let before = reader.0;
                        let value = value(one, &mut reader);
                        let bytes = before[..before.len() - reader.0.len()].to_vec();
                        (value, bytes)
                    })
                    .collect(),
            ),
            0xfd => {
                return AnyMessage {
                    columns,
                    rows,
                    done: reader.0.to_vec(),
                };
            }
            other => panic!("a token of {other:#x}"),
        }
    }
}

fn column(reader: &mut Reader<'_>) -> Column {
    assert_eq!(reader.u32(), 0, "the user's type");
    let flags = reader.u16();
    let type_token = reader.byte();
    let (mut length, mut scale) = (0, 0);
    match type_token {
        0x30 | 0x32 | 0x34 | 0x38 | 0x3a | 0x3b | 0x3c | 0x3d | 0x3e | 0x7a | 0x7f | 0x28 => {}
        0x24 | 0x26 | 0x68 | 0x6d | 0x6e | 0x6f => length = reader.byte().into(),
        0x29..=0x2b => scale = reader.byte(),
        0x6a | 0x6c => {
            length = reader.byte().into();
            let precision = reader.byte();
            scale = reader.byte();
            assert!((1..=38).contains(&precision) && scale <= precision);
        }
        0xa5 | 0xad => length = reader.u16(),
        0xa7 | 0xaf | 0xe7 | 0xef => {
            length = reader.u16();
            reader.take(5);
        }
        other => panic!("a type of {other:#x}"),
    }
    let units = reader.byte();
    let name = String::from_utf16(&reader.utf16(units.into())).expect("a name");
    Column {
        name,
        flags,
        type_token,
        scale,
        length,
    }
}

fn value(column: &Column, reader: &mut Reader<'_>) -> Value {
    // The length of the value: the type fixes it, or it is sent before the value.
    let (bytes, length) = match column.type_token {
        0x30 | 0x32 => (reader.take(1), 1),
        0x34 => (reader.take(2), 2),
        0x38 | 0x3a | 0x3b | 0x7a => (reader.take(4), 4),
        0x3c | 0x3d | 0x3e | 0x7f => (reader.take(8), 8),
        0x24 | 0x26 | 0x28..=0x2b | 0x68 | 0x6a | 0x6c | 0x6d | 0x6e | 0x6f => {
            let length = reader.byte().into();
            if length == 0 {
                return Value::Null;
            }
            (reader.take(length), length)
        }
        _ if column.length == 0xffff => match chunks(reader) {
            None => return Value::Null,
            Some(bytes) => return text(column.type_token, &bytes),
        },
        _ => {
            let length = reader.u16();
            if length == 0xffff {
                return Value::Null;
            }
            return text(column.type_token, reader.take(length.into()));
        }
    };
    let mut reader = Reader(bytes);
    let value = match column.type_token {
        0x32 | 0x68 => match reader.byte() {
            0 => Value::Bit(false),
            1 => Value::Bit(true),
            other => panic!("a bit of {other}"),
        },
        0x30 | 0x34 | 0x38 | 0x7f | 0x26 => Value::Integer(match length {
            1 => reader.byte().into(),
            2 => (reader.u16() as i16).into(),
            4 => (reader.u32() as i32).into(),
            8 => reader.u64() as i64,
            other => panic!("an integer of {other} bytes"),
        }),
        0x3b | 0x3e | 0x6d => match length {
            4 => Value::Real(reader.u32()),
            8 => Value::Float(reader.u64()),
            other => panic!("a float of {other} bytes"),
        },
        0x3c | 0x7a | 0x6e => Value::Integer(match length {
            4 => (reader.u32() as i32).into(),
            8 => {
                let upper = reader.u32();
                (u64::from(upper) << 32 | u64::from(reader.u32())) as i64
            }
            other => panic!("money of {other} bytes"),
        }),
        0x3a | 0x3d | 0x6f => match length {
            4 => Value::Old(reader.u16().into(), reader.u16().into()),
            8 => Value::Old(reader.u32() as i32, reader.u32()),
            other => panic!("a datetime of {other} bytes"),
        },
        0x6a | 0x6c => {
            let sign = match reader.byte() {
                0 => -1,
                1 => 1,
                other => panic!("a sign of {other}"),
            };
            let magnitude = reader.number(length - 1);
            Value::Decimal(sign * i128::try_from(magnitude).expect("38 digits"))
        }
        0x24 => {
            let [a, b, c, d, e, f, g, h, rest @ ..] = reader.array::<16>();
            let mut written = [0; 16];
            written[..8].copy_from_slice(&[d, c, b, a, f, e, h, g]);
            written[8..].copy_from_slice(&rest);
            Value::Guid(written)
        }
        0x28 => Value::Moment(reader.number(3) as u32, 0, 0),
        token => {
            let time_bytes = match column.scale {
                0..=2 => 3,
                3..=4 => 4,
                5..=7 => 5,
                other => panic!("a scale of {other}"),
            };
            let ticks = reader.number(time_bytes) as u64;
            let days = match token {
                0x29 => 0,
                _ => reader.number(3) as u32,
            };
            let offset = match token {
                0x2b => reader.u16() as i16,
                _ => 0,
            };
            Value::Moment(days, ticks, offset)
        }
    };
    assert!(reader.0.is_empty(), "bytes left in a value");
    value
}

/// A value in chunks (PLP).
fn chunks(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    let total = reader.u64();
    if total == u64::MAX {
        return None;
    }
    let mut bytes = Vec::new();
    loop {
        let length = reader.u32() as usize;
        if length == 0 {
            break;
        }
        bytes.extend_from_slice(reader.take(length));
    }
    if total != u64::MAX - 1 {
        assert_eq!(total, bytes.len() as u64, "the total of the chunks");
    }
    Some(bytes)
}

fn text(type_token: u8, bytes: &[u8]) -> Value {
    match type_token {
        0xe7 | 0xef => {
            assert_eq!(bytes.len() % 2, 0, "whole units of UTF-16");
            Value::Wide(Reader(bytes).utf16(bytes.len() / 2))
        }
        _ => Value::Bytes(bytes.to_vec()),
    }
}
