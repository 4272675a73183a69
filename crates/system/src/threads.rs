//! Runs the same work on several threads, each of which takes the next item.

/// The number of cores of this machine, as far as this process may use them.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on `threads` threads, one of them the caller's, and returns all results in no particular order. If some
/// fail, it returns one of their errors after all threads have ended. If a thread cannot be started, the others do its
/// part, so `work` must take each item from a place that all threads share.
pub fn on_threads<T: Send, E: Send>(
    threads: usize,
    work: &(impl Fn() -> Result<Vec<T>, E> + Sync),
) -> Result<Vec<T>, E> {
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(spawn).collect();
        let mut result = work().map(|own| found.extend(own));
        for other in others {
            let theirs = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(theirs.map(|theirs| found.extend(theirs)));
        }
        result
    })?;
    Ok(found)
}
