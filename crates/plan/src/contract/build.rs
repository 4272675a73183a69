//! Makes the plan of a package for a destination of the contract: what this planner does at each step of [`crate::build`].

use std::sync::Arc;

use inrush_destination::{
    Abilities, Ability, Destination, OwnMemory, RunRecord, RunSteps, StepsRequest, StepsTarget,
    Streams, TargetName,
};
use inrush_package::{Flow, Package, RunSettings};
use inrush_rows::ids::{RunId, RunKey};

use super::flow::ContractFlowPlanner;
use super::{ContractFlow, ContractPlan, ContractWork, abilities, earlier, members, refuse, units};
use crate::build::{self, Built, DestinationFacts, FlowToPlan, TargetPlanner};
use crate::earlier::Earlier;
use crate::earlier::package_runs::PackageRuns;
use crate::load_plan::{LedgerRecords, ServerReport};
use crate::memory::LoadMemory;
use crate::{MemoryBound, PlanError, PlanOptions, identity};

/// Bytes that are kept of each split from the plan to the report (its account, its time), in addition to its path.
/// Measured with Parquet: 1,700, and 2,200 while the lists of many files grow.
const FILE_BYTES: u64 = 2_300;

/// Makes the plan of a resolved package. Nothing is changed.
pub fn build(
    destination: &dyn Destination,
    package: &Package,
    options: &PlanOptions<'_>,
) -> Result<ContractPlan, PlanError> {
    let mut planner = ContractTargets {
        destination,
        abilities: abilities::of(destination),
        options,
        settings: &package.run,
        switched_before: Vec::new(),
    };
    let Built {
        facts,
        flows,
        earlier,
    } = build::build(&mut planner, destination, package, options)?;
    let mut plan = ContractPlan {
        facts: Arc::new(facts),
        abilities: planner.abilities,
        flows,
        earlier,
        steps: RunSteps::default(),
        switched_before: planner.switched_before,
    };
    plan.steps = steps_of(destination, &plan)?;
    let plan_hash = identity::digest(plan.outline().iter().map(String::as_str));
    let facts = Arc::make_mut(&mut plan.facts);
    facts.notes.extend(plan.steps.notes.iter().cloned());
    facts.plan_hash = plan_hash;
    Ok(plan)
}

/// Plans the targets of a destination of the contract.
struct ContractTargets<'a> {
    destination: &'a dyn Destination,
    abilities: Abilities,
    options: &'a PlanOptions<'a>,
    settings: &'a RunSettings,
    /// [`ContractPlan::switched_before`].
    switched_before: Vec<RunId>,
}

impl ContractTargets<'_> {
    /// Rows of a batch: the destination's number, unless the package sets another.
    fn batch_rows(&self) -> usize {
        let asked = self.settings.batch_rows;
        let rows = match asked == RunSettings::default().batch_rows {
            true => self.abilities.batch_rows,
            false => asked,
        };
        rows as usize
    }
}

impl TargetPlanner for ContractTargets<'_> {
    type Name = TargetName;
    type Flow = ContractFlow;
    type Work = ContractWork;
    type Error = PlanError;

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target(&self, flow: &Flow) -> Result<(TargetName, String), PlanError> {
        let name = flow.parsed_table()?;
        let schema = name.schema.as_deref();
        let target = self.destination.target_name(schema, &name.name)?;
        let sql = target.sql.clone();
        Ok((target, sql))
    }

    fn compared(&self, sql: &str) -> String {
        folded(&self.abilities, sql)
    }

    fn see_runs(&mut self, runs: &PackageRuns<'_>) -> Result<(), PlanError> {
        // Marks and earlier runs are read after this.
        self.switched_before = runs.switched()?;
        Ok(())
    }

    fn flow(
        &mut self,
        asked: &FlowToPlan<'_>,
        target: &TargetName,
        notes: &mut Vec<String>,
    ) -> Result<ContractFlow, PlanError> {
        let planner = ContractFlowPlanner {
            destination: self.destination,
            abilities: &self.abilities,
            package: asked.package,
            options: asked.options,
            flow: asked.flow,
            runs: asked.runs,
            name: target,
        };
        planner.plan(notes)
    }

    fn streams_max(&self, streams: usize) -> usize {
        match self.abilities.streams {
            Streams::One => 1,
            Streams::Many => streams,
        }
    }

    fn check_flows(&mut self, flows: &[ContractFlow], _: usize) -> Result<(), PlanError> {
        members::refuse_targets(flows)
    }

    fn kept_work(
        &mut self,
        run: &RunRecord,
        flows: &[ContractFlow],
        notes: &mut Vec<String>,
    ) -> Result<ContractWork, PlanError> {
        earlier::kept_work(self.destination, run, flows, self.options, notes)
    }

    fn refuse_lost_ledger(
        &self,
        run_key: &RunKey,
        flows: &[ContractFlow],
    ) -> Result<(), PlanError> {
        earlier::refuse_lost_ledger(self.destination, run_key, flows)
    }

    fn check_targets(
        &mut self,
        flows: &mut [ContractFlow],
        earlier: &Earlier<ContractWork>,
        _: &mut Vec<String>,
    ) -> Result<(), PlanError> {
        if let Some(work) = earlier.work() {
            units::resume(flows, &work.kept, &work.in_parts);
        }
        if !earlier.is_loaded() {
            for flow in flows {
                self.options.or_note(refuse::filled(flow))?;
            }
        }
        Ok(())
    }

    fn memory(
        &self,
        flows: &[ContractFlow],
        streams: usize,
        earlier: &Earlier<ContractWork>,
    ) -> MemoryBound {
        let load = LoadMemory {
            streams,
            chunk_bytes: self.settings.chunk_bytes,
            batch_rows: self.batch_rows(),
            own_stream_bytes: self.abilities.stream_buffer_bytes,
            library_bytes: match self.abilities.own_memory {
                OwnMemory::Limited { library_bytes, .. } => library_bytes,
                OwnMemory::None | OwnMemory::Unknown => 0,
            } + members::bytes(flows),
            file_bytes: FILE_BYTES,
            is_resumed: earlier.work().is_some(),
        };
        MemoryBound::of_flows(flows, &load)
    }

    fn facts(&self, flows: &[ContractFlow]) -> DestinationFacts {
        let is_joined = self.abilities.can.contains(&Ability::SeveralHosts);
        DestinationFacts {
            destination: self.destination.describe(),
            batch_rows: self.batch_rows(),
            fed_bytes: self.abilities.unit_bytes,
            server_report: ServerReport {
                version: self.destination.describe(),
                settings: Vec::new(),
            },
            ledger_records: LedgerRecords::Transactions,
            reloads_units_alone: false,
            paced_by: "`rate_bytes_max` asks",
            targets_digest: is_joined.then(|| targets_digest(flows)),
        }
    }
}

/// The steps of the run at the destination; none if nothing is left to do.
fn steps_of(destination: &dyn Destination, plan: &ContractPlan) -> Result<RunSteps, PlanError> {
    let resumes = match &plan.earlier {
        Earlier::Loaded(_) => return Ok(RunSteps::default()),
        Earlier::Unpublished { run, .. } => Some(run.run_id),
        Earlier::None => None,
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
