//! Bytes per second of the encoders, on batches that look like TPC-H's lineitem.
//!
//! `cargo run --release -p inrush-wire --example encode_throughput`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray, builder::StringViewBuilder,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use inrush_wire::{BinaryEncoder, Kernel, PgType, TextEncoder};

/// Rows of a batch, as many as a stream converts at a time.
const ROWS: usize = 1024;
/// Output that each measurement makes.
const MEASURED_BYTES: usize = 4 << 30;

fn main() {
    let (types, plain) = lineitem(false);
    let (_, with_nulls) = lineitem(true);
    for (name, batch) in [("no NULLs", &plain), ("a tenth NULL", &with_nulls)] {
        for kernel in Kernel::available() {
            let mut encoder = BinaryEncoder::with_kernel(types.clone(), kernel);
            measure(&format!("binary, {name}, {kernel:?}"), |out| {
                encoder.encode(batch, out).expect("the batch fits");
            });
        }
        let mut encoder = TextEncoder::new();
        measure(&format!("text, {name}"), |out| {
            encoder.encode(batch, out).expect("the batch fits");
        });
    }
    // One column at a time, to see which of them costs.
    for (index, pg_type) in types.iter().enumerate() {
        let batch = plain.project(&[index]).expect("a column of the batch");
        let mut encoder = BinaryEncoder::new(vec![*pg_type]);
        let name = format!("{} {pg_type:?}", plain.schema_ref().field(index).name());
        measure(&name, |out| {
            encoder.encode(&batch, out).expect("the batch fits");
        });
    }
    // Lineitem has none.
    let mut random = Random(9);
    let day = 86_400_000_000;
    let moments: TimestampMicrosecondArray = (0..ROWS)
        .map(|_| Some(random.between(8036 * day, 10_561 * day)))
        .collect();
    let moments: ArrayRef = Arc::new(moments);
    let batch = RecordBatch::try_from_iter([("moment", moments)]).expect("one column");
    for kernel in Kernel::available() {
        let mut encoder = BinaryEncoder::with_kernel(vec![PgType::Timestamp], kernel);
        measure(&format!("Timestamp, {kernel:?}"), |out| {
            encoder.encode(&batch, out).expect("the batch fits");
        });
    }
    let mut encoder = TextEncoder::new();
    measure("text, Timestamp", |out| {
        encoder.encode(&batch, out).expect("the batch fits");
    });
}

/// Runs `encode` on a recycled buffer, and prints the best of many rounds.
fn measure(name: &str, mut encode: impl FnMut(&mut Vec<u8>)) {
    let mut out = Vec::new();
    encode(&mut out);
    let batch_bytes = out.len();
    let batches = (MEASURED_BYTES / 400 / batch_bytes).max(1);
    let seconds = (0..40)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..batches {
                out.clear();
                encode(black_box(&mut out));
            }
            start.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min);
    let rows = (batches * ROWS) as f64;
    println!(
        "{name:40} {:6.2} GB/s  {:6.1} ns/row  {:5.1} bytes/row",
        (batches * batch_bytes) as f64 / seconds / 1e9,
        seconds * 1e9 / rows,
        batch_bytes as f64 / ROWS as f64,
    );
}

/// A small generator, so that runs are alike (Steele, Lea and Flood's SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }
}

