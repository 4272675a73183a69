//! Plans for destinations of the contract of `inrush_destination`: a package resolved against real files and the
//! destination's own description.
//!
//! Such a plan has the abilities of the destination, its types, the present state of its targets, and its layout of the
//! load units.

mod abilities;
mod bounds;
mod columns;
mod earlier;
mod flow;
mod member_numbers;
mod members;
mod merge;
mod print;
mod planner;
mod refuse;
mod units;
mod unplanned;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_destination::{
    Abilities, Ability, Destination, OwnMemory, RunRecord, RunSteps, StepsRequest, StepsTarget,
    Streams, TargetFacts, TargetName, TargetPlan,
};
use inrush_package::{LoadOrder, Package, RunSettings};
use inrush_rows::ids::RunId;

use self::flow::ContractFlowPlanner;
use crate::load_plan::ServerReport;
use crate::UnitAccounts;
use crate::abilities::require_of_run;
use crate::earlier::EarlierWork;
use crate::lineage::{self, RunLineage};
use crate::load_flow::LoadFlow;
use crate::load_plan::{LedgerRecords, LoadPlan, PlanFacts};
use crate::long_units::share_among;
use crate::memory::LoadMemory;
use crate::outputs;
use crate::package_runs::PackageRuns;
use crate::since;
use crate::{MemoryBound, PlanError, PlanOptions, UnitPlace, identity};

pub use self::planner::{ContractPlanner, targets};

/// Bytes that are kept of each split from the plan to the report (its account, its time), in addition to its path.
/// Measured with Parquet: 1,700, and 2,200 while the lists of many files grow.
const FILE_BYTES: u64 = 2_300;

/// A package resolved against real files and a destination that implements the contract.
#[derive(Clone, Debug)]
pub struct ContractPlan {
    /// The parts that do not depend on the destination.
    pub facts: Arc<PlanFacts>,
    /// What the destination can do.
    pub abilities: Abilities,
    /// The flows.
    pub flows: Vec<ContractFlow>,
    /// The units and rows of earlier runs of the same package.
    pub earlier: ContractEarlier,
    /// The steps of the run at the destination.
    pub steps: RunSteps,
    /// The runs of the package that were switched before anything was planned. If there are others when the run holds its
    /// lock, the plan is outdated.
    pub switched_before: Vec<RunId>,
}

/// Most callers need the facts that every plan has.
impl Deref for ContractPlan {
    type Target = PlanFacts;

    fn deref(&self) -> &PlanFacts {
        &self.facts
    }
}

/// One flow, planned.
#[derive(Clone, Debug)]
pub struct ContractFlow {
    /// The part that does not depend on the destination.
    pub load: Arc<LoadFlow>,
    /// The target after the run.
    pub target: TargetPlan,
    /// The target before the run, if it exists.
    pub facts: Option<TargetFacts>,
}

/// The results and remains of earlier runs of the same package.
#[derive(Clone, Debug)]
pub enum ContractEarlier {
    /// No earlier run.
    None,
    /// These very files are loaded already.
    Loaded {
        /// The run.
        run: Box<RunRecord>,
    },
    /// Units of a stopped run.
    Stopped {
        /// The run.
        run: Box<RunRecord>,
        /// Units that are kept: the plan has them, and their files still have the text that was loaded.
        kept: UnitAccounts,
        /// Units that the run has begun to load by several streams: parts of these are kept.
        in_parts: BTreeSet<UnitPlace>,
        /// Units of the run that the plan cannot use.
        dropped: usize,
    },
}

/// Most callers need the part that does not depend on the destination.
impl Deref for ContractFlow {
    type Target = LoadFlow;

    fn deref(&self) -> &LoadFlow {
        &self.load
    }
}

impl DerefMut for ContractFlow {
    fn deref_mut(&mut self) -> &mut LoadFlow {
        Arc::make_mut(&mut self.load)
    }
}

impl ContractPlan {
    /// The plan as the driver runs it.
    pub fn to_load_plan(&self) -> LoadPlan {
        LoadPlan {
            facts: Arc::clone(&self.facts),
            flows: self
                .flows
                .iter()
                .map(|flow| Arc::clone(&flow.load))
                .collect(),
        }
    }
}

