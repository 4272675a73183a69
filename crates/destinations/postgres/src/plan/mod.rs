//! The plan: a package resolved against real files and the real catalog, before anything runs.
//!
//! [`build`] reads files and catalog and writes the plan; a run executes nothing that the plan does not hold.
//! `check` prints it (`print.rs`, `print_flow.rs`).
//!
//! A flow is planned in stages (`flow.rs`): its target (`flow_target.rs`), its files and columns (`flow_columns.rs`), how
//! units become part of the target (`publishing.rs`), what is checked (`flow_checks.rs`), the partitions that are declared
//! (`intervals.rs`), what of the target gives way (`flow_replacement.rs`), and its units (`units.rs`).

pub mod additions;
mod begin_steps;
mod bounds;
mod build;
mod columns;
mod disk;
mod earlier;
mod failure;
mod flow;
mod flow_checks;
mod flow_columns;
mod flow_replacement;
mod flow_request;
mod flow_target;
mod identity;
pub mod index_rebuild;
mod intervals;
mod limits;
mod obstacles;
pub mod partition_names;
mod parts;
mod print;
mod print_flow;
mod privileges;
mod publishing;
pub mod replace_mode;
mod routed_units;
pub mod routing;
mod statements;
pub mod statistics;
pub mod switch_statements;
pub mod switch_steps;
mod target;
pub mod unit_steps;
mod units;
mod upsert;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use inrush_convert::{KeyBounds, KeySet};
use inrush_package::{IndexPolicy, Mode, RunSettings};
use inrush_pgcopy::PgType;
use inrush_rows::ids::{FileKey, RunKey, SplitKey, UnitKey};
use inrush_source::Split;

use crate::catalog::TableFacts;
use crate::default_grants::DefaultGrant;
use crate::engine::ledger::{LedgerRun, TouchedFile};
use crate::engine::plan::{MemoryBound, PlannedFlow, PlannedUnit, Reading};
use crate::ledger::mark::Mark;
use crate::server_facts::ServerFacts;
use crate::staging::{Model, NewColumn, UnitBounds};
use crate::verify::Comparison;

pub use bounds::key_text;
pub use build::{build, run_key};
pub use disk::DiskFacts;
pub use earlier::keepable;
pub use failure::PlanFailure;
pub use privileges::Privilege;
pub use replace_mode::{KeepPlan, ReplacePlan};
pub use routing::RoutePlan;

/// A package resolved against real files and the real catalog.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The package's name.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// SHA-256 of what the plan would run.
    pub plan_hash: String,
    /// Names the package and its targets in the ledger: the key by which a stopped run is found.
    pub run_key: RunKey,
    /// Server, database and role.
    pub destination: String,
    /// What the server says of itself.
    pub server: ServerFacts,
    /// Settings of the run.
    pub settings: RunSettings,
    /// Streams, each with a connection.
    pub streams: usize,
    /// Statements that make the ledger and the staging schema where they are missing.
    pub setup: Vec<String>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Privileges that the plan needs, and whether they are held.
    pub privileges: Vec<Privilege>,
    /// The most memory that the loader takes.
    pub memory: MemoryBound,
    /// The server's disk, where it can be seen.
    pub disk: Option<DiskFacts>,
    /// Locks that the switch takes, against what the server has room for.
    pub locks_needed: u64,
    /// What an earlier run of the same package left.
    pub earlier: Earlier,
    /// What a user should know before it runs.
    pub notes: Vec<String>,
}

/// What an earlier run of the same package left in the ledger.
#[derive(Clone, Debug)]
pub enum Earlier {
    /// Nothing.
    None,
    /// All of it: these very files are loaded already.
    Loaded(Box<LedgerRun>),
    /// Units; those in `kept` are as the plan would make them and are not loaded again.
    Stopped {
        /// The run.
        run: Box<LedgerRun>,
        /// Keys of units that are kept, finished or not.
        kept: BTreeSet<UnitKey>,
        /// Those of them that lack splits, with the keys of the splits that they have.
        unfinished: BTreeMap<UnitKey, BTreeSet<SplitKey>>,
        /// Units of the run that the plan has no use for: their files or settings changed.
        dropped: usize,
        /// Files, by their keys, of which it has loaded, and that have other text now.
        changed: BTreeSet<FileKey>,
        /// Files that have the text that they had, and another time.
        touched: Vec<TouchedFile>,
        /// The staging tables that it left.
        tables: BTreeSet<String>,
    },
}

