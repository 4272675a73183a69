//! Checks that the ledger's ranges of a shared unit cover each fed file.

use inrush_destination::SplitRecord;
use inrush_engine::native::plan::identity;
use inrush_engine::native::run::coverage::check_file;
use inrush_engine::verify::VerifyError;

use super::prepared::PostgresRun;

/// Checks the fed files of a shared unit. The end of their text is known only while their feed exists.
pub fn check_fed(
    run: &PostgresRun,
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
        let end = run
            .fed_files
            .text_end(&run.plan.flows, flow_index, &split.input);
        check_file(&*split.input, &of_file, end)?;
    }
    Ok(())
}
