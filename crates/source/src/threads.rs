//! Runs the same work on several threads, each of which takes the next item.

/// Runs `work` on so many threads, the caller's own among them, and returns what all of them found, in no particular
/// order. Fails with one of their errors, once all of them have ended. If a thread cannot be started, the others do
/// its part: `work` must take its next piece from a place that all threads share.
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
