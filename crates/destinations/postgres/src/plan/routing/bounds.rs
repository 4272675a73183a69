//! The partitions for routed rows: those of the target, and those that the flow's bounds add.

use inrush_package::{Bounds, TriggerPolicy};
use inrush_pgclient::foreign_sql::{bound_values, is_part_of_statement};
use inrush_plan::PlanError;
use inrush_source::TablePartitioning;

use super::all_keys;
use super::route::RoutePlan;
use crate::PostgresError;
use crate::partition_tree::PartitionTree;
use crate::plan::KeyPlan;
use crate::plan::bounds::{self, Interval};
use crate::plan::failure::PlanFailure;
use crate::plan::flow_columns::FlowColumns;
use crate::plan::flow_request::FlowRequest;
use crate::plan::flow_target::FlowTarget;
use crate::plan::new_indexes::{IndexPlanner, lacking};
use crate::plan::partition_names::PartitionNames;
use crate::plan::switch_statements::expression;
use crate::quote::identifier;
use crate::ranges::{self, PartitionRange};

/// The partitions of a new target, copied from the table that is read. Refuses keys and bounds that the target cannot
/// have.
pub fn copied(
    target: &FlowTarget<'_>,
    partitioning: &TablePartitioning,
    planner: &mut IndexPlanner<'_>,
) -> Result<RoutePlan, PlanError> {
    let refuse = |what: String| {
        target.mismatch(
            format!("the target cannot have the partitions of the source: {what}"),
            "create the target yourself, or remove --with-partitions (in a package `partitions` of the source)",
        )
    };
    if let Some(object) = partitioning
        .needs
        .iter()
        .find(|it| planner.missing.contains(it))
    {
        return Err(refuse(lacking(object)));
    }
    let route = RoutePlan::of_source(
        &partitioning.partition_by,
        &partitioning.partitions,
        planner,
    );
    let all = route.all();
    let keys = all.iter().filter_map(|node| node.partition_by.as_ref());
    let odd_key = keys
        .chain([&route.partition_by])
        .find(|key| !is_part_of_statement(key));
    if let Some(key) = odd_key {
        return Err(refuse(format!(
            "the key `{key}` is not a part of one statement"
        )));
    }
    if let Some(odd) = all.iter().find(|node| bound_values(&node.bound).is_none()) {
        return Err(refuse(format!(
            "the bound `{}` has other expressions than plain values",
            odd.bound
        )));
    }
    Ok(route)
}

/// The inputs for the route of a flow's rows.
struct RoutePlanner<'a> {
    request: &'a FlowRequest<'a>,
    target: &'a FlowTarget<'a>,
    columns: &'a FlowColumns,
    /// The key, if partitions by its ranges can be created.
    key: Option<&'a KeyPlan>,
}

/// The partitions that rows of a flow are routed to.
pub async fn route(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    names: &mut PartitionNames<'_>,
    notes: &mut Vec<String>,
) -> Result<RoutePlan, PlanFailure> {
    let key = columns.key_of_new_partitions();
    let planner = RoutePlanner {
        request,
        target,
        columns,
        key,
    };
    let mut route = match (&target.tree, key) {
        (Some(tree), _) => RoutePlan::of_target(tree),
        (None, Some(key)) => RoutePlan {
            partition_by: format!("RANGE ({})", identifier(&key.column)),
            is_new: true,
            nodes: Vec::new(),
        },
        (None, None) => {
            return Err(target
                .mismatch(
                    "routing = true for a new table, but its partitions are not declared",
                    "add partition_by = \"COLUMN\" and bounds, or create the table first",
                )
                .into());
        }
    };
    let intervals = planner.intervals(notes).await?;
    if let (Some(key), false) = (key, intervals.is_empty()) {
        for index in planner.missing(key, &intervals).await? {
            let interval = &intervals[index];
            let column = &columns.read.columns[key.column_index];
            let (bounds, _) = bounds::unit_bounds(&target.flow_name, key, column, interval)?;
            route.add(names.take(), bounds);
        }
    }
    planner.refuse_triggers(&route)?;
    if route.nodes.is_empty() && target.tree.is_some() {
        return Err(target.refusal(
            "has no partition, so it can hold no row",
            "add its partitions first; `bounds` can add them to a table partitioned by range of one column",
        ).into());
    }
    Ok(route)
}

