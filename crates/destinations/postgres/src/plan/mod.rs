//! The plan: a package resolved against real files and the real catalog, before anything runs.
//!
//! [`build()`] makes the plan, in the order that all plans have ([`inrush_plan::build`]); `build.rs` has what only PostgreSQL does at
//! each step. A run executes nothing that is not in the plan. `check` prints it (`print.rs`, `print_flow.rs`).
//!
//! A flow is planned in stages (`flow.rs`): its target (`flow_target.rs`), its files and columns (`flow_columns.rs`),
//! how units become part of the target (`publishing.rs`), the comparisons (`flow_checks.rs`), the declared partitions
//! (`intervals.rs`), the replaced part of the target (`flow_replacement.rs`), and its units (`layout.rs`, `units.rs`).
//! The results have the types of `flow_plan.rs` and `unit_plan.rs`.
//!
//! The statements of the run are typed steps: [`begin_steps`], [`unit_steps`], [`switch_steps`] and [`take_out_steps`].

pub mod additions;
pub mod begin_steps;
mod bounds;
mod build;
mod collations;
mod columns;
mod disk;
mod earlier;
mod failure;
mod flow;
mod flow_checks;
mod flow_columns;
mod flow_plan;
mod flow_replacement;
mod flow_request;
mod flow_target;
mod identity;
pub mod index_rebuild;
mod intervals;
pub mod key_index;
mod layout;
mod limits;
pub mod members;
mod new_indexes;
mod obstacles;
mod own_source;
pub mod partition_names;
mod parts;
mod passing;
pub mod print;
mod print_flow;
mod privileges;
mod publishing;
pub mod replace_mode;
mod routed_units;
pub mod routing;
pub mod server_copy;
mod statements;
pub mod statistics;
pub mod switch_statements;
pub mod switch_steps;
pub mod take_out_steps;
mod target;
mod unchecked_types;
mod unit_plan;
pub mod unit_steps;
mod units;
mod upsert;
pub mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_destination::TouchedFile;
use inrush_plan::earlier::{Earlier, KeptCount};
use inrush_plan::{LoadPlan, PlanFacts};
use inrush_rows::ids::{FileKey, SplitKey, UnitKey};

use crate::server_facts::ServerFacts;

pub use build::{build, run_key, wait};
pub use disk::DiskFacts;
pub use earlier::Keepable;
pub use failure::PlanFailure;
pub use flow_plan::{Commit, FlowPlan, KeyKind, KeyPlan, NewPrimaryKey, Publish, WireForm};
pub use inrush_plan::units::partition_keys::key_text;
pub use members::MembersPlan;
pub use new_indexes::NewIndex;
pub use privileges::Privilege;
pub use replace_mode::ReplacePlan;
pub use routing::RoutePlan;
pub use server_copy::FlowCopy;
pub use unit_plan::{NewUnit, UnitPlan, UnitStatements};

/// Bytes of text that a stream takes from a feed for one transaction. A stop discards at most this much.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// A package resolved against real files and the real catalog.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parts that do not depend on the destination. Their plan hash is computed from the plan's statements.
    pub facts: Arc<PlanFacts>,
    /// The facts of the server.
    pub server: ServerFacts,
    /// Statements that create the ledger and the staging schema if they are missing.
    pub setup: Vec<String>,
    /// True if the ledger keeps the lineage of the run. If the role may neither write to the ledger's table for lineage nor
    /// create that table, the run loads without it.
    pub keeps_lineage: bool,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Privileges that the plan needs, and whether they are held.
    pub privileges: Vec<Privilege>,
    /// The server's disk, if it can be examined.
    pub disk: Option<DiskFacts>,
    /// The number of locks of the switch, compared with the server's limit.
    pub locks_needed: u64,
    /// The earlier run of the same package that matters.
    pub earlier: Earlier<ServerWork>,
}

/// Most callers need the facts that every plan has.
impl Deref for Plan {
    type Target = PlanFacts;

    fn deref(&self) -> &PlanFacts {
        &self.facts
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut PlanFacts {
        Arc::make_mut(&mut self.facts)
    }
}

/// The part of an unpublished run's work that the plan keeps: these units are not loaded again.
#[derive(Clone, Debug)]
pub struct ServerWork {
    /// Keys of units that are kept, finished or not.
    pub kept: BTreeSet<UnitKey>,
    /// Units that lack splits, with the keys of the splits that they have.
    pub unfinished: BTreeMap<UnitKey, BTreeSet<SplitKey>>,
    /// The number of units of the run that the plan cannot use, because their files or settings changed.
    pub dropped: usize,
    /// Keys of files that the run has loaded and whose text has changed since.
    pub changed: BTreeSet<FileKey>,
    /// Files with the same text, but another time of change.
    pub touched: Vec<TouchedFile>,
    /// The staging tables that the run has left.
    pub tables: BTreeSet<String>,
}

impl ServerWork {
    /// How much of the run's work is kept.
    pub fn count(&self) -> KeptCount {
        KeptCount {
            units: self.kept.len(),
            in_part: self.unfinished.len(),
            dropped: self.dropped,
        }
    }
}

impl Plan {
    /// The plan as the engine runs it.
    pub fn to_load_plan(&self) -> LoadPlan {
        LoadPlan::of(&self.facts, self.flows.iter().map(|flow| &flow.load))
    }

    /// True if all rows are loaded in the transaction of the switch, so that one session loads everything.
    pub fn is_one_transaction(&self) -> bool {
        !self.settings.staging
    }
}

/// True if the rows of all flows are written directly to their targets.
fn is_all_straight(flows: &[FlowPlan]) -> bool {
    flows.iter().all(|flow| flow.is_straight())
}
