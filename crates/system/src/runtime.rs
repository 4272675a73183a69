//! The threads that serve connections: they read from servers, and send the data that streams do not send themselves.

use std::io;
use std::ops::Deref;
use std::sync::mpsc;

use tokio::runtime::Runtime;

/// A runtime for connections. Dropping it does not wait for its threads: one may be in the system's resolver, which ignores
/// the connection's timeout.
pub struct Threads(Option<Runtime>);

/// The number of the runtime's threads.
pub const WORKERS: usize = 2;

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

/// Starts the runtime and its threads. Fails if the limits of the user or of the process allow no more threads.
pub fn runtime() -> io::Result<Threads> {
    try_threads(WORKERS)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("inrush-socket")
        .enable_all()
        .build()
        .map(|runtime| Threads(Some(runtime)))
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
