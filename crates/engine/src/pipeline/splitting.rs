//! Before large files are loaded in ranges: where each range's first record begins.

use std::ops::Range;
use std::sync::Arc;

use inrush_files::Split;
use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;

use crate::error::Error;

/// Which splits are ranges of the same file; they follow each other.
pub fn files(splits: &[Split]) -> Vec<Range<usize>> {
    let mut at = 0;
    splits
        .chunk_by(|first, second| Arc::ptr_eq(&first.file, &second.file))
        .map(|ranges| {
            let own = at..at + ranges.len();
            at = own.end;
            own
        })
        .collect()
}

/// Finds the first records of all ranges of one file.
pub fn place(
    ranges: &mut [Split],
    dialect: &Dialect,
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    let file = Arc::clone(&ranges[0].file);
    let bytes: Vec<_> = ranges
        .iter()
        .map(|split| split.byte_range.clone())
        .collect();
    let starts = inrush_files::first_records(&file, dialect, &bytes, threads, stop)?
        .ok_or(Error::Interrupted)?;
    for (split, start) in ranges.iter_mut().zip(starts) {
        split.first_record = start;
    }
    Ok(())
}
