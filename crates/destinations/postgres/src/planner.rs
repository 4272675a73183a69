//! The planner for PostgreSQL: plans loads into a server, and enters their runs into its ledger.

use std::fmt;
use std::sync::Arc;

use inrush_destination::{Address, MeasuredPlan, Result as ContractResult, RunLedger, RunRecord};
use inrush_package::Package;
use inrush_plan::destination_error::DestinationError;
use inrush_plan::earlier::{Earlier, KeptCount};
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::planner::{EnteredRun, JoinedRun, PackagePlan, Planner, RunEntry, ShownPlan};
use inrush_plan::units::work_items::Committed;
use inrush_plan::{LoadUnit, PlanError, PlanOptions, UnitPlace};
use inrush_rows::cancel::Stop;
use inrush_system::runtime::runtime;
use tokio::runtime::Handle;

use super::ledger::{Ledger, LedgerError};
use super::load::entry::Entry;
use super::plan::begin_steps::{ENTER, LOCK};
use super::plan::{self, Plan, ServerWork};
use super::planned_server::{Control, PlannedServer};
use super::preflight::{MeasuredServer, TrialFacts};
use super::server_ledger::ServerLedger;
use super::{ConnectionDefaults, DatabaseAddress, PostgresError};

/// Plans loads into a PostgreSQL server.
///
/// A run is planned twice: at first without its lock, because the plan says which lock that is, and then with it. Between both
/// plans another process may have run the package.
pub struct PostgresPlanner {
    server: Arc<PlannedServer>,
    ledger: ServerLedger<'static>,
}

impl PostgresPlanner {
    /// The planner for the server at this address, which is not connected yet. `defaults` fill the gaps of the URL. All sessions are
    /// served by this runtime.
    pub fn open(
        address: &Address<'_>,
        defaults: &ConnectionDefaults,
        runtime: &Handle,
    ) -> ContractResult<PostgresPlanner> {
        let server = server_of(address.url, defaults)?;
        let schema = address.ledger_schema;
        let server = Arc::new(PlannedServer::new(server, runtime.clone()));
        Ok(PostgresPlanner {
            ledger: ServerLedger::of_planner(Arc::clone(&server), schema),
            server,
        })
    }
}

/// The ledger at an address. A session is opened for the first question. `defaults` fill the gaps of the URL.
pub fn ledger(
    address: &Address<'_>,
    defaults: &ConnectionDefaults,
) -> ContractResult<ServerLedger<'static>> {
    let server = server_of(address.url, defaults)?;
    let threads = runtime().map_err(PostgresError::Threads)?;
    Ok(ServerLedger::new(server, address.ledger_schema, threads))
}

/// The server that a URL names. `defaults` fill its gaps.
pub fn server_of(url: &str, defaults: &ConnectionDefaults) -> ContractResult<DatabaseAddress> {
    Ok(DatabaseAddress::parse(url, defaults).map_err(PostgresError::from)?)
}

impl Planner for PostgresPlanner {
    fn connect(&self, stop: &Stop) -> Result<(), PlanError> {
        self.server.connect(stop)
    }

    fn plan(
        &self,
        package: &Package,
        options: &PlanOptions<'_>,
    ) -> Result<Box<dyn PackagePlan>, PlanError> {
        self.server.connect(options.stop)?;
        let plan = self.server.plan(package, options)?;
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

/// A plan with its server.
struct PlanOfServer {
    plan: Plan,
    stop: Stop,
    server: Arc<PlannedServer>,
}

impl ShownPlan for Plan {
    fn require_runnable(&self) -> Result<(), PlanError> {
        self.require_privileges()
    }

    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plan::print::fmt_script(self, f)
    }
}

impl PackagePlan for PlanOfServer {
    fn load_plan(&self) -> LoadPlan {
        self.plan.to_load_plan()
    }

    fn shown(&self) -> &dyn ShownPlan {
        &self.plan
    }

    fn into_shown(self: Box<Self>) -> Box<dyn ShownPlan> {
        Box::new(self.plan)
    }

    fn earlier(&self) -> Earlier<KeptCount> {
        self.plan.earlier.map(ServerWork::count)
    }

    fn held(&self) -> Result<Option<DestinationError>, PlanError> {
        let plan = &self.plan;
        if plan.earlier.is_loaded() {
            return Ok(None);
        }
        let ledger = Ledger::new(&plan.settings.ledger_schema);
        let holder = self.server.wait(&self.stop, async |control| {
            Ok(ledger.holder(control.session()?, &plan.run_key).await?)
        })?;
        Ok(holder.map(|holder| LedgerError::from(holder).into()))
    }

    fn committed<'a>(&'a self, _: UnitPlace, unit: &LoadUnit) -> Committed<'a> {
        let Some(work) = self.plan.earlier.work() else {
            return Committed::Nothing;
        };
        match work.unfinished.get(&unit.key) {
            Some(splits) => Committed::Splits(Box::new(|key| splits.contains(key))),
            None if work.kept.contains(&unit.key) => Committed::All,
            None => Committed::Nothing,
        }
    }

    fn rehearse_members(&self) {
        for planned in self.plan.members() {
            planned.members.rehearse();
        }
    }

    fn measured(&self) -> Result<Box<dyn MeasuredPlan + '_>, PlanError> {
        let plan = &self.plan;
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

    /// With the first plan, this only takes the lock and sets up the ledger; the run is entered with the second plan.
    fn begin(self: Box<Self>, entry: &RunEntry) -> Result<Option<EnteredRun>, PlanError> {
        let PlanOfServer { plan, stop, server } = *self;
        let begun = server.wait(&stop, async |control| {
            let mut entering = Entry::new(plan, entry, &stop);
            let session = control.session()?;
            if !control.is_locked {
                for step in LOCK {
                    entering.perform(session, step).await?;
                }
                control.is_locked = true;
                return Ok(None);
            }
            for step in ENTER {
                entering.perform(session, step).await?;
            }
            let run = entering.finish(session, &server.address);
            // From now on the run has the session, and its lock.
            *control = Control::default();
            Ok(Some(run))
        });
        Ok(begun?)
    }

    fn join(self: Box<Self>, _: &RunRecord, _: &str) -> Result<JoinedRun, PlanError> {
        Err(inrush_destination::Ability::SeveralHosts.refused().into())
    }
}
