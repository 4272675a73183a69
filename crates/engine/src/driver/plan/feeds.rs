//! Chooses the units that are fed: whose files cannot be read from their middle, so that all streams take ranges of them.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::{ContractFlow, RangeUnit, UnitAccounts};
use crate::plan::UnitPlace;
use crate::plan::long_units::{self, UnitSize, work_bytes};

/// Feeds the units that would keep one stream busy after the others have ended.
pub fn choose(flows: &mut [ContractFlow], streams: usize) {
    let units = flows.iter_mut().flat_map(|flow| &mut flow.units);
    let mut units: Vec<&mut RangeUnit> = units.collect();
    let size = |unit: &&mut RangeUnit| UnitSize {
        bytes_count: work_bytes(&unit.split),
        is_endless: unit.split.input.is_read_once(),
        is_shared: false,
    };
    let sizes: Vec<UnitSize> = units.iter().map(size).collect();
    let Ok(()) = long_units::share::<Infallible>(&sizes, streams, |index| {
        let unit = &mut units[index];
        unit.split.is_shared = unit.may_be_fed;
        Ok(unit.may_be_fed)
    });
}

/// Units that an earlier attempt has begun, and of which something is kept, are loaded in the same way again: those in
/// `fed` in ranges, the others whole.
pub fn resume(flows: &mut [ContractFlow], kept: &UnitAccounts, fed: &BTreeSet<UnitPlace>) {
    for (flow_at, flow) in flows.iter_mut().enumerate() {
        for (unit_at, unit) in flow.units.iter_mut().enumerate() {
            let place = (flow_at, unit_at);
            if kept.get(place).is_some() {
                unit.split.is_shared = fed.contains(&place);
            }
        }
    }
}
