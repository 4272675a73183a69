//! Chooses the rejected rows that a flow loads again, if other flows load other outputs of the same source.
//!
//! A row that no output got may go to any of them once it is corrected, so all of their flows read it. If rows go to
//! each output that takes them, a row that one target refused may already be in the others, so only the flow of that
//! target reads it. The two kinds of rows cannot be loaded together: the flows of the outputs must read the same rows,
//! so that a row that fails again is reported once.

use std::path::{Path, PathBuf};

use inrush_package::Package;

use super::error::ReplayError;
use crate::report::{REASONS_SUFFIX, ROWS_SUFFIX, ReasonReader};

/// The files of rejected rows for a flow. `own` holds the files that belong to each flow.
pub fn files_of(
    package: &Package,
    flow: usize,
    own: &[Vec<PathBuf>],
) -> Result<Vec<PathBuf>, ReplayError> {
    let beside = package.beside(flow);
    let all = || beside.iter().flat_map(|other| &own[*other]);
    if beside.len() == 1 {
        return Ok(own[flow].clone());
    }
    if !package.flows[flow].each {
        return Ok(all().cloned().collect());
    }
    let (mut shared, mut refused) = (Vec::new(), Vec::new());
    for path in all() {
        match is_of_target(path)? {
            true => refused.push(path.clone()),
            false => shared.push(path.clone()),
        }
    }
    match (shared.is_empty(), refused.first()) {
        (false, Some(first)) => Err(ReplayError::Mixed {
            shared: shared.swap_remove(0),
            refused: first.clone(),
        }),
        (false, None) => Ok(shared),
        (true, _) => Ok(own[flow].clone()),
    }
}

/// True if one target refused the rows of a file, so that other targets may have them; false if no target has them.
fn is_of_target(rows: &Path) -> Result<bool, ReplayError> {
    let name = rows.to_string_lossy();
    let stem = name.strip_suffix(ROWS_SUFFIX).unwrap_or(&name);
    let reasons = PathBuf::from(format!("{stem}{REASONS_SUFFIX}"));
    let opened = ReasonReader::open(&reasons);
    let mut lines = opened.map_err(|source| ReplayError::Unreadable {
        path: reasons.clone(),
        source,
    })?;
    // A file has rows of one kind.
    match lines.next() {
        None => Ok(false),
        Some(Ok(reject)) => Ok(reject.of_target),
        Some(Err(source)) => Err(ReplayError::Line {
            path: reasons,
            line: lines.line(),
            source,
        }),
    }
}
