//! The check of every file of a run against the records that the ledger has of it, before anything is published.
//!
//! Records are read one after the other, in any order. A file is checked when the record of its last split is read. So
//! only the records of files that still lack splits are in memory; there may be a hundred thousand files. The records of
//! files that are fed, or that were loaded in other splits than the plan has, are kept to the end. If a package expects
//! totals of a flow, they are compared with all records of the flow, which are kept only for this.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_plan::earlier::file_index::FileIndex;
use inrush_plan::ledger::SplitRecord;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::verify::VerifyError;
use inrush_source::Input;

use super::prepared::PreparedRun;
use crate::error::Error;
use crate::pipeline::{expectations, file_checks};

/// Checks records as they come.
pub struct LedgerChecks<'a> {
    run: &'a PreparedRun,
    flows: Vec<FlowFiles<'a>>,
    /// The error for the first range that was already covered by the other ranges of its file.
    surplus: Option<VerifyError>,
}

/// The files of a flow, and the records that are kept of them.
struct FlowFiles<'a> {
    files: Vec<PlannedFile<'a>>,
    index: FileIndex,
    /// The records of files that are not checked yet, by the positions of the files.
    unchecked: BTreeMap<usize, Vec<SplitRecord>>,
    /// All records, if totals of the flow were promised.
    promised: Vec<SplitRecord>,
}

struct PlannedFile<'a> {
    input: &'a Arc<dyn Input>,
    /// The number of records of a fed file is unknown, so it is checked at the end.
    is_fed: bool,
    /// The number of splits whose records are not read yet.
    splits_left: usize,
    is_checked: bool,
}

impl<'a> LedgerChecks<'a> {
    /// Starts without any record.
    pub fn new(run: &'a PreparedRun) -> LedgerChecks<'a> {
        LedgerChecks {
            run,
            flows: run
                .plan
                .flows
                .iter()
                .map(|flow| FlowFiles::of(flow))
                .collect(),
            surplus: None,
        }
    }

    /// Takes a record of one of the units of a flow. A record of a file that the plan does not have is ignored.
    pub fn see(&mut self, flow: usize, record: SplitRecord) {
        let flow_files = &mut self.flows[flow];
        if has_promises(&self.run.plan.flows[flow]) {
            flow_files.promised.push(record.clone());
        }
        let Some(at) = flow_files.index.find(&record.file_key) else {
            return;
        };
        let file = &mut flow_files.files[at];
        if file.is_checked {
            self.surplus = self.surplus.take().or_else(|| surplus(file, &record));
            return;
        }
        let records = flow_files.unchecked.entry(at).or_default();
        records.push(record);
        if file.is_fed || file.splits_left == 0 {
            return;
        }
        file.splits_left -= 1;
        // If the check fails, the file may have been loaded in other splits, and it is checked again at the end.
        if file.splits_left == 0 && check(self.run, flow, file, records).is_ok() {
            file.is_checked = true;
            flow_files.unchecked.remove(&at);
        }
    }

    /// Checks the files that are left, and the promises. Fails with the first error.
    pub fn finish(self) -> Result<(), Error> {
        self.surplus.map_or(Ok(()), Err)?;
        for (flow_at, flow) in self.flows.into_iter().enumerate() {
            let FlowFiles {
                files,
                mut unchecked,
                promised,
                ..
            } = flow;
            let left = files
                .iter()
                .enumerate()
                .filter(|(_, file)| !file.is_checked);
            for (at, file) in left {
                let records = unchecked.remove(&at).unwrap_or_default();
                check(self.run, flow_at, file, &records)?;
            }
            let reading = &self.run.plan.flows[flow_at].reading;
            let promised: Vec<&SplitRecord> = promised.iter().collect();
            expectations::check_promises(reading, &promised)?;
        }
        Ok(())
    }
}

impl<'a> FlowFiles<'a> {
    fn of(flow: &'a LoadFlow) -> FlowFiles<'a> {
        let inputs = flow.files();
        let index = FileIndex::new(&inputs);
        let file = |input| PlannedFile {
            input,
            is_fed: false,
            splits_left: 0,
            is_checked: false,
        };
        let mut files: Vec<PlannedFile<'a>> = inputs.into_iter().map(file).collect();
        for split in flow.splits() {
            let index = split.input.index();
            let at = files.binary_search_by_key(&index, |file| file.input.index());
            let file = &mut files[at.expect("the files are those of the splits")];
            file.is_fed |= split.is_shared;
            file.splits_left += 1;
        }
        FlowFiles {
            files,
            index,
            unchecked: BTreeMap::new(),
            promised: Vec::new(),
        }
    }
}

/// Checks a file against all records of it.
fn check(
    run: &PreparedRun,
    flow: usize,
    file: &PlannedFile<'_>,
    records: &[SplitRecord],
) -> Result<(), Error> {
    let reading = &run.plan.flows[flow].reading;
    let end = run.file_end(flow, file.input, file.is_fed);
    file_checks::check(reading, file.input, end, records)?;
    // A pipe may have been empty, and has no range then.
    if records.is_empty() && !file.is_fed {
        return Err(Error::Verification {
            what: format!("the ledger's units of {}", file.input.name().display()),
            counted: 0,
            sent: 1,
        });
    }
    Ok(())
}

/// The error for a record of a file that other records cover. An empty range has no rows.
fn surplus(file: &PlannedFile<'_>, record: &SplitRecord) -> Option<VerifyError> {
    let start = record.byte_start;
    let end = record.byte_end.unwrap_or_else(|| file.input.size_bytes());
    (record.account.rows_read > 0 || end > start).then(|| VerifyError::Overlap {
        file: file.input.name().display().to_string(),
        start,
        end,
        ranges: format!("{start}-{end}, and others that cover it"),
    })
}

fn has_promises(flow: &LoadFlow) -> bool {
    !flow.reading.expect.promises.is_empty()
}
