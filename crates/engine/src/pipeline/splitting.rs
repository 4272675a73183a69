//! Before large files are loaded in ranges: where each range's first record begins.

use std::sync::Arc;

use inrush_files::Split;
use inrush_rows::cancel::Stop;

use super::event_sink::EventSink;
use crate::error::Error;
use crate::event::Event;
use crate::plan::Reading;

/// Whether ranges of the files of a flow cannot be read without it.
pub fn is_needed(reading: &Reading) -> bool {
    inrush_files::needs_place(&reading.dialect)
}

/// Finds the first records of ranges, where [`is_needed`] says so. `splits` are of one flow, and ranges of the same
/// file follow each other; `is_kept` says of each by its index whether it is committed already.
pub fn find_first_records<'s>(
    event_sink: EventSink<'_>,
    reading: &Reading,
    splits: impl Iterator<Item = &'s mut Split>,
    is_kept: impl Fn(usize) -> bool,
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    let mut splits: Vec<&mut Split> = splits.collect();
    let mut at = 0;
    let of_one_file =
        |first: &&mut Split, second: &&mut Split| Arc::ptr_eq(&first.file, &second.file);
    for ranges in splits.chunk_by_mut(of_one_file) {
        let mut own = at..at + ranges.len();
        at = own.end;
        let file = Arc::clone(&ranges[0].file);
        // Row groups are found by their file's footer.
        if ranges.len() == 1 || file.table().is_some() || own.all(&is_kept) {
            continue;
        }
        event_sink.notice(&Event::Splitting {
            flow: reading.name.clone(),
            file: file.path.display().to_string(),
            bytes: file.size_bytes,
        });
        let ranges_bytes = ranges.iter().map(|split| split.byte_range.clone());
        let ranges_bytes: Vec<_> = ranges_bytes.collect();
        let dialect = &reading.dialect;
        let starts = inrush_files::first_records(&file, dialect, &ranges_bytes, threads, stop)?
            .ok_or(Error::Interrupted)?;
        for (split, start) in ranges.iter_mut().zip(starts) {
            split.first_record = start;
        }
    }
    Ok(())
}