fn lineitem(with_nulls: bool) -> (Vec<PgType>, RecordBatch) {
    let mut random = Random(7);
    let mut nulls = {
        let mut random = Random(8);
        move || {
            with_nulls.then(|| {
                NullBuffer::new(BooleanBuffer::collect_bool(ROWS, |_| {
                    !random.next().is_multiple_of(10)
                }))
            })
        }
    };
    let mut int8 = |low, high, random: &mut Random| -> ArrayRef {
        let values: Vec<i64> = (0..ROWS).map(|_| random.between(low, high)).collect();
        Arc::new(Int64Array::new(values.into(), nulls()))
    };
    let order = int8(1, 6_000_000, &mut random);
    let part = int8(1, 200_000, &mut random);
    let supplier = int8(1, 10_000, &mut random);
    let line: ArrayRef = {
        let values: Vec<i32> = (0..ROWS).map(|_| random.between(1, 7) as i32).collect();
        Arc::new(Int32Array::new(values.into(), nulls()))
    };
    let mut decimal = |low, high, step: i64, random: &mut Random| -> ArrayRef {
        let values: Vec<i128> = (0..ROWS)
            .map(|_| i128::from(random.between(low, high) * step))
            .collect();
        Arc::new(
            Decimal128Array::new(values.into(), nulls())
                .with_precision_and_scale(15, 2)
                .expect("values of 15 digits"),
        )
    };
    let quantity = decimal(1, 50, 100, &mut random);
    let price = decimal(90_000, 10_494_950, 1, &mut random);
    let discount = decimal(0, 10, 1, &mut random);
    let tax = decimal(0, 8, 1, &mut random);
    let mut text = |choices: &[&str], random: &mut Random| -> ArrayRef {
        // As `convert` makes them: views into the chunk, which holds much else.
        let mut chunk = Vec::new();
        let mut places = Vec::new();
        for _ in 0..ROWS {
            let choice = choices[random.next() as usize % choices.len()];
            chunk.extend_from_slice(b"1234567890|");
            places.push((chunk.len() as u32, choice.len() as u32));
            chunk.extend_from_slice(choice.as_bytes());
        }
        chunk.extend_from_slice(&[0; 64]);
        let mut builder = StringViewBuilder::new();
        let block = builder.append_block(Buffer::from_vec(chunk));
        for (offset, length) in places {
            builder
                .try_append_view(block, offset, length)
                .expect("within the chunk");
        }
        let (views, buffers, _) = builder.finish().into_parts();
        Arc::new(StringViewArray::new(views, buffers, nulls()))
    };
    let return_flag = text(&["R", "A", "N"], &mut random);
    let status = text(&["O", "F"], &mut random);
    let instruct = text(
        &[
            "DELIVER IN PERSON",
            "COLLECT COD",
            "NONE",
            "TAKE BACK RETURN",
        ],
        &mut random,
    );
    let mode = text(
        &["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"],
        &mut random,
    );
    let sentence = "egular courts above the furiously final deposits haggle";
    let comments: Vec<&str> = (10..=43).map(|length| &sentence[..length]).collect();
    let comment = text(&comments, &mut random);
    let mut date = |random: &mut Random| -> ArrayRef {
        let values: Vec<i32> = (0..ROWS)
            .map(|_| random.between(8036, 10_561) as i32)
            .collect();
        Arc::new(Date32Array::new(values.into(), nulls()))
    };
    let dates = [date(&mut random), date(&mut random), date(&mut random)];
    let [ship, commit, receipt] = dates;
    let columns = [
        ("l_orderkey", PgType::Int8, order),
        ("l_partkey", PgType::Int8, part),
        ("l_suppkey", PgType::Int8, supplier),
        ("l_linenumber", PgType::Int4, line),
        ("l_quantity", PgType::Numeric, quantity),
        ("l_extendedprice", PgType::Numeric, price),
        ("l_discount", PgType::Numeric, discount),
        ("l_tax", PgType::Numeric, tax),
        ("l_returnflag", PgType::Text, return_flag),
        ("l_linestatus", PgType::Text, status),
        ("l_shipdate", PgType::Date, ship),
        ("l_commitdate", PgType::Date, commit),
        ("l_receiptdate", PgType::Date, receipt),
        ("l_shipinstruct", PgType::Text, instruct),
        ("l_shipmode", PgType::Text, mode),
        ("l_comment", PgType::Text, comment),
    ];
    let types = columns.iter().map(|(_, pg_type, _)| *pg_type).collect();
    let batch =
        RecordBatch::try_from_iter(columns.into_iter().map(|(name, _, array)| (name, array)))
            .expect("columns of the same length");
    (types, batch)
}
