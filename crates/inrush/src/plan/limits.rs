//! What a plan takes of memory, connections and locks.

use super::error::PlanError;
use super::{FlowPlan, Publish, RoutePlan};
use crate::destination::postgres::copy::BLOCK_BYTES;
use crate::destination::postgres::guests::ServerFacts;
use crate::plural::counted_do;
use crate::source::{FED_RANGE_BYTES, FED_RANGES_AHEAD, Shard};

/// The most memory that the loader takes for its data, whatever the size of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// Bytes of one stream.
    pub stream_bytes: u64,
    /// Bytes of all streams.
    pub streams_bytes: u64,
    /// Bytes of the one reader that feeds all streams from a file that cannot be cut; zero where
    /// there is none.
    pub feed_bytes: u64,
    /// Bytes of the row groups that all streams decode at a time; zero where no file has typed rows.
    pub row_group_bytes: u64,
    /// Bytes by which each stream may grow for one very long record.
    pub long_record_bytes: u64,
}

impl MemoryBound {
    /// Bytes of all but very long records.
    pub fn total(&self) -> u64 {
        self.streams_bytes + self.feed_bytes + self.row_group_bytes
    }
}

/// Blocks of a stream that are alive at once where the driver sends them, as on an encrypted connection: one being
/// filled, one in the driver's queue, one copied into its send buffer, one on its way back. A stream that writes its
/// blocks itself has one.
const BLOCKS_PER_STREAM: u64 = 4;
/// Connections that should stay free for others.
const CONNECTIONS_KEPT_FREE: i64 = 3;

/// Works out the memory bound from what a stream holds at a time.
pub fn memory(
    flows: &[FlowPlan],
    chunk_bytes: u32,
    batch_rows: u32,
    streams: usize,
) -> MemoryBound {
    let columns_max = flows
        .iter()
        .map(|flow| flow.columns.len())
        .max()
        .unwrap_or(0) as u64;
    let chunk_bytes = u64::from(chunk_bytes);
    let blocks = BLOCKS_PER_STREAM * (BLOCK_BYTES as u64 + BLOCK_BYTES as u64 / 4 + chunk_bytes);
    let stream_bytes = text_and_batch(chunk_bytes, u64::from(batch_rows), columns_max) + blocks;
    let record = flows
        .iter()
        .map(|flow| flow.dialect.record_bytes_max)
        .max()
        .unwrap_or(0) as u64;
    MemoryBound {
        stream_bytes,
        streams_bytes: stream_bytes * streams as u64,
        feed_bytes: feed_bytes(flows, chunk_bytes, streams as u64),
        row_group_bytes: row_group_bytes(all_shards(flows)) * streams as u64,
        // The record as text, its tail carried over, and its encoded form.
        long_record_bytes: 4 * record,
    }
}

/// What a stream holds of text, and of the batch that is made of it.
pub fn text_and_batch(chunk_bytes: u64, batch_rows: u64, columns_max: u64) -> u64 {
    // A chunk and the one that takes over its tail; four bytes for each possible field end and
    // sixteen for each record, where the shortest field is empty.
    let text = 2 * chunk_bytes + chunk_bytes * 4 + chunk_bytes / 2 * 16;
    text + batch_rows * columns_max * 17
}

fn all_shards(flows: &[FlowPlan]) -> impl Iterator<Item = &Shard> {
    let units = flows.iter().flat_map(|flow| &flow.units);
    units.flat_map(|unit| &unit.shards)
}

/// What is read ahead of the streams: one file is fed at a time.
fn feed_bytes(flows: &[FlowPlan], chunk_bytes: u64, streams: u64) -> u64 {
    let fed = all_shards(flows).filter(|shard| shard.is_fed);
    let of_file = fed.map(|shard| {
        let ranges = (streams + FED_RANGES_AHEAD as u64) * (FED_RANGE_BYTES as u64 + chunk_bytes);
        // Beside its translation stand the file's own bytes, two for each letter of UTF-16.
        match shard.file.is_translated() {
            true => 3 * ranges,
            false => ranges,
        }
    });
    of_file.max().unwrap_or(0)
}

/// The largest row group, or record batch, of all files of typed rows: no more of one is decoded at a
/// time, and usually much less.
pub fn row_group_bytes<'a>(shards: impl Iterator<Item = &'a Shard>) -> u64 {
    let tables = shards.filter_map(|shard| shard.file.table());
    let sizes = tables.map(|table| table.decoded_bytes_max());
    sizes.max().unwrap_or(0)
}

/// Refuses more streams than the server has connections for.
pub fn check_connections(server: &ServerFacts, streams: usize) -> Result<(), PlanError> {
    // The session that asks is counted among those in use.
    let free = i64::from(server.connections_max) - server.connections_used;
    if streams as i64 + CONNECTIONS_KEPT_FREE > free {
        return Err(PlanError::Limit {
            what: format!(
                "{} as many connections, and the server has {free} of {} left, of which \
                 {CONNECTIONS_KEPT_FREE} stay free for others",
                counted_do(streams as u64, "stream", "need"),
                server.connections_max
            ),
            hint: format!(
                "--streams {}, or raise max_connections",
                (free - CONNECTIONS_KEPT_FREE).max(1)
            ),
        });
    }
    Ok(())
}

/// Locks that the switch holds at its end: for each unit its table, its TOAST table with its
/// index, its indexes and its type; the targets' own; and what the ledger takes.
pub fn locks_needed(flows: &[FlowPlan]) -> u64 {
    let mut locks = 20;
    for flow in flows {
        let index_count = flow.facts.as_ref().map_or(0, |facts| facts.indexes.len()) as u64;
        let units = flow.units.len() as u64;
        if let Some(replace) = &flow.replace {
            locks += replace.old.len() as u64 * (6 + 2 * index_count);
        }
        locks += match &flow.publish {
            Publish::CreatePartitioned { .. } | Publish::Attach => {
                10 + units * (4 + 2 * index_count)
            }
            Publish::Route(route) => 10 + routed(route, index_count),
            Publish::Straight => 0,
            Publish::Rename | Publish::Insert | Publish::Swap { .. } | Publish::Upsert { .. } => {
                10 + index_count
            }
        };
    }
    locks
}

/// For each partition of a routed unit: to make it, the table, its TOAST table with its index and
/// its type; to copy from it and drop it, those and the target's own (measured: 4 and 8).
fn routed(route: &RoutePlan, index_count: u64) -> u64 {
    let nodes = route.all().len() as u64;
    if route.is_new {
        return 4 * nodes;
    }
    8 * nodes + 2 * index_count * route.new_partitions().count() as u64
}

/// Refuses a switch that needs more locks than the server has room for.
pub fn check_locks(server: &ServerFacts, needed: u64) -> Result<(), PlanError> {
    let room = server.locks_max.max(0) as u64;
    if needed > room {
        return Err(PlanError::Limit {
            what: format!(
                "the switch takes about {needed} locks in one transaction, and the server has \
                 room for {room}"
            ),
            hint: "raise max_locks_per_transaction and restart the server, or load fewer parts \
                   at a time"
                .to_owned(),
        });
    }
    Ok(())
}
