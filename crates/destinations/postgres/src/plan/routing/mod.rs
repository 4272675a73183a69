//! Routing: each row goes to its own partition, from any file.
//!
//! The unit's staging table is partitioned like the target, and COPY writes to its parent. So the server routes each
//! row by the same code and the same key as in the target. [`route`] has the tree of partitions, [`statements`] has the
//! SQL for it, and [`bounds`] has the partitions that a flow asks for. [`all_keys`] reads all keys to find the needed
//! partitions of even width. [`fits`] finds rows without a partition before they are sent.

mod all_keys;
mod bounds;
mod fits;
mod route;
pub mod statements;

pub use all_keys::KeyScans;
pub use bounds::{copied, route};
pub use fits::key_set;
pub use route::{Becomes, RouteNode, RoutePlan};

use inrush_package::Mode;
use inrush_plan::PlanError;

use super::FlowPlan;
use super::flow_target::FlowTarget;
use crate::catalog::TableFacts;
use crate::partition_tree::{self, PartitionTree};
use crate::{PostgresError, Session};

/// Reads the partitions of a target, if it has a partition key.
pub async fn tree(
    session: &Session,
    facts: Option<&TableFacts>,
) -> Result<Option<PartitionTree>, PostgresError> {
    match facts {
        Some(facts) if facts.partitioning.is_some() => Ok(Some(
            partition_tree::read(session, facts.oid, "reading the target's partitions").await?,
        )),
        _ => Ok(None),
    }
}

/// True if rows are routed: if the package says so or, without a setting, if no file could become a partition.
pub fn is_wanted(
    asked: Option<bool>,
    facts: Option<&TableFacts>,
    tree: Option<&PartitionTree>,
) -> bool {
    let is_needed = || {
        let partitioning = facts.and_then(|facts| facts.partitioning.as_ref());
        partitioning.is_some_and(|partitioning| {
            partitioning.strategy != 'r' || !matches!(partitioning.key.as_slice(), [Some(_)])
        }) || tree.is_some_and(PartitionTree::is_nested)
    };
    asked.unwrap_or_else(is_needed)
}

/// Refuses targets whose partitions cannot take routed rows.
pub fn check(target: &FlowTarget<'_>, notes: &mut Vec<String>) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| Err(target.refusal(what, hint));
    let facts = target.facts.as_ref();
    let Some(tree) = &target.tree else {
        return match facts {
            Some(_) => refuse(
                "is not partitioned, but the flow has routing = true".to_owned(),
                "remove `routing`: all rows go to the one table".to_owned(),
            ),
            None => Ok(()),
        };
    };
    let key = facts
        .and_then(|facts| facts.partitioning.as_ref())
        .map_or(&[][..], |partitioning| partitioning.key.as_slice());
    if let Some(column) = &target.partition_by
        && !matches!(key, [Some(key)] if key == column)
    {
        return refuse(
            format!(
                "is partitioned by {}, but the flow has partition_by = \"{column}\"",
                tree.partition_by
            ),
            "leave partition_by out: rows are routed by the target's own key".to_owned(),
        );
    }
    for node in tree.all() {
        if !matches!(node.kind, 'r' | 'p') {
            return refuse(
                format!(
                    "has the partition {}.{}, which is a foreign table: it could be filled \
                     although the rest is rolled back",
                    node.schema, node.name
                ),
                "detach it for the load, and load into the server that holds it".to_owned(),
            );
        }
        if node.unlogged {
            return refuse(
                format!(
                    "has the partition {}.{}, which is UNLOGGED: a crash of the server would empty \
                     it after the load",
                    node.schema, node.name
                ),
                format!(
                    "ALTER TABLE {} SET LOGGED;",
                    crate::quote::qualified(&node.schema, &node.name)
                ),
            );
        }
    }
    notes.push(format!(
        "the switch copies rows into the partitions of {}, so it takes time and writes each row \
         twice",
        target.sql
    ));
    Ok(())
}

/// The mode of the lock on the target. If the target must be empty, it excludes other writers; if partitions are
/// attached, it is the mode of ATTACH; otherwise it is the mode of INSERT.
pub fn lock_mode(flow: &FlowPlan, route: &RoutePlan) -> &'static str {
    if flow.mode == Mode::Create {
        "SHARE ROW EXCLUSIVE"
    } else if route.new_partitions().next().is_some() {
        "SHARE UPDATE EXCLUSIVE"
    } else {
        "ROW EXCLUSIVE"
    }
}
