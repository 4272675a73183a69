//! Chooses how the server stores the rows of a flow: by COPY, or by the extension `inrush_fastcopy`, if the database
//! has it.
//!
//! The plan decides by the catalog. Before rows are sent, the extension is asked about each table (`refusal()`, in the
//! step [`OpenServerCopy`](super::unit_steps::Step::OpenServerCopy)): if it refuses a table, the unit is loaded by
//! COPY. Nothing changes in the middle of a unit, and a unit that is loaded again because the server refused a row is
//! loaded by COPY.

use inrush_package::{RunSettings, ServerCopy};
use inrush_plan::PlanError;
use inrush_rows::column::Column;

use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use super::publishing::Publishing;
use super::{FlowPlan, KeyKind, KeyPlan, Publish, UnitPlan, WireForm};
use crate::catalog::TableFacts;
use crate::fast_copy::{self, FastCopy, Way};
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;
use crate::staging::{self, CopyForm, Model};

/// Key types, as the server writes them, whose smallest and largest value the extension can report.
const KEY_TYPES: [&str; 6] = [
    "smallint",
    "integer",
    "bigint",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
];

/// How the server stores the rows of a flow, if it refuses none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowCopy {
    /// Rows go by COPY.
    Plain {
        /// Why the extension is not used.
        reason: String,
        /// The statement that a superuser must run to make it usable, if the database has the extension.
        fix: Option<String>,
    },
    /// Rows go by the extension.
    Extension {
        /// Its version.
        version: String,
        /// The method for its tables, as far as the catalog shows it.
        way: Way,
        /// True if units that one COPY fills are stored as pages, if their tables allow it.
        by_pages: bool,
    },
}

/// How the extension stores a unit's rows.
pub struct UnitFastCopy {
    /// The query that opens the extension and asks for the method for the table.
    pub opening: String,
    /// The key whose smallest and largest value the COPY reports.
    pub key: Option<String>,
    table: (String, String),
    columns: Vec<String>,
    freeze: bool,
    /// True if pages are requested.
    by_pages: bool,
}

impl UnitFastCopy {
    /// The COPY for this method.
    pub fn statement(&self, way: Way) -> String {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let form = CopyForm::Extension {
            key: self.key.as_deref(),
            by_pages: way == Way::Pages,
        };
        staging::copy_in(&self.table.0, &self.table.1, &columns, form, self.freeze)
    }

    /// The COPY as the plan expects it.
    pub fn planned(&self) -> String {
        self.statement(match self.by_pages {
            true => Way::Pages,
            false => Way::Tuples,
        })
    }
}

impl FlowPlan {
    /// True if a unit should be stored as pages, which works only for one COPY into an empty table.
    pub fn goes_by_pages(&self, unit: UnitPlan<'_>) -> bool {
        let is_asked = matches!(self.server_copy, FlowCopy::Extension { by_pages: true, .. });
        is_asked && !unit.is_shared && unit.splits.len() == 1
    }

    /// How the extension stores a unit's rows; `None` if they are loaded by COPY.
    pub fn fast_copy(&self, settings: &RunSettings, unit: UnitPlan<'_>) -> Option<UnitFastCopy> {
        if !matches!(self.server_copy, FlowCopy::Extension { .. }) {
            return None;
        }
        let is_private = !unit.is_shared && !self.is_straight();
        let freeze = is_private && settings.freeze && !matches!(self.publish, Publish::Route(_));
        let by_pages = freeze && self.goes_by_pages(unit);
        let table = match self.is_straight() {
            true => (self.schema.clone(), self.table.clone()),
            false => (settings.staging_schema.clone(), unit.staging_table.clone()),
        };
        let columns: Vec<String> = self.columns.iter().map(|it| it.name.clone()).collect();
        let key = self.key.as_ref();
        let key = key.filter(|key| is_private && unit.statements.bounds.is_none() && is_told(key));
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        Some(UnitFastCopy {
            opening: fast_copy::opening(&qualified(&table.0, &table.1), &names, by_pages),
            key: key.map(|key| key.column.clone()),
            table,
            columns,
            freeze,
            by_pages,
        })
    }
}

