//! The way in which the server stores the rows of a flow: by COPY, or by the extension `inrush_fastcopy`, if the database
//! has it.
//!
//! The plan decides by the catalog. The extension has the last word on each table before its rows are sent
//! (`refusal()`, asked by the step [`OpenServerCopy`](super::unit_steps::Step::OpenServerCopy)): a unit whose table it
//! refuses goes by COPY. Nothing changes in the middle of a unit, and a unit that is loaded again because the server refused
//! a row goes by COPY.

use inrush_package::{RunSettings, ServerCopy};
use inrush_rows::column::Column;

use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use super::publishing::Publishing;
use super::{FlowPlan, KeyKind, KeyPlan, Publish, UnitPlan, WireForm};
use crate::catalog::TableFacts;
use crate::engine::plan::error::PlanError;
use crate::fast_copy::{self, FastCopy, Way};
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;
use crate::staging::{self, CopyForm, Model};

/// Types of keys whose ends the extension tells, as the server writes them.
const KEY_TYPES: [&str; 6] = [
    "smallint",
    "integer",
    "bigint",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
];

/// How the server stores the rows of a flow, where it refuses none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowCopy {
    /// By COPY.
    Plain {
        /// Why not by the extension.
        reason: String,
        /// What a superuser runs so that it can be used, if the database has the extension.
        fix: Option<String>,
    },
    /// By the extension.
    Extension {
        /// Its version.
        version: String,
        /// The way of its tables, as far as the catalog tells.
        way: Way,
        /// Units that one COPY fills go by pages, where their tables allow it.
        by_pages: bool,
    },
}

/// How a unit's rows go by the extension.
pub struct UnitFastCopy {
    /// The query that opens the extension and asks which way the table goes.
    pub opening: String,
    /// The key whose ends the COPY tells.
    pub key: Option<String>,
    table: (String, String),
    columns: Vec<String>,
    freeze: bool,
    /// Pages are asked for.
    by_pages: bool,
}

impl UnitFastCopy {
    /// The COPY that goes this way.
    pub fn statement(&self, way: Way) -> String {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let form = CopyForm::Extension {
            key: self.key.as_deref(),
            by_pages: way == Way::Pages,
        };
        staging::copy_in(&self.table.0, &self.table.1, &columns, form, self.freeze)
    }

    /// The COPY that the plan foresees.
    pub fn planned(&self) -> String {
        self.statement(match self.by_pages {
            true => Way::Pages,
            false => Way::Tuples,
        })
    }
}

impl FlowPlan {
    /// Whether a unit is to go by pages: they are written into an empty table, so by one COPY alone.
    pub fn goes_by_pages(&self, unit: &UnitPlan) -> bool {
        let is_asked = matches!(self.server_copy, FlowCopy::Extension { by_pages: true, .. });
        is_asked && !unit.shared && unit.splits.len() == 1
    }

    /// How a unit's rows go by the extension; nothing where they go by COPY.
    pub fn fast_copy(&self, settings: &RunSettings, unit: &UnitPlan) -> Option<UnitFastCopy> {
        if !matches!(self.server_copy, FlowCopy::Extension { .. }) {
            return None;
        }
        let is_private = !unit.shared && !self.is_straight();
        let freeze = is_private && settings.freeze && !matches!(self.publish, Publish::Route(_));
        let by_pages = freeze && self.goes_by_pages(unit);
        let table = match self.is_straight() {
            true => (self.schema.clone(), self.table.clone()),
            false => (settings.staging_schema.clone(), unit.staging_table.clone()),
        };
        let columns: Vec<String> = self.columns.iter().map(|it| it.name.clone()).collect();
        let key = self.key.as_ref();
        let key = key.filter(|key| is_private && unit.bounds.is_none() && is_told(key));
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

/// Whether the extension tells the ends of a key.
fn is_told(key: &KeyPlan) -> bool {
    let is_number = !matches!(key.kind, KeyKind::Text { .. });
    is_number && KEY_TYPES.contains(&key.type_sql.as_str())
}

/// Decides how the rows of a flow are stored. Refuses a flow that must go by the extension, and cannot.
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

/// The way that a flow's tables go, or why they go none.
async fn way(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    publishing: &Publishing,
    ways: &[Way],
) -> Result<Result<Way, String>, PlanFailure> {
    if let WireForm::Text { reason } = &columns.resolved.wire {
        return Ok(Err(format!("it takes binary COPY alone, and {reason}")));
    }
    let loaded = &columns.resolved.columns;
    if let Publish::Straight(_) = &publishing.publish {
        // The table is there: the extension itself says it.
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

/// Why a staging table that is made after a table does not go by tuples: the rules of the extension's `refusal.c`, for what
/// `LIKE` and the plan make of it.
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
        // A table whose rows are copied leaves numbers to the target.
        let has_default = match column.identity || column.default_draws {
            true => !is_copied,
            false => column.has_default,
        };
        (!is_loaded && has_default)
            .then(|| format!("column `{}` has a default, and is left out", column.name))
    })
}
