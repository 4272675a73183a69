//! The server for which plans are made, and the session that plans and enters runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use inrush_package::Package;
use inrush_plan::{PlanError, PlanOptions};
use inrush_rows::cancel::Stop;
use tokio::runtime::Handle;

use super::ledger::{Ledger, LedgerError};
use super::plan::routing::KeyScans;
use super::plan::{self, Plan, PlanFailure};
use super::{DatabaseAddress, Session};

/// The server for which plans are made.
pub struct PlannedServer {
    /// Its address.
    pub address: DatabaseAddress,
    /// The runtime in which calls wait for it.
    pub runtime: Handle,
    /// The results of passes over the files, which all plans share.
    key_scans: KeyScans,
    control: Mutex<Control>,
}

/// The session that plans, and that enters the run into the ledger.
#[derive(Default)]
pub struct Control {
    /// `None` before the first plan, and once a run has it.
    session: Option<Session>,
    /// It holds the lock of the run, and the ledger is set up.
    pub is_locked: bool,
    /// The stop of the run for which the last plan was made. It ends calls of the ledger.
    stop: Stop,
}

impl Control {
    /// The session.
    pub fn session(&self) -> Result<&Session, PlanFailure> {
        self.session.as_ref().ok_or_else(|| {
            PlanFailure::Asked(inrush_destination::Error::Unsuitable {
                what: "the session of the plan is in use by a run".to_owned(),
                hint: "this is a mistake in Inrush; report it with the package".to_owned(),
            })
        })
    }
}

impl PlannedServer {
    /// The server at this address, which is not connected yet.
    pub fn new(address: DatabaseAddress, runtime: Handle) -> PlannedServer {
        PlannedServer {
            address,
            runtime,
            key_scans: KeyScans::default(),
            control: Mutex::default(),
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects the session, if it is not connected.
    pub fn connect(&self, stop: &Stop) -> Result<(), PlanError> {
        let connected = self.wait(stop, async |control| {
            if control.session.is_none() {
                let session = Session::open(&self.address, "inrush plan").await?;
                control.session = Some(session);
            }
            control.stop = stop.clone();
            Ok(())
        });
        Ok(connected?)
    }

    /// Makes a plan over the session, which must be connected.
    pub fn plan(&self, package: &Package, options: &PlanOptions<'_>) -> Result<Plan, PlanError> {
        let mut control = self.control();
        // The parts of the plan wait for the server one by one.
        let _entered = self.runtime.enter();
        let session = control.session()?;
        let built = plan::build(session, &self.address, package, options, &self.key_scans);
        let error = match built {
            Ok(plan) => return Ok(plan),
            Err(error) if error.is_blocked() => {
                let naming = async { Ok(held(session, package, error).await) };
                plan::wait(options, naming).unwrap_or_else(|error| error)
            }
            Err(error) => error,
        };
        if matches!(
            error,
            PlanFailure::Asked(inrush_destination::Error::Interrupted)
        ) {
            // The session may be in the middle of a statement.
            *control = Control::default();
        }
        Err(error.into())
    }

    /// Waits for work on the session, until the run is asked to stop. Then the session is dropped, because it may be in the middle of a
    /// statement.
    pub fn wait<T>(
        &self,
        stop: &Stop,
        work: impl AsyncFnOnce(&mut Control) -> Result<T, PlanFailure>,
    ) -> Result<T, PlanFailure> {
        let mut control = self.control();
        let done = self.runtime.block_on(stop.unless_asked(work(&mut control)));
        match done {
            Some(done) => done,
            None => {
                *control = Control::default();
                let interrupted = inrush_destination::Error::Interrupted;
                Err(PlanFailure::Asked(interrupted))
            }
        }
    }

    /// Asks over the session, until the run of the last plan is asked to stop.
    pub fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&Session) -> Result<T, PlanFailure>,
    ) -> Result<T, PlanFailure> {
        let stop = self.control().stop.clone();
        self.wait(&stop, async |control| question(control.session()?).await)
    }
}

/// Closes the session, unless a run has it: the server rolls back and releases the lock.
impl Drop for PlannedServer {
    fn drop(&mut self) {
        let session = self.control().session.take();
        if let Some(session) = session {
            self.runtime.block_on(session.close());
        }
    }
}

/// The error of a plan that could not get a lock. Another run of the package may hold that lock for its switch; then the error
/// names that run.
async fn held(session: &Session, package: &Package, error: PlanFailure) -> PlanFailure {
    let Ok(run_key) = plan::run_key(session, package).await else {
        return error;
    };
    let ledger = Ledger::new(&package.run.ledger_schema);
    match ledger.holder(session, &run_key).await {
        Ok(Some(holder)) => LedgerError::from(holder).into(),
        _ => error,
    }
}
