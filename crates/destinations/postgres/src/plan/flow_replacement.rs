//! Sixth stage of a flow's plan: the part of the target that the new rows replace, and obstacles to the replacement.

use inrush_package::Mode;

use super::bounds::Interval;
use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use super::publishing::Publishing;
use super::switch_statements::expression;
use super::{KeyPlan, ReplacePlan, replace_mode};
use crate::Session;
use crate::catalog::TableFacts;
use crate::plan::failure::PlanFailure;
use crate::ranges::{self, PartitionRange};

/// The part of the target that the new rows replace.
#[derive(Default)]
pub struct Replacement {
    /// The tables that are taken out.
    pub plan: Option<ReplacePlan>,
    /// An existing partition that conflicts with the bounds, described for a message.
    pub overlap: Option<String>,
}

impl Replacement {
    /// Reads the catalog. `intervals` are the declared partitions.
    pub async fn find(
        request: &FlowRequest<'_>,
        target: &FlowTarget<'_>,
        columns: &FlowColumns,
        publishing: &Publishing,
        intervals: &[Interval],
    ) -> Result<Replacement, PlanFailure> {
        let session = request.session;
        let Some(facts) = &target.facts else {
            return Ok(Replacement::default());
        };
        let replace = &request.flow.replace;
        let is_replaced = request.flow.mode == Mode::Replace;
        Ok(match columns.key_of_units() {
            None if is_replaced => {
                let publish = &publishing.publish;
                let plan =
                    replace_mode::of_plain(session, replace, &target.sql, facts, publish).await?;
                Replacement {
                    plan: Some(plan),
                    overlap: None,
                }
            }
            None => Replacement::default(),
            Some(key) if is_replaced => {
                let asked = ranges_of(intervals);
                let plan =
                    replace_mode::of_partitions(session, replace, &target.sql, facts, key, &asked);
                Replacement {
                    plan: Some(plan.await?),
                    overlap: None,
                }
            }
            Some(key) => Replacement {
                plan: None,
                overlap: overlap(session, key, facts, &ranges_of(intervals)).await?,
            },
        })
    }

    /// Names in the target's schema that will be free when the new partitions get their names, because the tables with
    /// these names are taken out.
    pub fn names_freed<'a>(&'a self, target: &FlowTarget<'_>) -> impl Iterator<Item = &'a str> {
        let schema = target.schema.to_owned();
        let old = self.plan.iter().flat_map(|plan| &plan.old);
        old.filter(move |old| old.schema == schema && !old.is_default())
            .map(|old| old.name.as_str())
    }
}

/// The first existing partition that overlaps the declared bounds.
async fn overlap(
    session: &Session,
    key: &KeyPlan,
    facts: &TableFacts,
    asked: &[PartitionRange],
) -> Result<Option<String>, PlanFailure> {
    let existing = ranges::existing(facts);
    let found = ranges::overlap(session, &key.comparable_type(), asked, &existing).await?;
    Ok(found.map(|(asked, existing)| {
        format!("has the partition {existing}, which overlaps the requested {asked}")
    }))
}

/// Declared bounds as ranges.
fn ranges_of(intervals: &[Interval]) -> Vec<PartitionRange> {
    intervals
        .iter()
        .map(|interval| PartitionRange {
            label: format!("[{}, {})", interval.lower, interval.upper),
            lower: Some(expression(&interval.lower)),
            upper: Some(expression(&interval.upper)),
        })
        .collect()
}
