//! The decoder of the server extension (`extensions/postgres/decoder`) on streams of the encoder, and on damaged ones.
//!
//! A simple decoder here, written from the documentation of the format and the page layout, must make the same tuples.
//! The result must not depend on how a stream is cut, or on how little memory the decoder has.

use inrush_fastcopy::{Column, Decoder, Kernel, Placement, Status, Tuple};
use inrush_pgcopy::{BinaryEncoder, PgType};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::batches::any_batch;

/// A column of this type, as the server describes it to the decoder.
fn column(pg_type: PgType) -> Column {
    let (kernel, align, packable) = match pg_type {
        PgType::Bool => (Kernel::Bool, 1, 0),
        PgType::Char => (Kernel::Byte, 1, 0),
        PgType::Int2 => (Kernel::Int2, 2, 0),
        PgType::Int4 | PgType::Float4 => (Kernel::Int4, 4, 0),
        PgType::Int8 | PgType::Float8 | PgType::Money => (Kernel::Int8, 8, 0),
        PgType::Date => (Kernel::Date, 4, 0),
        PgType::Time => (Kernel::Time, 8, 0),
        PgType::Timestamp => (Kernel::Timestamp, 8, 0),
        PgType::Uuid => (Kernel::Uuid, 1, 0),
        PgType::Bytea => (Kernel::Bytea, 4, 1),
        PgType::Text => (Kernel::Text, 4, 1),
        PgType::Numeric => (Kernel::Numeric, 4, 1),
        PgType::Jsonb | PgType::Interval | PgType::TimeTz => (Kernel::Receive, 4, 1),
    };
    Column {
        kernel: kernel as u8,
        align,
        packable,
        given: 1,
        characters: -1,
        precision: -1,
        scale: -1,
        ..Column::default()
    }
}

/// The result of the tests' receive function: the field's bytes, reversed, as a `bytea`.
fn received(field: &[u8]) -> Vec<u8> {
    field.iter().rev().copied().collect()
}

/// The tuples of a stream, and how it ended. `cuts` are the lengths of its messages, in turn.
fn decode(
    columns: &[Column],
    stream: &[u8],
    cuts: &[usize],
    room: usize,
) -> (Vec<Vec<u8>>, Status) {
    let given = columns.iter().filter(|column| column.given != 0).count();
    let mut decoder = Decoder::new(given as i32, true);
    let mut coming = stream;
    let mut cuts = cuts.iter().copied().cycle();
    let mut input = Vec::new();
    let mut arena = vec![0xee; room];
    let mut places = [Tuple::default(); 5];
    let mut tuples = Vec::new();
    loop {
        let status = decoder.decode(columns, &input, &mut arena, &mut places);
        let state = &mut decoder.stream;
        assert!(
            state.used <= input.len() && state.arena_used <= arena.len() + 7,
            "{state:?}"
        );
        let batch = &places[..state.tuples];
        match status {
            Status::NeedInput => {
                assert_eq!(state.input_ends, 0);
                input.drain(..state.used);
                state.used = 0;
                let (message, rest) = coming.split_at(coming.len().min(cuts.next().unwrap_or(1)));
                input.extend_from_slice(message);
                coming = rest;
                state.input_ends = u8::from(message.is_empty());
            }
            Status::NeedRoom => {
                assert_eq!(state.tuples, 0);
                assert!(arena.len() < 64 * stream.len() + 4096);
                arena.resize(arena.len() * 2, 0xdd);
            }
            Status::NeedValue => {
                let (at, len) = (state.field, state.field_len);
                assert!(len >= 0, "no column asks for NULL");
                let value = received(&input[at..at + len as usize]);
                let (value, placement) = if value.len() < 127 {
                    (value, Placement::MakeShort)
                } else {
                    let header = ((value.len() + 4) << 2) as u32;
                    (
                        [&header.to_le_bytes()[..], &value].concat(),
                        Placement::Aligned,
                    )
                };
                while !decoder.give(columns, &mut arena, &value, placement) {
                    if decoder.stream.tuples > 0 {
                        decoder.restart_row();
                        take(&mut decoder, &places, &arena, &mut tuples);
                        break;
                    }
                    arena.resize(arena.len() * 2, 0xdd);
                }
            }
            Status::BatchFull => {
                assert!(!batch.is_empty());
                take(&mut decoder, &places, &arena, &mut tuples);
            }
            Status::Row => unreachable!("tuples were asked for"),
            _ => {
                take(&mut decoder, &places, &arena, &mut tuples);
                return (tuples, status);
            }
        }
    }
}

/// Takes the batch out of the arena.
fn take(decoder: &mut Decoder, places: &[Tuple], arena: &[u8], tuples: &mut Vec<Vec<u8>>) {
    for place in &places[..decoder.stream.tuples] {
        assert_eq!(place.offset % 8, 0);
        tuples.push(arena[place.offset..place.offset + place.len].to_vec());
    }
    decoder.stream.tuples = 0;
    decoder.stream.arena_used = 0;
}

