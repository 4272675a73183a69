//! Keeps the method of an earlier attempt for each unit: fed (all streams take ranges of a file that cannot be read
//! from its middle) or loaded whole.

use std::collections::BTreeSet;

use super::{ContractFlow, UnitAccounts};
use crate::plan::UnitPlace;

/// Units of which an earlier attempt has committed a part are loaded by the same method again: those in `fed` in
/// ranges, the others whole.
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
