//! The connections' own threads: they hear servers, and write what streams do not write themselves.

use std::ops::Deref;

use tokio::runtime::Runtime;

use crate::error::Error;

/// The runtime of a run. Dropped, it waits for none of its threads: one may be in the system's
/// resolver, which takes no notice of how long a connection may take.
pub(crate) struct Threads(Option<Runtime>);

/// Starts the threads.
pub(crate) fn runtime() -> Result<Threads, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
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
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_waits_keeps_nobody() {
        let (end, ended) = mpsc::channel::<()>();
        let threads = runtime().expect("threads");
        let waiting = threads.spawn_blocking(move || ended.recv());
        // It would wait for the thread, which waits for what comes next.
        drop(threads);
        drop(end);
        drop(waiting);
    }
}
