//! The threads that serve connections: they read from servers, and send the data that streams do not send themselves.

use std::io;
use std::ops::Deref;
use std::sync::mpsc;

use inrush_system::address_space::lacks;
use tokio::runtime::Runtime;

use crate::error::Error;

/// The runtime of a run. Dropping it does not wait for its threads: one may be in the system's resolver, which ignores
/// the connection's timeout.
pub struct Threads(Option<Runtime>);

/// The number of the runtime's threads.
const WORKERS: usize = 2;
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

/// Checks that this many threads can run at the same time: starts them and lets them end. The runtime itself would
/// panic if it could not start its threads.
fn try_threads(count: usize) -> io::Result<()> {
    std::thread::scope(|scope| {
        let mut waiting = Vec::new();
        for _ in 0..count {
            let (end, ended) = mpsc::channel::<()>();
            std::thread::Builder::new().spawn_scoped(scope, move || {
                let _ = ended.recv();
            })?;
            waiting.push(end);
        }
        Ok(())
    })
}

/// Starts the runtime and its threads.
pub fn runtime() -> Result<Threads, Error> {
    try_threads(WORKERS).map_err(|source| Error::Threads { source })?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("inrush-socket")
        .enable_all()
        .build()
        .map(|runtime| Threads(Some(runtime)))
        .map_err(|source| Error::Threads { source })
}

impl Deref for Threads {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_keeps_nobody() {
        let (end, ended) = mpsc::channel::<()>();
        let threads = runtime().expect("threads");
        let waiting = threads.spawn_blocking(move || ended.recv());
        // If dropping waited for the thread, this test would hang: the thread waits until `end` is dropped.
        drop(threads);
        drop(end);
        drop(waiting);
    }
}
