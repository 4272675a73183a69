//! Reads a stream of binary COPY back, by the documentation of the format and the `_recv` functions of the types. It is
//! simple, and independent of the encoder.

use inrush_pgcopy::PgType;

/// A value as PostgreSQL would store it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// `boolean`.
    Bool(bool),
    /// Integers, dates, times and timestamps, the latter counted from PostgreSQL's epoch.
    Integer(i64),
    /// Bits of a `real`.
    Float4(u32),
    /// Bits of a `double precision`.
    Float8(u64),
    /// `numeric` with all digits of its display scale.
    Numeric(String),
    /// `text`, `bytea`.
    Bytes(Vec<u8>),
    /// `jsonb` as text.
    Jsonb(Vec<u8>),
    /// Months, days and microseconds.
    Interval(i32, i32, i64),
    /// `uuid`.
    Uuid([u8; 16]),
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

    fn int16(&mut self) -> i16 {
        i16::from_be_bytes(self.array())
    }

    fn int32(&mut self) -> i32 {
        i32::from_be_bytes(self.array())
    }

    fn int64(&mut self) -> i64 {
        i64::from_be_bytes(self.array())
    }
}

/// The rows of a whole stream, including its header and trailer.
pub fn decode(types: &[PgType], stream: &[u8]) -> Vec<Vec<Value>> {
    let mut reader = Reader(stream);
    assert_eq!(reader.take(11), b"PGCOPY\n\xff\r\n\0", "signature");
    assert_eq!(reader.int32(), 0, "flags");
    assert_eq!(reader.int32(), 0, "length of the header's extension");
    let mut rows = Vec::new();
    loop {
        let field_count = reader.int16();
        if field_count == -1 {
            assert!(reader.0.is_empty(), "nothing behind the trailer");
            return rows;
        }
        assert_eq!(field_count as usize, types.len(), "field count");
        rows.push(
            types
                .iter()
                .map(|&pg_type| field(pg_type, &mut reader))
                .collect(),
        );
    }
}

fn field(pg_type: PgType, reader: &mut Reader<'_>) -> Value {
    let length = reader.int32();
    if length == -1 {
        return Value::Null;
    }
    let mut field = Reader(reader.take(usize::try_from(length).expect("a length")));
    let value = match pg_type {
        PgType::Bool => match field.array() {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            other => panic!("a boolean of {other:?}"),
        },
        PgType::Int2 => Value::Integer(field.int16().into()),
        PgType::Int4 | PgType::Date => Value::Integer(field.int32().into()),
        PgType::Int8 | PgType::Time | PgType::Timestamp | PgType::Money => {
            Value::Integer(field.int64())
        }
        PgType::Float4 => Value::Float4(field.int32() as u32),
        PgType::Float8 => Value::Float8(field.int64() as u64),
        PgType::Numeric => Value::Numeric(numeric(&mut field)),
        PgType::Char => Value::Bytes(field.array::<1>().to_vec()),
        PgType::TimeTz => Value::Bytes(field.array::<12>().to_vec()),
        PgType::Text | PgType::Bytea => Value::Bytes(field.take(field.0.len()).to_vec()),
        PgType::Jsonb => {
            assert_eq!(field.take(1), [1], "jsonb's version");
            Value::Jsonb(field.take(field.0.len()).to_vec())
        }
        PgType::Interval => {
            let microseconds = field.int64();
            let days = field.int32();
            let months = field.int32();
            Value::Interval(months, days, microseconds)
        }
        PgType::Uuid => Value::Uuid(field.array()),
    };
    assert!(field.0.is_empty(), "{pg_type:?}: bytes left in the field");
    value
}

/// The text of `numeric_out`.
fn numeric(field: &mut Reader<'_>) -> String {
    let digit_count = field.int16() as u16 as usize;
    let weight = i32::from(field.int16());
    let sign = field.int16() as u16;
    let scale = field.int16() as usize;
    let digits: Vec<i16> = (0..digit_count).map(|_| field.int16()).collect();
    for digit in &digits {
        assert!((0..10_000).contains(digit), "a digit to base 10000");
    }
    if let (Some(first), Some(last)) = (digits.first(), digits.last()) {
        assert!(*first != 0 && *last != 0, "zeros at the ends are not sent");
    } else {
        assert_eq!(weight, 0, "the weight of zero");
    }
    match sign {
        0xC000 => return "NaN".to_owned(),
        0xD000 => return "Infinity".to_owned(),
        0xF000 => return "-Infinity".to_owned(),
        0x0000 | 0x4000 => {}
        other => panic!("a sign of {other:#x}"),
    }
    assert!(scale < 1 << 14, "the display scale has 14 bits");
    // The digit that counts 10000 to the power of `power`.
    let digit = |power: i32| {
        usize::try_from(weight - power)
            .ok()
            .and_then(|index| digits.get(index))
            .copied()
            .unwrap_or(0)
    };
    let mut before: String = (0..=weight.max(0))
        .rev()
        .map(|power| format!("{:04}", digit(power)))
        .collect();
    before = before.trim_start_matches('0').to_owned();
    if before.is_empty() {
        before.push('0');
    }
    let mut after: String = (1..=scale.div_ceil(4))
        .map(|group| format!("{:04}", digit(-(group as i32))))
        .collect();
    let hidden = after.split_off(scale);
    assert!(
        hidden.bytes().all(|digit| digit == b'0'),
        "digits past the scale"
    );
    if let Some(last) = digits.len().checked_sub(1) {
        assert!(
            last as i32 - weight <= scale.div_ceil(4) as i32,
            "groups past the scale"
        );
    }
    let minus = if sign == 0x4000 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{minus}{before}{point}{after}")
}
