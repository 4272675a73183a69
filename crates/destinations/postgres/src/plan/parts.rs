//! Large files in the order of their key, cut into partitions of about the same size.
//!
//! A cut is moved to the next change of the key, so no key is in two partitions. The order of a file is checked at the
//! cuts only: their keys must ascend here. While the parts are loaded, each row is compared with the keys of its part's
//! cuts.

use std::sync::Arc;

use inrush_convert::{KeyBounds, KeyValue, convert_first};
use inrush_files::{
    BufferPool, RecordStart, SourceFile, Split, TextReader, first_records, needs_place,
};
use inrush_rows::cancel::Stop;
use inrush_rows::column::Column;
use inrush_rows::plural::counted;
use inrush_scan::{Dialect, Records, decode_field};
use inrush_source::SourceError;

use super::bounds::key_text;
use super::{KeyKind, KeyPlan, UnitPlan};
use crate::engine::plan::error::PlanError;

/// Bytes that are read at a time to find a change of the key.
const LOOK_BYTES: usize = 64 << 10;

/// A place where one part ends and the next begins.
struct Cut {
    start: RecordStart,
    key: KeyValue,
}

/// A part of a file, with the keys that it must keep.
pub struct Part {
    /// The split that contains it.
    pub split: Split,
    /// Its first key; `None` for the part at the beginning of the file.
    pub lower: Option<KeyValue>,
    /// The next part's first key; `None` if the file ends.
    pub upper: Option<KeyValue>,
}

/// Cuts files into this number of parts in all. Small files, and those that cannot be read from their middle, are one
/// part each.
pub fn cut(
    flow: &str,
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    column: &Column,
    parts: u32,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, PlanError> {
    note_uncut(files, parts, notes)?;
    let total: u64 = files.iter().map(|file| file.size_bytes).sum();
    let mut found = Vec::new();
    for file in files {
        let share = u128::from(file.size_bytes) * u128::from(parts);
        let wanted = (share + u128::from(total / 2)) / u128::from(total.max(1));
        let wanted = u64::try_from(wanted).unwrap_or(1).max(1);
        let cuts = if wanted > 1 && file.reads_in_ranges()? {
            cuts_of(file, dialect, column, wanted, stop)?
        } else {
            Vec::new()
        };
        check_order(flow, file, &cuts)?;
        let mut lower = None;
        let mut start = 0;
        let mut first_record = None;
        for cut in cuts {
            found.push(Part {
                split: Split::range(Arc::clone(file), start..cut.start.byte_offset, first_record),
                lower: lower.replace(cut.key.clone()),
                upper: Some(cut.key),
            });
            start = cut.start.byte_offset;
            first_record = needs_place(dialect).then_some(cut.start);
        }
        found.push(Part {
            split: match start {
                0 => Split::whole(Arc::clone(file)),
                _ => Split::range(Arc::clone(file), start..file.size_bytes, first_record),
            },
            lower,
            upper: None,
        });
    }
    Ok(found)
}

/// Adds a note about files that cannot be cut: each becomes one partition, for any number of parts.
fn note_uncut(
    files: &[Arc<SourceFile>],
    parts: u32,
    notes: &mut Vec<String>,
) -> Result<(), SourceError> {
    let mut uncut = Vec::new();
    for file in files {
        if let Some(why) = file.whole_because()? {
            uncut.push((file, why));
        }
    }
    let Some((first, why)) = uncut.first().filter(|_| parts > 1) else {
        return Ok(());
    };
    let others = match uncut.len() - 1 {
        0 => String::new(),
        others => format!(" (and so are {} more)", counted(others as u64, "file")),
    };
    notes.push(format!(
        "{} is one partition{others}, although `bounds` asks for {parts} parts: it is {why}, and \
         only uncompressed files in UTF-8 can be cut{}",
        first.path.display(),
        match first.table() {
            Some(_) => "",
            None => "; unpack or translate it first",
        }
    ));
    Ok(())
}

fn cuts_of(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    column: &Column,
    wanted: u64,
    stop: &Stop,
) -> Result<Vec<Cut>, SourceError> {
    let place =
        |index: u64| (u128::from(file.size_bytes) * u128::from(index) / u128::from(wanted)) as u64;
    let ranges: Vec<_> = (0..wanted)
        .map(|index| place(index)..place(index + 1))
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let Some(starts) = first_records(file, dialect, &ranges, threads, stop)? else {
        return Err(SourceError::Stopped {
            path: file.path.to_path_buf(),
        });
    };
    let mut cuts: Vec<Cut> = Vec::new();
    for (range, start) in ranges.iter().zip(starts).skip(1) {
        // A long run of one key may reach past the next place.
        if cuts
            .last()
            .is_some_and(|cut| cut.start.byte_offset >= range.start)
        {
            continue;
        }
        // No record begins in the range, so its reader would stop in the middle of one.
        if start.is_some_and(|start| start.byte_offset >= range.end) {
            continue;
        }
        match next_change(file, dialect, column, range.start, start)? {
            Some(cut) => cuts.push(cut),
            None => break,
        }
    }
    Ok(cuts)
}

/// The first record behind a place whose key differs from that of the record before it.
fn next_change(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    column: &Column,
    from: u64,
    start: Option<RecordStart>,
) -> Result<Option<Cut>, SourceError> {
    let split = Split::range(Arc::clone(file), from..file.size_bytes, start);
    let mut reader = TextReader::open(split, dialect, LOOK_BYTES, BufferPool::default())?;
    let mut records = Records::default();
    let mut scratch = Vec::new();
    let mut before: Option<KeyValue> = None;
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        for index in 0..records.len() {
            let record = &records.records[index];
            let text = column.source.field_index().and_then(|field| {
                let written = &chunk.text()[records.field_if_present(index, field)?];
                let text = decode_field(written, dialect, &mut scratch);
                text.text()
                    .map(|text| String::from_utf8_lossy(text).into_owned())
            });
            // A row without a key is rejected in any part.
            let Ok(key) = convert_first(column, text.as_deref()) else {
                continue;
            };
            if before.as_ref().is_some_and(|before| *before != key) {
                return Ok(Some(Cut {
                    start: RecordStart {
                        byte_offset: chunk.byte_offset + u64::from(record.start),
                        line: if needs_place(dialect) {
                            chunk.first_line() + u64::from(record.line)
                        } else {
                            0
                        },
                    },
                    key,
                }));
            }
            before = Some(key);
        }
        reader.recycle(chunk);
    }
    Ok(None)
}

