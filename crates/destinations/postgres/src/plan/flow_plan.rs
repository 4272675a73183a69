//! A planned flow: its target, how its units become part of it, and the form in which its rows are sent.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_package::{IndexPolicy, Mode};
use inrush_pgcopy::{NativeShape, PgType};
use inrush_plan::{LoadFlow, Writes};
use inrush_rows::ids::RunName;

use super::key_index::KeyIndex;
use super::versions::VersionsPlan;
use super::{FlowCopy, MembersPlan, NewIndex, ReplacePlan, RoutePlan, UnitPlan, UnitStatements};
use crate::catalog::TableFacts;
use crate::default_grants::DefaultGrant;
use crate::ledger::mark::Mark;
use crate::staging::{Model, NewColumn};
use crate::verify::Comparison;

/// One flow, planned.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The part that does not depend on the destination.
    pub load: Arc<LoadFlow>,
    /// The comparison of each unit before its COMMIT.
    pub comparison: Arc<Comparison>,
    /// The target's schema.
    pub schema: String,
    /// The target's name.
    pub table: String,
    /// The target before the run, if it exists.
    pub facts: Option<TableFacts>,
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
    /// The indexes that the new target gets from the table that is read.
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
    /// The statements of its load units, in the order of the units.
    pub statements: Vec<UnitStatements>,
    /// An existing partition of the target that conflicts with the bounds, in words.
    pub overlap: Option<String>,
    /// The members that its lookups add to their references.
    pub members: Vec<MembersPlan>,
}

/// Most callers need the part that does not depend on the destination.
impl Deref for FlowPlan {
    type Target = LoadFlow;

    fn deref(&self) -> &LoadFlow {
        &self.load
    }
}

impl DerefMut for FlowPlan {
    fn deref_mut(&mut self) -> &mut LoadFlow {
        Arc::make_mut(&mut self.load)
    }
}

impl FlowPlan {
    /// The target as SQL names it.
    pub fn target(&self) -> String {
        self.reading.target.clone()
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

    /// True if the switch leaves a mark for the flow. If the flow's splits are committed one by one, the mark was left
    /// before the first row.
    pub fn leaves_mark(&self) -> bool {
        self.mode == Mode::Append && !self.commits_each_split()
    }

    /// The mark for its files at the target, if a second load of them would append their rows once more.
    pub fn mark(&self, run: &RunName, target_oid: u32) -> Option<Mark> {
        let files = self.files().into_iter();
        let appends = self.mode == Mode::Append;
        appends.then(|| Mark::new(run, &self.target(), target_oid, files))?
    }

    /// The load unit with this index.
    pub fn unit(&self, at: usize) -> UnitPlan<'_> {
        UnitPlan {
            load: &self.load.units[at],
            statements: &self.statements[at],
        }
    }

    /// The load units, in the order of their numbers.
    pub fn unit_plans(&self) -> impl ExactSizeIterator<Item = UnitPlan<'_>> {
        (0..self.statements.len()).map(|at| self.unit(at))
    }
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
        /// The unique indexes of the target that say which keys are equal.
        indexes: Vec<KeyIndex>,
        /// How the target keeps versions of rows; `None` if it keeps none.
        versions: Option<Box<VersionsPlan>>,
    },
    /// Rows are written directly to the existing target, so the switch adds no rows to it.
    Straight(Commit),
    /// The one unit's rows are copied into the existing target.
    Insert,
    /// The one unit is partitioned like the target, so that the server routes each row while it is loaded.
    Route(RoutePlan),
}

impl Publish {
    /// True if the target keeps versions of rows.
    pub fn keeps_versions(&self) -> bool {
        matches!(
            self,
            Publish::Upsert {
                versions: Some(_),
                ..
            }
        )
    }

    /// Where the rows of its units are written.
    pub fn writes(&self) -> Writes {
        match self {
            Publish::Straight(Commit::EachSplit) => Writes::EachSplit,
            Publish::Straight(Commit::AtSwitch) => Writes::AtPublish,
            _ => Writes::Staged,
        }
    }
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
    /// COPY in text form, because a column has a type without a binary encoder.
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
