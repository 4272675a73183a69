//! The work of the next run (all of it, or the rest of a stopped run), and the flows that are measured for it.

use inrush_engine::error::Error;
use inrush_engine::planner::preflight::flow_found::{self, FlowFound};
use inrush_plan::LoadUnit;
use inrush_plan::work_items::{self, Committed, WorkItem};
use inrush_source::Split;

use crate::plan::{Earlier, FlowPlan, Plan, UnitPlan};

/// The part of a plan that is left to load.
pub struct WorkLeft<'a> {
    plan: &'a Plan,
    /// The pieces of work, in the order in which streams take them.
    pub items: Vec<WorkItem>,
}

impl<'a> WorkLeft<'a> {
    /// The part of this plan that is left to load.
    pub fn of(plan: &'a Plan) -> WorkLeft<'a> {
        let committed = |_, unit: &LoadUnit| match &plan.earlier {
            Earlier::Stopped {
                kept, unfinished, ..
            } => match unfinished.get(&unit.key) {
                Some(splits) => Committed::Splits(Box::new(|key| splits.contains(key))),
                None if kept.contains(&unit.key) => Committed::All,
                None => Committed::Nothing,
            },
            _ => Committed::Nothing,
        };
        WorkLeft {
            plan,
            items: work_items::left(&plan.flows, plan.streams, committed),
        }
    }

    /// The flow and the unit of a piece of work.
    pub fn unit(&self, item: &WorkItem) -> (&'a FlowPlan, UnitPlan<'a>) {
        let flow = &self.plan.flows[item.flow];
        (flow, flow.unit(item.unit))
    }

    /// The stored bytes of a piece of work. If all streams share its file, this is the share of one stream.
    pub fn stored_bytes(&self, item: &WorkItem) -> f64 {
        self.sum_of(item, |split| split.size_bytes as f64)
    }

    /// The bytes of text of a piece of work, estimated with the ratio of this flow. If all streams share its file, this
    /// is the share of one stream.
    pub fn text_bytes(&self, item: &WorkItem, like: &FlowFound) -> f64 {
        self.sum_of(item, |split| like.text_bytes_of(split))
    }

    fn sum_of(&self, item: &WorkItem, of: impl Fn(&Split) -> f64) -> f64 {
        let splits = self.splits(item);
        let bytes: f64 = splits.iter().map(of).sum();
        match splits.iter().any(|split| split.is_shared) {
            true => bytes / self.plan.streams as f64,
            false => bytes,
        }
    }

    fn splits(&self, item: &WorkItem) -> &'a [Split] {
        let (_, unit) = self.unit(item);
        &unit.load.splits[item.splits.clone()]
    }

    /// The flows that are measured, the largest first, each with its sample.
    pub fn flows(&self) -> Result<Vec<FlowFound>, Error> {
        let mut found = Vec::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let own = self.items.iter().filter(|item| item.flow == index);
            let mut units: Vec<usize> = Vec::new();
            let mut stored_bytes = 0.0;
            for item in own {
                stored_bytes += self.stored_bytes(item);
                if !units.contains(&item.unit) && units.len() < self.plan.streams {
                    units.push(item.unit);
                }
            }
            let works: Vec<(Option<usize>, Vec<Split>)> = units
                .into_iter()
                .map(|unit| (Some(unit), flow.units[unit].splits.clone()))
                .collect();
            let own = self.items.iter().filter(|item| item.flow == index);
            let left = own.flat_map(|item| self.splits(item));
            let source = &*flow.reading.source;
            let streams = self.plan.streams;
            found.extend(FlowFound::of(
                index,
                source,
                stored_bytes,
                left,
                works,
                streams,
            )?);
        }
        Ok(flow_found::largest(found))
    }
}
