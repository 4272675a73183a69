//! The load units of a flow, as the destination lays them out.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_destination::{
    Abilities, Ability, Destination, Filling, LayoutError, PublishesInto, SplitFacts, TargetPlan,
    UnitLayout,
};
use inrush_rows::ids::RunKey;
use inrush_source::{Source, SourceError, Split};

use super::ContractFlow;
use crate::identity::description::Description;
use crate::units::load_unit::{LoadUnit, Portions};
use crate::units::long_units::work_bytes;
use crate::{PlanError, UnitAccounts, UnitPlace, identity};

/// Units of which an earlier attempt has committed something are loaded in the same way again: those in `in_parts` by
/// several streams, the others by one.
pub fn resume(flows: &mut [ContractFlow], kept: &UnitAccounts, in_parts: &BTreeSet<UnitPlace>) {
    for (flow_at, flow) in flows.iter_mut().enumerate() {
        for (unit_at, unit) in flow.units.iter_mut().enumerate() {
            let place = (flow_at, unit_at);
            if kept.get(place).is_some() {
                unit.set_shared(in_parts.contains(&place));
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
    pub fn plan(&self) -> Result<Vec<LoadUnit>, PlanError> {
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
    ) -> LoadUnit {
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
        let fed = fed.map(|(at, _)| at).collect();
        let portions = Portions::Splits { fed };
        let mut unit = LoadUnit::new(
            number,
            key,
            own,
            layout.filling,
            portions,
            layout.publishes_into,
        );
        // Otherwise several streams fill it only if that helps all streams to end at the same time.
        unit.set_shared(unit.filling == Filling::EachSplit && unit.splits.len() > 1);
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