/// Keys at the cuts must ascend; texts are the server's to compare.
fn check_order(flow: &str, file: &SourceFile, cuts: &[Cut]) -> Result<(), PlanError> {
    for pair in cuts.windows(2) {
        if let (Some(first), Some(second)) = (pair[0].key.number(), pair[1].key.number())
            && first >= second
        {
            let words = |key| key_text(key).unwrap_or_else(|| format!("{key:?}"));
            return Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what: format!(
                    "{} is not in the order of its key: {} stands at byte {}, and {} at byte {}",
                    file.path.display(),
                    words(&pair[0].key),
                    pair[0].start.byte_offset,
                    words(&pair[1].key),
                    pair[1].start.byte_offset
                ),
                hint: "sort it, or leave out `bounds`: then the file is one partition".to_owned(),
            });
        }
    }
    Ok(())
}

/// Makes a unit's rows be compared with the keys of its cuts.
pub fn bound(unit: &mut UnitPlan, key: &KeyPlan, part: &Part) {
    if matches!(key.kind, KeyKind::Text { .. }) || (part.lower.is_none() && part.upper.is_none()) {
        return;
    }
    let words = |value: &Option<KeyValue>, end: &str| {
        let text = value.as_ref().and_then(key_text);
        text.unwrap_or_else(|| end.to_owned())
    };
    unit.key_bounds = Some(KeyBounds {
        column_index: key.column_index,
        lower: part.lower.clone(),
        upper: part.upper.clone(),
        describe: format!(
            "part {}, keys from {} to below {}, of a file that must be sorted by the key",
            unit.number,
            words(&part.lower, "the first"),
            words(&part.upper, "the end")
        ),
    });
}
