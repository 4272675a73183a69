//! First stage of a flow's plan: the target as it is, and how rows arrive there.

use inrush_package::Mode;

use super::flow_request::FlowRequest;
use super::{Commit, routing};
use crate::catalog::{self, TableFacts};
use crate::engine::plan::error::PlanError;
use crate::partition_tree::PartitionTree;
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;

/// The way in which rows get into their target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Straight into it, committed so.
    Straight(Commit),
    /// By a staging table that is partitioned as the target is: each row goes to its own partition.
    Routed,
    /// By staging tables that the switch puts in.
    Staged,
}

/// The target of a flow, and how rows arrive there.
pub struct FlowTarget<'a> {
    /// The flow's name.
    pub flow_name: String,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
    /// Both, as SQL names the target.
    pub sql: String,
    /// The catalog's facts of the target, if it exists. In a replay it counts as a plain table: if it is partitioned in
    /// any way, the server routes the rows.
    pub facts: Option<TableFacts>,
    /// Its partitions, where it has a key; in a replay too.
    pub tree: Option<PartitionTree>,
    /// The column that the flow partitions by.
    pub partition_by: Option<String>,
    /// The way in which rows get there.
    pub arrival: Arrival,
    /// It is partitioned, and the rows are copied into it all the same: the server routes them.
    pub copied_into_partitions: bool,
}

impl<'a> FlowTarget<'a> {
    /// Asks the catalog for the target, and decides how rows arrive there.
    pub async fn find(request: &FlowRequest<'a>) -> Result<FlowTarget<'a>, PlanFailure> {
        let flow = request.flow;
        let flow_name = flow
            .name
            .clone()
            .unwrap_or_else(|| request.table.to_owned());
        let facts = catalog::target(request.session, request.schema, request.table).await?;
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

    /// The error of a flow that does not go together with its files or its target.
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
    // The other modes have ways of their own into partitions.
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
