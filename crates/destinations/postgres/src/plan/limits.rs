//! Memory, connections and locks that a plan needs.

use inrush_rows::plural::counted_do;
use inrush_source::Split;

use super::{FlowPlan, Publish, RoutePlan};
use crate::block_socket::BLOCK_BYTES;
use crate::engine::plan::error::PlanError;
use crate::engine::plan::memory::{
    FileCost, MemoryBound, feed_bytes, row_group_bytes, text_and_batch,
};
use crate::server_facts::ServerFacts;

/// Blocks of a stream in memory at a time if the driver sends them, as on an encrypted connection: one being filled,
/// one in the driver's queue, one copied into its send buffer, one being returned. A stream that sends its blocks
/// itself has one.
const BLOCKS_PER_STREAM: u64 = 4;
/// The memory for each file from the plan to the report, beside its path. Measured: 340.
const FILE_BYTES: u64 = 480;
/// Connections that should stay free for others.
const CONNECTIONS_KEPT_FREE: i64 = 3;

/// Computes the memory bound from the memory that a stream needs.
pub fn memory(
    flows: &[FlowPlan],
    chunk_bytes: u32,
    batch_rows: u32,
    streams: usize,
    is_resumed: bool,
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
    let mut promises = flows.iter().map(|flow| &flow.expect.promises);
    let cost = FileCost {
        engine_bytes: FILE_BYTES,
        is_resumed,
        is_promised: promises.any(|promises| !promises.is_empty()),
    };
    MemoryBound {
        stream_bytes,
        streams_bytes: stream_bytes * streams as u64,
        feed_bytes: feed_bytes(all_splits(flows), chunk_bytes, streams as u64),
        row_group_bytes: row_group_bytes(all_splits(flows)) * streams as u64,
        // The record as text, its tail carried over, and its encoded form.
        long_record_bytes: 4 * record,
        ..MemoryBound::of_files(all_splits(flows), streams, cost)
    }
}

fn all_splits(flows: &[FlowPlan]) -> impl Iterator<Item = &Split> {
    let units = flows.iter().flat_map(|flow| &flow.units);
    units.flat_map(|unit| &unit.splits)
}

/// Refuses more streams than the server can accept connections for.
pub fn check_connections(server: &ServerFacts, streams: usize) -> Result<(), PlanError> {
    // This session is included in the number of connections in use.
    let free = i64::from(server.connections_max) - server.connections_used;
    if streams as i64 + CONNECTIONS_KEPT_FREE > free {
        return Err(PlanError::Limit {
            what: format!(
                "{} as many connections, but the server has {free} of {} left, and Inrush leaves \
                 {CONNECTIONS_KEPT_FREE} for others",
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

/// The number of locks that the switch holds at its end: for each unit its table, its TOAST table with its index, its
/// indexes and its type; the targets' locks; and the ledger's.
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
            Publish::Straight(_) => 0,
            Publish::Rename | Publish::Insert | Publish::Swap | Publish::Upsert { .. } => {
                10 + index_count
            }
        };
    }
    locks
}

/// Locks for each partition of a routed unit. To create it: the table, its TOAST table with its index, and its type. To
/// copy from it and drop it: those and the target's own (measured: 4 and 8).
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
                "the switch takes about {needed} locks in one transaction, but the server has room \
                 for {room}"
            ),
            hint: "raise max_locks_per_transaction and restart the server, or load fewer parts \
                   at a time"
                .to_owned(),
        });
    }
    Ok(())
}
