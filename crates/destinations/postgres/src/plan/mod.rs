//! The plan: a package resolved against real files and the real catalog, before anything runs.
//!
//! [`build`] reads files and catalog and makes the plan; a run executes nothing that is not in the plan. `check` prints
//! it (`print.rs`, `print_flow.rs`).
//!
//! A flow is planned in stages (`flow.rs`): its target (`flow_target.rs`), its files and columns (`flow_columns.rs`),
//! how units become part of the target (`publishing.rs`), the comparisons (`flow_checks.rs`), the declared partitions
//! (`intervals.rs`), the replaced part of the target (`flow_replacement.rs`), and its units (`layout.rs`, `units.rs`).

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
mod flow_replacement;
mod flow_request;
mod flow_target;
mod identity;
pub mod index_rebuild;
mod intervals;
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
pub mod unit_steps;
mod units;
mod upsert;
pub mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use inrush_convert::{KeyBounds, KeySet};
use inrush_destination::Filling;
use inrush_engine::native::ledger::{LedgerRun, TouchedFile};
use inrush_engine::native::plan::since::NothingNew;
use inrush_engine::native::plan::{PlanFacts, PlannedFlow, PlannedUnit, RunPlan};
use inrush_engine::plan::Reading;
use inrush_engine::report::ServerReport;
use inrush_package::{IndexPolicy, Mode, Package};
use inrush_pgcopy::{NativeShape, PgType};
use inrush_rows::ids::{FileKey, RunName, SplitKey, UnitKey};
use inrush_source::{Source, SourceError, Split};

use versions::VersionsPlan;

use crate::catalog::TableFacts;
use crate::default_grants::DefaultGrant;
use crate::ledger::mark::Mark;
use crate::server_facts::ServerFacts;
use crate::staging::{Model, NewColumn, UnitBounds};
use crate::verify::Comparison;

pub use build::{build, run_key};
pub use disk::DiskFacts;
pub use earlier::keepable;
pub use failure::PlanFailure;
pub use inrush_engine::native::plan::partition_keys::key_text;
pub use members::MembersPlan;
pub use new_indexes::NewIndex;
pub use privileges::Privilege;
pub use replace_mode::ReplacePlan;
pub use routing::RoutePlan;
pub use server_copy::FlowCopy;

/// Text that a stream takes from a feed for one transaction; a stop discards at most this.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// A package resolved against real files and the real catalog.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parts that do not depend on the destination. Its hash is that of the plan's statements.
    pub facts: PlanFacts,
    /// The facts of the server.
    pub server: ServerFacts,
    /// Statements that create the ledger and the staging schema if they are missing.
    pub setup: Vec<String>,
    /// The ledger keeps the lineage of the run. A role that may not create its table in a ledger of an earlier program loads
    /// without.
    pub keeps_lineage: bool,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Privileges that the plan needs, and whether they are held.
    pub privileges: Vec<Privilege>,
    /// The server's disk, if it can be examined.
    pub disk: Option<DiskFacts>,
    /// The number of locks of the switch, compared with the server's limit.
    pub locks_needed: u64,
    /// The work of an earlier run of the same package.
    pub earlier: Earlier,
}

/// Most callers need the facts that every plan has.
impl Deref for Plan {
    type Target = PlanFacts;

    fn deref(&self) -> &PlanFacts {
        &self.facts
    }
}

/// The work of an earlier run of the same package, in the ledger.
#[derive(Clone, Debug)]
pub enum Earlier {
    /// There is none.
    None,
    /// All of it: these very files are loaded already.
    Loaded(Box<LedgerRun>),
    /// Some of its units; those in `kept` are the same in the plan and are not loaded again.
    Stopped {
        /// The run.
        run: Box<LedgerRun>,
        /// Keys of units that are kept, finished or not.
        kept: BTreeSet<UnitKey>,
        /// Units that lack splits, with the keys of the splits that they have.
        unfinished: BTreeMap<UnitKey, BTreeSet<SplitKey>>,
        /// Units of the run that the plan cannot use, because their files or settings changed.
        dropped: usize,
        /// Keys of files that it has loaded, and whose text has changed.
        changed: BTreeSet<FileKey>,
        /// Files with the same text, but another time of change.
        touched: Vec<TouchedFile>,
        /// The staging tables that it has left.
        tables: BTreeSet<String>,
    },
}

