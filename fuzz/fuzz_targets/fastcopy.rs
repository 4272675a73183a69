//! Fuzzes the decoder of the server extension. For any columns and bytes it must end, stay within the memory that it is
//! given, and make the same tuples and the same Datums no matter how the bytes are cut.
//!
//! The first bytes of an input are the number of columns, the length of messages, the size of the arena, and three
//! bytes for each column; the rest is what follows the header of a stream. `tests/extension/fuzzed.py` reads inputs in
//! the same way, and creates SQL tables with these columns, so that a server decides which bytes are right.

#![no_main]

use std::slice::Chunks;

use inrush_fastcopy::{Column, Decoder, Placement, Status, Stream, Tuple};

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
    let cut = 1 + usize::from(*cut);
    let room = 8 * (1 + usize::from(*room));
    let tuples = tuples_of(&columns, &stream, stream.len(), 1 << 16);
    let rows = rows_of(&columns, &stream, stream.len(), 1 << 16);
    assert_eq!((rows.0.len(), rows.1), (tuples.0.len(), tuples.1));
    assert_eq!(tuples, tuples_of(&columns, &stream, cut, room));
    assert_eq!(rows, rows_of(&columns, &stream, cut, room));
});

/// A stream that is sent in messages.
struct Input<'a> {
    messages: Chunks<'a, u8>,
    /// The bytes that the decoder has not used yet.
    unused: Vec<u8>,
}

impl<'a> Input<'a> {
    fn new(stream: &'a [u8], cut: usize) -> Input<'a> {
        Input {
            messages: stream.chunks(cut),
            unused: Vec::new(),
        }
    }

    /// Adds the next message, or says that none follows.
    fn read(&mut self, state: &mut Stream) {
        self.unused.drain(..state.used);
        state.used = 0;
        match self.messages.next() {
            Some(message) => self.unused.extend_from_slice(message),
            None => state.input_ends = 1,
        }
    }
}

/// The decoder before the first byte.
fn decoder(columns: &[Column]) -> Decoder {
    let given = columns.iter().filter(|column| column.given != 0).count();
    Decoder::new(given as i32, true)
}

/// The tuples of a stream that is sent in messages of `cut` bytes, and its final status.
fn tuples_of(columns: &[Column], stream: &[u8], cut: usize, room: usize) -> (Vec<Vec<u8>>, Status) {
    let mut decoder = decoder(columns);
    let mut input = Input::new(stream, cut);
    let mut arena = vec![0; room];
    let mut places = [Tuple::default(); 3];
    let mut tuples = Vec::new();
    loop {
        let status = decoder.decode(columns, &input.unused, &mut arena, &mut places);
        let state = &mut decoder.stream;
        match status {
            Status::NeedInput => input.read(state),
            Status::NeedRoom => arena.resize(arena.len() * 2, 0),
            Status::NeedValue if state.field_len < 0 => decoder.give_null(columns),
            Status::NeedValue => {
                let value = &input.unused[state.field..][..state.field_len as usize];
                while !decoder.give(columns, &mut arena, value, Placement::Unaligned) {
                    arena.resize(arena.len() * 2, 0);
                }
            }
            Status::BatchFull | Status::NullRefused => {
                take(&mut decoder, &places, &arena, &mut tuples);
            }
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

/// A row as Datums: the value and the kind of each column, and the arena that the values are in.
type Row = (Vec<u64>, Vec<u8>, Vec<u8>);

/// The rows of a stream as Datums, and its final status.
fn rows_of(columns: &[Column], stream: &[u8], cut: usize, room: usize) -> (Vec<Row>, Status) {
    let mut decoder = decoder(columns);
    let mut input = Input::new(stream, cut);
    let mut arena = vec![0; room];
    let (mut values, mut kinds) = (vec![0; columns.len()], vec![0; columns.len()]);
    let mut rows = Vec::new();
    loop {
        let unused = &input.unused;
        let status = decoder.row(columns, unused, &mut arena, &mut values, &mut kinds);
        let state = &mut decoder.stream;
        match status {
            Status::NeedInput => input.read(state),
            Status::NeedRoom => arena.resize(arena.len() * 2, 0),
            Status::NeedValue => {
                // The field's length stands for the Datum of the receive function.
                values[state.column] = state.field_len as u64;
                kinds[state.column] = u8::from(state.field_len < 0);
                state.field_done();
            }
            Status::Row => {
                let used = arena[..state.arena_used].to_vec();
                rows.push((values.clone(), kinds.clone(), used));
            }
            _ => return (rows, status),
        }
    }
}
