//! Fuzzes the decoder of the server extension. For any columns and bytes it must end, stay within the memory that it is
//! given, and make the same tuples no matter how the bytes are cut.
//!
//! The first bytes of an input are the number of columns, the length of messages, the size of the arena, and three bytes
//! for each column; the rest is what follows the header of a stream.

#![no_main]

use inrush_fastcopy::{Column, Decoder, Placement, Status, Tuple};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [count, cut, room, rest @ ..] = input else {
        return;
    };
    let count = usize::from(count % 12);
    let Some((described, bytes)) = rest.split_at_checked(3 * count) else {
        return;
    };
    let columns: Vec<Column> = described
        .chunks(3)
        .map(|bytes| Column {
            kernel: bytes[0] % 15,
            align: 1 << (bytes[1] % 4),
            packable: bytes[1] >> 2 & 1,
            given: u8::from(bytes[1] >> 4 != 0),
            not_null: bytes[1] >> 3 & 1,
            key: 1,
            characters: i32::from(bytes[2]) - 1,
            precision: i32::from(bytes[2] % 40) - 1,
            scale: i32::from(bytes[2] / 40),
            ..Column::default()
        })
        .collect();
    let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    stream.extend_from_slice(bytes);
    let whole = decode(&columns, &stream, stream.len(), 1 << 16);
    let in_parts = decode(&columns, &stream, 1 + usize::from(*cut), 8 * (1 + usize::from(*room)));
    assert_eq!(whole, in_parts);
});

/// The tuples of a stream that is sent in messages of `cut` bytes, and its final status.
fn decode(columns: &[Column], stream: &[u8], cut: usize, room: usize) -> (Vec<Vec<u8>>, Status) {
    let given = columns.iter().filter(|column| column.given != 0).count();
    let mut decoder = Decoder::new(given as i32, true);
    let mut messages = stream.chunks(cut);
    let mut input = Vec::new();
    let mut arena = vec![0; room];
    let mut places = [Tuple::default(); 3];
    let mut tuples = Vec::new();
    loop {
        let status = decoder.decode(columns, &input, &mut arena, &mut places);
        let state = &mut decoder.stream;
        match status {
            Status::NeedInput => {
                input.drain(..state.used);
                state.used = 0;
                match messages.next() {
                    Some(message) => input.extend_from_slice(message),
                    None => state.input_ends = 1,
                }
            }
            Status::NeedRoom => arena.resize(arena.len() * 2, 0),
            Status::NeedValue if state.field_len < 0 => decoder.give_null(columns),
            Status::NeedValue => {
                let value = input[state.field..][..state.field_len as usize].to_vec();
                while !decoder.give(columns, &mut arena, &value, Placement::Unaligned) {
                    arena.resize(arena.len() * 2, 0);
                }
            }
            Status::BatchFull | Status::NullRefused => take(&mut decoder, &places, &arena, &mut tuples),
            _ => {
                take(&mut decoder, &places, &arena, &mut tuples);
                return (tuples, status);
            }
        }
    }
}

fn take(decoder: &mut Decoder, places: &[Tuple], arena: &[u8], tuples: &mut Vec<Vec<u8>>) {
    for place in &places[..decoder.stream.tuples] {
        tuples.push(arena[place.offset..][..place.len].to_vec());
    }
    decoder.stream.tuples = 0;
    decoder.stream.arena_used = 0;
}