/// One flow, planned.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The reading of its files.
    pub reading: Reading,
    /// The comparison of each unit before its COMMIT.
    pub comparison: Arc<Comparison>,
    /// The target's schema.
    pub schema: String,
    /// The target's name.
    pub table: String,
    /// The target before the run, if it exists.
    pub facts: Option<TableFacts>,
    /// The mode of the load.
    pub mode: Mode,
    /// How its units become part of the target.
    pub publish: Publish,
    /// The tables that are taken out of the target first.
    pub replace: Option<ReplacePlan>,
    /// Statements of the user that the switch runs before it touches the target.
    pub pre_sql: Vec<String>,
    /// Statements of the user that the switch runs when all rows are in the target.
    pub post_sql: Vec<String>,
    /// The model of the staging tables.
    pub model: Model,
    /// The grants that the schema's default privileges give on new tables in it.
    pub default_grants: Vec<DefaultGrant>,
    /// Indexes of the table that is read which the new target gets.
    pub new_indexes: Vec<NewIndex>,
    /// What happens to the target's indexes while rows are copied into it.
    pub indexes: IndexPolicy,
    /// The types of the loaded columns as the server writes them.
    pub column_types: Vec<String>,
    /// The form in which rows are sent.
    pub wire: WireForm,
    /// The columns whose values come in binary form with OIDs of another database, by their index.
    pub native_shapes: Vec<(usize, NativeShape)>,
    /// Rows are sent in the form in which the source's server sends them.
    pub rows_pass: bool,
    /// How the server stores the rows.
    pub server_copy: FlowCopy,
    /// The partition key.
    pub key: Option<KeyPlan>,
    /// The load units.
    pub units: Vec<UnitPlan>,
    /// Units of flows with a smaller number are loaded first.
    pub turn: usize,
    /// An existing partition of the target that conflicts with the bounds, in words.
    pub overlap: Option<String>,
    /// The members that its lookups add to their references.
    pub members: Vec<MembersPlan>,
    /// Why it has nothing to load, for a flow with `since`.
    pub nothing_new: Option<NothingNew>,
}

/// Most callers need the reading of its files.
impl Deref for FlowPlan {
    type Target = Reading;

    fn deref(&self) -> &Reading {
        &self.reading
    }
}

impl Plan {
    /// True if all rows are loaded in the transaction of the switch, so that one session loads everything.
    pub fn is_one_transaction(&self) -> bool {
        !self.settings.staging
    }
}

impl FlowPlan {
    /// The target as SQL names it.
    pub fn target(&self) -> String {
        self.reading.target.clone()
    }

    /// True if the data of pipes is kept until the load is done, so that rows which the server refuses can be found.
    /// False if the flow accepts no rejects, and if rows are written directly to the target, because those are not
    /// loaded again.
    pub fn keeps_pipes(&self) -> bool {
        self.reject_limit.rows_accepted() > 0 && !self.commits_each_split()
    }

    /// True if its rows are written directly to the target.
    pub fn is_straight(&self) -> bool {
        matches!(self.publish, Publish::Straight(_))
    }

    /// True if its rows are written directly to the target and committed split by split.
    pub fn commits_each_split(&self) -> bool {
        self.publish == Publish::Straight(Commit::EachSplit)
    }

    /// True if its rows are written directly to the target and committed together with those of all flows.
    pub fn commits_at_switch(&self) -> bool {
        self.publish == Publish::Straight(Commit::AtSwitch)
    }

    /// True if the transaction of the switch inserts rows into an existing target, and does not only change metadata.
    pub fn copies_rows(&self) -> bool {
        match &self.publish {
            Publish::Insert | Publish::Upsert { .. } => true,
            Publish::Route(route) => !route.is_new,
            Publish::Straight(commit) => *commit == Commit::AtSwitch,
            _ => false,
        }
    }

    /// True if the switch leaves a mark for it. If its splits are committed one by one, it was left before the first
    /// row.
    pub fn leaves_mark(&self) -> bool {
        self.mode == Mode::Append && !self.commits_each_split()
    }

    /// The mark for its files at the target, if a second load of them would append their rows once more.
    pub fn mark(&self, run: &RunName, target_oid: u32) -> Option<Mark> {
        let files = earlier::files(self);
        let appends = self.mode == Mode::Append;
        appends.then(|| Mark::new(run, &self.target(), target_oid, files))?
    }

    /// The splits of all its units.
    pub fn splits(&self) -> impl Iterator<Item = &Split> {
        self.units.iter().flat_map(|unit| &unit.splits)
    }
}

impl RunPlan for Plan {
    type Flow = FlowPlan;

    fn facts(&self) -> &PlanFacts {
        &self.facts
    }

    fn server(&self) -> ServerReport {
        ServerReport {
            version: self.server.version.clone(),
            settings: self.server.settings.clone(),
        }
    }

    fn flows(&self) -> &[FlowPlan] {
        &self.flows
    }

    fn flows_mut(&mut self) -> &mut [FlowPlan] {
        &mut self.flows
    }

    fn add_note(&mut self, note: String) {
        self.facts.notes.push(note);
    }

    fn turn(&self, flow: usize) -> usize {
        self.flows[flow].turn
    }

