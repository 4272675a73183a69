//! Finds the file row that a row of a staging table came from.
//!
//! One stream has filled the table in the order of the files, in one transaction that created or emptied it, so its
//! rows are in that order: the row with number N was the N-th to be loaded. The files are read once more. Rows that
//! cannot be converted are found again by the conversion; rows that the server refused when the unit was loaded are
//! listed in the ledger, and skipped. The found rows are summed up and compared with the rows of the staging table.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::SplitRecord;
use inrush_engine::error::Error;
use inrush_engine::native::load::{Gauge, RowMaker};
use inrush_engine::native::plan::{PlannedUnit, identity};
use inrush_engine::native::sums::Tally;
use inrush_package::RunSettings;
use inrush_rows::ids::SplitKey;
use inrush_rows::reject::Reject;
use inrush_scan::Records;
use inrush_source::{ReadSettings, Split};

use super::cause::RefusalCause;
use crate::plan::{FlowPlan, UnitPlan};

/// A row of a staging table that the target's server refuses.
#[derive(Clone, Debug)]
pub struct RefusedStagingRow {
    /// The number of rows before it in the staging table.
    pub number: u64,
    /// Why it was refused.
    pub cause: RefusalCause,
}

/// Rejects of one split of a unit.
#[derive(Clone, Debug)]
pub struct SplitRejects {
    /// Identifies the split in the ledger.
    pub split_key: SplitKey,
    /// Its rejects, in the order of the file.
    pub rejects: Vec<Reject>,
}

/// Finds refused rows, in the order of their numbers, in the files of a unit, and adds them to the tally. `records` are
/// the unit's splits in the ledger. Returns `None` if the files do not have these rows.
pub fn find(
    flow: &FlowPlan,
    unit: &UnitPlan,
    mut maker: RowMaker,
    settings: &RunSettings,
    records: &[SplitRecord],
    refused: &[RefusedStagingRow],
    tally: &mut Tally,
) -> Result<Option<Vec<SplitRejects>>, Error> {
    let splits = unit.whole_splits(&*flow.source);
    let mut found: BTreeMap<usize, Vec<Reject>> = BTreeMap::new();
    let mut left = refused.iter().peekable();
    // The files are read after the streams have ended, so no stream's time is counted.
    let gauge = Gauge::default();
    let mut number = 0_u64;
    let chunk_bytes = settings.chunk_bytes as usize;
    let batch_rows = settings.batch_rows as usize;
    let mut stream = flow.source.open_stream(ReadSettings { chunk_bytes })?;
    for (index, split) in splits.iter().enumerate() {
        let split_key = identity::split_key(split);
        let record = records
            .iter()
            .find(|record| record.unit_key == unit.key && record.split_key == split_key);
        let Some(record) = record else {
            return Ok(None);
        };
        let mut refused_before: BTreeSet<u64> = record.refused.iter().copied().collect();
        let mut reader = stream.open(&split.in_source())?;
        maker.begin_input(split.input.index());
        let mut scanned = Records::default();
        let mut rejects = Vec::new();
        while left.peek().is_some()
            && let Some(chunk) = reader.next_chunk(&mut scanned)?
        {
            let mut at = 0;
            while at < scanned.len() {
                let end = maker.end(at, scanned.len(), batch_rows);
                let made = maker.make(&chunk, &scanned, at..end, &mut rejects, &gauge)?;
                rejects.clear();
                for row in 0..made.batch.num_rows() {
                    if !refused_before.is_empty() && refused_before.remove(&made.row_id(row)) {
                        continue;
                    }
                    if let Some(refused) = left.next_if(|refused| refused.number == number) {
                        let cause = refused.cause.clone();
                        tally.add(&made.batch.slice(row, 1));
                        found.entry(index).or_default().push(made.reject(
                            row,
                            cause.column.as_deref(),
                            cause.code,
                            cause.reason,
                        ));
                    }
                    number += 1;
                }
                at = made.end;
            }
            reader.recycle(chunk);
        }
        // The next reader needs its memory.
        drop(reader.end());
        if left.peek().is_some() && !refused_before.is_empty() {
            // The file was read to its end without finding them, so it is not the file that was loaded.
            return Ok(None);
        }
    }
    if left.peek().is_some() {
        return Ok(None);
    }
    let of_split = |(index, rejects): (usize, Vec<Reject>)| SplitRejects {
        split_key: identity::split_key(&splits[index] as &Split),
        rejects,
    };
    Ok(Some(found.into_iter().map(of_split).collect()))
}
