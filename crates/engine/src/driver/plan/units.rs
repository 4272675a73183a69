//! The load units of a flow, as the destination lays them out.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_destination::{
    Abilities, Ability, Destination, Filling, LayoutError, PublishesInto, SplitFacts, TargetPlan,
    UnitLayout,
};
use inrush_rows::ids::{RunKey, UnitKey};
use inrush_source::{Source, SourceError, Split};

use super::ContractFlow;
use crate::load::Part;
use crate::plan::UnitAccounts;
use crate::plan::identity::description::Description;
use crate::plan::long_units::work_bytes;
use crate::plan::{PlanError, PlannedUnit, UnitPlace, identity};

/// A load unit. One stream loads it and commits it with one record of the ledger. If several streams fill it, each
/// split has its own record; a fed split has a record for each group of ranges that a stream commits.
#[derive(Clone, Debug)]
pub struct RangeUnit {
    /// Counted from 1 within its flow.
    pub number: usize,
    /// Identifies its files in their present state, its target, and how the rows are read.
    pub key: UnitKey,
    /// Its splits, at least one, in the order in which one stream loads them.
    pub splits: Vec<Split>,
    /// The streams that may fill it, as the destination says.
    pub filling: Filling,
    /// The table or partition into which its rows are published.
    pub publishes_into: PublishesInto,
    /// Several streams fill it.
    pub is_shared: bool,
    /// Indexes of the splits that are fed if several streams fill it: they cannot be read from their middle, and are large
    /// enough.
    fed_if_shared: Vec<usize>,
}

impl RangeUnit {
    /// Lets several streams fill it, or one.
    pub fn share(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
        for at in &self.fed_if_shared {
            self.splits[*at].is_shared = is_shared;
        }
    }

    /// Keys of records. If a run has loaded all of the unit, it has committed at least one of these.
    pub fn first_record_keys(&self) -> Vec<UnitKey> {
        let mut keys = vec![self.key.clone()];
        if self.filling != Filling::OneStream {
            let splits = 0..self.splits.len();
            keys.extend(
                splits.map(|at| self.first_part(at).record_key(&self.key, self.splits.len())),
            );
            keys.dedup();
        }
        keys
    }

    /// The first part of a split that is committed if several streams fill the unit.
    fn first_part(&self, at: usize) -> Part {
        let split = at + 1;
        match self.fed_if_shared.contains(&at) {
            true => Part::Ranges {
                split,
                text_start: 0,
            },
            false => Part::Split(split),
        }
    }

    /// True if one of its files is a pipe.
    pub fn has_pipe(&self) -> bool {
        self.splits.iter().any(|split| split.input.is_read_once())
    }

    /// Bytes of its files as they are stored.
    pub fn stored_bytes(&self) -> u64 {
        self.splits.iter().map(|split| split.size_bytes).sum()
    }
}

impl PlannedUnit for RangeUnit {
    fn number(&self) -> usize {
        self.number
    }

    fn key(&self) -> &UnitKey {
        &self.key
    }

    fn splits(&self) -> &[Split] {
        &self.splits
    }

    fn splits_mut(&mut self) -> &mut [Split] {
        &mut self.splits
    }

