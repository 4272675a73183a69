//! Measures a step on several threads at once, like the streams of a run.

use crate::error::Error;
use crate::report::loader_cpu_s;

/// Calls the function with each item at the same time, each on its own thread. Fails if a thread cannot be started.
pub fn on_a_thread_each<W: Send, T: Send>(
    works: impl Iterator<Item = W>,
    work: &(impl Fn(W) -> T + Sync),
) -> Result<Vec<T>, Error> {
    std::thread::scope(|scope| {
        let begin = |one| std::thread::Builder::new().spawn_scoped(scope, move || work(one));
        let threads: Result<Vec<_>, _> = works.map(begin).collect();
        let threads = threads.map_err(|source| Error::Threads { source })?;
        let join = |thread: std::thread::ScopedJoinHandle<'_, T>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(threads.into_iter().map(join).collect())
    })
}

/// CPU seconds that this process has used.
pub fn own_cpu_s() -> f64 {
    let (user, system) = loader_cpu_s();
    user + system
}
