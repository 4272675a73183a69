//! The sessions that read: no more than the settings allow, used again from split to split.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_pgclient::BlockingSession;
use inrush_rows::cancel::Stop;
use inrush_source::{SourceError, wait};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::of_session;
use crate::snapshot::Snapshot;

/// Sessions of one snapshot.
#[derive(Debug)]
pub struct Pool {
    snapshot: Snapshot,
    idle: Mutex<Vec<BlockingSession>>,
    permits: Arc<Semaphore>,
    stop: Stop,
}

/// A session in use. Dropped without being given back, it is closed.
pub struct Lease {
    /// The session.
    pub session: BlockingSession,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool of so many sessions.
    pub fn new(snapshot: Snapshot, sessions_max: usize, stop: &Stop) -> Pool {
        let sessions_max = sessions_max.clamp(1, Semaphore::MAX_PERMITS);
        Pool {
            snapshot,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(sessions_max)),
            stop: stop.clone(),
        }
    }

    /// A session in a transaction of the snapshot. Waits while all are in use.
    pub fn take(&self, input: &Path) -> Result<Lease, SourceError> {
        let stopped = || SourceError::Stopped {
            path: input.to_path_buf(),
        };
        if self.stop.asked().is_some() {
            return Err(stopped());
        }
        let permit = wait(async {
            tokio::select! {
                biased;
                _ = self.stop.wait() => None,
                permit = Arc::clone(&self.permits).acquire_owned() => permit.ok(),
            }
        });
        let permit = permit.ok_or_else(stopped)?;
        let kept = self.idle().pop();
        let session = match kept {
            Some(session) => session,
            None => self
                .snapshot
                .open_session(&self.stop)
                .map_err(|error| of_session(input, error))?,
        };
        Ok(Lease {
            session,
            _permit: permit,
        })
    }

    /// Takes back a session whose COPY has ended.
    pub fn give_back(&self, lease: Lease) {
        self.idle().push(lease.session);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<BlockingSession>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
