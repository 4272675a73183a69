//! The route of rows: the target's tree of partitions, which the staging table copies.

use inrush_source::TablePartition;

use super::statements;
use crate::partition_tree::{PartitionNode, PartitionTree};
use crate::plan::new_indexes::{IndexPlanner, NewIndex};
use crate::staging::UnitBounds;

/// The route of a flow's rows to their partitions.
///
/// The staging table is partitioned like the target, so the server routes each row during COPY exactly as it would in
/// the target, for any kind of key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePlan {
    /// The key in SQL: `RANGE (day)`.
    pub partition_by: String,
    /// True if the target is created from the staging table and its partitions.
    pub is_new: bool,
    /// The partitions; each has its own partitions below it.
    pub nodes: Vec<RouteNode>,
}

/// A partition of the staging table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteNode {
    /// Counted from 1 over the whole tree; part of its staging table's name.
    pub number: usize,
    /// `FOR VALUES ...` or `DEFAULT`.
    pub bound: String,
    /// Its own key, if it is partitioned.
    pub partition_by: Option<String>,
    /// Its constraints apart from its bound: clauses of ALTER TABLE.
    pub constraints: Vec<String>,
    /// The target's partition for its rows.
    pub becomes: Becomes,
    /// Indexes that this partition has and its parent lacks. Only a target that is made like the table that is read has
    /// them.
    pub indexes: Vec<NewIndex>,
    /// Its partitions.
    pub nodes: Vec<RouteNode>,
}

/// How a partition of the staging table becomes a part of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Becomes {
    /// Its rows are copied into an existing partition of the target.
    Existing,
    /// It becomes a new partition with this name.
    New {
        /// The name.
        name: String,
        /// Its bounds.
        bounds: UnitBounds,
    },
    /// It becomes a partition with this name and with the bound of the partition that is read. The whole target is new.
    Copied {
        /// The name.
        name: String,
    },
}

impl RoutePlan {
    /// The tree of an existing target.
    pub fn of_target(tree: &PartitionTree) -> RoutePlan {
        let mut number = 0;
        RoutePlan {
            partition_by: tree.partition_by.clone(),
            is_new: false,
            nodes: existing(&tree.partitions, &mut number),
        }
    }

    /// A new target with the partitions of the table that is read.
    pub fn of_source(
        partition_by: &str,
        partitions: &[TablePartition],
        planner: &mut IndexPlanner<'_>,
    ) -> RoutePlan {
        let mut number = 0;
        RoutePlan {
            partition_by: partition_by.to_owned(),
            is_new: true,
            nodes: copied(partitions, planner, &mut number),
        }
    }

    /// Adds a partition with these bounds.
    pub fn add(&mut self, name: String, bounds: UnitBounds) {
        let number = self.all().len() + 1;
        self.nodes.push(RouteNode {
            number,
            bound: statements::bound(&bounds),
            partition_by: None,
            constraints: Vec::new(),
            becomes: Becomes::New { name, bounds },
            indexes: Vec::new(),
            nodes: Vec::new(),
        });
    }

    /// All partitions, each before those below it.
    pub fn all(&self) -> Vec<&RouteNode> {
        let mut found = Vec::new();
        let mut open: Vec<&RouteNode> = self.nodes.iter().rev().collect();
        while let Some(node) = open.pop() {
            found.push(node);
            open.extend(node.nodes.iter().rev());
        }
        found
    }

    /// The new partitions of the target on all levels, each before those below it: node and name.
    pub fn new_partitions(&self) -> impl Iterator<Item = (&RouteNode, &str)> {
        self.all()
            .into_iter()
            .filter_map(|node| match &node.becomes {
                Becomes::New { name, .. } | Becomes::Copied { name } => Some((node, name.as_str())),
                Becomes::Existing => None,
            })
    }

    /// True if rows are copied into existing partitions of the target.
    pub fn copies_rows(&self) -> bool {
        self.nodes
            .iter()
            .any(|node| node.becomes == Becomes::Existing)
    }

    /// True if rows are copied into existing partitions of the target, and there are no new ones.
    pub fn only_copies_rows(&self) -> bool {
        self.copies_rows() && self.new_partitions().next().is_none()
    }

    /// The plan's line about the route.
    pub fn words(&self) -> String {
        let all = self.all();
        let leaves = all.iter().filter(|node| node.nodes.is_empty());
        let is_existing = |node: &&&RouteNode| node.becomes == Becomes::Existing;
        let existing = leaves.clone().filter(is_existing).count();
        let (leaves, count) = (existing, leaves.count() - existing);
        let partitions = |count: usize| match count {
            1 => "1 partition".to_owned(),
            _ => format!("{count} partitions"),
        };
        let places = match (leaves, count) {
            (_, 0) => format!("{} of the target", partitions(leaves)),
            (0, _) => format!("{} that are made", partitions(count)),
            _ => format!(
                "{} of the target and {} added",
                partitions(leaves),
                partitions(count)
            ),
        };
        format!(
            "each row goes to its own partition, by {}, among {places}; the server finds the \
             partition while the rows are loaded",
            self.partition_by
        )
    }
}

fn existing(nodes: &[PartitionNode], number: &mut usize) -> Vec<RouteNode> {
    let made = nodes.iter().map(|node| {
        *number += 1;
        RouteNode {
            number: *number,
            bound: node.bound.clone(),
            partition_by: node.partition_by.clone(),
            constraints: node.constraints.clone(),
            becomes: Becomes::Existing,
            indexes: Vec::new(),
            nodes: existing(&node.partitions, number),
        }
    });
    made.collect()
}

fn copied(
    partitions: &[TablePartition],
    planner: &mut IndexPlanner<'_>,
    number: &mut usize,
) -> Vec<RouteNode> {
    let made = partitions.iter().map(|partition| {
        *number += 1;
        RouteNode {
            number: *number,
            bound: partition.bound.clone(),
            partition_by: partition.partition_by.clone(),
            constraints: Vec::new(),
            becomes: Becomes::Copied {
                name: planner.free_name(&partition.name),
            },
            indexes: planner.take_over(&partition.indexes),
            nodes: copied(&partition.partitions, planner, number),
        }
    });
    made.collect()
}
