//! The memory of a lookup's reference agrees with the plan: this program's allocator counts the bytes.
//!
//! `unsafe`: implementing `GlobalAlloc` is unsafe. This one passes every call unchanged to the system's allocator, and
//! only counts.
#![expect(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use inrush_rows::column_type::ColumnType;
use inrush_transform::key::KeyClass;
use inrush_transform::lookup::{First, ReferenceBuilder, ReferenceFault};
use inrush_transform::spec::InputColumn;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The bytes that the heap takes for a block: it adds a word, and rounds up to a multiple of 16, with 32 as the
/// minimum.
fn block(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

fn taken(size: usize) {
    let live = LIVE.fetch_add(block(size), Ordering::Relaxed) + block(size);
    MOST.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes to `System`, which keeps the contract of the trait. `realloc` is the trait's own: a new
// block, a copy, and the old block given back.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(block(layout.size()), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS_OF_A_BATCH: usize = 4_096;

/// A batch of keys of this type, each with a number.
fn batch(numbers: Range<usize>, key_type: &ColumnType) -> RecordBatch {
    let values = Int64Array::from_iter_values(numbers.clone().map(|number| number as i64));
    let keys: ArrayRef = match key_type {
        ColumnType::Int64 => Arc::new(values.clone()),
        _ => Arc::new(StringViewArray::from_iter_values(numbers.map(|number| {
            format!("a key of forty letters and digits {number:06}")
        }))),
    };
    let values: ArrayRef = Arc::new(values);
    RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("v", values, true)])
        .expect("two columns")
}

fn builder(key_type: &ColumnType, is_ordered: bool, bytes_max: u64) -> ReferenceBuilder {
    let class = KeyClass::of(key_type).expect("a key");
    let builder = ReferenceBuilder::new(vec![(0, class)], vec![1], bytes_max);
    let first = First {
        column: 0,
        is_descending: false,
    };
    match is_ordered {
        true => builder.with_first(Some(first)),
        false => builder,
    }
}

fn columns(key_type: &ColumnType) -> Vec<InputColumn> {
    let column = |name: &str, column_type| InputColumn {
        name: name.to_owned(),
        column_type,
    };
    vec![
        column("k", key_type.clone()),
        column("v", ColumnType::Int64),
    ]
}

/// One test, so that no other one allocates at the same time.
#[test]
fn the_memory_of_a_reference_is_what_it_says() {
    let text = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };
    for (key_type, is_ordered) in [
        (&ColumnType::Int64, false),
        (&ColumnType::Int64, true),
        (&text, false),
        (&text, true),
    ] {
        for rows in [1_000, 14_000, 29_000, 100_000] {
            let before = LIVE.load(Ordering::Relaxed);
            let mut own = builder(key_type, is_ordered, u64::MAX);
            for start in (0..rows).step_by(ROWS_OF_A_BATCH) {
                let end = rows.min(start + ROWS_OF_A_BATCH);
                own.add(&batch(start..end, key_type)).expect("no limit");
            }
            let reference = own.build(columns(key_type)).expect("unique keys");
            let live = (LIVE.load(Ordering::Relaxed) - before) as f64;
            let told = reference.bytes() as f64 / live;
            let case = format!("{rows} rows, {key_type:?}, ordered: {is_ordered}");
            assert!((0.97..1.05).contains(&told), "{case}: {told:.3} of {live}");
        }
        // While it is built, it takes no more than its limit in addition to the batch that is added.
        let bytes_max: u64 = 4 << 20;
        let mut own = builder(key_type, is_ordered, bytes_max);
        let before = LIVE.load(Ordering::Relaxed);
        for start in (0..).step_by(ROWS_OF_A_BATCH) {
            let added = batch(start..start + ROWS_OF_A_BATCH, key_type);
            let batch_bytes = LIVE.load(Ordering::Relaxed);
            MOST.store(batch_bytes, Ordering::Relaxed);
            let result = own.add(&added);
            let most = MOST.load(Ordering::Relaxed) - before;
            let own_bytes = most.saturating_sub(added.get_array_memory_size()) as u64;
            assert!(
                own_bytes <= bytes_max + bytes_max / 8,
                "{key_type:?}, ordered: {is_ordered}: {own_bytes} bytes of at most {bytes_max}"
            );
            match result {
                Ok(()) => {}
                Err(ReferenceFault::TooLarge { limit, rows }) => {
                    assert_eq!(limit, bytes_max);
                    assert!(rows > 14_000, "only {rows} rows were read");
                    break;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
