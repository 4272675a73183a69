//! Makes a plan: the order of its steps is the same for every destination.
//!
//! ```text
//! targets ──> earlier runs ──> flows: reading, target, units ──> streams ──> kept work ──> obstacles ──> memory
//! ```

use std::ops::DerefMut;

use inrush_destination::{Abilities, RunLedger, RunRecord};
use inrush_package::{Flow, LoadOrder, Package};
use inrush_rows::ids::RunKey;

use crate::abilities::{require_of_flow, require_of_run};
use crate::earlier::package_runs::PackageRuns;
use crate::earlier::{self, Earlier, EarlierFound};
use crate::error::PlanError;
use crate::load_flow::LoadFlow;
use crate::load_plan::{LedgerRecords, PlanFacts, ServerReport};
use crate::memory::MemoryBound;
use crate::options::{PlanOptions, PlanRefusal};
use crate::units::long_units::share_among;
use crate::{identity, lineage, reading::outputs, reading::since};

/// The part of making a plan that only its destination can do. [`build`] calls these functions in this order.
pub trait TargetPlanner {
    /// The name of a target.
    type Name;
    /// A planned flow: the engine's part, and what the destination knows beside it.
    type Flow: DerefMut<Target = LoadFlow>;
    /// The part of an earlier run's work that a plan keeps.
    type Work;
    /// The error of a call that asks the destination.
    type Error: From<PlanError> + From<inrush_destination::Error> + PlanRefusal;

    /// What the package may ask for.
    fn abilities(&self) -> &Abilities;

    /// The target of a flow, and its name in SQL.
    fn target(&self, flow: &Flow) -> Result<(Self::Name, String), Self::Error>;

    /// The name of a target in SQL as it is compared with others: folded if the destination ignores case.
    fn compared(&self, sql: &str) -> String {
        sql.to_owned()
    }

