//! Whether the ranges that the ledger has cover each file exactly, and the account of each holds.
//!
//! The ledger is asked, not the memory of this process: what earlier attempts have loaded counts
//! as what this one has.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::context::PreparedRun;
use crate::ledger::ShardRecord;
use crate::package::Compression;
use crate::plan::{FlowPlan, identity};
use crate::source::{Origin, SourceFile};
use crate::verify::VerifyError;

/// Ranges that a message shows.
const RANGES_SHOWN: usize = 12;

/// Checks the files of a flow against what the ledger has of its units.
pub fn check(
    run: &PreparedRun,
    flow_index: usize,
    shards: &[ShardRecord],
) -> Result<(), VerifyError> {
    let flow = &run.plan.flows[flow_index];
    let mut records: BTreeMap<&str, Vec<&ShardRecord>> = BTreeMap::new();
    for shard in shards {
        if flow.units.iter().any(|unit| unit.key == shard.unit_key) {
            records.entry(&shard.file_key).or_default().push(shard);
        }
    }
    for (file, is_fed) in files(flow) {
        let key = identity::file_key(file);
        let of_file = records.remove(key.as_str()).unwrap_or_default();
        let end = match is_fed {
            false => Some(file.size_bytes),
            // One that an earlier attempt has read to its end was checked then.
            true => fed_end(run, flow_index, file),
        };
        check_file(file, &of_file, end)?;
        if !is_fed {
            check_bytes(file, &of_file)?;
        }
    }
    Ok(())
}

/// Checks the files of a shared unit that were fed: only while their feed is at hand it is known
/// where their text ends.
pub fn check_fed(
    run: &PreparedRun,
    flow_index: usize,
    unit_index: usize,
    shards: &[ShardRecord],
) -> Result<(), VerifyError> {
    let unit = &run.plan.flows[flow_index].units[unit_index];
    for shard in unit.shards.iter().filter(|shard| shard.is_fed) {
        let key = identity::file_key(&shard.file);
        let is_of_file =
            |record: &&ShardRecord| record.unit_key == unit.key && record.file_key == key;
        let of_file: Vec<&ShardRecord> = shards.iter().filter(is_of_file).collect();
        check_file(&shard.file, &of_file, fed_end(run, flow_index, &shard.file))?;
    }
    Ok(())
}

/// The files of a flow, and whether they are fed.
pub fn files(flow: &FlowPlan) -> Vec<(&Arc<SourceFile>, bool)> {
    let shards = flow.units.iter().flat_map(|unit| &unit.shards);
    let mut files: Vec<(&Arc<SourceFile>, bool)> =
        shards.map(|shard| (&shard.file, shard.is_fed)).collect();
    // The ranges of a file stand one after the other.
    files.dedup_by(|(file, _), (before, _)| Arc::ptr_eq(file, before));
    files
}

fn fed_end(run: &PreparedRun, flow_index: usize, file: &Arc<SourceFile>) -> Option<u64> {
    run.fed_files
        .iter()
        .filter(|((flow, _, _), _)| *flow == flow_index)
        .find(|((flow, unit, shard), _)| {
            let shard = &run.plan.flows[*flow].units[*unit].shards[*shard];
            Arc::ptr_eq(&shard.file, file)
        })
        .and_then(|(_, fed)| fed.text_end())
}

/// Checks that all bytes of a file that is read as it is were read.
pub fn check_bytes(file: &SourceFile, shards: &[&ShardRecord]) -> Result<(), VerifyError> {
    if file.origin != Origin::File || file.compression != Compression::None {
        return Ok(());
    }
    let read = shards.iter().map(|shard| shard.account.bytes_read).sum();
    if read != file.size_bytes {
        return Err(VerifyError::Bytes {
            file: file.path.display().to_string(),
            read,
            size: file.size_bytes,
        });
    }
    Ok(())
}

