//! The check of every file of the plan against the units that the ledger has of it, before anything is published.
//!
//! Units come one after the other, in any order. A file is checked when the last of its ranges has come, so that of a
//! hundred thousand files only accounts are in memory. What a package promises of a flow is held against all records of
//! the flow, which are kept where it promises something.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::ContractContext;

use crate::driver::plan::{ContractFlow, LedgerRecord, UnitAccounts, UnitIndex};
use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::pipeline::{expectations, file_checks};
use crate::plan::identity;

/// Checks units as they come.
pub struct LedgerChecks<'a> {
    context: &'a ContractContext<'a>,
    index: UnitIndex<'a>,
    accounts: UnitAccounts,
    /// Records of files of which ranges are missing, by flow and by the first of the file's units.
    incomplete: BTreeMap<(usize, usize), Vec<SplitRecord>>,
    /// All records of each flow of which something is promised.
    promised: Vec<Vec<SplitRecord>>,
    first_error: Option<Error>,
}

impl<'a> LedgerChecks<'a> {
    /// Nothing has come so far.
    pub fn new(context: &'a ContractContext<'a>) -> LedgerChecks<'a> {
        let flows = &context.run.plan.flows;
        LedgerChecks {
            context,
            index: UnitIndex::new(flows),
            accounts: UnitAccounts::none(flows),
            incomplete: BTreeMap::new(),
            promised: vec![Vec::new(); flows.len()],
            first_error: None,
        }
    }

    /// Takes a record. Those of units that the plan does not have are passed over: the destination's count of rows
    /// tells of them.
    pub fn see(&mut self, record: LedgerRecord) {
        let Some((flow_index, unit)) = self.index.find(&record.unit_key()) else {
            return;
        };
        if record.splits.is_empty() {
            return;
        }
        self.accounts.add((flow_index, unit), &record.account());
        let flow = self.flow(flow_index);
        if !flow.reading.expect.promises.is_empty() {
            let splits = record.splits.iter().cloned();
            self.promised[flow_index].extend(splits);
        }
        let units = units_of_file(flow, unit);
        let place = (flow_index, units.start);
        let splits = if flow.units[unit].split.is_shared {
            // Nobody knows how many records there are.
            let splits = self.incomplete.entry(place).or_default();
            splits.extend(record.splits);
            return;
        } else if units.len() == 1 {
            record.splits
        } else {
            let splits = self.incomplete.entry(place).or_default();
            splits.extend(record.splits);
            if splits.len() < units.len() {
                return;
            }
            self.incomplete.remove(&place).unwrap_or_default()
        };
        let checked = self.check(flow_index, unit, &splits);
        self.note(checked);
    }

    /// The accounts of all units, each of which has come and is right.
    pub fn finish(mut self) -> Result<UnitAccounts, Error> {
        let flows = &self.context.run.plan.flows;
        for (flow_index, flow) in flows.iter().enumerate() {
            let mut unit = 0;
            while unit < flow.units.len() {
                let units = units_of_file(flow, unit);
                unit = units.end;
                let mut own = units.clone();
                let is_checked = |unit: usize| {
                    let account = self.accounts.get((flow_index, unit));
                    account.is_some() && !flow.units[unit].split.is_shared
                };
                if own.all(is_checked) {
                    continue;
                }
                let place = (flow_index, units.start);
                let splits = self.incomplete.remove(&place).unwrap_or_default();
                let checked = self.check(flow_index, units.start, &splits);
                self.note(checked);
            }
            let records: Vec<&SplitRecord> = self.promised[flow_index].iter().collect();
            let checked = expectations::check_promises(&flow.reading, &records);
            self.note(checked.map_err(Error::from));
        }
        match self.first_error {
            None => Ok(self.accounts),
            Some(error) => Err(error),
        }
    }

    fn flow(&self, index: usize) -> &'a ContractFlow {
        &self.context.run.plan.flows[index]
    }

    fn note(&mut self, checked: Result<(), Error>) {
        if self.first_error.is_none() {
            self.first_error = checked.err();
        }
    }

    /// Checks a file, of which this is one of the units, against all records of it.
    fn check(&self, flow_index: usize, unit: usize, splits: &[SplitRecord]) -> Result<(), Error> {
        if self.first_error.is_some() {
            return Ok(());
        }
        let flow = self.flow(flow_index);
        let file = &flow.units[unit].split.input;
        let key = identity::file_key(&**file);
        let own = splits.iter().filter(|split| split.file_key == key);
        let own: Vec<&SplitRecord> = own.collect();
        let run = self.context.run;
        let is_fed = flow.units[unit].split.is_shared;
        let end = run.file_end(flow_index, file, is_fed);
        let files = || std::iter::once((file, end));
        self.context
            .runtime
            .block_on(file_checks::check(&flow.reading, files, &own))?;
        // What comes through a pipe may have no text, and then no range.
        if own.is_empty() && !is_fed {
            return Err(Error::Verification {
                what: format!("the ledger's units of {}", file.name().display()),
                counted: 0,
                sent: 1,
            });
        }
        Ok(())
    }
}

/// The units of the file that this unit is of: the ranges of a file stand one after the other.
fn units_of_file(flow: &ContractFlow, unit: usize) -> Range<usize> {
    let units = &flow.units;
    let file = &units[unit].split.input;
    let is_of_file = |at: &usize| Arc::ptr_eq(&units[*at].split.input, file);
    let before = (0..unit).rev().take_while(is_of_file).count();
    let from_here = (unit..units.len()).take_while(is_of_file).count();
    unit - before..unit + from_here
}