/// One flow, planned.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// What is read of its files.
    pub reading: Reading,
    /// What is compared of each unit before its COMMIT.
    pub comparison: Arc<Comparison>,
    /// The target's schema.
    pub schema: String,
    /// The target's name.
    pub table: String,
    /// The target as it is, where it exists.
    pub facts: Option<TableFacts>,
    /// What becomes of the target.
    pub mode: Mode,
    /// How its units become part of the target.
    pub publish: Publish,
    /// What is taken out of the target before.
    pub replace: Option<ReplacePlan>,
    /// Statements of the user that the switch runs before it touches the target.
    pub pre_sql: Vec<String>,
    /// Statements of the user that the switch runs when all rows are there.
    pub post_sql: Vec<String>,
    /// What staging tables are made after.
    pub model: Model,
    /// What the schema's default privileges grant on tables that are made in it.
    pub default_grants: Vec<DefaultGrant>,
    /// What becomes of the target's indexes while rows are copied into it.
    pub indexes: IndexPolicy,
    /// Types of those columns as the server writes them.
    pub column_types: Vec<String>,
    /// How rows are sent.
    pub wire: WireForm,
    /// The partition key.
    pub key: Option<KeyPlan>,
    /// The load units.
    pub units: Vec<UnitPlan>,
    /// Units of flows with a smaller number are loaded first.
    pub turn: usize,
    /// A partition of the target that stands where the bounds want one, in words.
    pub overlap: Option<String>,
}

/// Most of what is asked of a flow is how its files are read.
impl Deref for FlowPlan {
    type Target = Reading;

    fn deref(&self) -> &Reading {
        &self.reading
    }
}

impl Plan {
    /// Whether all rows come in the transaction of the switch: then one session carries it all.
    pub fn is_one_transaction(&self) -> bool {
        !self.settings.staging
    }
}

impl FlowPlan {
    /// The target as SQL names it.
    pub fn target(&self) -> String {
        self.reading.target.clone()
    }

    /// Whether what comes through pipes is kept until the load is done, so that rows which the server
    /// refuses can be told. Whoever accepts none needs no disk for them, and rows that are in the
    /// target already are not loaded once more.
    pub fn keeps_pipes(&self) -> bool {
        self.reject_limit.rows_accepted() > 0 && !self.commits_each_split()
    }

    /// Whether its rows go straight into the target.
    pub fn is_straight(&self) -> bool {
        matches!(self.publish, Publish::Straight(_))
    }

    /// Whether they do, and stay there split by split.
    pub fn commits_each_split(&self) -> bool {
        self.publish == Publish::Straight(Commit::EachSplit)
    }

    /// Whether they do, and stay there with those of all flows.
    pub fn commits_at_switch(&self) -> bool {
        self.publish == Publish::Straight(Commit::AtSwitch)
    }

    /// Whether rows come into a target that exists in the transaction of the switch, and not only tables.
    pub fn copies_rows(&self) -> bool {
        match &self.publish {
            Publish::Insert | Publish::Upsert { .. } => true,
            Publish::Route(route) => !route.is_new,
            Publish::Straight(commit) => *commit == Commit::AtSwitch,
            _ => false,
        }
    }

    /// Whether the switch leaves a mark of it. Rows that go straight into their target have it since before the first row.
    pub fn leaves_mark(&self) -> bool {
        self.mode == Mode::Append && !self.commits_each_split()
    }

    /// What a mark at its target says of its files, where a second load of them would append their rows once more.
    pub fn mark(&self, run: &str, target_oid: u32) -> Option<Mark> {
        let files = earlier::files(self);
        let appends = self.mode == Mode::Append;
        appends.then(|| Mark::new(run, &self.target(), target_oid, files))?
    }

    /// The splits of all its units.
    pub fn splits(&self) -> impl Iterator<Item = &Split> {
        self.units.iter().flat_map(|unit| &unit.splits)
    }

    /// Its place in the order in which streams take work.
    pub fn turn_of(flows: &[FlowPlan]) -> impl Fn(usize) -> usize {
        move |flow| flows[flow].turn
    }
}

impl PlannedFlow for FlowPlan {
    type Unit = UnitPlan;

    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn units(&self) -> &[UnitPlan] {
        &self.units
    }

    fn is_straight(&self) -> bool {
        FlowPlan::is_straight(self)
    }

    fn commits_each_split(&self) -> bool {
        FlowPlan::commits_each_split(self)
    }

