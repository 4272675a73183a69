//! The work of guessing a file's format and writing its package grows with the number of columns, not with its square.
//!
//! Work is counted, not timed: this program's allocator counts the requests. For 20,000 columns, comparing every column
//! with all others by copies of their names would make 400 million requests.
//!
//! `unsafe`: implementing `GlobalAlloc` is unsafe. This one passes every call unchanged to the system's allocator, and
//! only counts.
#![expect(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use inrush::package::{Flow, OneOrMany, Overrides, Package};
use inrush::sniff::{SniffOptions, sniff};
use inrush::source::SourceFile;

struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to `System`, which keeps the contract of the trait.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls of the allocator, and bytes that they asked for, from a file to its package's text.
fn work(name: &dyn Fn(usize) -> String, columns: usize) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wide.csv");
    let mut text = String::new();
    for index in 0..columns {
        write!(text, "{}{}", if index > 0 { "," } else { "" }, name(index)).expect("memory");
    }
    for row in 0..2 {
        text.push('\n');
        text.push_str(&vec![row.to_string(); columns].join(","));
    }
    text.push('\n');
    std::fs::write(&path, text).expect("a file");
    let file = Arc::new(SourceFile::open(path).expect("it is there"));
    let before = (CALLS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    let guess = sniff(&[file], &SniffOptions::default()).expect("it can be guessed");
    assert_eq!(guess.columns.len(), columns);
    assert!(guess.form.header);
    let flow = Flow {
        format: guess.format(),
        columns: guess.columns(),
        ..Flow::new(OneOrMany::One("a".to_owned()), "t")
    };
    let package = Package::new("p", "embedded", vec![flow]);
    let written = package.to_toml_with(&guess.comments());
    assert!(written.len() > columns);
    let resolved = package.resolve(&Overrides::default(), &|_| {
        Err(std::env::VarError::NotPresent)
    });
    resolved.expect("it resolves").check().expect("it is right");
    (
        CALLS.load(Ordering::Relaxed) - before.0,
        BYTES.load(Ordering::Relaxed) - before.1,
    )
}

#[test]
fn the_work_grows_with_the_columns() {
    const NARROW: usize = 1_000;
    const TIMES: u64 = 10;
    let kinds: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("plain names", &|index| format!("c{index}")),
        ("names in upper case", &|index| format!("C {index}")),
        ("one name", &|_| "same".to_owned()),
        ("few names", &|index| format!("Name {}", index % 7)),
    ];
    for (kind, name) in kinds {
        let narrow = work(name, NARROW);
        let wide = work(name, NARROW * TIMES as usize);
        for (what, narrow, wide) in [
            ("calls of the allocator", narrow.0, wide.0),
            ("bytes asked for", narrow.1, wide.1),
        ] {
            // Sorted containers and longer numbers add a little; a quadratic algorithm would need ten times as much.
            assert!(
                wide < narrow * TIMES * 2,
                "{kind}: {wide} {what} for {} columns, {narrow} for {NARROW}",
                NARROW * TIMES as usize
            );
        }
    }
}
