//! Tests of packets that end within rows, and exactly with them.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, RecordBatch};
use inrush_tds::{PacketSize, RowMetadata};

use crate::batches::{TestColumn, encoder, message, target_and_batch};
use crate::{decoder, plain};

const DONE_BYTES: usize = 13;

/// A `varbinary(max)` column with a value of each of these lengths.
fn column(lengths: &[usize]) -> (RowMetadata, RecordBatch) {
    let values = lengths.iter().map(|length| {
        let bytes: Vec<u8> = (0..*length).map(|index| index as u8).collect();
        Some(bytes)
    });
    let array: ArrayRef = Arc::new(BinaryViewArray::from_iter(values));
    let column = TestColumn {
        type_info: vec![0xa5, 0xff, 0xff],
        is_nullable: true,
        array,
    };
    target_and_batch(&[column], lengths.len())
}

#[test]
fn sizes_of_packets() {
    for bytes in [0, 1, 8, 511, 32_768, 65_536, u32::MAX] {
        assert_eq!(PacketSize::new(bytes), None, "{bytes}");
    }
    for bytes in [512, 513, 4_096, 16_383, 32_767] {
        assert_eq!(
            PacketSize::new(bytes).map(PacketSize::bytes),
            Some(bytes as usize)
        );
    }
}

/// The payload ends around the end of the first, the second and the third packet: one byte before it, with it, and one
/// byte after it.
#[test]
fn messages_that_end_around_the_end_of_a_packet() {
    for packet_bytes in [512u32, 513, 1_000, 4_096, 32_767] {
        let payload_max = packet_bytes as usize - 8;
        let (target, empty) = column(&[0]);
        let description = {
            let packets = message(&mut encoder(&target, 32_767), &[]).expect("no values");
            decoder::payload(&packets, 32_767).len() - DONE_BYTES
        };
        let around_value = plain::encode(&target, &empty).len() + 4;
        for packet_count in 1..=3 {
            for step in [-1, 0, 1] {
                let payload_bytes = (packet_count * payload_max).saturating_add_signed(step);
                let value_bytes = payload_bytes - description - around_value - DONE_BYTES;
                let (target, batch) = column(&[value_bytes]);
                let packets = message(
                    &mut encoder(&target, packet_bytes),
                    std::slice::from_ref(&batch),
                )
                .expect("bytes fit");
                let payload = decoder::payload(&packets, packet_bytes as usize);
                assert_eq!(
                    payload.len(),
                    payload_bytes,
                    "{packet_bytes}, {packet_count}, {step}"
                );
                let expected_packets = packet_count + usize::from(step > 0);
                assert_eq!(packets.len(), payload_bytes + 8 * expected_packets);
                assert_eq!(
                    decoder::decode(&payload).rows,
                    plain::values(&target, &batch)
                );
            }
        }
    }
}

/// Rows end around the ends of packets, in the middle of a message that is sent in pieces.
#[test]
fn rows_that_end_around_the_end_of_a_packet() {
    for packet_bytes in [512u32, 700, 4_096] {
        let payload_max = packet_bytes as usize - 8;
        for step in -20isize..=20 {
            let lengths: Vec<usize> = (0..40)
                .map(|row| match row % 3 {
                    0 => payload_max.saturating_add_signed(step),
                    1 => (3 * payload_max).saturating_add_signed(-step),
                    _ => row,
                })
                .collect();
            let (target, batch) = column(&lengths);
            let batches: Vec<RecordBatch> = (0..40).map(|row| batch.slice(row, 1)).collect();
            let in_pieces = message(&mut encoder(&target, packet_bytes), &batches);
            let at_once = message(
                &mut encoder(&target, packet_bytes),
                std::slice::from_ref(&batch),
            );
            assert_eq!(in_pieces, at_once);
            let payload = decoder::payload(&at_once.expect("bytes fit"), packet_bytes as usize);
            assert_eq!(
                decoder::decode(&payload).rows,
                plain::values(&target, &batch)
            );
        }
    }
}

/// Only whole packets are ready, and a full packet waits for more payload.
#[test]
fn the_open_packet_is_not_ready() {
    let (target, batch) = column(&[100]);
    let mut encoder = encoder(&target, 512);
    encoder.begin();
    assert_eq!(encoder.ready(), b"");
    let mut sent = 0;
    for _ in 0..50 {
        encoder.encode(&batch).expect("bytes fit");
        assert_eq!(encoder.ready().len() % 512, 0);
        sent += encoder.ready().len();
        encoder.clear_ready();
    }
    assert!(sent > 0);
    encoder.end();
    assert_eq!(encoder.ready()[1], 1, "the last packet has the end mark");
    assert!(encoder.ready().len() <= 512);
}

/// A message that was not ended leaves nothing behind for the next one, whose packets are numbered from 1 again.
#[test]
fn a_message_that_is_given_up() {
    let (target, batch) = column(&[2_000, 3]);
    let expected = message(&mut encoder(&target, 512), std::slice::from_ref(&batch));
    let mut encoder = encoder(&target, 512);
    encoder.begin();
    encoder.encode(&batch).expect("bytes fit");
    encoder.clear_ready();
    let again = message(&mut encoder, std::slice::from_ref(&batch));
    assert_eq!(again, expected);
}

/// A message with more packets than a byte can count.
#[test]
fn numbers_of_packets_begin_anew() {
    let (target, batch) = column(&[300_000]);
    let packets =
        message(&mut encoder(&target, 512), std::slice::from_ref(&batch)).expect("bytes fit");
    assert!(packets.len() / 512 > 512);
    let payload = decoder::payload(&packets, 512);
    assert_eq!(
        decoder::decode(&payload).rows,
        plain::values(&target, &batch)
    );
}
