//! Finds a planned unit by its key, and holds the account of the committed rows of each unit of a plan.

use std::ops::Deref;

use inrush_rows::ids::UnitKey;

use crate::ledger::{Account, LedgerRecord};
use crate::load_flow::LoadFlow;
use crate::units::part::Part;
use crate::units::places::UnitPlace;

/// The positions of a plan's units, sorted by key. The keys themselves stay in the plan.
pub struct UnitIndex<'a, F> {
    flows: &'a [F],
    places: Vec<(u32, u32)>,
}

impl<'a, F: Deref<Target = LoadFlow>> UnitIndex<'a, F> {
    /// An index of the units of these flows.
    pub fn new(flows: &'a [F]) -> UnitIndex<'a, F> {
        let places = flows.iter().zip(0..).flat_map(|(flow, flow_at)| {
            let units = (0..).take(flow.units.len());
            units.map(move |unit_at| (flow_at, unit_at))
        });
        let mut places: Vec<(u32, u32)> = places.collect();
        places.sort_unstable_by_key(|place| key(flows, *place));
        UnitIndex { flows, places }
    }

    /// The position of the unit with this key.
    pub fn find(&self, wanted: &UnitKey) -> Option<UnitPlace> {
        let places = &self.places;
        let found = places.binary_search_by(|place| key(self.flows, *place).cmp(wanted));
        let (flow, unit) = places[found.ok()?];
        Some((flow as usize, unit as usize))
    }

    /// The place of the unit to which a record belongs. `None` if the plan does not have it, or if another program
    /// wrote the record.
    pub fn place_of(&self, record: &LedgerRecord) -> Option<UnitPlace> {
        let (flow, unit) = self.find(&record.unit_key())?;
        let split_count = self.flows[flow].units[unit].splits.len();
        let is_known = Part::of_record(&record.key, split_count).is_some();
        (is_known && !record.splits.is_empty()).then_some((flow, unit))
    }
}

fn key<F: Deref<Target = LoadFlow>>(flows: &[F], (flow, unit): (u32, u32)) -> &UnitKey {
    &flows[flow as usize].units[unit as usize].key
}

/// For each unit of each flow, the account of its committed rows.
#[derive(Clone, Debug, Default)]
pub struct UnitAccounts(Vec<Vec<Option<Account>>>);

impl UnitAccounts {
    /// No unit is committed.
    pub fn none<F: Deref<Target = LoadFlow>>(flows: &[F]) -> UnitAccounts {
        let of_flow = |flow: &F| vec![None; flow.units.len()];
        UnitAccounts(flows.iter().map(of_flow).collect())
    }

    /// The account of a unit; `None` if nothing of it is committed.
    pub fn get(&self, (flow, unit): UnitPlace) -> Option<Account> {
        *self.0.get(flow)?.get(unit)?
    }

    /// Adds a committed part of a unit.
    pub fn add(&mut self, (flow, unit): UnitPlace, account: &Account) {
        self.0[flow][unit].get_or_insert_default().add(account);
    }

    /// Sets the account of a unit.
    pub fn set(&mut self, (flow, unit): UnitPlace, account: Option<Account>) {
        self.0[flow][unit] = account;
    }

    /// The accounts of a flow's units, in their order.
    pub fn of_flow(&self, flow: usize) -> &[Option<Account>] {
        self.0.get(flow).map_or(&[], Vec::as_slice)
    }

    /// The sum of a flow's accounts.
    pub fn total(&self, flow: usize) -> Account {
        let mut total = Account::default();
        for account in self.of_flow(flow).iter().flatten() {
            total.add(account);
        }
        total
    }

    /// How many units are committed.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().flatten().count()
    }
}
