//! The same work on several threads, each of which takes what is next.

use super::error::SourceError;

/// What so many threads find, the caller's own among them; one of the errors, where there are any.
pub(super) fn on_threads<T: Send>(
    threads: usize,
    work: &(impl Fn() -> Result<Vec<T>, SourceError> + Sync),
) -> Result<Vec<T>, SourceError> {
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
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
