//! From a row of a staging table back to the file that it came from.
//!
//! One stream has filled the table in the order of the files, in one transaction that made or
//! emptied it, so its rows stand in that order: the one with number N is the N-th that went in.
//! The files are read once more, and rows that were rejected before are passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use inrush_scan::Records;

use super::cause::Cause;
use crate::convert::Converter;
use crate::error::Error;
use crate::package::RunSettings;
use crate::plan::{FlowPlan, UnitPlan, identity};
use crate::reject::Reject;
use crate::source::{BufferPool, Shard, ShardReader};

/// A row of a staging table that the target's server refuses.
#[derive(Clone, Debug)]
pub struct RefusedStagingRow {
    /// How many rows stand before it in the staging table.
    pub number: u64,
    /// Why.
    pub cause: Cause,
}

/// Rejects of one shard of a unit.
#[derive(Clone, Debug)]
pub struct ShardRejects {
    /// Names the shard in the ledger.
    pub shard_key: String,
    /// Its rejects, in the order of the file.
    pub rejects: Vec<Reject>,
}

/// Where a row is in the files: file and byte.
pub type RowPlace = (PathBuf, u64);

/// Finds refused rows, in the order of their numbers, in the files of a unit. `rejected_before` are
/// the rows that never got into the staging table. Nothing comes back where the files have fewer
/// rows than that.
pub fn find(
    flow: &FlowPlan,
    unit: &UnitPlan,
    mut converter: Converter,
    settings: &RunSettings,
    rejected_before: &BTreeSet<RowPlace>,
    refused: &[RefusedStagingRow],
) -> Result<Option<Vec<ShardRejects>>, Error> {
    let shards = unit.whole_shards();
    let mut found: BTreeMap<usize, Vec<Reject>> = BTreeMap::new();
    let mut left = refused.iter().peekable();
    let mut number = 0_u64;
    let chunk_bytes = settings.chunk_bytes as usize;
    let batch_rows = settings.batch_rows as usize;
    let mut buffers = BufferPool::default();
    for (index, shard) in shards.iter().enumerate() {
        let mut reader = ShardReader::open(shard.clone(), &flow.dialect, chunk_bytes, buffers)?;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        while left.peek().is_some()
            && let Some(chunk) = reader.next_chunk(&mut records)?
        {
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + batch_rows);
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                rejects.clear();
                for row in 0..batch.num_rows() {
                    if !rejected_before.is_empty() {
                        let location = converter.row_location(&chunk, &records, row);
                        let place = (location.file.to_path_buf(), location.byte_offset);
                        if rejected_before.contains(&place) {
                            continue;
                        }
                    }
                    if let Some(refused) = left.next_if(|refused| refused.number == number) {
                        let cause = refused.cause.clone();
                        found.entry(index).or_default().push(converter.reject_row(
                            &chunk,
                            &records,
                            row,
                            cause.column.as_deref(),
                            cause.code,
                            cause.reason,
                        ));
                    }
                    number += 1;
                }
                at = end;
            }
            reader.recycle(chunk);
        }
        buffers = reader.close();
    }
    if left.peek().is_some() {
        return Ok(None);
    }
    let of_shard = |(index, rejects): (usize, Vec<Reject>)| ShardRejects {
        shard_key: identity::shard_key(&shards[index] as &Shard),
        rejects,
    };
    Ok(Some(found.into_iter().map(of_shard).collect()))
}