/// Makes the plan of a resolved package. Nothing is changed.
pub fn build(
    destination: &dyn Destination,
    package: &Package,
    options: &PlanOptions<'_>,
) -> Result<ContractPlan, PlanError> {
    let abilities = abilities::of(destination);
    require_of_run(&package.run, options, &abilities)?;
    let mut names: Vec<TargetName> = Vec::new();
    for flow in &package.flows {
        let name = flow.parsed_table()?;
        let target = destination.target_name(name.schema.as_deref(), &name.name)?;
        let folded = |name: &TargetName| folded(&abilities, &name.sql);
        if names.iter().any(|known| folded(known) == folded(&target)) {
            return Err(PlanError::Target {
                target: target.sql,
                what: "is the target of two flows".to_owned(),
                hint: "put the files into one flow, or name another table".to_owned(),
            });
        }
        names.push(target);
    }
    let targets = names.iter().map(|name| folded(&abilities, &name.sql));
    let targets: Vec<String> = targets.collect();
    let run_key = identity::run_key(&package.name, &targets);
    // Marks and earlier runs are read after this.
    let runs = PackageRuns::new(destination, &run_key);
    let switched_before = runs.switched()?;
    let mut notes = Vec::new();
    let mut flows = Vec::new();
    for (flow, name) in package.flows.iter().zip(&names) {
        let planner = ContractFlowPlanner {
            destination,
            abilities: &abilities,
            package,
            options,
            flow,
            runs: &runs,
            name,
        };
        let Some(mut planned) = options.or_note(planner.plan(&mut notes))? else {
            continue;
        };
        if package.run.order == LoadOrder::Package {
            planned.turn = flows.len();
        }
        flows.push(planned);
    }
    members::refuse_targets(&flows)?;
    let wanted = match abilities.streams {
        Streams::One => 1,
        Streams::Many => options.streams,
    };
    let streams = share_among(&mut flows, wanted)?;
    let batch_rows = match package.run.batch_rows == RunSettings::default().batch_rows {
        true => abilities.batch_rows,
        false => package.run.batch_rows,
    } as usize;
    let package_hash = package.hash();
    let EarlierWork {
        run: earlier,
        left_out,
        loaded_notes,
    } = earlier::find(
        destination,
        &runs,
        &package_hash,
        &mut flows,
        options,
        &mut notes,
    )?;
    if let ContractEarlier::Stopped { kept, in_parts, .. } = &earlier {
        units::resume(&mut flows, kept, in_parts);
    }
    if !matches!(earlier, ContractEarlier::Loaded { .. }) {
        for flow in &flows {
            options.or_note(refuse::filled(flow))?;
        }
    }
    let load = LoadMemory {
        streams,
        chunk_bytes: package.run.chunk_bytes,
        batch_rows,
        own_stream_bytes: abilities.stream_buffer_bytes,
        library_bytes: match abilities.own_memory {
            OwnMemory::Limited { library_bytes, .. } => library_bytes,
            OwnMemory::None | OwnMemory::Unknown => 0,
        } + members::bytes(&flows),
        file_bytes: FILE_BYTES,
        is_resumed: matches!(earlier, ContractEarlier::Stopped { .. }),
    };
    let memory = MemoryBound::of_flows(&flows, &load);
    let is_joined = abilities.can.contains(&Ability::SeveralHosts);
    let targets_digest = is_joined.then(|| targets_digest(&flows));
    let mut plan = ContractPlan {
        facts: Arc::new(PlanFacts {
            package: package.name.clone(),
            package_hash,
            plan_hash: String::new(),
            lineage: RunLineage::default(),
            run_key,
            destination: destination.describe(),
            settings: package.run.clone(),
            streams,
            memory,
            batch_rows,
            fed_bytes: abilities.unit_bytes,
            nothing_new: since::sentences_if_all(&flows),
            left_out,
            notes,
            loaded_notes,
            server_report: ServerReport {
                version: destination.describe(),
                settings: Vec::new(),
            },
            ledger_records: LedgerRecords::Transactions,
            reloads_units_alone: false,
            paced_by: "`rate_bytes_max` asks",
            targets_digest,
        }),
        abilities,
        flows,
        earlier,
        steps: RunSteps::default(),
        switched_before,
    };
    plan.steps = steps_of(destination, &plan)?;
    let readings = plan.flows.iter_mut().map(|flow| &mut flow.reading);
    outputs::settle(package, readings.collect())?;
    let plan_hash = identity::digest(plan.outline().iter().map(String::as_str));
    let facts = Arc::make_mut(&mut plan.facts);
    facts.notes.extend(plan.steps.notes.iter().cloned());
    facts.lineage = lineage::of_flows(&plan.flows, package);
    facts.plan_hash = plan_hash;
    Ok(plan)
}

/// The steps of the run at the destination; none if nothing is left to do.
fn steps_of(destination: &dyn Destination, plan: &ContractPlan) -> Result<RunSteps, PlanError> {
    let resumes = match &plan.earlier {
        ContractEarlier::Loaded { .. } => return Ok(RunSteps::default()),
        ContractEarlier::Stopped { run, .. } => Some(run.run_id),
        ContractEarlier::None => None,
    };
    let flows = plan.flows.iter();
    let targets = flows.map(|flow| StepsTarget {
        plan: &flow.target,
        facts: flow.facts.as_ref(),
        steps: flow.reading.given_steps().map(|given| &given.steps),
    });
    Ok(destination.steps(&StepsRequest {
        run_key: &plan.run_key,
        targets: targets.collect(),
        resumes,
        analyzes: plan.settings.asks_to_analyze(),
    })?)
}

/// A digest of the targets as a plan fills them.
fn targets_digest(flows: &[ContractFlow]) -> String {
    let text = |flow: &ContractFlow| {
        serde_json::to_string(&flow.target).expect("a target has only keys that are text")
    };
    let texts: Vec<String> = flows.iter().map(text).collect();
    identity::digest(texts.iter().map(String::as_str))
}

/// A name for comparison: in lower case if the destination ignores case.
fn folded(abilities: &Abilities, name: &str) -> String {
    match abilities.folds_names {
        true => name.to_lowercase(),
        false => name.to_owned(),
    }
}
