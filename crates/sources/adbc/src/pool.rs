//! The connections that read: no more than the settings allow, used again from split to split.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adbc_core::error::Result as AdbcResult;
use inrush_rows::cancel::Stop;
use inrush_source::{Permits, SourceError};
use tokio::sync::OwnedSemaphorePermit;

use crate::database::Database;
use crate::session::Session;

/// What a connection needs before it reads.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The transaction that it begins; it lasts as long as the connection.
    pub begins: Begins,
    /// Statements that it runs after that.
    pub statements: Vec<String>,
}

/// The transaction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// No transaction: the database is open for reading only.
    #[default]
    Nothing,
    /// A transaction in a database that is open for reading only.
    Transaction,
    /// A read-only transaction, if the driver supports it.
    ReadOnly,
}

/// Connections of one source.
pub struct Pool {
    opening: Opening,
    idle: Mutex<Vec<Session>>,
    permits: Permits,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// A connection in use.
pub struct Lease {
    /// The connection.
    pub session: Session,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool of at most `sessions_max` connections; `first` is open already, and further connections are opened by
    /// `opening`.
    pub fn new(first: Session, opening: Opening, sessions_max: usize) -> Pool {
        Pool {
            opening,
            idle: Mutex::new(vec![first]),
            permits: Permits::new(sessions_max),
        }
    }

    /// A connection. Waits while all are in use.
    pub fn take(
        &self,
        database: &Database,
        input: &Path,
        stop: &Stop,
    ) -> Result<AdbcResult<Lease>, SourceError> {
        let permit = self.permits.take(input, stop)?;
        let kept = self.idle().pop();
        let session = match kept {
            Some(session) => Ok(session),
            None => database
                .connect()
                .and_then(|session| self.opened(session, database)),
        };
        Ok(session.map(|session| Lease {
            session,
            _permit: permit,
        }))
    }

    fn opened(&self, mut session: Session, database: &Database) -> AdbcResult<Session> {
        match self.opening.begins {
            Begins::Nothing => {}
            Begins::Transaction => session.begin()?,
            // The plan already has a note about what the database does not promise.
            Begins::ReadOnly => drop(session.begin_to_read(database.has_snapshots)),
        }
        for statement in &self.opening.statements {
            session.run(statement)?;
        }
        Ok(session)
    }

    /// Takes back a connection whose statement has ended.
    pub fn give_back(&self, lease: Lease) {
        let Lease { session, _permit } = lease;
        self.idle().push(session);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
