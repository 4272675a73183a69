//! Checks that the ledger's ranges of a plan's units cover each file exactly.

use std::sync::Arc;

use inrush_source::Input;

use super::context::PreparedRun;
use crate::engine::ledger::SplitRecord;
use crate::engine::pipeline::coverage::{FileEnd, check_file, check_files};
use crate::engine::plan::identity;
use crate::engine::verify::VerifyError;
use crate::plan::FlowPlan;

/// Checks files of a flow, each fed or not, against what the ledger has of its units.
pub fn check<'a>(
    run: &PreparedRun,
    flow_index: usize,
    files: impl Iterator<Item = (&'a Arc<dyn Input>, bool)>,
    own: &[&SplitRecord],
) -> Result<(), VerifyError> {
    let ends = files.map(|(file, is_fed)| {
        let end = match is_fed {
            false => FileEnd::File,
            // One that an earlier attempt has read to its end was checked then.
            true => FileEnd::Fed(fed_end(run, flow_index, file)),
        };
        (file, end)
    });
    check_files(ends, own)
}

/// Checks the files of a shared unit that were fed: only while their feed is at hand it is known
/// where their text ends.
pub fn check_fed(
    run: &PreparedRun,
    flow_index: usize,
    unit_index: usize,
    splits: &[SplitRecord],
) -> Result<(), VerifyError> {
    let unit = &run.plan.flows[flow_index].units[unit_index];
    for split in unit.splits.iter().filter(|split| split.is_shared) {
        let key = identity::file_key(&*split.input);
        let is_of_file =
            |record: &&SplitRecord| record.unit_key == unit.key && record.file_key == key;
        let of_file: Vec<&SplitRecord> = splits.iter().filter(is_of_file).collect();
        check_file(
            &*split.input,
            &of_file,
            fed_end(run, flow_index, &split.input),
        )?;
    }
    Ok(())
}

/// The files of a flow, and whether they are fed.
pub fn files(flow: &FlowPlan) -> Vec<(&Arc<dyn Input>, bool)> {
    let splits = flow.splits();
    let mut files: Vec<(&Arc<dyn Input>, bool)> = splits
        .map(|split| (&split.input, split.is_shared))
        .collect();
    // The ranges of a file stand one after the other.
    files.dedup_by(|(file, _), (before, _)| Arc::ptr_eq(file, before));
    files
}

fn fed_end(run: &PreparedRun, flow_index: usize, file: &Arc<dyn Input>) -> Option<u64> {
    run.fed_files.text_end(&run.plan.flows, flow_index, file)
}
