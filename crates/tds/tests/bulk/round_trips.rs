//! Compares the bytes of the fast encoder with those of a simple one, and the decoded values with the original ones.

use inrush_tds::{BulkEncoder, InstructionSet, PacketSize, RowMetadata};
use proptest::prelude::*;

use crate::batches::{any_batch, message};
use crate::{decoder, plain};

/// Packet sizes; with many of them packets end in the middle of a row.
fn any_packet_bytes() -> impl Strategy<Value = u32> {
    prop_oneof![512..600u32, 512..=32_767u32, Just(4_096), Just(32_767)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Encodes a message that contains the batch twice, with each instruction set.
    #[test]
    fn the_bytes_are_those_of_the_plain_encoder(
        (target, batch) in any_batch(),
        packet_bytes in any_packet_bytes(),
    ) {
        let rows = plain::encode(&target, &batch);
        for instruction_set in InstructionSet::available() {
            let size = PacketSize::new(packet_bytes).expect("a size of TDS");
            let mut encoder = BulkEncoder::with_instruction_set(target.clone(), size, instruction_set);
            let packets = message(&mut encoder, &[batch.clone(), batch.clone()]).expect("all values fit");
            let payload = decoder::payload(&packets, packet_bytes as usize);
            let done = payload.len() - 13;
            let description = done - 2 * rows.len();
            prop_assert_eq!(&payload[description..done - rows.len()], &rows);
            prop_assert_eq!(&payload[done - rows.len()..done], &rows);
            prop_assert!(encoder.misfits(&batch).expect("columns that fit").is_empty());
        }
    }

    /// The decoder reads the values of the batch.
    #[test]
    fn the_values_are_those_of_the_batch((target, batch) in any_batch()) {
        let mut encoder = BulkEncoder::new(target.clone(), PacketSize::MAX);
        let packets = message(&mut encoder, std::slice::from_ref(&batch)).expect("all values fit");
        let message = decoder::decode(&decoder::payload(&packets, PacketSize::MAX.bytes()));
        prop_assert_eq!(message.rows, plain::values(&target, &batch));
        for (described, column) in message.columns.iter().zip(target.columns()) {
            prop_assert_eq!(&described.name, &column.name);
            prop_assert_eq!(described.flags, column.flags);
        }
    }

    /// The encoder repeats the server's description of the columns. It must be read back unchanged, except that XML
    /// becomes text.
    #[test]
    fn the_description_is_said_back((target, _) in any_batch()) {
        let mut encoder = BulkEncoder::new(target.clone(), PacketSize::MAX);
        let packets = message(&mut encoder, &[]).expect("no values");
        let payload = decoder::payload(&packets, PacketSize::MAX.bytes());
        let (again, bytes) = RowMetadata::parse(&payload).expect("a valid description");
        prop_assert_eq!(bytes + 13, payload.len());
        for (one, other) in again.columns().iter().zip(target.columns()) {
            if other.type_info.to_string() != "xml" {
                prop_assert_eq!(one, other);
            } else {
                prop_assert_eq!(one.type_info.to_string(), "nvarchar(max)");
            }
        }
    }
}