    /// Called before flows are planned. `runs` reads the runs of the package when it is first asked, and only once.
    fn see_runs(&mut self, _runs: &PackageRuns<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Plans a flow. Notes for the user are added to `notes`.
    fn flow(
        &mut self,
        asked: &FlowToPlan<'_>,
        target: &Self::Name,
        notes: &mut Vec<String>,
    ) -> Result<Self::Flow, Self::Error>;

    /// The number of streams that may be used, if `streams` are asked for.
    fn streams_max(&self, streams: usize) -> usize;

    /// Called once all flows are planned, and their long units are shared among `streams`. Refuses flows that the destination
    /// cannot load together.
    fn check_flows(&mut self, _flows: &[Self::Flow], _streams: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// True if it may read its ledger. Otherwise the plan looks for no earlier runs, and can only be shown.
    fn can_read_ledger(&self) -> bool {
        true
    }

    /// The part of an unpublished run's work that the flows can keep.
    fn kept_work(
        &mut self,
        run: &RunRecord,
        flows: &[Self::Flow],
        notes: &mut Vec<String>,
    ) -> Result<Self::Work, Self::Error>;

    /// Refuses to append inputs that a run has already appended, if the ledger does not know that run but the targets do. Not
    /// called if the user asks to load again.
    fn refuse_lost_ledger(&self, run_key: &RunKey, flows: &[Self::Flow])
    -> Result<(), Self::Error>;

    /// Called once it is known what is left to load. Refuses targets that cannot take it in their present state.
    fn check_targets(
        &mut self,
        flows: &mut [Self::Flow],
        earlier: &Earlier<Self::Work>,
        notes: &mut Vec<String>,
    ) -> Result<(), Self::Error>;

    /// The most memory of the load.
    fn memory(
        &self,
        flows: &[Self::Flow],
        streams: usize,
        earlier: &Earlier<Self::Work>,
    ) -> MemoryBound;

    /// Facts about the destination, and about how it loads.
    fn facts(&self, flows: &[Self::Flow]) -> DestinationFacts;
}

/// A flow that is to be planned.
pub struct FlowToPlan<'a> {
    /// The package.
    pub package: &'a Package,
    /// The flow.
    pub flow: &'a Flow,
    /// The options of the plan besides the package.
    pub options: &'a PlanOptions<'a>,
    /// The earlier runs of the package.
    pub runs: &'a PackageRuns<'a>,
}

/// Facts of a plan that its destination knows. They become [`PlanFacts`].
pub struct DestinationFacts {
    /// See [`PlanFacts::destination`].
    pub destination: String,
    /// See [`PlanFacts::batch_rows`].
    pub batch_rows: usize,
    /// See [`PlanFacts::fed_bytes`].
    pub fed_bytes: u64,
    /// See [`PlanFacts::server_report`].
    pub server_report: ServerReport,
    /// See [`PlanFacts::ledger_records`].
    pub ledger_records: LedgerRecords,
    /// See [`PlanFacts::reloads_units_alone`].
    pub reloads_units_alone: bool,
    /// See [`PlanFacts::paced_by`].
    pub paced_by: &'static str,
    /// See [`PlanFacts::targets_digest`].
    pub targets_digest: Option<String>,
}

/// A plan that still lacks its hash.
pub struct Built<F, W> {
    /// The facts about the whole plan, with an empty hash.
    pub facts: PlanFacts,
    /// The flows.
    pub flows: Vec<F>,
    /// The earlier run that matters.
    pub earlier: Earlier<W>,
}

/// Makes the plan of a resolved package, apart from its hash. Nothing is changed.
pub fn build<T: TargetPlanner>(
    planner: &mut T,
    ledger: &dyn RunLedger,
    package: &Package,
    options: &PlanOptions<'_>,
) -> Result<Built<T::Flow, T::Work>, T::Error> {
    require_of_run(&package.run, options, planner.abilities())?;
    let (targets, names) = targets(planner, package)?;
    let run_key = identity::run_key(&package.name, &names);
    let runs = PackageRuns::new(ledger, &run_key);
    planner.see_runs(&runs)?;
    let mut notes = Vec::new();
    let mut flows = Vec::new();
    for (flow, target) in package.flows.iter().zip(&targets) {
        let asked = FlowToPlan {
            package,
            flow,
            options,
            runs: &runs,
        };
        let can = require_of_flow(flow.shown_name(), flow, &package.run, planner.abilities());
        let planned = can.map_err(T::Error::from);
        let planned = planned.and_then(|()| planner.flow(&asked, target, &mut notes));
        let Some(mut planned) = options.or_note(planned)? else {
            continue;
        };
        if package.run.order == LoadOrder::Package {
            planned.turn = flows.len();
        }
        flows.push(planned);
    }
    let streams =
        share_among(&mut flows, planner.streams_max(options.streams)).map_err(PlanError::from)?;
    planner.check_flows(&flows, streams)?;
    let package_hash = package.hash();
    let EarlierFound {
        run: earlier,
        left_out,
        loaded_notes,
    } = match planner.can_read_ledger() {
        true => {
            let found = &mut flows;
            earlier::find::<_, T::Error>(&runs, &package_hash, found, options, &mut notes)?
        }
        false => EarlierFound::of(Earlier::None),
    };
    let is_asked_again = options.again || options.is_replay;
    if planner.can_read_ledger() && matches!(earlier, Earlier::None) && !is_asked_again {
        options.or_note(planner.refuse_lost_ledger(&run_key, &flows))?;
    }
    let earlier = match earlier {
        Earlier::None => Earlier::None,
        Earlier::Loaded(run) => Earlier::Loaded(run),
        Earlier::Unpublished { run, work: () } => Earlier::Unpublished {
            work: planner.kept_work(&run, &flows, &mut notes)?,
            run,
        },
    };
    planner.check_targets(&mut flows, &earlier, &mut notes)?;
    let memory = planner.memory(&flows, streams, &earlier);
    let DestinationFacts {
        destination,
        batch_rows,
        fed_bytes,
        server_report,
        ledger_records,
        reloads_units_alone,
        paced_by,
        targets_digest,
    } = planner.facts(&flows);
    let readings = flows.iter_mut().map(|flow| &mut flow.reading);
    outputs::settle(package, readings.collect())?;
    let facts = PlanFacts {
        package: package.name.clone(),
        package_hash,
        plan_hash: String::new(),
        lineage: lineage::of_flows(&flows, package),
        run_key,
        destination,
        settings: package.run.clone(),
        streams,
        memory,
        batch_rows,
        fed_bytes,
        nothing_new: since::sentences_if_all(&flows),
        left_out,
        notes,
        loaded_notes,
        server_report,
        ledger_records,
        reloads_units_alone,
        paced_by,
        targets_digest,
    };
    Ok(Built {
        facts,
        flows,
        earlier,
    })
}

/// The targets of flows, and the names by which they are compared.
type Targets<T> = (Vec<<T as TargetPlanner>::Name>, Vec<String>);

/// Finds the target of each flow. Two flows with the same target are refused, even if they write its name differently.
fn targets<T: TargetPlanner>(planner: &T, package: &Package) -> Result<Targets<T>, T::Error> {
    let mut targets = Vec::with_capacity(package.flows.len());
    let mut names: Vec<String> = Vec::with_capacity(package.flows.len());
    for flow in &package.flows {
        let (target, sql) = planner.target(flow)?;
        let name = planner.compared(&sql);
        if let Some(first) = names.iter().position(|known| *known == name) {
            return Err(T::Error::from(PlanError::Mismatch {
                flow: flow.shown_name().to_owned(),
                what: format!(
                    "its target {sql} is also the target of flow {}",
                    package.flows[first].shown_name()
                ),
                hint: "load all rows of a table by one flow, or name another table".to_owned(),
            }));
        }
        targets.push(target);
        names.push(name);
    }
    Ok((targets, names))
}
