//! Keeps the choice of an earlier attempt between units that are fed (whose files cannot be read from their middle, so that
//! all streams take ranges of them) and units that are loaded whole.

use std::collections::BTreeSet;

use super::{ContractFlow, UnitAccounts};
use crate::plan::UnitPlace;

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
