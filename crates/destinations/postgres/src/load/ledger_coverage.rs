//! Checks that the ledger's ranges of a shared unit cover each fed file.

use inrush_destination::{FedEnd, SplitRecord};
use inrush_plan::earlier::coverage::check_file;
use inrush_plan::identity;
use inrush_plan::verify::VerifyError;

use crate::plan::UnitPlan;

/// Checks the fed files of a shared unit, before its record says that it is finished: once it is, a resumed run does not read them
/// again, and nobody knows where their text ends.
pub fn check_fed(
    unit: UnitPlan<'_>,
    ends: &[FedEnd],
    splits: &[SplitRecord],
) -> Result<(), VerifyError> {
    for split in unit.splits.iter().filter(|split| split.is_shared) {
        let key = identity::file_key(&*split.input);
        let is_of_file =
            |record: &&SplitRecord| record.unit_key == unit.key && record.file_key == key;
        let of_file: Vec<&SplitRecord> = splits.iter().filter(is_of_file).collect();
        let end = ends.iter().find(|end| end.file_key == key);
        check_file(&*split.input, &of_file, end.and_then(|end| end.text_end))?;
    }
    Ok(())
}
