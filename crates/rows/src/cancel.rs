//! Asking a run to stop.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

/// Why a run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked: a signal, or Ctrl-C.
    Interrupted,
    /// Another stream failed, so the work of the others is useless.
    Failed,
}

/// A flag that every stream looks at between blocks, and waits on while it waits for the server.
/// Clones are the same flag.
#[derive(Clone, Debug)]
pub struct Stop {
    sender: Arc<watch::Sender<Option<StopReason>>>,
    bell: Arc<OnceLock<Bell>>,
}

/// A descriptor that becomes readable when a stop is asked for, for threads that wait in the system and not in the
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
    /// Asks to stop. The first reason stays.
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

    /// The reason to stop; `None` if no stop was asked.
    pub fn asked(&self) -> Option<StopReason> {
        *self.sender.borrow()
    }

    /// Waits until it is asked.
    pub async fn wait(&self) -> StopReason {
        let mut receiver = self.sender.subscribe();
        let asked = receiver
            .wait_for(Option::is_some)
            .await
            .expect("the sender lives as long as self");
        asked.expect("waited for a reason")
    }

    /// A descriptor for `poll`. It becomes readable when a stop is asked, and stays readable.
    pub fn bell(&self) -> io::Result<BorrowedFd<'_>> {
        if self.bell.get().is_none() {
            let (ringing, ringer) = UnixStream::pair()?;
            // Another thread may have been faster: then its bell stays.
            let _ = self.bell.set(Bell { ringing, ringer });
            // Asked before there was a bell to ring, or while it was hung up.
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
        // One byte into an empty socket is taken at once.
        let _ = (&self.ringer).write(&[1]);
    }
}
