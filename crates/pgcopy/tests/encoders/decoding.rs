//! Tests the crate's own decoder: it reverses the encoder, however the stream is cut, and no bytes can make it panic.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use inrush_pgcopy::{BinaryDecoder, BinaryEncoder, DecodeError, DecodedType, PgType};
use proptest::prelude::*;

use crate::batches::{any_batch, batch};

fn encoded(types: &[PgType], batch: &RecordBatch) -> Vec<u8> {
    let mut encoder = BinaryEncoder::new(types.to_vec());
    let mut stream = Vec::new();
    encoder.begin(&mut stream);
    encoder.encode(batch, &mut stream).expect("all values fit");
    encoder.end(&mut stream);
    stream
}

fn decoded_type(pg_type: PgType, data_type: &DataType) -> DecodedType {
    match (pg_type, data_type) {
        (PgType::Numeric, DataType::Decimal128(precision, scale)) => DecodedType::Decimal {
            precision: *precision,
            scale: *scale,
        },
        _ => DecodedType::Value(pg_type),
    }
}

/// Reads a stream in pieces of this length, and encodes each block again.
fn through(
    types: &[DecodedType],
    targets: &[PgType],
    stream: &[u8],
    piece: usize,
) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = BinaryDecoder::new(types.to_vec())?;
    let mut out = Vec::new();
    let mut encoder = BinaryEncoder::new(targets.to_vec());
    encoder.begin(&mut out);
    let mut rest = Vec::new();
    for piece in stream.chunks(piece.max(1)) {
        rest.extend_from_slice(piece);
        loop {
            let block = decoder.decode(std::mem::take(&mut rest))?;
            assert!(block.bad_texts.is_empty());
            let rows = batch(block.columns, block.row_count);
            encoder.encode(&rows, &mut out).expect("decoded values fit");
            rest = block.rest;
            if !block.is_cut {
                break;
            }
        }
    }
    decoder.end(&rest)?;
    encoder.end(&mut out);
    Ok(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The bytes describe a value completely: values that encode to the same bytes are equal.
    #[test]
    fn decoding_undoes_encoding((types, batch) in any_batch(), piece in 1..400usize) {
        let stream = encoded(&types, &batch);
        let schema = batch.schema();
        let from = types.iter().zip(schema.fields());
        let decoded: Vec<DecodedType> = from
            .map(|(pg_type, field)| decoded_type(*pg_type, field.data_type()))
            .collect();
        for piece in [piece, usize::MAX] {
            prop_assert_eq!(&through(&decoded, &types, &stream, piece).expect("its own bytes"), &stream);
        }
        // If numbers are decoded as text, the encoder writes the same numbers from it.
        let texts: Vec<DecodedType> = types.iter().map(|one| DecodedType::Value(*one)).collect();
        prop_assert_eq!(&through(&texts, &types, &stream, piece).expect("its own bytes"), &stream);
    }

    #[test]
    fn any_bytes_are_survived(
        (types, batch) in any_batch(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut stream = encoded(&types, &batch);
        for (at, byte) in changes {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        stream.truncate(end.index(stream.len() + 1));
        let decoded: Vec<DecodedType> = types.iter().map(|one| DecodedType::Value(*one)).collect();
        let mut decoder = BinaryDecoder::new(decoded).expect("few columns");
        let mut rest = stream;
        // The decoder ends with rows or with an error, and needs little memory.
        while let Ok(block) = decoder.decode(std::mem::take(&mut rest)) {
            let bytes: usize = block.columns.iter().map(|one| one.get_array_memory_size()).sum();
            prop_assert!(bytes < 64 << 20, "{} bytes", bytes);
            rest = block.rest;
            if !block.is_cut {
                break;
            }
        }
    }
}

/// A whole stream of one column, of these fields.
fn stream_of(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    for field in fields {
        stream.extend([0, 1]);
        match field {
            None => stream.extend((-1_i32).to_be_bytes()),
            Some(bytes) => {
                stream.extend((bytes.len() as u32).to_be_bytes());
                stream.extend_from_slice(bytes);
            }
        }
    }
    stream.extend([0xff, 0xff]);
    stream
}

fn column(decoded: DecodedType, fields: &[Option<&[u8]>]) -> Result<ArrayRef, DecodeError> {
    let mut decoder = BinaryDecoder::new(vec![decoded])?;
    let block = decoder.decode(stream_of(fields))?;
    decoder.end(&block.rest)?;
    Ok(block.columns[0].clone())
}

fn texts(array: &ArrayRef) -> Vec<Option<&str>> {
    array.as_string_view().iter().collect()
}

const NAN: &[u8] = &[0, 0, 0, 0, 0xc0, 0, 0, 0];
const INFINITY: &[u8] = &[0, 0, 0, 0, 0xd0, 0, 0, 0];
/// 12.34 as a `numeric`: ndigits 2, weight 0, sign 0, dscale 2; digits 12 and 3400.
const NUMBER: &[u8] = &[0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x0d, 0x48];

#[test]
fn numbers_that_no_decimal_has_make_the_column_text() {
    let decimal = DecodedType::Decimal {
        precision: 12,
        scale: 2,
    };
    let plain = column(decimal, &[Some(NUMBER), None]).expect("a number");
    assert_eq!(*plain.data_type(), DataType::Decimal128(12, 2));
    let mixed = column(decimal, &[Some(NUMBER), None, Some(NAN), Some(INFINITY)]);
    let mixed = mixed.expect("values of numeric");
    assert_eq!(
        texts(&mixed),
        [Some("12.34"), None, Some("NaN"), Some("Infinity")]
    );
    // The number has more digits than the type of the column.
    let narrow = DecodedType::Decimal {
        precision: 3,
        scale: 2,
    };
    let long = column(narrow, &[Some(NUMBER)]).expect("a number");
    assert_eq!(texts(&long), [Some("12.34")]);
}

#[test]
fn short_fields_with_long_texts_are_cut_into_blocks() {
    // ndigits 1, weight 32767: one with 131,068 zeros.
    let huge: &[u8] = &[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1];
    let rows = 1_000;
    let mut decoder = BinaryDecoder::new(vec![DecodedType::Value(PgType::Numeric)]).expect("one");
    let mut rest = stream_of(&vec![Some(huge); rows]);
    let mut seen = 0;
    loop {
        let block = decoder.decode(rest).expect("numbers");
        let bytes = block.columns[0].get_array_memory_size();
        assert!(bytes < 80 << 20, "{bytes} bytes");
        for text in texts(&block.columns[0]).into_iter().flatten() {
            assert!(
                text.len() == 131_069 && text.starts_with("10"),
                "{}",
                text.len()
            );
        }
        seen += block.row_count;
        rest = block.rest;
        if !block.is_cut {
            break;
        }
    }
    assert_eq!(seen, rows);
    decoder.end(&rest).expect("all of it");
}

#[test]
fn texts_that_are_not_utf8_are_named() {
    let fields: [Option<&[u8]>; 4] = [
        Some(b"ok"),
        Some(b"\xff\xfe"),
        None,
        Some(b"a longer text, ok"),
    ];
    let mut decoder = BinaryDecoder::new(vec![DecodedType::Value(PgType::Text)]).expect("one");
    let block = decoder.decode(stream_of(&fields)).expect("rows");
    let expected = [Some("ok"), Some(""), None, Some("a longer text, ok")];
    assert_eq!(texts(&block.columns[0]), expected);
    let bad: Vec<_> = block
        .bad_texts
        .iter()
        .map(|bad| (bad.row, &bad.bytes[..]))
        .collect();
    assert_eq!(bad, [(1, &b"\xff\xfe"[..])]);
}

#[test]
fn places_of_rows_are_numbers_in_their_order() {
    let places = column(
        DecodedType::Tid,
        &[Some(&[0, 0, 0, 12, 0, 3]), Some(&[0, 1, 0, 0, 0, 1])],
    );
    let places = places.expect("places");
    let places = places.as_primitive::<arrow_array::types::UInt64Type>();
    assert_eq!(places.values().to_vec(), [12 << 16 | 3, 65_536 << 16 | 1]);
}

macro_rules! refused {
    ($($name:ident: $pg_type:ident, $field:expr => $part:expr;)*) => {
        $(#[test]
        fn $name() {
            let error = column(DecodedType::Value(PgType::$pg_type), &[None, Some(&$field)]);
            let text = error.expect_err("it is not a value").to_string();
            assert!(text.contains("row 2") && text.contains("column 1"), "{text}");
            assert!(text.contains($part), "{text}");
        })*
    };
}

refused! {
    a_boolean_of_two: Bool, [2] => "0 or 1";
    an_integer_of_three_bytes: Int4, [0, 0, 1] => "3 bytes";
    a_time_past_the_day: Time, 86_400_000_001_i64.to_be_bytes() => "no time of day";
    a_date_past_the_end: Date, i32::MAX.wrapping_sub(1).to_be_bytes() => "outside the range";
    a_timestamp_past_the_end: Timestamp, (i64::MAX - 1).to_be_bytes() => "outside the range";
    a_number_of_other_groups: Numeric, [0, 3, 0, 0, 0, 0, 0, 0, 0, 1] => "3 groups";
    a_group_above_9999: Numeric, [0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10] => "above 9999";
    a_number_with_hidden_digits: Numeric, [0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 5] => "more digits";
    jsonb_of_another_version: Jsonb, [2, b'1'] => "version";
}

#[test]
fn streams_that_are_none_are_refused() {
    let decode = |stream: &[u8]| {
        let mut decoder = BinaryDecoder::new(vec![DecodedType::Value(PgType::Int4)]).expect("one");
        let block = decoder.decode(stream.to_vec())?;
        decoder.end(&block.rest)
    };
    let whole = stream_of(&[Some(&[0, 0, 0, 7])]);
    assert_eq!(decode(&whole), Ok(()));
    for end in 0..whole.len() {
        assert!(
            matches!(decode(&whole[..end]), Err(DecodeError::Truncated { .. })),
            "{end} bytes"
        );
    }
    let behind = [&whole[..], b"x"].concat();
    assert_eq!(
        decode(&behind),
        Err(DecodeError::AfterEnd { byte_count: 1 })
    );
    assert_eq!(decode(b"PGCOPY\n"), Err(DecodeError::Truncated { rows: 0 }));
    assert_eq!(decode(b"<html>"), Err(DecodeError::Signature));
    let mut flags = whole.clone();
    flags[12] = 1;
    assert!(matches!(decode(&flags), Err(DecodeError::Flags { .. })));
    let mut negative = whole.clone();
    negative[21..25].copy_from_slice(&(-2_i32).to_be_bytes());
    assert!(matches!(
        decode(&negative),
        Err(DecodeError::FieldLength {
            row: 1,
            column: 1,
            found: -2
        })
    ));
    let mut more = whole;
    more[20] = 2;
    assert!(matches!(
        decode(&more),
        Err(DecodeError::FieldCount {
            row: 1,
            expected: 1,
            found: 2
        })
    ));
}
