//! The check of every file of the plan against the records that the ledger has of it, before anything is published.
//!
//! Records are read one after the other, in any order. A file is checked when the last of its splits is read, so that
//! only the accounts of a hundred thousand files are in memory. A package's expected totals of a flow are compared with
//! all records of the flow, which are kept only for this.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_rows::ids::FileKey;
use inrush_source::{Input, Split};

use super::ContractContext;
use super::staged_sums::SentSums;

use crate::driver::plan::{ContractFlow, UnitAccounts, UnitIndex};
use crate::error::Error;
use crate::ledger::{LedgerRecord, SplitRecord};
use crate::load::Part;
use crate::pipeline::{expectations, file_checks};
use crate::plan::identity;

/// Checks records as they come.
pub struct LedgerChecks<'a> {
    context: &'a ContractContext<'a>,
    index: UnitIndex<'a>,
    accounts: UnitAccounts,
    /// For each flow and each of its inputs, the splits that are not read yet. A fed split has an unknown number of
    /// records, so it never counts as read.
    missing: Vec<Vec<usize>>,
    /// The records of files that lack splits, by flow and input.
    incomplete: BTreeMap<(usize, usize), Vec<SplitRecord>>,
    /// All records of each flow that has promises.
    promised: Vec<Vec<SplitRecord>>,
    first_error: Option<Error>,
    /// The sums of the rows that were sent.
    pub sums: SentSums,
}

impl<'a> LedgerChecks<'a> {
    /// Starts without any record.
    pub fn new(context: &'a ContractContext<'a>) -> LedgerChecks<'a> {
        let flows = &context.run.plan.flows;
        LedgerChecks {
            context,
            index: UnitIndex::new(flows),
            accounts: UnitAccounts::none(flows),
            missing: flows.iter().map(splits_of_inputs).collect(),
            incomplete: BTreeMap::new(),
            promised: vec![Vec::new(); flows.len()],
            first_error: None,
            sums: SentSums::none(flows),
        }
    }

    /// Takes a record. A record of a unit that the plan does not have is ignored: the destination's count of rows
    /// reveals such a unit.
    pub fn see(&mut self, record: LedgerRecord) {
        let Some(place) = self.index.place_of(&record) else {
            return;
        };
        self.accounts.add(place, &record.account());
        let (flow_index, unit) = place;
        let flow = self.flow(flow_index);
        self.sums.add(flow_index, flow, &record.splits);
        if !flow.reading.expect.promises.is_empty() {
            let splits = record.splits.iter().cloned();
            self.promised[flow_index].extend(splits);
        }
        let splits = &flow.units[unit].splits[..];
        let part = Part::of_record(&record.key, splits.len());
        let splits = match part.and_then(Part::split_index) {
            None => splits,
            Some(at) => &splits[at..=at],
        };
        match splits {
            [split] => self.came(flow_index, split, 1, record.splits),
            splits => self.all_came(flow_index, splits, record.splits),
        }
    }

    /// Several splits have come in one record.
    fn all_came(&mut self, flow_index: usize, splits: &[Split], records: Vec<SplitRecord>) {
        let mut by_file: BTreeMap<FileKey, Vec<SplitRecord>> = BTreeMap::new();
        for record in records {
            by_file
                .entry(record.file_key.clone())
                .or_default()
                .push(record);
        }
        for of_file in splits.chunk_by(|first, next| Arc::ptr_eq(&first.input, &next.input)) {
            // A file without a record stays incomplete and is refused at the end.
            let key = identity::file_key(&*of_file[0].input);
            if let Some(records) = by_file.remove(&key) {
                self.came(flow_index, &of_file[0], of_file.len(), records);
            }
        }
    }

    /// Splits of the same file have come, of which this is the first.
    fn came(&mut self, flow_index: usize, split: &Split, count: usize, mut own: Vec<SplitRecord>) {
        let file = &split.input;
        let place = (flow_index, file.index());
        let missing = &mut self.missing[flow_index][file.index()];
        if !split.is_shared {
            *missing = missing.saturating_sub(count);
        }
        let is_complete = *missing == 0;
        match self.incomplete.get_mut(&place) {
            Some(before) => before.append(&mut own),
            None if is_complete => {}
            None => drop(self.incomplete.insert(place, std::mem::take(&mut own))),
        }
        if is_complete {
            let own = self.incomplete.remove(&place).unwrap_or(own);
            let checked = self.check(flow_index, file, false, &own);
            self.note(checked);
        }
    }

    /// The accounts of all units, if every file is complete and correct.
    pub fn finish(mut self) -> Result<UnitAccounts, Error> {
        let flows = &self.context.run.plan.flows;
        for (flow_index, flow) in flows.iter().enumerate() {
            let mut is_looked_at = vec![false; self.missing[flow_index].len()];
            for split in flow.splits() {
                let input = split.input.index();
                let is_checked = self.missing[flow_index][input] == 0;
                if is_checked || std::mem::replace(&mut is_looked_at[input], true) {
                    continue;
                }
                let splits = self.incomplete.remove(&(flow_index, input));
                let splits = splits.unwrap_or_default();
                let checked = self.check(flow_index, &split.input, split.is_shared, &splits);
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

    /// Checks a file against all records of it.
    fn check(
        &self,
        flow_index: usize,
        file: &Arc<dyn Input>,
        is_fed: bool,
        own: &[SplitRecord],
    ) -> Result<(), Error> {
        if self.first_error.is_some() {
            return Ok(());
        }
        let flow = self.flow(flow_index);
        let key = identity::file_key(&**file);
        let own = own.iter().filter(|split| split.file_key == key);
        let own: Vec<&SplitRecord> = own.collect();
        let run = self.context.run;
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

/// The number of splits of each input of a flow.
fn splits_of_inputs(flow: &ContractFlow) -> Vec<usize> {
    let mut counts = vec![0; flow.reading.source.input_count()];
    for split in flow.splits() {
        counts[split.input.index()] += 1;
    }
    counts
}
