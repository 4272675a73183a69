//! Checks every file of the plan against the ledger's records of its units, before anything is published.
//!
//! Units arrive one at a time, in any order. A file is checked as soon as its last range has arrived, so memory holds
//! little more than an account for each of a hundred thousand files. If a flow has promises (such as a total of rows),
//! all of its records are kept until the end and compared with the promises.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::ContractContext;

use crate::driver::plan::{ContractFlow, LedgerRecord, UnitAccounts, UnitIndex};
use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::pipeline::{expectations, file_checks};
use crate::plan::identity;

/// Checks units as they arrive.
pub struct LedgerChecks<'a> {
    context: &'a ContractContext<'a>,
    index: UnitIndex<'a>,
    accounts: UnitAccounts,
    /// Records of files that lack some ranges, by flow and by the first of the file's units.
    incomplete: BTreeMap<(usize, usize), Vec<SplitRecord>>,
    /// All records of each flow that has promises.
    promised: Vec<Vec<SplitRecord>>,
    first_error: Option<Error>,
}

impl<'a> LedgerChecks<'a> {
    /// Starts without any record.
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

    /// Takes a record. A record of a unit that the plan does not have is ignored: the destination's count of rows
    /// reveals such a unit.
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
            // A fed file may have any number of records.
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

    /// The accounts of all units, if every file is complete and correct.
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

    /// Checks the file that `unit` belongs to against all of the file's records.
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
        // A pipe may have been empty, and has no range then.
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

/// The units of the file that this unit belongs to. The ranges of a file follow each other.
fn units_of_file(flow: &ContractFlow, unit: usize) -> Range<usize> {
    let units = &flow.units;
    let file = &units[unit].split.input;
    let is_of_file = |at: &usize| Arc::ptr_eq(&units[*at].split.input, file);
    let before = (0..unit).rev().take_while(is_of_file).count();
    let from_here = (unit..units.len()).take_while(is_of_file).count();
    unit - before..unit + from_here
}