/// The plain decoder: tuples of a good stream.
fn plainly(columns: &[Column], stream: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &stream[19..];
    let mut tuples = Vec::new();
    loop {
        let count = i16::from_be_bytes([rest[0], rest[1]]);
        rest = &rest[2..];
        if count == -1 {
            return tuples;
        }
        let mut data: Vec<u8> = Vec::new();
        let mut nulls = Vec::new();
        let mut variable = false;
        for column in columns {
            let mut field = None;
            if column.given != 0 {
                let len = i32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]);
                rest = &rest[4..];
                if len >= 0 {
                    field = Some(&rest[..len as usize]);
                    rest = &rest[len as usize..];
                }
            }
            nulls.push(field.is_none());
            let Some(field) = field else { continue };
            let little: Vec<u8> = field.iter().rev().copied().collect();
            let fixed = match Kernel::of(column.kernel) {
                Kernel::Bool => Some(vec![u8::from(field[0] != 0)]),
                Kernel::Uuid => Some(field.to_vec()),
                Kernel::Bytea | Kernel::Text | Kernel::Numeric | Kernel::Receive => None,
                _ => Some(little),
            };
            if let Some(value) = fixed {
                while !data.len().is_multiple_of(usize::from(column.align)) {
                    data.push(0);
                }
                data.extend(value);
                continue;
            }
            variable = true;
            let value = match Kernel::of(column.kernel) {
                Kernel::Numeric => plain_numeric(field).unwrap_or_else(|| received(field)),
                Kernel::Receive => received(field),
                // A text of the server has no byte 0; the receive function refuses a text that has one.
                Kernel::Text if field.contains(&0) => received(field),
                _ => field.to_vec(),
            };
            if value.len() < 127 {
                data.push(((value.len() + 1) * 2 + 1) as u8);
            } else {
                while !data.len().is_multiple_of(usize::from(column.align)) {
                    data.push(0);
                }
                data.extend((((value.len() + 4) * 4) as u32).to_le_bytes());
            }
            data.extend(value);
        }
        let mut tuple = vec![0; 23];
        let has_null = nulls.contains(&true);
        tuple[18..20].copy_from_slice(&(columns.len() as u16).to_le_bytes());
        tuple[20] = u8::from(has_null) | if variable { 2 } else { 0 };
        if has_null {
            for eight in nulls.chunks(8) {
                let bits = eight.iter().enumerate();
                tuple.push(bits.map(|(bit, null)| u8::from(!null) << bit).sum());
            }
        }
        while !tuple.len().is_multiple_of(8) {
            tuple.push(0);
        }
        tuple[22] = tuple.len() as u8;
        tuple.extend(data);
        tuples.push(tuple);
    }
}

/// A number without a declared precision, with the short header; `None` if the number does not fit into that header.
fn plain_numeric(field: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<u16> = field
        .chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    let (mut weight, sign, scale) = (i32::from(words[1] as i16), words[2], words[3]);
    let mut groups = words[4..].to_vec();
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    if sign & 0x8000 != 0 || scale > 63 || !(-64..64).contains(&weight) {
        return None;
    }
    let minus = sign == 0x4000 && !groups.is_empty();
    let header = 0x8000 + u16::from(minus) * 0x2000 + scale * 128 + (weight & 0x7f) as u16;
    let mut stored = header.to_le_bytes().to_vec();
    stored.extend(groups.iter().flat_map(|group| group.to_le_bytes()));
    Some(stored)
}

/// The columns of a batch, and its stream.
fn encoded(types: &[PgType], batch: &arrow_array::RecordBatch) -> (Vec<Column>, Vec<u8>) {
    let mut encoder = BinaryEncoder::new(types.to_vec());
    let mut stream = Vec::new();
    encoder.begin(&mut stream);
    encoder.encode(batch, &mut stream).expect("all values fit");
    encoder.end(&mut stream);
    (types.iter().copied().map(column).collect(), stream)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn tuples_are_those_of_the_plain_decoder(
        (types, batch) in any_batch(),
        cuts in vec(1..300usize, 1..5),
        room in 8..5000usize,
        dropped in vec(any::<bool>(), 10),
    ) {
        let (loaded, stream) = encoded(&types, &batch);
        let mut columns = Vec::new();
        for (column, dropped) in loaded.into_iter().zip(dropped) {
            if dropped {
                columns.push(Column::default());
            }
            columns.push(column);
        }
        let (tuples, status) = decode(&columns, &stream, &cuts, room);
        prop_assert_eq!(status, Status::End);
        prop_assert_eq!(tuples, plainly(&columns, &stream));
    }

    /// The decoder ends for any bytes, and its result does not depend on how they are cut.
    #[test]
    fn damaged_streams_end_alike(
        (types, batch) in any_batch(),
        damages in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cuts in vec(1..300usize, 1..5),
        room in 8..5000usize,
        short in any::<prop::sample::Index>(),
    ) {
        let (columns, mut stream) = encoded(&types, &batch);
        for (place, byte) in damages {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        stream.truncate(stream.len() - short.index(stream.len()) % 7);
        prop_assert_eq!(
            decode(&columns, &stream, &cuts, room),
            decode(&columns, &stream, &[stream.len()], 1 << 16)
        );
    }

    /// The decoder also ends if the descriptions of columns make no sense.
    #[test]
    fn any_columns_do_no_harm(
        numbers in vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<i32>()), 1..4),
        bytes in vec(any::<u8>(), 0..200),
        room in 8..500usize,
    ) {
        let columns: Vec<Column> = numbers
            .into_iter()
            .map(|(kernel, align, packable, limit)| Column {
                kernel: kernel % 16,
                align: 1 << (align % 4),
                packable,
                given: 1,
                characters: limit.min(1000),
                precision: limit,
                scale: limit,
                ..Column::default()
            })
            .collect();
        let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        for field in bytes.chunks(16) {
            stream.extend((columns.len() as i16).to_be_bytes());
            for _ in &columns {
                stream.extend((field.len() as i32).to_be_bytes());
                stream.extend(field);
            }
        }
        decode(&columns, &stream, &[64], room);
    }
}

#[test]
fn a_stream_of_nothing_is_no_stream() {
    assert_eq!(decode(&[], b"", &[1], 8), (Vec::new(), Status::Signature));
}
