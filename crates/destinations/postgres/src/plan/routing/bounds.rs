//! The partitions to which rows are routed: those of the target, and those that the flow's bounds ask for.

use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_package::{Bounds, TriggerPolicy};
use inrush_rows::column::Column;
use inrush_scan::Dialect;

use super::all_keys;
use super::route::RoutePlan;
use crate::catalog::TableFacts;
use crate::engine::plan::PlanOptions;
use crate::engine::plan::error::PlanError;
use crate::partition_tree::PartitionTree;
use crate::plan::KeyPlan;
use crate::plan::bounds::{self, Interval};
use crate::plan::switch_statements::expression;
use crate::plan::units::PartitionNames;
use crate::quote::{identifier, qualified};
use crate::ranges::{self, PartitionRange};
use crate::{PostgresError, Session};

/// What a route is made of.
pub struct Asking<'a> {
    /// Asks the server.
    pub session: &'a Session,
    /// What is known beside the package.
    pub options: &'a PlanOptions<'a>,
    /// What passes over the files have found.
    pub key_scans: &'a all_keys::KeyScans,
    /// The flow's name.
    pub flow: &'a str,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
    /// The target, where it exists.
    pub facts: Option<&'a TableFacts>,
    /// Its partitions.
    pub tree: Option<&'a PartitionTree>,
    /// The flow's bounds.
    pub bounds: &'a Bounds,
    /// The key, where partitions by its ranges can be made.
    pub key: Option<&'a KeyPlan>,
    /// Whether the target's triggers must fire.
    pub triggers: TriggerPolicy,
    /// The columns.
    pub columns: &'a [Column],
    /// Fields of a record.
    pub field_count: usize,
    /// The files.
    pub files: &'a [Arc<SourceFile>],
    /// How they are written.
    pub dialect: &'a Dialect,
}

/// The partitions that rows of a flow are routed to.
pub async fn route(
    asking: &Asking<'_>,
    names: &mut PartitionNames<'_>,
    notes: &mut Vec<String>,
) -> Result<RoutePlan, PlanError> {
    let mut route = match (asking.tree, asking.key) {
        (Some(tree), _) => RoutePlan::of_target(tree),
        (None, Some(key)) => RoutePlan {
            partition_by: format!("RANGE ({})", identifier(&key.column)),
            is_new: true,
            nodes: Vec::new(),
        },
        (None, None) => {
            return Err(asking.mismatch(
                "routing = true for a new table, and nothing says how it is partitioned".to_owned(),
                "add partition_by = \"COLUMN\" and bounds, or make the table before",
            ));
        }
    };
    let intervals = asking.intervals(notes).await?;
    if let (Some(key), false) = (asking.key, intervals.is_empty()) {
        for index in asking.missing(key, &intervals).await? {
            let interval = &intervals[index];
            let column = &asking.columns[key.column_index];
            let (bounds, _) = bounds::unit_bounds(asking.flow, key, column, interval)?;
            route.add(names.take(), bounds);
        }
    }
    asking.refuse_triggers(&route)?;
    if route.nodes.is_empty() && asking.tree.is_some() {
        return Err(PlanError::Target {
            target: qualified(asking.schema, asking.table),
            what: "has no partition, so no row has a place in it".to_owned(),
            hint: "add its partitions first; of a table by range of one column, `bounds` can add \
                   them"
                .to_owned(),
        });
    }
    Ok(route)
}

