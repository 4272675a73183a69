//! Tests that random batches are the same after encoding and decoding.

use inrush_pgcopy::{BinaryEncoder, InstructionSet, PgType};
use proptest::prelude::*;

use crate::batches::{any_batch, batch};
use crate::{decoder, plain};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn values_come_back((types, batch) in any_batch()) {
        let mut encoder = BinaryEncoder::new(types.clone());
        encoder.check(batch.schema_ref()).expect("the types fit");
        let mut stream = Vec::new();
        encoder.begin(&mut stream);
        encoder.encode(&batch, &mut stream).expect("all values fit");
        encoder.end(&mut stream);
        prop_assert_eq!(decoder::decode(&types, &stream), plain::values(&types, &batch));
    }

    #[test]
    fn same_bytes_as_its_plain_twin((types, batch) in any_batch()) {
        for instruction_set in InstructionSet::available() {
            let mut out = b"before".to_vec();
            let mut encoder = BinaryEncoder::with_instruction_set(types.clone(), instruction_set);
            encoder.encode(&batch, &mut out).expect("all values fit");
            prop_assert_eq!(&out[..6], b"before");
            prop_assert_eq!(&out[6..], plain::encode(&types, &batch), "{:?}", instruction_set);
        }
    }

    /// A stream does not depend on how its rows are cut into batches.
    #[test]
    fn cuts_do_not_show((types, batch) in any_batch(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(batch.num_rows() + 1);
        let mut whole = Vec::new();
        let mut encoder = BinaryEncoder::new(types);
        encoder.encode(&batch, &mut whole).expect("all values fit");
        let mut parts = Vec::new();
        for part in [batch.slice(0, cut), batch.slice(cut, batch.num_rows() - cut)] {
            encoder.encode(&part, &mut parts).expect("all values fit");
        }
        prop_assert_eq!(whole, parts);
    }
}

#[test]
fn a_stream_without_rows() {
    let types = [PgType::Int4];
    let encoder = BinaryEncoder::new(types.to_vec());
    let mut stream = Vec::new();
    encoder.begin(&mut stream);
    encoder.end(&mut stream);
    assert_eq!(decoder::decode(&types, &stream), Vec::<Vec<_>>::new());
}

#[test]
fn rows_without_columns() {
    let mut encoder = BinaryEncoder::new(Vec::new());
    let mut out = Vec::new();
    encoder
        .encode(&batch(Vec::new(), 3), &mut out)
        .expect("nothing that could fail");
    assert_eq!(out, [0; 6]);
}