impl RoutePlanner<'_> {
    /// The partitions that the flow's bounds ask for.
    async fn intervals(&self, notes: &mut Vec<String>) -> Result<Vec<Interval>, PlanFailure> {
        let asks = matches!(self.request.flow.bounds, Bounds::List(_) | Bounds::Every(_));
        let tree = self.target.tree.as_ref();
        let is_nested = tree.is_some_and(PartitionTree::is_nested);
        match (self.key, asks) {
            (None, true) => {
                return Err(self
                    .target
                    .mismatch(
                        "`bounds` adds partitions by range of one column, but the target is \
                     partitioned in another way"
                            .to_owned(),
                        "remove `bounds`, and add the partitions yourself",
                    )
                    .into());
            }
            (Some(_), true) if is_nested => {
                return Err(self
                    .target
                    .mismatch(
                        "`bounds` would add plain partitions to a target whose partitions are \
                     themselves partitioned"
                            .to_owned(),
                        "remove `bounds`, and add the partitions yourself",
                    )
                    .into());
            }
            (_, false) if tree.is_none() => {
                return Err(self.target.mismatch(
                    "routing = true into a new table, but `bounds` does not declare its partitions"
                        .to_owned(),
                    "add bounds = { every = \"1 month\" } or a list of values",
                ).into());
            }
            _ => {}
        }
        let Some(key) = self.key else {
            return Ok(Vec::new());
        };
        match &self.request.flow.bounds {
            Bounds::Word(_) | Bounds::Parts(_) => Ok(Vec::new()),
            Bounds::List(values) => {
                bounds::listed(self.request.session, &self.target.flow_name, key, values).await
            }
            Bounds::Every(every) => {
                let step = every.step().map_err(|fault| {
                    self.target.mismatch(
                        fault.to_string(),
                        "bounds = { every = \"1 month\" } or { every = 1000 }",
                    )
                })?;
                let scan = all_keys::KeyScan {
                    flow: &self.target.flow_name,
                    source: &*self.columns.read.source,
                    dialect: &self.columns.read.inputs.dialect,
                    column: &self.columns.read.columns[key.column_index],
                    field_count: self.columns.read.field_count,
                    key,
                    step,
                };
                let found = self.request.key_scans.intervals(&scan)?;
                notes.push(format!(
                    "all files were read once to find the partitions of their rows ({}): a list of \
                     bounds needs no such pass",
                    match found.len() {
                        1 => "1".to_owned(),
                        count => count.to_string(),
                    }
                ));
                Ok(found)
            }
        }
    }

    /// The intervals that the target lacks; refuses an interval that the target has only in part.
    async fn missing(
        &self,
        key: &KeyPlan,
        intervals: &[Interval],
    ) -> Result<Vec<usize>, PlanFailure> {
        let facts = self.target.facts.as_ref();
        let existing = facts.map(ranges::existing).unwrap_or_default();
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
        match ranges::overlap(self.request.session, &comparable, &asked, &existing).await? {
            None => Ok(lacking.into_iter().map(|(index, _)| index).collect()),
            Some((asked, existing)) => Err(self.target.refusal(
                format!(
                    "has the partition {existing}, which overlaps the requested {asked} only in part"
                ),
                "choose bounds that match those of the existing partitions",
            ).into()),
        }
    }

    /// True if an existing partition contains a whole interval.
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
            .request
            .session
            .query(&sql, &[], "comparing partition bounds")
            .await?;
        Ok(rows[0].get(0))
    }

    /// Refuses INSERT triggers if the load cannot follow the flow's setting `triggers`: rows of attached partitions do
    /// not fire them, and copied rows do.
    fn refuse_triggers(&self, route: &RoutePlan) -> Result<(), PlanError> {
        let facts = self.target.facts.as_ref();
        let triggers = facts.map_or(&[][..], |facts| &facts.insert_triggers);
        let Some(first) = triggers.first() else {
            return Ok(());
        };
        let refuse = |what: String, hint: String| Err(self.target.refusal(what, hint));
        let is_attached = route.new_partitions().next().is_some();
        match self.request.flow.triggers {
            TriggerPolicy::Fire if is_attached => refuse(
                format!(
                    "has INSERT triggers ({}), but rows of added partitions do not fire them",
                    triggers.join(", ")
                ),
                "add the partitions before the load and remove `bounds`: rows that are copied into \
                 existing partitions fire the triggers"
                    .to_owned(),
            ),
            TriggerPolicy::Skip if route.copies_rows() => refuse(
                format!(
                    "has INSERT triggers ({}) that rows copied into its partitions fire, but the \
                     flow has triggers = \"skip\"",
                    triggers.join(", ")
                ),
                format!(
                    "ALTER TABLE {} DISABLE TRIGGER {}; for the load, or leave `triggers` out",
                    self.target.sql,
                    identifier(first)
                ),
            ),
            _ => Ok(()),
        }
    }
}
