//! The planner of the contract: makes plans, and begins their runs in the destination.

use std::fmt;
use std::sync::Arc;

use inrush_destination::{
    Ability, Address, Destination, MeasuredPlan, NewRun, PastRun, RunLedger, RunRecord, TargetPlan,
};
use inrush_package::Package;
use inrush_rows::calendar::now_microseconds;
use inrush_rows::ids::RunId;

use super::measured::MeasuredContract;
use super::scratch::ScratchSettings;
use super::{ContractPlan, ContractWork, build, member_numbers, print};
use crate::destination_error::DestinationError;
use crate::earlier::package_runs::PackageRuns;
use crate::earlier::{Earlier, KeptCount, kept_units};
use crate::error::PlanError;
use crate::load_plan::LoadPlan;
use crate::options::PlanOptions;
use crate::planner::{EnteredRun, JoinedRun, PackagePlan, Planner, RunEntry, ShownPlan};
use crate::units::load_unit::LoadUnit;
use crate::units::places::UnitPlace;
use crate::units::unit_index::UnitAccounts;
use crate::units::work_items::Committed;

/// Plans loads into a destination of the contract.
pub struct ContractPlanner {
    opened: Arc<Opened>,
}

/// An open destination, with the settings of temporary ones for trial loads.
struct Opened {
    destination: Box<dyn Destination>,
    scratch: ScratchSettings,
}

/// Opens the destination at an address.
pub type OpenDestination = fn(&Address<'_>) -> inrush_destination::Result<Box<dyn Destination>>;

impl ContractPlanner {
    /// Opens the destination at this address.
    pub fn open(
        address: &Address<'_>,
        open: OpenDestination,
    ) -> inrush_destination::Result<ContractPlanner> {
        Ok(ContractPlanner {
            opened: Arc::new(Opened {
                destination: open(address)?,
                scratch: ScratchSettings::of(address, open),
            }),
        })
    }
}

impl Planner for ContractPlanner {
    fn plan(
        &self,
        package: &Package,
        options: &PlanOptions<'_>,
    ) -> Result<Box<dyn PackagePlan>, PlanError> {
        Ok(Box::new(PlanOfDestination {
            plan: build(&*self.opened.destination, package, options)?,
            opened: Arc::clone(&self.opened),
        }))
    }

    fn ledger(&self) -> &dyn RunLedger {
        &*self.opened.destination
    }

    fn can_be_joined(&self) -> bool {
        let can = &self.opened.destination.abilities().can;
        can.contains(&Ability::SeveralHosts)
    }
}

/// A plan with its destination.
struct PlanOfDestination {
    plan: ContractPlan,
    opened: Arc<Opened>,
}

/// A plan that cannot be run is refused while it is made.
impl ShownPlan for ContractPlan {
    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::fmt_script(self, f)
    }
}

impl PackagePlan for PlanOfDestination {
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
        self.plan.earlier.map(ContractWork::count)
    }

    fn held(&self) -> Result<Option<DestinationError>, PlanError> {
        let Earlier::Unpublished { run, .. } = &self.plan.earlier else {
            return Ok(None);
        };
        if self.opened.destination.is_held(run)? != Some(true) {
            return Ok(None);
        }
        let held = inrush_destination::Error::Held {
            what: format!("run {} of this package is in progress ({})", run.name, run.holder),
            hint: "wait for it, or stop that process; then the same command resumes from the committed units"
                .to_owned(),
        };
        Ok(Some(held.into()))
    }

    /// The plan does not know which parts of a unit are committed if several streams fill it, so all of it counts as left.
    fn committed<'a>(&'a self, place: UnitPlace, unit: &LoadUnit) -> Committed<'a> {
        let is_kept = |work: &ContractWork| work.kept.get(place).is_some();
        match !unit.is_shared && self.plan.earlier.work().is_some_and(is_kept) {
            true => Committed::All,
            false => Committed::Nothing,
        }
    }

    fn measured(&self) -> Result<Box<dyn MeasuredPlan + '_>, PlanError> {
        Ok(Box::new(MeasuredContract {
            destination: &*self.opened.destination,
            plan: &self.plan,
            targets: targets(&self.plan),
            scratch: &self.opened.scratch,
        }))
    }

    /// The plan is outdated if another run of the package was switched since. Then a run that has just been entered is discarded.
    fn begin(self: Box<Self>, entry: &RunEntry) -> Result<Option<EnteredRun>, PlanError> {
        let PlanOfDestination { mut plan, opened } = *self;
        let destination = &*opened.destination;
        let (takes_over, wanted) = match &mut plan.earlier {
            Earlier::Unpublished { run, work } => {
                (Some(run.run_id), std::mem::take(&mut work.kept))
            }
            Earlier::None | Earlier::Loaded(_) => (None, UnitAccounts::default()),
        };
        let open = destination.begin(&new_run(&plan, entry, takes_over), &targets(&plan))?;
        let is_resumed = takes_over.is_some();
        let runs = PackageRuns::new(destination, &plan.run_key);
        if runs.switched()? != plan.switched_before {
            let record = open.record().clone();
            drop(open);
            // A resumed run stays as it is: the next plan finds it again.
            if !is_resumed {
                destination.discard(&PastRun {
                    record,
                    gone: Vec::new(),
                })?;
            }
            return Ok(None);
        }
        let plan = plan.to_load_plan();
        let (kept, unwanted) = match is_resumed {
            true => {
                let is_wanted = |place| wanted.get(place).is_some();
                kept_units::in_ledger(destination, open.record(), &plan.flows, is_wanted)?
            }
            false => Default::default(),
        };
        member_numbers::serve(&plan.flows, &*open);
        Ok(Some(EnteredRun {
            plan,
            open,
            is_resumed,
            kept,
            unwanted,
        }))
    }

    fn join(self: Box<Self>, run: &RunRecord, joiner: &str) -> Result<JoinedRun, PlanError> {
        let open = self
            .opened
            .destination
            .join(run, &targets(&self.plan), joiner)?;
        Ok(JoinedRun {
            plan: self.plan.to_load_plan(),
            open,
        })
    }
}

fn new_run(plan: &ContractPlan, entry: &RunEntry, takes_over: Option<RunId>) -> NewRun {
    NewRun {
        run_key: plan.run_key.clone(),
        name: entry.name.clone(),
        package: plan.package.clone(),
        package_hash: plan.package_hash.clone(),
        holder: entry.holder.clone(),
        started_at_microseconds: now_microseconds(),
        takes_over,
        lineage: plan.lineage.to_text(),
    }
}

/// The targets of a plan.
fn targets(plan: &ContractPlan) -> Vec<TargetPlan> {
    plan.flows.iter().map(|flow| flow.target.clone()).collect()
}
