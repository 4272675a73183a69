//! The work of the next run (all of it, or the rest of a stopped run), and the flows that are measured for it.

use inrush_plan::UnitPlace;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::units::load_unit::LoadUnit;
use inrush_plan::units::work_items::{self, Committed, WorkItem};
use inrush_source::Split;

use super::flow_found::{self, FlowFound};
use crate::error::Error;

/// Tells which part of a unit is committed already.
pub type CommittedPart<'a> = &'a dyn Fn(UnitPlace, &'a LoadUnit) -> Committed<'a>;

/// The part of a plan that is left to load.
pub struct WorkLeft<'a> {
    plan: &'a LoadPlan,
    /// The pieces of work, in the order in which streams take them.
    pub items: Vec<WorkItem>,
}

impl<'a> WorkLeft<'a> {
    /// The part of this plan that is left to load.
    pub fn of(plan: &'a LoadPlan, committed: CommittedPart<'a>) -> WorkLeft<'a> {
        WorkLeft {
            plan,
            items: work_items::left(&plan.flows, plan.streams, committed),
        }
    }

    /// True if an earlier run has loaded every row of the plan.
    pub fn is_loaded(&self) -> bool {
        let mut flows = self.plan.flows.iter();
        self.items.is_empty() && flows.any(|flow| !flow.units.is_empty())
    }

    /// The stored bytes of all pieces.
    pub fn stored_bytes(&self) -> f64 {
        self.items
            .iter()
            .map(|item| self.stored_bytes_of(item))
            .sum()
    }

    /// The stored bytes of a piece of work. If all streams share its file, this is the share of one stream.
    fn stored_bytes_of(&self, item: &WorkItem) -> f64 {
        self.sum_of(item, |split| split.size_bytes as f64)
    }

    /// The bytes of text of a piece of work, estimated with the ratio of this flow. If all streams share its file, this
    /// is the share of one stream.
    pub fn text_bytes_of(&self, item: &WorkItem, like: &FlowFound) -> f64 {
        self.sum_of(item, |split| like.text_bytes_of(split))
    }

    /// The rows of a piece of work, estimated with the ratio of this flow.
    pub fn rows_of(&self, item: &WorkItem, like: &FlowFound) -> f64 {
        self.sum_of(item, |split| like.rows_of(split))
    }

    /// The bytes of text of all pieces, each estimated with the ratio of its own flow if that is measured.
    pub fn text_bytes(&self, flows: &[FlowFound]) -> f64 {
        let bytes = self.items.iter().map(|item| {
            let like = flow_found::like(flows, item.flow);
            like.map_or_else(
                || self.stored_bytes_of(item),
                |like| self.text_bytes_of(item, like),
            )
        });
        bytes.sum()
    }

    fn sum_of(&self, item: &WorkItem, of: impl Fn(&Split) -> f64) -> f64 {
        let splits = self.splits(item);
        let sum: f64 = splits.iter().map(of).sum();
        match splits.iter().any(|split| split.is_shared) {
            true => sum / self.plan.streams as f64,
            false => sum,
        }
    }

    fn splits(&self, item: &WorkItem) -> &'a [Split] {
        let unit = &self.plan.flows[item.flow].units[item.unit];
        &unit.splits[item.splits.clone()]
    }

    /// The flows that are measured, the largest first, each with its sample. With `tries_units`, the sample is divided by
    /// units, and is of at most as many units as there are streams.
    pub fn flows(&self, tries_units: bool) -> Result<Vec<FlowFound>, Error> {
        let streams = self.plan.streams;
        let mut found = Vec::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let own = || self.items.iter().filter(|item| item.flow == index);
            let stored_bytes = own().map(|item| self.stored_bytes_of(item)).sum();
            let units = own().map(|item| item.unit);
            let works = match tries_units {
                true => works_of_units(flow, units, streams),
                false => one_work(flow, units),
            };
            let left = own().flat_map(|item| self.splits(item));
            let source = &*flow.reading.source;
            let measured = FlowFound::of(index, source, stored_bytes, left, works, streams)?;
            found.extend(measured);
        }
        Ok(flow_found::largest(found))
    }
}

/// A piece of work that is measured: its unit, or `None` if it stands for all units; and its splits.
type Work = (Option<usize>, Vec<Split>);

/// The first units of the work that is left, one for each stream.
fn works_of_units(flow: &LoadFlow, left: impl Iterator<Item = usize>, streams: usize) -> Vec<Work> {
    let units = first_units(left, streams).into_iter();
    units
        .map(|unit| (Some(unit), flow.units[unit].splits.clone()))
        .collect()
}

/// The first different units, at most this number.
fn first_units(left: impl Iterator<Item = usize>, count: usize) -> Vec<usize> {
    let mut units: Vec<usize> = Vec::new();
    for unit in left {
        if units.len() == count {
            break;
        }
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    units
}

/// All units that have work left, as one.
fn one_work(flow: &LoadFlow, left: impl Iterator<Item = usize>) -> Vec<Work> {
    let mut is_left = vec![false; flow.units.len()];
    left.for_each(|unit| is_left[unit] = true);
    let units = flow.units.iter().zip(is_left);
    let splits = units
        .filter(|(_, is_left)| *is_left)
        .flat_map(|(unit, _)| unit.splits.iter().cloned());
    let splits: Vec<Split> = splits.collect();
    match splits.is_empty() {
        true => Vec::new(),
        false => vec![(None, splits)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_tries_another_unit() {
        let left = [3, 3, 1, 3, 0, 2];
        assert_eq!(first_units(left.into_iter(), 3), [3, 1, 0]);
        assert_eq!(first_units(left.into_iter(), 9), [3, 1, 0, 2]);
    }
}