/// Checks the account of each range of a file, and that the ranges follow each other from 0 to
/// the file's end.
pub fn check_file(
    file: &SourceFile,
    shards: &[&ShardRecord],
    end: Option<u64>,
) -> Result<(), VerifyError> {
    let name = || file.path.display().to_string();
    let mut ranges = Vec::with_capacity(shards.len());
    for shard in shards {
        let range = shard.byte_start..shard.byte_end.or(end).unwrap_or(shard.byte_start);
        let account = &shard.account;
        if !account.holds() {
            return Err(VerifyError::Account {
                file: name(),
                start: range.start,
                end: range.end,
                read: account.rows_read,
                loaded: account.rows_loaded,
                rejected: account.rows_rejected,
                skipped: account.rows_skipped,
            });
        }
        ranges.push(range);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    match fault_of(&ranges, end) {
        None => Ok(()),
        Some(Fault::Gap(gap)) => Err(VerifyError::Gap {
            file: name(),
            start: gap.start,
            end: gap.end,
            ranges: words(&ranges),
        }),
        Some(Fault::Overlap(overlap)) => Err(VerifyError::Overlap {
            file: name(),
            start: overlap.start,
            end: overlap.end,
            ranges: words(&ranges),
        }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Gap(Range<u64>),
    Overlap(Range<u64>),
}

/// Where sorted ranges leave something out or meet something twice.
fn fault_of(ranges: &[Range<u64>], end: Option<u64>) -> Option<Fault> {
    let mut reached = 0;
    for range in ranges {
        if range.start > reached {
            return Some(Fault::Gap(reached..range.start));
        }
        if range.start < reached && range.end > range.start {
            return Some(Fault::Overlap(range.start..range.end.min(reached)));
        }
        reached = reached.max(range.end);
    }
    match end {
        Some(end) if reached < end => Some(Fault::Gap(reached..end)),
        Some(end) if reached > end => Some(Fault::Overlap(end..reached)),
        _ => None,
    }
}

fn words(ranges: &[Range<u64>]) -> String {
    let shown = ranges.iter().take(RANGES_SHOWN);
    let mut words: Vec<String> = shown
        .map(|range| format!("{}-{}", range.start, range.end))
        .collect();
    match ranges.len() {
        0 => words.push("none".to_owned()),
        count if count > RANGES_SHOWN => words.push(format!("{} more", count - RANGES_SHOWN)),
        _ => {}
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! ranges_are {
        ($($name:ident: $ranges:expr, $end:expr => $fault:expr;)*) => {$(
            #[test]
            fn $name() {
                let ranges: Vec<Range<u64>> = $ranges.map(|(start, end): (u64, u64)| start..end).to_vec();
                assert_eq!(fault_of(&ranges, $end), $fault);
            }
        )*};
    }

    ranges_are! {
        one_range_is_the_file: [(0, 9)], Some(9) => None;
        ranges_follow_each_other: [(0, 3), (3, 5), (5, 9)], Some(9) => None;
        nobody_knows_the_end: [(0, 3), (3, 5)], None => None;
        an_empty_file_has_an_empty_range: [(0, 0)], Some(0) => None;
        an_empty_file_has_no_range_to_lack: [], Some(0) => None;
        a_file_without_ranges: [], Some(9) => Some(Fault::Gap(0..9));
        the_first_is_missing: [(3, 9)], Some(9) => Some(Fault::Gap(0..3));
        one_in_the_middle_is_missing: [(0, 3), (5, 9)], Some(9) => Some(Fault::Gap(3..5));
        the_last_is_missing: [(0, 3), (3, 5)], Some(9) => Some(Fault::Gap(5..9));
        one_is_there_twice: [(0, 3), (3, 5), (3, 5), (5, 9)], Some(9) => Some(Fault::Overlap(3..5));
        two_overlap: [(0, 4), (3, 9)], Some(9) => Some(Fault::Overlap(3..4));
        one_is_past_the_end: [(0, 3), (3, 10)], Some(9) => Some(Fault::Overlap(9..10));
        one_holds_the_others: [(0, 9), (2, 3), (9, 9)], Some(9) => Some(Fault::Overlap(2..3));
    }
}
