//! The report's entries for the flows and units of a plan.

use std::sync::Arc;

use inrush_destination::StoredWay;
use inrush_plan::UnitPlace;
use inrush_plan::ledger::Account;
use inrush_plan::load_flow::LoadFlow;
use inrush_verdict::StoredUnits;

use super::gathering::Gathering;
use crate::meter::Meter;
use crate::report::{TableReport, UnitReport};

/// The state of a unit at the end of a run, or before its switch.
pub struct UnitEnd {
    /// An earlier attempt has loaded it.
    pub is_kept: bool,
    /// All of it is committed.
    pub is_finished: bool,
    /// The destination could refuse single rows of it.
    pub is_careful: bool,
    /// How the destination stored its rows, if it had a choice.
    pub server_copy: Option<StoredWay>,
    /// Its committed rows.
    pub account: Account,
    /// The destination's own count of them, if it was asked.
    pub rows_counted: Option<u64>,
}

/// The reports of all units, in the order of the plan, each with its time.
pub fn of_units(
    gathering: &Gathering,
    flows: &[Arc<LoadFlow>],
    mut end_of: impl FnMut(UnitPlace) -> UnitEnd,
) -> Vec<UnitReport> {
    let mut reports = Vec::with_capacity(flows.iter().map(|flow| flow.units.len()).sum());
    let mut firsts = Vec::with_capacity(flows.len());
    for (flow_at, flow) in flows.iter().enumerate() {
        firsts.push(reports.len());
        for (unit_at, unit) in flow.units.iter().enumerate() {
            let end = end_of((flow_at, unit_at));
            let files = unit.splits.iter();
            reports.push(UnitReport {
                flow: flow.reading.name.clone(),
                unit: unit.number,
                files: files
                    .map(|split| split.input.name().display().to_string())
                    .collect(),
                staging_table: unit.staging_table.to_owned(),
                shared: unit.is_shared,
                straight: flow.is_straight(),
                kept: end.is_kept,
                finished: end.is_finished,
                careful: end.is_careful,
                server_copy: end.server_copy,
                account: end.account,
                rows_counted: end.rows_counted,
                meter: Meter::default(),
            });
        }
    }
    gathering.add_meters(&mut reports, &firsts);
    reports
}

/// How the destination stored units, if it has an extension for it; the method of the most units first.
pub fn stored(reports: &[UnitReport]) -> Vec<StoredUnits> {
    let mut stored: Vec<StoredUnits> = Vec::new();
    for told in reports.iter().filter_map(|it| it.server_copy.as_ref()) {
        let is_same = |it: &&mut StoredUnits| {
            it.way == told.way && it.reason == told.reason && it.fix == told.fix
        };
        match stored.iter_mut().find(is_same) {
            Some(known) => known.units += 1,
            None => stored.push(StoredUnits {
                units: 1,
                way: told.way.clone(),
                reason: told.reason.clone(),
                fix: told.fix.clone(),
            }),
        }
    }
    stored.sort_by_key(|it| std::cmp::Reverse(it.units));
    stored
}

/// The report of a flow's target, without the facts that only a run can add.
pub fn of_target(flow: &LoadFlow, account: Account) -> TableReport {
    TableReport {
        flow: flow.reading.name.clone(),
        target: flow.reading.target.clone(),
        account,
        stored_bytes: flow.stored_bytes(),
        partitions: Vec::new(),
        rows_updated: None,
        versions: None,
        members: Vec::new(),
        changes: Vec::new(),
        steps: Vec::new(),
    }
}
