//! The plan of a package, for any destination.

use std::ops::Deref;
use std::sync::Arc;

use inrush_package::RunSettings;
use inrush_rows::ids::RunKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MemoryBound;
use crate::lineage::RunLineage;
use crate::load_flow::LoadFlow;

/// A plan of a package, as the engine runs it. It does not change once its run is prepared.
///
/// The planner's own plan shares the facts and the flows, and has beside them what only the destination knows.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The facts about the whole plan.
    pub facts: Arc<PlanFacts>,
    /// The flows, in the order of the package.
    pub flows: Vec<Arc<LoadFlow>>,
}

impl LoadPlan {
    /// The parts that a planner shares.
    pub fn of<'a>(
        facts: &Arc<PlanFacts>,
        flows: impl Iterator<Item = &'a Arc<LoadFlow>>,
    ) -> LoadPlan {
        LoadPlan {
            facts: Arc::clone(facts),
            flows: flows.map(Arc::clone).collect(),
        }
    }
}

/// Most callers need the facts.
impl Deref for LoadPlan {
    type Target = PlanFacts;

    fn deref(&self) -> &PlanFacts {
        &self.facts
    }
}

/// The facts about a whole plan. [`build`](crate::build::build) collects them; the planner adds the hash.
#[derive(Clone, Debug)]
pub struct PlanFacts {
    /// The package's name.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// SHA-256 of what the plan does; empty until the plan is complete.
    pub plan_hash: String,
    /// Identifies the package and its targets in the ledger: the key by which a stopped run is found.
    pub run_key: RunKey,
    /// The destination in words, without secrets: its product, version and location, or its server, database and role.
    pub destination: String,
    /// Settings of the run.
    pub settings: RunSettings,
    /// Threads that read and write, each with a connection if the destination has connections.
    pub streams: usize,
    /// The most memory that the loader takes.
    pub memory: MemoryBound,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Bytes of text that a stream takes from a feed for one transaction.
    pub fed_bytes: u64,
    /// Notes for the user before the run. They describe a load.
    pub notes: Vec<String>,
    /// Notes for the user if nothing is left to do: about the rows that the targets have already.
    pub loaded_notes: Vec<String>,
    /// Where the loaded columns come from.
    pub lineage: RunLineage,
    /// The sentences of all flows, if none has anything to load. The run of their marks then counts as the run of this plan.
    pub nothing_new: Vec<String>,
    /// The indices of the package's flows that are loaded already while other flows are not. The plan has no flow for them.
    pub left_out: Vec<usize>,
    /// The destination's version and settings, for the report.
    pub server_report: ServerReport,
    /// The records of the destination's ledger.
    pub ledger_records: LedgerRecords,
    /// A unit that several streams have filled may be loaded again while these streams load other units.
    pub reloads_units_alone: bool,
    /// The settings that may delay streams, as subject and verb of a sentence: "`rate_bytes_max` asks".
    pub paced_by: &'static str,
    /// A digest of the targets as the run fills them, which other hosts compare with theirs. `None` if no other process can
    /// join the run.
    pub targets_digest: Option<String>,
}

/// What each record of a destination's ledger stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRecords {
    /// Each transaction: a unit, a split of one, or ranges of a fed split. Each record has its own key, and can be forgotten by
    /// itself.
    Transactions,
    /// Each unit. Only the unit has a key, and it is forgotten as a whole, with all of its parts.
    Units,
}

impl PlanFacts {
    /// All notes, for a plan that is shown and not run.
    pub fn all_notes(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().chain(&self.loaded_notes)
    }
}

/// The server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerReport {
    /// Its version.
    pub version: String,
    /// Settings that matter to a load.
    pub settings: Vec<(String, String)>,
}
