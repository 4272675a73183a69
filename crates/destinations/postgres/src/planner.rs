//! Plans loads into a server, and enters their runs into its ledger.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_destination::{Address, MeasuredPlan, Result as ContractResult, RunLedger, RunRecord};
use inrush_package::Package;
use inrush_plan::destination_error::DestinationError;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::planner::{EarlierFound, EnteredRun, JoinedRun, PackagePlan, Planner, RunEntry};
use inrush_plan::work_items::Committed;
use inrush_plan::{LoadUnit, PlanError, PlanOptions, UnitPlace};
use inrush_rows::cancel::Stop;
use inrush_system::runtime::runtime;
use tokio::runtime::Handle;

use super::ledger::{Ledger, LedgerError};
use super::load::entry::Entry;
use super::plan::begin_steps::{PREPARE, PrepareStep};
use super::plan::routing::KeyScans;
use super::plan::{self, Earlier, Plan, PlanFailure};
use super::preflight::{MeasuredServer, TrialFacts};
use super::server_ledger::ServerLedger;
use super::{ConnectionDefaults, DatabaseAddress, PostgresError, Session};

/// Plans loads into a PostgreSQL server.
///
/// A run is planned twice: at first without its lock, because the plan says which lock that is, and then with it. Between both
/// plans another process may have run the package.
pub struct PostgresPlanner {
    server: Arc<PlannedServer>,
    ledger: ServerLedger<'static>,
}

/// The server for which plans are made.
struct PlannedServer {
    address: DatabaseAddress,
    runtime: Handle,
    /// The results of passes over the files, which all plans share.
    key_scans: KeyScans,
    control: Mutex<Control>,
}

/// The session that plans, and that enters the run into the ledger.
#[derive(Default)]
struct Control {
    /// `None` before the first plan, and once a run has it.
    session: Option<Session>,
    /// It holds the lock of the run, and the ledger is set up.
    is_locked: bool,
}

/// The ledger at an address. A session is opened for the first question. `defaults` fill the gaps of the URL.
pub fn ledger(
    address: &Address<'_>,
    defaults: &ConnectionDefaults,
) -> ContractResult<ServerLedger<'static>> {
    let server = server_at(address, defaults)?;
    let threads = runtime().map_err(PostgresError::Threads)?;
    Ok(ServerLedger::new(server, address.ledger_schema, threads))
}

fn server_at(
    address: &Address<'_>,
    defaults: &ConnectionDefaults,
) -> Result<DatabaseAddress, PostgresError> {
    Ok(DatabaseAddress::parse(address.url, defaults)?)
}

impl PostgresPlanner {
    /// The planner for the server at this address, which is not connected yet. `defaults` fill the gaps of the URL. All sessions are
    /// served by this runtime.
    pub fn open(
        address: &Address<'_>,
        defaults: &ConnectionDefaults,
        runtime: &Handle,
    ) -> ContractResult<PostgresPlanner> {
        let server = server_at(address, defaults)?;
        let schema = address.ledger_schema;
        Ok(PostgresPlanner {
            ledger: ServerLedger::in_runtime(server.clone(), schema, runtime.clone()),
            server: Arc::new(PlannedServer {
                address: server,
                runtime: runtime.clone(),
                key_scans: KeyScans::default(),
                control: Mutex::default(),
            }),
        })
    }
}

impl Planner for PostgresPlanner {
    fn plan(
        &self,
        package: &Package,
        options: &PlanOptions<'_>,
    ) -> Result<Box<dyn PackagePlan>, PlanError> {
        let PlannedServer {
            address,
            runtime,
            key_scans,
            ..
        } = &*self.server;
        let mut control = self.server.control();
        // The parts of the plan wait for the server one by one.
        let _entered = runtime.enter();
        if control.session.is_none() {
            let opening = async { Ok(Session::open(address, "inrush plan").await?) };
            control.session = Some(plan::wait(options, opening)?);
        }
        let session = control.session()?;
        let built = plan::build(session, address, package, options, key_scans);
        let plan = match built {
            Ok(plan) => plan,
            Err(error) if error.is_blocked() => {
                let naming = async { Ok(held(session, package, error).await) };
                return Err(plan::wait(options, naming)?.into());
            }
            Err(error) => {
                // A statement may have been stopped on its way.
                if matches!(
                    error,
                    PlanFailure::Asked(inrush_destination::Error::Interrupted)
                ) {
                    *control = Control::default();
                }
                return Err(error.into());
            }
        };
        Ok(Box::new(PlanOfServer {
            plan,
            stop: options.stop.clone(),
            server: Arc::clone(&self.server),
        }))
    }

    fn ledger(&self) -> &dyn RunLedger {
        &self.ledger
    }
}

