//! Memory, connections and locks that a plan needs.

use inrush_package::RunSettings;
use inrush_plan::{LoadMemory, MemoryBound, PlanError};
use inrush_rows::plural::counted_do;

use super::{FlowPlan, Publish, RoutePlan};
use crate::block_socket::BLOCK_BYTES;
use crate::server_facts::ServerFacts;

/// Blocks of a stream in memory at a time if tokio-postgres sends them, as on an encrypted connection: one being filled,
/// one in its queue, one copied into its send buffer, one being returned. A stream that sends its blocks
/// itself has one.
const BLOCKS_PER_STREAM: u64 = 4;
/// The memory for each file from the plan to the report, in addition to its path. Measured: 340.
const FILE_BYTES: u64 = 480;
/// Connections that should stay free for others.
const CONNECTIONS_KEPT_FREE: i64 = 3;

/// Bytes of a stream's blocks.
fn blocks_bytes(chunk_bytes: u32) -> u64 {
    BLOCKS_PER_STREAM * (BLOCK_BYTES as u64 + BLOCK_BYTES as u64 / 4 + u64::from(chunk_bytes))
}

/// The most memory of a load with this number of streams.
pub fn memory(
    flows: &[FlowPlan],
    settings: &RunSettings,
    streams: usize,
    is_resumed: bool,
) -> MemoryBound {
    let load = LoadMemory {
        streams,
        chunk_bytes: settings.chunk_bytes,
        batch_rows: settings.batch_rows as usize,
        own_stream_bytes: blocks_bytes(settings.chunk_bytes),
        library_bytes: 0,
        file_bytes: FILE_BYTES,
        is_resumed,
    };
    MemoryBound::of_flows(flows, &load)
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
        let existing = flow.facts.as_ref().map_or(0, |facts| facts.indexes.len());
        let index_count = (existing + flow.new_indexes.len()) as u64;
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
            Publish::Rename { .. } | Publish::Insert | Publish::Swap | Publish::Upsert { .. } => {
                10 + index_count
            }
        };
    }
    locks
}

/// The locks for the partitions of a routed unit. To create a partition takes 4 locks (measured): the table, its TOAST
/// table with its index, and its type. To copy from a partition and drop it takes 8 (measured): these, and the locks of
/// the target's own partition.
fn routed(route: &RoutePlan, index_count: u64) -> u64 {
    let nodes = route.all().len() as u64;
    if route.is_new {
        return (4 + 2 * index_count) * nodes;
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
