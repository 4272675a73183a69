//! The sessions that read: no more than the settings allow, used again from split to split.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_rows::cancel::Stop;
use inrush_source::{Permits, SourceError, input_error};
use inrush_tdsclient::{Interrupt, Session, SessionError, SessionOptions};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::refused;
use crate::moment::Isolation;

/// How a further session is opened when none is idle.
#[derive(Debug)]
pub enum MoreSessions {
    /// A session is opened when it is needed.
    Opened(Box<SessionOptions>, Arc<Interrupt>),
    /// No session can be added: all of them have the snapshot of the source, and a new one would have a later snapshot.
    None,
}

/// Sessions of one source.
#[derive(Debug)]
pub struct Pool {
    more: MoreSessions,
    idle: Mutex<Vec<Session>>,
    permits: Permits,
    sessions_max: usize,
}

/// A session in use. If it is dropped, its connection ends.
#[derive(Debug)]
pub struct Lease {
    /// The session.
    pub session: Session,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool of at most `sessions_max` sessions, of which those in `open` are open already.
    pub fn new(open: Vec<Session>, more: MoreSessions, sessions_max: usize) -> Pool {
        Pool {
            more,
            idle: Mutex::new(open),
            permits: Permits::new(sessions_max),
            sessions_max,
        }
    }

    /// The most sessions that are open at a time.
    pub fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    /// Returns a session. Waits while all sessions are in use.
    pub fn take(&self, input: &Path, stop: &Stop) -> Result<Lease, SourceError> {
        let permit = self.permits.take(input, stop)?;
        let kept = self.idle().pop();
        let session = match (kept, &self.more) {
            (Some(session), _) => session,
            (None, MoreSessions::Opened(options, interrupt)) => {
                let opened = connect(options, 0, interrupt, Isolation::ReadCommitted);
                opened.map_err(|error| refused(input, "connecting", &error))?
            }
            (None, MoreSessions::None) => {
                let what = "the sessions that read the source as it was when it was opened are lost, and a new \
                            session would read a later state";
                return Err(input_error(input, what, "run the same command again"));
            }
        };
        Ok(Lease {
            session,
            _permit: permit,
        })
    }

    /// Takes back a session that runs no query.
    pub fn give_back(&self, lease: Lease) {
        let Lease { session, _permit } = lease;
        if session.is_open() {
            self.idle().push(session);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The longest wait for a lock while rows are read.
const LOCK_MILLISECONDS: u32 = 60_000;

/// Opens a session. `number` is its number, which selects the endpoint.
pub fn connect(
    options: &SessionOptions,
    number: usize,
    interrupt: &Arc<Interrupt>,
    isolation: Isolation,
) -> Result<Session, SessionError> {
    let mut session = Session::connect(options, number, interrupt)?;
    // Without XACT_ABORT, a query that is ended leaves its transaction open.
    let settings = format!(
        "SET XACT_ABORT OFF; SET ARITHABORT ON; SET TRANSACTION ISOLATION LEVEL {}; SET LOCK_TIMEOUT {LOCK_MILLISECONDS}",
        isolation.words()
    );
    session.run(&settings)?;
    Ok(session)
}