impl Control {
    fn session(&self) -> Result<&Session, PlanFailure> {
        self.session.as_ref().ok_or_else(|| {
            PlanFailure::Asked(inrush_destination::Error::Unsuitable {
                what: "the session of the plan is in use by a run".to_owned(),
                hint: "this is a mistake in Inrush; report it with the package".to_owned(),
            })
        })
    }
}

impl PlannedServer {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work on the session, until the run is asked to stop. The session is closed if it was stopped in the middle of a
    /// statement.
    fn wait<T>(
        &self,
        stop: &Stop,
        work: impl AsyncFnOnce(&mut Control) -> Result<T, PlanFailure>,
    ) -> Result<T, PlanError> {
        let mut control = self.control();
        let done = self.runtime.block_on(stop.unless_asked(work(&mut control)));
        match done {
            Some(done) => Ok(done?),
            None => {
                *control = Control::default();
                Err(PlanError::Interrupted)
            }
        }
    }
}

/// The server rolls back and releases the lock, if a run does not have the session.
impl Drop for PlannedServer {
    fn drop(&mut self) {
        let session = self.control().session.take();
        if let Some(session) = session {
            self.runtime.block_on(session.close());
        }
    }
}

/// The error of a plan that a lock of another session has stopped. Another run of the package may hold that lock for its switch.
/// Then the error names that run.
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

/// A plan with its server.
struct PlanOfServer {
    plan: Plan,
    stop: Stop,
    server: Arc<PlannedServer>,
}

impl fmt::Debug for PlanOfServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl fmt::Display for PlanOfServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl PackagePlan for PlanOfServer {
    fn load_plan(&self) -> LoadPlan {
        self.plan.to_load_plan()
    }

    fn earlier(&self) -> EarlierFound {
        match &self.plan.earlier {
            Earlier::None => EarlierFound::None,
            Earlier::Loaded(run) => EarlierFound::Loaded(run.clone()),
            Earlier::Stopped {
                run,
                kept,
                unfinished,
                ..
            } => EarlierFound::Stopped {
                run: run.clone(),
                kept: kept.len(),
                in_part: unfinished.len(),
            },
        }
    }

    fn require_runnable(&self) -> Result<(), PlanError> {
        self.plan.require_privileges()
    }

    fn held(&self) -> Result<Option<DestinationError>, PlanError> {
        let plan = &self.plan;
        let ledger = Ledger::new(&plan.settings.ledger_schema);
        let holder = self.server.wait(&self.stop, async |control| {
            Ok(ledger.holder(control.session()?, &plan.run_key).await?)
        })?;
        Ok(holder.map(|holder| LedgerError::from(holder).into()))
    }

    fn committed<'a>(&'a self, _: UnitPlace, unit: &LoadUnit) -> Committed<'a> {
        match &self.plan.earlier {
            Earlier::Stopped {
                kept, unfinished, ..
            } => match unfinished.get(&unit.key) {
                Some(splits) => Committed::Splits(Box::new(|key| splits.contains(key))),
                None if kept.contains(&unit.key) => Committed::All,
                None => Committed::Nothing,
            },
            _ => Committed::Nothing,
        }
    }

    fn measured(&self) -> Result<Box<dyn MeasuredPlan + '_>, PlanError> {
        let plan = &self.plan;
        for planned in plan.members() {
            planned.members.rehearse();
        }
        let (session, server) = self.server.wait(&self.stop, async |control| {
            let session = control.session()?;
            Ok((session.clone(), TrialFacts::ask(session, plan).await?))
        })?;
        Ok(Box::new(MeasuredServer {
            runtime: &self.server.runtime,
            address: &self.server.address,
            session,
            plan,
            stop: &self.stop,
            server,
        }))
    }

    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plan::print::fmt_script(&self.plan, f)
    }

    /// The first plan takes the lock, and asks for a second plan.
    fn begin(self: Box<Self>, entry: &RunEntry) -> Result<Option<EnteredRun>, PlanError> {
        let PlanOfServer { plan, stop, server } = *self;
        let again = |step: &PrepareStep| *step == PrepareStep::PlanAgain;
        let again = PREPARE.iter().position(again).unwrap_or(PREPARE.len());
        server.wait(&stop, async |control| {
            let mut entry = Entry::new(plan, entry, &stop);
            let session = control.session()?;
            if !control.is_locked {
                for step in &PREPARE[..again] {
                    entry.perform(session, *step).await?;
                }
                control.is_locked = true;
                return Ok(None);
            }
            for step in &PREPARE[again + 1..] {
                entry.perform(session, *step).await?;
            }
            let run = entry.finish(session, &server.address);
            // From now on the run has the session, and its lock.
            *control = Control::default();
            Ok(Some(run))
        })
    }

    fn join(self: Box<Self>, _: &RunRecord, _: &str) -> Result<JoinedRun, PlanError> {
        Err(inrush_destination::Ability::SeveralHosts.refused().into())
    }
}
