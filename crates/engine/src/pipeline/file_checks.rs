//! Checks files against the ledger's records of their ranges, before anything is published.

use std::sync::Arc;

use inrush_source::Input;

use super::coverage::{self, FileEnd};
use super::{expectations, recheck};
use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::plan::Reading;

/// Checks files of a flow: their text is the text that was loaded, all of it was loaded, and their trailers agree.
/// `own` has all records of these files, and may have records of others.
pub async fn check<'a, F>(
    flow: &Reading,
    files: impl Fn() -> F,
    own: &[&SplitRecord],
) -> Result<(), Error>
where
    F: Iterator<Item = (&'a Arc<dyn Input>, FileEnd)>,
{
    let each = || files().map(|(file, _)| file);
    recheck::texts(&*flow.source, each(), own)?;
    coverage::check_files(files(), own)?;
    Ok(expectations::check_trailers(flow, each(), own)?)
}
