//! Checks a file against the ledger's records of its ranges, before anything is published.

use std::sync::Arc;

use inrush_plan::Reading;
use inrush_plan::earlier::coverage::{self, FileEnd};
use inrush_plan::ledger::SplitRecord;
use inrush_source::Input;

use super::{expectations, recheck};
use crate::error::Error;

/// Checks a file of a flow: its text is the text that was loaded, all of it was loaded, and its trailer agrees. `own` are
/// all records of the file.
pub fn check(
    flow: &Reading,
    file: &Arc<dyn Input>,
    end: FileEnd,
    own: &[SplitRecord],
) -> Result<(), Error> {
    recheck::text(&*flow.source, &**file, own)?;
    let own: Vec<&SplitRecord> = own.iter().collect();
    coverage::check(&**file, end, &own)?;
    Ok(expectations::check_trailer(flow, &**file, &own)?)
}