/// True if the extension can report the smallest and largest value of a key.
fn is_told(key: &KeyPlan) -> bool {
    let is_number = !matches!(key.kind, KeyKind::Text { .. });
    is_number && KEY_TYPES.contains(&key.type_sql.as_str())
}

/// Decides how the rows of a flow are stored. Refuses a flow that must use the extension but cannot.
pub async fn decide(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    publishing: &Publishing,
) -> Result<FlowCopy, PlanFailure> {
    let asked = request.package.run.server_copy;
    let found = match &request.server.fast_copy {
        FastCopy::Unusable(reason) => Err((reason.clone(), None)),
        FastCopy::NotGranted { reason, fix } => Err((reason.clone(), Some(fix.clone()))),
        FastCopy::Usable { version, ways } => way(request, target, columns, publishing, ways)
            .await?
            .map(|way| FlowCopy::Extension {
                version: version.clone(),
                way,
                by_pages: asked == ServerCopy::Pages
                    && request.package.run.freeze
                    && way == Way::Tuples
                    && ways.contains(&Way::Pages),
            })
            .map_err(|reason| (reason, None)),
    };
    match found {
        Ok(copy) => Ok(copy),
        Err((reason, _)) if asked == ServerCopy::Require => {
            Err(PlanFailure::from(PlanError::Mismatch {
                flow: target.flow_name.clone(),
                what: format!(
                    "`server_copy = \"require\"`, but its rows cannot go by the extension inrush_fastcopy: {reason}"
                ),
                hint: "install the extension and grant it to the role (docs/fast-copy.md), or use \
                   `server_copy = \"auto\"`: then these rows go by COPY"
                    .to_owned(),
            }))
        }
        Err((reason, fix)) => Ok(FlowCopy::Plain { reason, fix }),
    }
}

/// The method for a flow's tables, or why there is none.
async fn way(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    publishing: &Publishing,
    ways: &[Way],
) -> Result<Result<Way, String>, PlanFailure> {
    if let WireForm::Text { reason } = &columns.resolved.wire {
        return Ok(Err(format!("it takes only binary COPY, but {reason}")));
    }
    let loaded = &columns.read.columns;
    if let Publish::Straight(_) = &publishing.publish {
        // The table exists, so the extension itself can be asked.
        let names: Vec<&str> = loaded.iter().map(|column| column.name.as_str()).collect();
        let opening = fast_copy::opening(&target.sql, &names, false);
        return Ok(fast_copy::open(request.session, &opening).await?);
    }
    let reason = match &publishing.publish {
        Publish::Route(_) => Some("its staging table is partitioned".to_owned()),
        publish => {
            let is_copied = matches!(publish, Publish::Insert | Publish::Upsert { .. });
            let facts = target.facts.as_ref();
            facts.and_then(|facts| left_to_executor(facts, &publishing.model, loaded, is_copied))
        }
    };
    Ok(match reason {
        None => Ok(Way::Tuples),
        Some(_) if ways.contains(&Way::Executor) => Ok(Way::Executor),
        Some(reason) => Err(format!("{reason}, which needs PostgreSQL 18 or newer")),
    })
}

/// Why a staging table for this target cannot be stored as tuples: the rules of the extension's `refusal.c`, applied to
/// the table that `LIKE` and the plan create.
fn left_to_executor(
    facts: &TableFacts,
    model: &Model,
    loaded: &[Column],
    is_copied: bool,
) -> Option<String> {
    if let Model::Target { storage, .. } = model
        && let Some(method) = storage
            .access_method
            .as_deref()
            .filter(|name| *name != "heap")
    {
        return Some(format!(
            "its staging tables are stored by the access method {method}"
        ));
    }
    facts.columns.iter().find_map(|column| {
        if column.generated {
            return Some(format!("column `{}` is generated", column.name));
        }
        let is_loaded = loaded.iter().any(|other| other.name == column.name);
        // If rows are copied to the target, the target numbers them.
        let has_default = match column.identity || column.default_draws {
            true => !is_copied,
            false => column.has_default,
        };
        (!is_loaded && has_default)
            .then(|| format!("column `{}` has a default, and is left out", column.name))
    })
}