    fn saved_tables(&self, _: &Package) -> Vec<String> {
        self.flows.iter().map(FlowPlan::target).collect()
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

    fn units_mut(&mut self) -> (&Reading, &mut [UnitPlan]) {
        (&self.reading, &mut self.units)
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

    fn splits_mut(&mut self) -> &mut [Split] {
        &mut self.splits
    }

    fn staging_table(&self) -> &str {
        &self.staging_table
    }

    fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn share_if_useful(&mut self, source: &dyn Source) -> Result<bool, SourceError> {
        if self.filling == Filling::OneStream {
            return Ok(false);
        }
        let pieces = self.pieces(source)?;
        let helps = pieces.len() > 1 || pieces.iter().any(|piece| piece.is_shared);
        if helps {
            self.share_in(pieces);
        }
        Ok(helps)
    }
}

/// For each flow, why it has nothing to load, if it has nothing.
fn nothing_new(flows: &[FlowPlan]) -> impl Iterator<Item = Option<&NothingNew>> {
    flows.iter().map(|flow| flow.nothing_new.as_ref())
}

/// True if the rows of all flows are written directly to their targets.
fn is_all_straight(flows: &[FlowPlan]) -> bool {
    flows.iter().all(FlowPlan::is_straight)
}

/// How units become part of their target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publish {
    /// The target is created, partitioned by range, and the units are attached.
    CreatePartitioned {
        /// Its columns.
        columns: Vec<NewColumn>,
    },
    /// The units are attached to the existing target.
    Attach,
    /// The one unit becomes the target.
    Rename {
        /// The primary key that the target gets.
        primary_key: Option<NewPrimaryKey>,
    },
    /// The one unit replaces the existing plain target.
    Swap,
    /// The one unit's rows are merged into the existing target.
    Upsert {
        /// The columns that identify a row.
        key: Vec<String>,
        /// The versions of rows that the target keeps, if it does.
        versions: Option<VersionsPlan>,
    },
    /// Rows are written directly to the existing target; nothing is left for the switch.
    Straight(Commit),
    /// The one unit's rows are copied into the existing target. Only this switch changes more than metadata.
    Insert,
    /// The one unit is partitioned like the target, so that the server routes each row while it is loaded.
    Route(RoutePlan),
}

/// The primary key of a new target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPrimaryKey {
    /// The columns.
    pub columns: Vec<String>,
    /// The name of the constraint, which no relation of the target's schema has.
    pub name: String,
}

/// When rows that are written directly to their target are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Each split in its own transaction (`atomic = false`).
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

/// The form in which rows are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireForm {
    /// Binary COPY.
    Binary(Vec<PgType>),
    /// COPY in text form, since a column has a type without a binary encoder.
    Text {
        /// The column and the type that need it, in words.
        reason: String,
    },
}

/// The partition key of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlan {
    /// The column's name.
    pub column: String,
    /// Its index among the flow's columns.
    pub column_index: usize,
    /// Its type as the server writes it.
    pub type_sql: String,
    /// Its collation, if it differs from the type's.
    pub collation: Option<String>,
    /// The kind of its values.
    pub kind: KeyKind,
    /// The bounds of the partitions, in words.
    pub rule: String,
}

impl KeyPlan {
    /// The type with its collation; values are cast to it before they are compared.
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
        /// The most characters.
        characters_max: Option<u32>,
    },
}

/// One load unit, planned.
#[derive(Clone, Debug)]
pub struct UnitPlan {
    /// Counted from 1 within its flow.
    pub number: usize,
    /// Identifies its files with their state, its target, and how they are read.
    pub key: UnitKey,
    /// Its staging table.
    pub staging_table: String,
    /// The file ranges that it holds.
    pub splits: Vec<Split>,
    /// Bytes of its files; an estimate for compressed files.
    pub bytes_count: u64,
    /// Which streams may fill it.
    pub filling: Filling,
    /// Filled by several streams, each split in its own transaction and without FREEZE.
    pub shared: bool,
    /// The partition that it becomes.
    pub partition_name: Option<String>,
    /// Its bounds, if they are known before it is loaded.
    pub bounds: Option<UnitBounds>,
    /// The same bounds, for the check during conversion.
    pub key_bounds: Option<KeyBounds>,
    /// The keys that have a partition, for the check during conversion if rows are routed.
    pub key_set: Option<KeySet>,
    /// Statements that create its staging table.
    pub create: Vec<String>,
    /// The COPY that fills it.
    pub copy: String,
    /// The COPY that fills it if several streams do.
    pub copy_shared: String,
    /// Counts its rows.
    pub measure: String,
    /// The query for its sums, if more than the number of rows is verified.
    pub verify: Option<String>,
    /// Statements that prepare it after it is filled, such as indexes.
    pub ready: Vec<String>,
}
