//! Ends statements when the run is asked to stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use adbc_core::CancelHandle;
use inrush_rows::cancel::Stop;
use inrush_source::wait;
use tokio::sync::Notify;

/// The statements that are running, each with a number.
type Running = Mutex<Vec<(u64, Box<dyn CancelHandle>)>>;

/// Cancels running statements at a stop. Its thread ends with it.
#[derive(Debug)]
pub struct Stopping {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    running: Running,
    next: Mutex<u64>,
    closed: Notify,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// A statement that a stop cancels, as long as this value lives.
pub struct Watched {
    shared: Arc<Shared>,
    number: u64,
}

impl Stopping {
    /// Starts a thread that waits for a stop.
    pub fn new(stop: &Stop) -> std::io::Result<Stopping> {
        let shared = Arc::new(Shared {
            running: Mutex::default(),
            next: Mutex::default(),
            closed: Notify::new(),
        });
        let (of_thread, stop) = (Arc::clone(&shared), stop.clone());
        let thread = std::thread::Builder::new().name("inrush-adbc-stop".to_owned());
        let thread = thread.spawn(move || {
            let is_stop = wait(async {
                tokio::select! {
                    _ = stop.wait() => true,
                    () = of_thread.closed.notified() => false,
                }
            });
            if is_stop {
                for (_, statement) in locked(&of_thread.running).iter() {
                    // If the driver cannot cancel, reading ends with its next batch.
                    let _ = statement.try_cancel();
                }
            }
        })?;
        Ok(Stopping {
            shared,
            thread: Some(thread),
        })
    }

    /// Cancels this statement when a stop is requested.
    pub fn watch(&self, statement: Box<dyn CancelHandle>) -> Watched {
        let mut next = locked(&self.shared.next);
        *next += 1;
        locked(&self.shared.running).push((*next, statement));
        Watched {
            shared: Arc::clone(&self.shared),
            number: *next,
        }
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.shared.closed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread does nothing that could panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        locked(&self.shared.running).retain(|(number, _)| *number != self.number);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
