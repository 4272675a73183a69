//! The sessions that read: no more than the settings allow, used again from split to split.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inrush_pgclient::BlockingSession;
use inrush_rows::cancel::Stop;
use inrush_source::{Permits, SourceError};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::of_session;
use crate::snapshot::Snapshot;

/// Sessions of one snapshot, for all sources that read it.
#[derive(Debug)]
pub struct Pool {
    snapshot: Snapshot,
    idle: Mutex<Vec<PooledSession>>,
    permits: Permits,
    sessions_max: usize,
    stop: Stop,
}

/// A session, and its value of the setting that differs from source to source.
#[derive(Debug)]
struct PooledSession {
    session: BlockingSession,
    /// True if `row_security` is off: then reading a table that hides rows from the user is an error.
    hides_nothing: bool,
}

/// A session in use. If it is dropped without being given back, it is closed.
pub struct Lease {
    /// The session.
    pub session: BlockingSession,
    hides_nothing: bool,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool of at most `sessions_max` sessions.
    pub fn new(snapshot: Snapshot, sessions_max: usize, stop: &Stop) -> Pool {
        Pool {
            snapshot,
            idle: Mutex::default(),
            permits: Permits::new(sessions_max),
            sessions_max,
            stop: stop.clone(),
        }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The most sessions.
    pub fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    /// The number of sessions that are open and not in use.
    pub fn open_count(&self) -> usize {
        self.idle().len()
    }

    /// A session in a transaction of the snapshot. Waits while all are in use. With `hides_nothing`, a table that hides
    /// rows from the user by row security is an error.
    pub fn take(&self, input: &Path, hides_nothing: bool) -> Result<Lease, SourceError> {
        let permit = self.permits.take(input, &self.stop)?;
        let failed = |error| of_session(input, error);
        let kept = self.idle().pop();
        let mut pooled = match kept {
            Some(pooled) => pooled,
            None => PooledSession {
                session: self.snapshot.open_session(&self.stop).map_err(failed)?,
                hides_nothing: false,
            },
        };
        if pooled.hides_nothing != hides_nothing {
            let (set, doing) = match hides_nothing {
                true => (
                    "SET row_security = off",
                    "turning row security into an error",
                ),
                false => ("SET row_security = DEFAULT", "turning row security on"),
            };
            pooled.session.query(set, doing).map_err(failed)?;
        }
        Ok(Lease {
            session: pooled.session,
            hides_nothing,
            _permit: permit,
        })
    }

    /// Takes back a session whose COPY has ended.
    pub fn give_back(&self, lease: Lease) {
        self.idle().push(PooledSession {
            session: lease.session,
            hides_nothing: lease.hides_nothing,
        });
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PooledSession>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    /// All sessions end at the same time.
    fn drop(&mut self) {
        for pooled in self.idle().iter_mut() {
            pooled.session.leave();
        }
        self.snapshot.with_keeper(BlockingSession::leave);
    }
}