    fn commits_at_publish(&self) -> bool {
        self.commits_at_switch()
    }
}

impl PlannedUnit for UnitPlan {
    fn number(&self) -> usize {
        self.number
    }

    fn key(&self) -> &UnitKey {
        &self.key
    }

    fn splits(&self) -> &[Split] {
        &self.splits
    }

    fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    fn is_shared(&self) -> bool {
        self.shared
    }
}

/// Whether the rows of all flows go straight into their targets.
fn is_all_straight(flows: &[FlowPlan]) -> bool {
    flows.iter().all(FlowPlan::is_straight)
}

/// How units become part of their target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publish {
    /// The target is made, partitioned by range, and the units are attached.
    CreatePartitioned {
        /// Its columns.
        columns: Vec<NewColumn>,
    },
    /// The units are attached to the target that exists.
    Attach,
    /// The one unit becomes the target.
    Rename,
    /// The one unit takes the place of the plain target that exists.
    Swap,
    /// The one unit's rows are merged into the target that exists.
    Upsert {
        /// The columns that tell which row is which.
        key: Vec<String>,
    },
    /// Rows go straight into the target that exists; nothing is left for the switch to put in.
    Straight(Commit),
    /// The one unit's rows are copied into the target that exists: the only switch that is not
    /// metadata alone.
    Insert,
    /// The one unit is partitioned as the target is, so that the server routes each row while it
    /// is loaded.
    Route(RoutePlan),
}

/// When rows that go straight into their target are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Each split in a transaction of its own (`atomic = false`).
    EachSplit,
    /// All flows in the transaction of the switch (`staging = false`).
    AtSwitch,
}

impl Commit {
    /// The setting that asks for it.
    pub fn setting(self) -> &'static str {
        match self {
            Commit::EachSplit => "atomic = false",
            Commit::AtSwitch => "staging = false",
        }
    }
}

/// How rows are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireForm {
    /// Binary COPY.
    Binary(Vec<PgType>),
    /// COPY in text form, since a column has a type without a binary encoder.
    Text {
        /// Which column and type.
        reason: String,
    },
}

/// The partition key of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlan {
    /// The column's name.
    pub column: String,
    /// Its place among the flow's columns.
    pub column_index: usize,
    /// Its type as the server writes it.
    pub type_sql: String,
    /// Its collation, where the column has one of its own.
    pub collation: Option<String>,
    /// What kind of values it has.
    pub kind: KeyKind,
    /// Where the partitions begin and end, in words.
    pub rule: String,
}

impl KeyPlan {
    /// The type with its collation: what a value is cast to before it is compared.
    pub fn comparable_type(&self) -> String {
        match &self.collation {
            Some(collation) => format!("{} COLLATE {collation}", self.type_sql),
            None => self.type_sql.clone(),
        }
    }
}

/// The kinds of partition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// `smallint`, `integer`, `bigint`.
    Integer,
    /// `date`.
    Date,
    /// `timestamp` with or without time zone.
    Timestamp,
    /// `text`, `varchar`, `char`.
    Text {
        /// Characters that it holds at most.
        characters_max: Option<u32>,
    },
}

/// One load unit, planned.
#[derive(Clone, Debug)]
pub struct UnitPlan {
    /// Counted from 1 within its flow.
    pub number: usize,
    /// Names its files as they are now, its target and how it reads them.
    pub key: UnitKey,
    /// Its staging table.
    pub staging_table: String,
    /// The file ranges that it holds.
    pub splits: Vec<Split>,
    /// Bytes of its files; of compressed ones an estimate.
    pub bytes_count: u64,
    /// Filled by several streams, each split in a transaction of its own and without FREEZE.
    pub shared: bool,
    /// The partition that it becomes.
    pub partition_name: Option<String>,
    /// Its bounds where they are known before it is loaded.
    pub bounds: Option<UnitBounds>,
    /// The same bounds, checked while rows are converted.
    pub key_bounds: Option<KeyBounds>,
    /// The keys that have a partition, checked while rows are converted, where rows are routed.
    pub key_set: Option<KeySet>,
    /// Statements that make its staging table.
    pub create: Vec<String>,
    /// The COPY that fills it.
    pub copy: String,
    /// The COPY that fills it where several streams do.
    pub copy_shared: String,
    /// Counts its rows.
    pub measure: String,
    /// Sums it up, where more than its rows is verified.
    pub verify: Option<String>,
    /// Statements that ready it after it is filled, such as indexes.
    pub ready: Vec<String>,
}