impl Asking<'_> {
    fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }

    /// The partitions that the flow's bounds ask for.
    async fn intervals(&self, notes: &mut Vec<String>) -> Result<Vec<Interval>, PlanError> {
        let asks = matches!(self.bounds, Bounds::List(_) | Bounds::Every(_));
        let is_nested = self.tree.is_some_and(PartitionTree::is_nested);
        match (self.key, asks) {
            (None, true) => {
                return Err(self.mismatch(
                    "`bounds` add partitions by range of one column, and the target is partitioned \
                     otherwise"
                        .to_owned(),
                    "take `bounds` out, and add the partitions yourself",
                ));
            }
            (Some(_), true) if is_nested => {
                return Err(self.mismatch(
                    "`bounds` would add plain partitions to a target whose partitions are \
                     partitioned themselves"
                        .to_owned(),
                    "take `bounds` out, and add the partitions yourself",
                ));
            }
            (_, false) if self.tree.is_none() => {
                return Err(self.mismatch(
                    "routing = true into a new table, and `bounds` do not say where its partitions \
                     begin and end"
                        .to_owned(),
                    "add bounds = { every = \"1 month\" } or a list of values",
                ));
            }
            _ => {}
        }
        let Some(key) = self.key else {
            return Ok(Vec::new());
        };
        match self.bounds {
            Bounds::Word(_) | Bounds::Parts(_) => Ok(Vec::new()),
            Bounds::List(values) => bounds::listed(self.session, self.flow, key, values).await,
            Bounds::Every(every) => {
                let step = every.step().map_err(|fault| {
                    self.mismatch(
                        fault.to_string(),
                        "bounds = { every = \"1 month\" } or { every = 1000 }",
                    )
                })?;
                let scan = all_keys::KeyScan {
                    flow: self.flow,
                    files: self.files,
                    dialect: self.dialect,
                    column: &self.columns[key.column_index],
                    field_count: self.field_count,
                    key,
                    step,
                    stop: self.options.pipes.stop(),
                };
                let found = self.key_scans.intervals(&scan)?;
                notes.push(format!(
                    "all files were read once to find which partitions their rows need ({}): a \
                     list of bounds needs no such pass",
                    match found.len() {
                        1 => "1".to_owned(),
                        count => count.to_string(),
                    }
                ));
                Ok(found)
            }
        }
    }

    /// Which of the intervals the target lacks; one that it has in part is refused.
    async fn missing(
        &self,
        key: &KeyPlan,
        intervals: &[Interval],
    ) -> Result<Vec<usize>, PlanError> {
        let existing = self.facts.map(ranges::existing).unwrap_or_default();
        if existing.is_empty() {
            return Ok((0..intervals.len()).collect());
        }
        let mut lacking = Vec::new();
        for (index, interval) in intervals.iter().enumerate() {
            let asked = PartitionRange {
                label: format!("[{}, {})", interval.lower, interval.upper),
                lower: Some(expression(&interval.lower)),
                upper: Some(expression(&interval.upper)),
            };
            if self.lies_in_one(key, &asked, &existing).await? {
                continue;
            }
            lacking.push((index, asked));
        }
        let asked: Vec<PartitionRange> = lacking.iter().map(|(_, asked)| asked.clone()).collect();
        let comparable = key.comparable_type();
        match ranges::overlap(self.session, &comparable, &asked, &existing).await? {
            None => Ok(lacking.into_iter().map(|(index, _)| index).collect()),
            Some((asked, existing)) => Err(PlanError::Target {
                target: qualified(self.schema, self.table),
                what: format!(
                    "has the partition {existing}, which takes only some of the asked-for {asked}"
                ),
                hint: "choose bounds that meet those of the existing partitions".to_owned(),
            }),
        }
    }

    /// Whether an existing partition takes all of an interval.
    async fn lies_in_one(
        &self,
        key: &KeyPlan,
        asked: &PartitionRange,
        existing: &[PartitionRange],
    ) -> Result<bool, PostgresError> {
        let comparable = key.comparable_type();
        let end = |value: &Option<String>| {
            format!("{}::{comparable}", value.as_deref().unwrap_or("NULL"))
        };
        let values: Vec<String> = existing
            .iter()
            .map(|range| format!("({}, {})", end(&range.lower), end(&range.upper)))
            .collect();
        let sql = format!(
            "SELECT EXISTS (SELECT FROM (VALUES {}) e (lower, upper) \
             WHERE (e.lower IS NULL OR e.lower <= {}) AND (e.upper IS NULL OR {} <= e.upper))",
            values.join(", "),
            end(&asked.lower),
            end(&asked.upper)
        );
        let rows = self
            .session
            .query(&sql, &[], "comparing partition bounds")
            .await?;
        Ok(rows[0].get(0))
    }

    /// Rows of partitions that are attached fire no trigger, and those that are copied do.
    fn refuse_triggers(&self, route: &RoutePlan) -> Result<(), PlanError> {
        let triggers = self.facts.map_or(&[][..], |facts| &facts.insert_triggers);
        let Some(first) = triggers.first() else {
            return Ok(());
        };
        let refuse = |what: String, hint: String| {
            Err(PlanError::Target {
                target: qualified(self.schema, self.table),
                what,
                hint,
            })
        };
        let is_attached = route.new_partitions().next().is_some();
        match self.triggers {
            TriggerPolicy::Fire if is_attached => refuse(
                format!(
                    "has INSERT triggers ({}), which rows of partitions that are added do not fire",
                    triggers.join(", ")
                ),
                "add the partitions before the load and take `bounds` out: rows are copied into \
                 partitions that exist, and fire them"
                    .to_owned(),
            ),
            TriggerPolicy::Skip if route.copies_rows() => refuse(
                format!(
                    "has INSERT triggers ({}), which rows that are copied into its partitions fire, \
                     and the flow says triggers = \"skip\"",
                    triggers.join(", ")
                ),
                format!(
                    "ALTER TABLE {} DISABLE TRIGGER {}; for the load, or leave `triggers` out",
                    qualified(self.schema, self.table),
                    identifier(first)
                ),
            ),
            _ => Ok(()),
        }
    }
}
