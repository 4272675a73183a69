//! First stage of a flow's plan: the existing target, and how rows are brought into it.

use inrush_package::Mode;
use inrush_plan::PlanError;

use super::flow_request::FlowRequest;
use super::{Commit, routing};
use crate::catalog::{self, TableFacts};
use crate::partition_tree::PartitionTree;
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;

/// How rows are brought into their target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Written directly to it, and committed in this way.
    Straight(Commit),
    /// Through a staging table that is partitioned like the target: each row goes to its own partition.
    Routed,
    /// Through staging tables that the switch makes part of the target.
    Staged,
}

/// The target of a flow, and how rows are brought into it.
pub struct FlowTarget<'a> {
    /// The flow's name.
    pub flow_name: String,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
    /// The target as SQL names it.
    pub sql: String,
    /// The catalog's facts of the target, if it exists. A replay treats any target as a plain table: if it is
    /// partitioned, the server routes the rows.
    pub facts: Option<TableFacts>,
    /// Its partitions, if it has a partition key. They are known in a replay, too.
    pub tree: Option<PartitionTree>,
    /// The column that the flow partitions by.
    pub partition_by: Option<String>,
    /// How rows are brought into it.
    pub arrival: Arrival,
    /// True if it is partitioned and rows are copied into it, so that the server routes them.
    pub copied_into_partitions: bool,
}

impl<'a> FlowTarget<'a> {
    /// Reads the target from the catalog, and decides how rows are brought into it.
    pub async fn find(request: &FlowRequest<'a>) -> Result<FlowTarget<'a>, PlanFailure> {
        let flow = request.flow;
        let flow_name = flow
            .name
            .clone()
            .unwrap_or_else(|| request.table.to_owned());
        let mut facts = catalog::target(request.session, request.schema, request.table).await?;
        if let (Some(scd), Some(facts)) = (flow.scd_columns()?, &mut facts) {
            for column in &mut facts.columns {
                column.of_versions = scd.of_versions().any(|name| name == column.name);
            }
        }
        let partition_by = flow.partition_column()?;
        let tree = routing::tree(request.session, facts.as_ref()).await?;
        let arrival = arrival(request, &flow_name, || {
            routing::is_wanted(flow.routing, facts.as_ref(), tree.as_ref())
        })?;
        let is_partitioned = facts
            .as_ref()
            .is_some_and(|facts| facts.partitioning.is_some());
        let facts = match request.options.is_replay {
            true => facts.map(|facts| TableFacts {
                partitioning: None,
                ..facts
            }),
            false => facts,
        };
        Ok(FlowTarget {
            flow_name,
            schema: request.schema,
            table: request.table,
            sql: qualified(request.schema, request.table),
            facts,
            tree,
            partition_by,
            arrival,
            copied_into_partitions: request.options.is_replay && is_partitioned,
        })
    }

    /// True if each row goes to its own partition.
    pub fn is_routed(&self) -> bool {
        self.arrival == Arrival::Routed
    }

    /// The error of a target that cannot be loaded.
    pub fn refusal(&self, what: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError::Target {
            target: self.sql.clone(),
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// The error if a flow conflicts with its files or its target.
    pub fn mismatch(&self, what: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow_name.clone(),
            what: what.into(),
            hint: hint.into(),
        }
    }
}

fn arrival(
    request: &FlowRequest<'_>,
    flow_name: &str,
    is_wanted: impl FnOnce() -> bool,
) -> Result<Arrival, PlanError> {
    let straight = request.straight();
    let is_replay = request.options.is_replay;
    // The other modes have their own methods for partitions.
    let can_be_routed = matches!(request.flow.mode, Mode::Create | Mode::Append)
        && straight.is_none()
        && !is_replay;
    if request.flow.routing == Some(true) && !can_be_routed && !is_replay {
        return Err(PlanError::Mismatch {
            flow: flow_name.to_owned(),
            what: "routing = true needs mode = \"create\" or \"append\", and staging tables"
                .to_owned(),
            hint: "leave `routing` out: with `atomic = false`, `staging = false` and \"upsert\" \
                   the server routes the rows itself"
                .to_owned(),
        });
    }
    Ok(match straight {
        Some(commit) => Arrival::Straight(commit),
        None if can_be_routed && is_wanted() => Arrival::Routed,
        None => Arrival::Staged,
    })
}
