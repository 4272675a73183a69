//! The database that a destination and its runs share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_destination::{Error, Result, RunRecord, RunState};
use inrush_rows::ids::RunKey;

use crate::connection::AdbcDatabase;
use crate::interrupt::Interrupt;
use crate::ledger::{AdbcLedger, StoredRun};
use crate::lock;
use crate::quirks::{Quirks, RunLock};
use crate::session::AdbcSession;

/// The database that a destination and its run share. It is closed when both have dropped it.
pub struct SharedDatabase {
    /// Its differences from other databases.
    pub quirks: &'static Quirks,
    /// Its name, for messages.
    pub product: &'static str,
    /// Its ledger.
    pub ledger: AdbcLedger,
    /// The number of threads for a statement that does not load; `None` if it is not set.
    pub threads: Option<u64>,
    /// The keys of the runs that are under way in this process.
    pub held: Mutex<HashSet<RunKey>>,
    /// The database of the driver.
    pub database: Box<dyn AdbcDatabase>,
}

impl SharedDatabase {
    /// Opens a session that `interrupt` can end.
    pub fn session(&self, interrupt: &Arc<Interrupt>) -> Result<AdbcSession> {
        AdbcSession::open(&*self.database, self.quirks, interrupt)
    }

    /// Sets the number of threads of a statement to 1 during a load, because each stream has a thread of its own.
    pub fn one_thread(&self, session: &mut AdbcSession) -> Result<()> {
        self.set_threads(session, 1)
    }

    /// Takes the lock of a run. If another session has it, the error names the holder from the ledger.
    pub fn hold(
        &self,
        session: &mut AdbcSession,
        run_key: &RunKey,
        holder: &str,
    ) -> Result<lock::Held> {
        let refused = match lock::take(session, self.quirks, run_key, holder) {
            Err(refused @ Error::Held { .. }) if self.quirks.run_lock == RunLock::Advisory => {
                refused
            }
            other => return other,
        };
        let Error::Held { what, hint } = refused else {
            return Err(refused);
        };
        let known = match self.ledger.exists(session, self.quirks)? {
            true => self.ledger.runs(session, Some(run_key))?,
            false => Vec::new(),
        };
        let is_loading = |run: &&StoredRun| run.record.state == RunState::Loading;
        Err(Error::Held {
            what: match known.iter().rfind(is_loading) {
                Some(run) => format!("{what}, for {}", run.record.holder),
                None => what,
            },
            hint,
        })
    }

    /// True if a process holds the lock of a run; `None` if this cannot be found out.
    pub fn is_held(&self, session: &mut AdbcSession, run: &RunRecord) -> Result<Option<bool>> {
        let own = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if own.contains(&run.run_key) {
            return Ok(Some(true));
        }
        drop(own);
        lock::is_held(session, self.quirks, &run.run_key, &run.holder)
    }

    /// Allows statements to use all threads again.
    pub fn all_threads(&self, session: &mut AdbcSession) -> Result<()> {
        self.set_threads(session, self.threads.unwrap_or(1))
    }

    /// The statement that allows statements to use all threads, for a database with such a setting.
    pub fn all_threads_statement(&self) -> Option<String> {
        self.threads_statement(self.threads.unwrap_or(1))
    }

    /// The statement that sets the number of threads to 1.
    pub fn one_thread_statement(&self) -> Option<String> {
        self.threads_statement(1)
    }

    fn threads_statement(&self, threads: u64) -> Option<String> {
        let setting = self.quirks.threads?;
        Some(format!("SET {setting} = {threads}"))
    }

    fn set_threads(&self, session: &mut AdbcSession, threads: u64) -> Result<()> {
        if let Some(statement) = self.threads_statement(threads) {
            session.run("cannot set how many threads there are", &statement)?;
        }
        Ok(())
    }
}

/// The claim on a run's key within this process.
pub struct Claim {
    shared: Arc<SharedDatabase>,
    run_key: RunKey,
}

impl Claim {
    /// Takes a key, or fails if it is taken.
    pub fn take(shared: &Arc<SharedDatabase>, run_key: &RunKey) -> Result<Claim> {
        let mut held = shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.insert(run_key.clone()) {
            return Err(Error::Held {
                what: format!(
                    "this process ({}) is loading this package",
                    std::process::id()
                ),
                hint: "wait until that run is done".to_owned(),
            });
        }
        drop(held);
        Ok(Claim {
            shared: shared.clone(),
            run_key: run_key.clone(),
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = self
            .shared
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.run_key);
    }
}