    fn bytes_count(&self) -> u64 {
        self.splits.iter().map(work_bytes).sum()
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Several streams help only if there are several splits, or one split that is fed to all of them.
    fn share_if_useful(&mut self, _: &dyn Source) -> Result<bool, SourceError> {
        let is_useful = self.splits.len() > 1 || !self.fed_if_shared.is_empty();
        let is_shared = is_useful && self.filling != Filling::OneStream;
        if is_shared {
            self.share(true);
        }
        Ok(is_shared)
    }
}

/// Units of which an earlier attempt has committed something are loaded in the same way again: those in `in_parts` by
/// several streams, the others by one.
pub fn resume(flows: &mut [ContractFlow], kept: &UnitAccounts, in_parts: &BTreeSet<UnitPlace>) {
    for (flow_at, flow) in flows.iter_mut().enumerate() {
        for (unit_at, unit) in flow.units.iter_mut().enumerate() {
            let place = (flow_at, unit_at);
            if kept.get(place).is_some() {
                unit.share(in_parts.contains(&place));
            }
        }
    }
}

/// Makes the units of a flow.
pub struct UnitPlanner<'a> {
    /// Lays them out.
    pub destination: &'a dyn Destination,
    /// The abilities of the destination.
    pub abilities: &'a Abilities,
    /// The run's key.
    pub run_key: &'a RunKey,
    /// The flow's name.
    pub flow: &'a str,
    /// The source of the flow.
    pub source: &'a dyn Source,
    /// The flow's target.
    pub target: &'a TargetPlan,
    /// The description of the settings that determine the rows of all units.
    pub shape: &'a Description,
}

impl UnitPlanner<'_> {
    /// The units. They depend only on files and target, so that a stopped run continues with the missing ones.
    pub fn plan(&self) -> Result<Vec<RangeUnit>, PlanError> {
        let splits = self.splits()?;
        let facts: Vec<SplitFacts<'_>> = splits.iter().map(facts_of).collect();
        let layout = self.destination.lay_out(self.target, &facts)?;
        let mut checked = layout.check(splits.len());
        checked = checked.and_then(|()| layout.check_filled());
        if self.abilities.can.contains(&Ability::RejectRefused) {
            checked = checked.and_then(|()| layout.check_order(splits.len()));
        }
        checked.map_err(|source: LayoutError| PlanError::Layout {
            flow: self.flow.to_owned(),
            source,
        })?;
        // Each split is in exactly one unit, which takes it.
        let mut splits: Vec<Option<Split>> = splits.into_iter().map(Some).collect();
        let shape = self.shape.clone().into_text();
        let units = layout.units.into_iter().zip(1..);
        let units = units.map(|(unit, number)| self.unit(number, unit, &shape, &mut splits));
        Ok(units.collect())
    }

    fn splits(&self) -> Result<Vec<Split>, SourceError> {
        let mut splits = Vec::new();
        for index in 0..self.source.input_count() {
            let input = self.source.input(index);
            let own = self.source.splits(index, self.abilities.unit_bytes)?;
            splits.extend(
                own.into_iter()
                    .map(|own| Split::of(Arc::clone(&input), own)),
            );
        }
        Ok(splits)
    }

    fn unit(
        &self,
        number: usize,
        layout: UnitLayout,
        shape: &str,
        splits: &mut [Option<Split>],
    ) -> RangeUnit {
        let own = layout.splits.iter();
        let own: Vec<Split> = own.filter_map(|at| splits[*at].take()).collect();
        let key = match &layout.publishes_into {
            PublishesInto::Target => identity::unit_key(self.run_key, shape, &own),
            // Rows that are staged for one partition cannot be used for another.
            PublishesInto::Partition(name) => {
                let mut shape = self.shape.clone();
                shape.say("partition", name.clone());
                identity::unit_key(self.run_key, &shape.into_text(), &own)
            }
        };
        let fed = own.iter().enumerate().filter(|(_, split)| split.is_shared);
        let mut unit = RangeUnit {
            number,
            key,
            fed_if_shared: fed.map(|(at, _)| at).collect(),
            splits: own,
            filling: layout.filling,
            publishes_into: layout.publishes_into,
            is_shared: false,
        };
        // Otherwise several streams fill it only if that helps all streams to end at the same time.
        unit.share(unit.filling == Filling::EachSplit && unit.splits.len() > 1);
        unit
    }
}

fn facts_of(split: &Split) -> SplitFacts<'_> {
    let input = &split.input;
    SplitFacts {
        input: input.index(),
        name: input.name(),
        text_bytes: (!input.is_read_once()).then(|| work_bytes(split)),
        row_count: input.row_count().filter(|_| split.is_whole()),
    }
}
