//! Measures a step on several threads at once, like the streams of a run.

use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

use crate::error::Error;
use crate::report::loader_cpu_s;

/// Prepares this number of threads one after the other, each with its number from 0. Once all are prepared, lets them work at
/// the same time. Fails with the first error; if a thread could not be prepared, none works.
pub fn at_the_same_time<P, T: Send>(
    count: usize,
    prepare: &(impl Fn(usize) -> Result<P, Error> + Sync),
    work: &(impl Fn(P) -> Result<T, Error> + Sync),
) -> Result<Vec<T>, Error> {
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(count);
        let mut all_prepared = true;
        for number in 0..count {
            let (begin, may_begin) = mpsc::channel::<()>();
            let (prepared, is_prepared) = mpsc::channel::<()>();
            let run = move || {
                let own = prepare(number)?;
                // The receiver waits for this message.
                let _ = prepared.send(());
                match may_begin.recv() {
                    Ok(()) => work(own).map(Some),
                    Err(_) => Ok(None),
                }
            };
            // On an error, dropping the other threads' `begin` ends them.
            let thread = std::thread::Builder::new()
                .spawn_scoped(scope, run)
                .map_err(|source| Error::Threads { source })?;
            threads.push((begin, thread));
            if is_prepared.recv().is_err() {
                all_prepared = false;
                break;
            }
        }
        let mut running = Vec::with_capacity(count);
        for (begin, thread) in threads {
            if all_prepared {
                // Every thread waits for this message, unless it has panicked.
                let _ = begin.send(());
            }
            running.push(thread);
        }
        let all: Vec<Result<Option<T>, Error>> = running.into_iter().map(join).collect();
        all.into_iter().filter_map(Result::transpose).collect()
    })
}

/// The result of a thread. A panic goes on in the caller.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// CPU seconds that this process has used.
pub fn own_cpu_s() -> f64 {
    let (user, system) = loader_cpu_s();
    user + system
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_are_prepared_before_one_works() {
        let prepared = AtomicUsize::new(0);
        let prepare = |number| {
            // One after the other.
            assert_eq!(prepared.fetch_add(1, Ordering::SeqCst), number);
            Ok(number)
        };
        let work = |number| {
            assert_eq!(prepared.load(Ordering::SeqCst), 5);
            Ok(number * 2)
        };
        let found = at_the_same_time(5, &prepare, &work).expect("threads");
        assert_eq!(found, [0, 2, 4, 6, 8]);
    }

    #[test]
    fn none_works_if_one_cannot_be_prepared() {
        let prepare = |number| match number {
            2 => Err(Error::Interrupted),
            _ => Ok(number),
        };
        let work = |number: usize| -> Result<usize, Error> { panic!("{number} works") };
        let found = at_the_same_time(4, &prepare, &work);
        assert!(matches!(found, Err(Error::Interrupted)));
    }
}
