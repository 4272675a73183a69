//! Cuts large files that are sorted by their key into partitions of about the same size.
//!
//! A cut is moved to the next change of the key, so no key is in two partitions. When the plan is made, the order of a
//! file is checked only at the cuts, whose keys must ascend. While the parts are loaded, each row is compared with the
//! keys of its part's cuts.

use std::ops::Range;
use std::sync::Arc;

use inrush_convert::{KeyBounds, KeyValue, convert_first};
use inrush_plan::{LoadUnit, PlanError};
use inrush_rows::column::Column;
use inrush_rows::plural::counted;
use inrush_scan::{Dialect, Records, decode_field};
use inrush_source::{
    Input, ReadSettings, RecordStart, Source, SourceError, SourceSplit, SourceStream, Split,
};

use super::key_text;
use super::{KeyKind, KeyPlan};

/// Bytes that are read at a time to find a change of the key.
const LOOK_BYTES: usize = 64 << 10;

/// The position where one part ends and the next begins.
struct Cut {
    start: RecordStart,
    key: KeyValue,
}

/// A part of a file, with the bounds that its keys must keep.
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
    source: &dyn Source,
    dialect: &Dialect,
    column: &Column,
    parts: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, PlanError> {
    let inputs = (0..source.input_count()).map(|index| source.input(index));
    let inputs: Vec<Arc<dyn Input>> = inputs.collect();
    note_uncut(&inputs, parts, notes)?;
    let total: u64 = inputs.iter().map(|input| input.size_bytes()).sum();
    let mut found = Vec::new();
    for input in &inputs {
        let share = u128::from(input.size_bytes()) * u128::from(parts);
        let wanted = (share + u128::from(total / 2)) / u128::from(total.max(1));
        let wanted = u64::try_from(wanted).unwrap_or(1).max(1);
        let cuts = if wanted > 1 && input.reads_in_ranges()? {
            cuts_of(source, &**input, dialect, column, wanted)?
        } else {
            Vec::new()
        };
        check_order(flow, &**input, &cuts)?;
        let whole = source.whole(input.index());
        let mut lower = None;
        let mut start = 0;
        let mut first_record = None;
        for cut in cuts {
            let end = cut.start.byte_offset;
            let split = piece(&whole, start..end, first_record);
            found.push(Part {
                split: Split::of(Arc::clone(input), split),
                lower: lower.replace(cut.key.clone()),
                upper: Some(cut.key),
            });
            start = end;
            first_record = source.needs_locate(input.index()).then_some(cut.start);
        }
        let split = match start {
            0 => whole,
            _ => piece(&whole, start..whole.range.end, first_record),
        };
        found.push(Part {
            split: Split::of(Arc::clone(input), split),
            lower,
            upper: None,
        });
    }
    Ok(found)
}

/// A range of an input.
fn piece(whole: &SourceSplit, range: Range<u64>, first_record: Option<RecordStart>) -> SourceSplit {
    SourceSplit {
        size_bytes: range.end - range.start,
        range,
        first_record,
        ..whole.clone()
    }
}

/// Adds a note about files that cannot be cut: each is one partition, whatever number was requested.
fn note_uncut(
    files: &[Arc<dyn Input>],
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
        first.name().display(),
        match first.is_typed() {
            true => "",
            false => "; unpack or translate it first",
        }
    ));
    Ok(())
}

fn cuts_of(
    source: &dyn Source,
    input: &dyn Input,
    dialect: &Dialect,
    column: &Column,
    wanted: u64,
) -> Result<Vec<Cut>, SourceError> {
    let whole = source.whole(input.index());
    let place = |index: u64| {
        (u128::from(input.size_bytes()) * u128::from(index) / u128::from(wanted)) as u64
    };
    let ranges = (0..wanted).map(|index| piece(&whole, place(index)..place(index + 1), None));
    let mut ranges: Vec<SourceSplit> = ranges.collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    source.locate(&mut ranges, threads)?;
    let mut stream = source.open_stream(ReadSettings {
        chunk_bytes: LOOK_BYTES,
    })?;
    let mut cuts: Vec<Cut> = Vec::new();
    for split in ranges.iter().skip(1) {
        let (range, start) = (&split.range, split.first_record);
        // A long run of one key may extend beyond the next cut.
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
        let rest = piece(&whole, range.start..whole.range.end, start);
        let has_lines = source.needs_locate(input.index());
        match next_change(&mut *stream, &rest, dialect, column, has_lines)? {
            Some(cut) => cuts.push(cut),
            None => break,
        }
    }
    Ok(cuts)
}

/// The first record in the rest of a file whose key differs from the key of the record before it.
fn next_change(
    stream: &mut dyn SourceStream,
    rest: &SourceSplit,
    dialect: &Dialect,
    column: &Column,
    has_lines: bool,
) -> Result<Option<Cut>, SourceError> {
    let mut reader = stream.open(rest)?;
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
                        line: if has_lines {
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

/// Fails if the keys at the cuts do not ascend. Texts are not compared here, because only the server knows their order.
fn check_order(flow: &str, file: &dyn Input, cuts: &[Cut]) -> Result<(), PlanError> {
    for pair in cuts.windows(2) {
        if let (Some(first), Some(second)) = (pair[0].key.number(), pair[1].key.number())
            && first >= second
        {
            let words = |key| key_text(key).unwrap_or_else(|| format!("{key:?}"));
            return Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what: format!(
                    "{} is not sorted by its key: {} is at byte {}, but {} is at byte {}",
                    file.name().display(),
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

/// Lets the conversion compare a unit's rows with the keys of its cuts.
pub fn bound(unit: &mut LoadUnit, key: &KeyPlan, part: &Part) {
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
