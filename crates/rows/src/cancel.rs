//! Requests that a run stop.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

/// The reason why a run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked: a signal, or Ctrl-C.
    Interrupted,
    /// Another stream failed, so the work of the others is useless.
    Failed,
}

/// A flag that every stream checks between blocks, and that ends its waits for the server. Clones are the same flag.
#[derive(Clone, Debug)]
pub struct Stop {
    sender: Arc<watch::Sender<Option<StopReason>>>,
    bell: Arc<OnceLock<Bell>>,
}

/// A descriptor that becomes readable when a stop is requested, for threads that wait in the system, not in the
/// runtime. The byte that is written into one end is never read from the other.
#[derive(Debug)]
struct Bell {
    ringing: UnixStream,
    ringer: UnixStream,
}

impl Default for Stop {
    fn default() -> Self {
        Stop {
            sender: Arc::new(watch::Sender::new(None)),
            bell: Arc::default(),
        }
    }
}

impl Stop {
    /// Requests a stop. Only the first reason is kept.
    pub fn ask(&self, reason: StopReason) {
        let first = self.sender.send_if_modified(|asked| {
            let first = asked.is_none();
            if first {
                *asked = Some(reason);
            }
            first
        });
        if first && let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// The reason to stop; `None` if no stop was requested.
    pub fn asked(&self) -> Option<StopReason> {
        *self.sender.borrow()
    }

    /// Waits until a stop is requested.
    pub async fn wait(&self) -> StopReason {
        let mut receiver = self.sender.subscribe();
        let asked = receiver
            .wait_for(Option::is_some)
            .await
            .expect("the sender lives as long as self");
        asked.expect("waited for a reason")
    }

    /// Waits for the work. If a stop is requested before it is done, the work is dropped, and the result is `None`.
    pub async fn unless_asked<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            _ = self.wait() => None,
        }
    }

    /// A descriptor for `poll`. It becomes readable when a stop is requested, and stays readable.
    pub fn bell(&self) -> io::Result<BorrowedFd<'_>> {
        if self.bell.get().is_none() {
            let (ringing, ringer) = UnixStream::pair()?;
            // Another thread may have set the bell first: then its bell is kept.
            let _ = self.bell.set(Bell { ringing, ringer });
            // The stop may have been requested before the bell was set, or while it was being set.
            if self.asked().is_some()
                && let Some(bell) = self.bell.get()
            {
                bell.ring();
            }
        }
        let bell = self.bell.get().expect("it was just hung up");
        Ok(bell.ringing.as_fd())
    }
}

impl Bell {
    fn ring(&self) {
        // An empty socket always accepts one byte at once.
        let _ = (&self.ringer).write(&[1]);
    }
}
