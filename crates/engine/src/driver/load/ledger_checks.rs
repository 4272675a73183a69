//! The check of every file of the plan against the units that the ledger has of it, before anything is published.
//!
//! Units come one after the other, in any order. A file is checked when the last of its ranges has come, so that of a
//! hundred thousand files only accounts are in memory. What a package promises of a flow is held against all records of
//! the flow, which are kept where it promises something.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use inrush_files::SourceFile;
use tokio::runtime::Runtime;

use super::ContractContext;
use inrush_rows::ids::UnitKey;

use crate::driver::plan::{ContractFlow, UnitAccounts, UnitIndex};
use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::pipeline::{coverage, expectations, recheck};
use crate::plan::identity;

/// Checks units as they come.
pub struct LedgerChecks<'a> {
    runtime: &'a Runtime,
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
    pub fn new(runtime: &'a Runtime, context: &'a ContractContext<'a>) -> LedgerChecks<'a> {
        let flows = &context.run.plan.flows;
        LedgerChecks {
            runtime,
            context,
            index: UnitIndex::new(flows),
            accounts: UnitAccounts::none(flows),
            incomplete: BTreeMap::new(),
            promised: vec![Vec::new(); flows.len()],
            first_error: None,
        }
    }

    /// Takes the record of a unit. Units that the plan does not have are passed over: the destination's count of rows
    /// tells of them.
    pub fn see(&mut self, key: &UnitKey, split: SplitRecord) {
        let Some((flow_index, unit)) = self.index.find(key) else {
            return;
        };
        self.accounts.set((flow_index, unit), Some(split.account));
        let flow = self.flow(flow_index);
        if !flow.reading.expect.promises.is_empty() {
            self.promised[flow_index].push(split.clone());
        }
        let units = units_of_file(flow, unit);
        let splits = match units.len() {
            1 => vec![split],
            count => {
                let place = (flow_index, units.start);
                let splits = self.incomplete.entry(place).or_default();
                splits.push(split);
                if splits.len() < count {
                    return;
                }
                self.incomplete.remove(&place).unwrap_or_default()
            }
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
                if own.all(|unit| self.accounts.get((flow_index, unit)).is_some()) {
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
        let file = &flow.units[unit].split.file;
        let key = identity::file_key(file);
        let own = splits.iter().filter(|split| split.file_key == key);
        let own: Vec<&SplitRecord> = own.collect();
        let files = || std::iter::once(file);
        let stop = self.context.stop;
        let dialect = &flow.reading.dialect;
        self.runtime
            .block_on(recheck::texts(dialect, files(), &own, stop))?;
        check_coverage(file, &own)?;
        expectations::check_trailers(&flow.reading, files(), &own)?;
        Ok(())
    }
}

/// Checks that the ranges of a file are all there is of it.
fn check_coverage(file: &SourceFile, own: &[&SplitRecord]) -> Result<(), Error> {
    // What is read whole has no end that is known before.
    let end = own
        .iter()
        .all(|split| split.byte_end.is_some())
        .then_some(file.size_bytes);
    coverage::check_file(file, own, end)?;
    if own.is_empty() {
        return Err(Error::Verification {
            what: format!("the ledger's units of {}", file.path.display()),
            counted: 0,
            sent: 1,
        });
    }
    coverage::check_bytes(file, own)?;
    Ok(())
}

/// The units of the file that this unit is of: the ranges of a file stand one after the other.
fn units_of_file(flow: &ContractFlow, unit: usize) -> Range<usize> {
    let units = &flow.units;
    let file = &units[unit].split.file;
    let is_of_file = |at: &usize| Arc::ptr_eq(&units[*at].split.file, file);
    let before = (0..unit).rev().take_while(is_of_file).count();
    let from_here = (unit..units.len()).take_while(is_of_file).count();
    unit - before..unit + from_here
}
