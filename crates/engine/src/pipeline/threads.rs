//! The threads of a run: they need address space, and some of them serve connections.

use inrush_system::address_space::lacks;
use inrush_system::runtime::{self, Threads, WORKERS};

use crate::error::Error;

/// The address space of a thread's stack and its first allocations.
const THREAD_BYTES: u64 = 3 << 20;
/// The address space of all other parts: the runtime, connections, the report and its page.
const OTHER_BYTES: u64 = 32 << 20;

/// The address space that a stream needs at its start. The plan's figure is the most that it needs later.
const STREAM_BYTES: u64 = 16 << 20;

/// Returns an error if the limit of the address space is too small to start this many streams, which need at most
/// `memory_bytes` in all. An error now is better than a failed allocation in the middle of the load.
pub fn require_address_space(streams: usize, memory_bytes: u64) -> Result<(), Error> {
    let threads = (streams + WORKERS) as u64;
    let memory_bytes = memory_bytes.min(streams as u64 * STREAM_BYTES);
    let needed = memory_bytes + threads * THREAD_BYTES + OTHER_BYTES;
    match lacks(needed) {
        None => Ok(()),
        Some(space) => Err(Error::AddressSpace {
            streams,
            needed,
            space,
        }),
    }
}

/// Starts the runtime of a run and its threads.
pub fn runtime() -> Result<Threads, Error> {
    runtime::runtime().map_err(|source| Error::Threads { source })
}
