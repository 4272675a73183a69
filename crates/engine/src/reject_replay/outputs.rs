//! The rejected rows that a flow loads again, if it loads an output of a source that other flows read as well.
//!
//! A row that no output got may go to any of them once it is corrected, so all of their flows read it. Where a row goes to each output
//! that takes it, a row that one target refused may already be in the others, so only the flow of that target reads it.

use std::path::{Path, PathBuf};

use inrush_package::Package;

use super::error::ReplayError;
use crate::report::{REASONS_SUFFIX, ROWS_SUFFIX, ReasonReader};

/// The files of rejected rows for a flow. `own` are those of each flow.
pub fn files_of(
    package: &Package,
    flow: usize,
    own: &[Vec<PathBuf>],
) -> Result<Vec<PathBuf>, ReplayError> {
    let reporter = package.reporter(flow);
    let beside: Vec<usize> = (0..package.flows.len())
        .filter(|other| package.reporter(*other) == reporter)
        .collect();
    if beside.len() == 1 {
        return Ok(own[flow].clone());
    }
    if !package.flows[flow].each {
        return Ok(beside
            .iter()
            .flat_map(|other| own[*other].clone())
            .collect());
    }
    let mut files = Vec::new();
    for path in &own[reporter] {
        let is_shared = is_shared(path)?;
        if is_shared || flow == reporter {
            files.push(path.clone());
        }
    }
    if flow != reporter {
        files.extend(own[flow].iter().cloned());
    }
    Ok(files)
}

/// True if no output got the rows of a file; false if one target refused them.
fn is_shared(rows: &Path) -> Result<bool, ReplayError> {
    let name = rows.to_string_lossy();
    let stem = name.strip_suffix(ROWS_SUFFIX).unwrap_or(&name);
    let reasons = PathBuf::from(format!("{stem}{REASONS_SUFFIX}"));
    let opened = ReasonReader::open(&reasons);
    let mut lines = opened.map_err(|source| ReplayError::Unreadable {
        path: reasons.clone(),
        source,
    })?;
    let (mut shared, mut refused) = (false, false);
    while let Some(reject) = lines.next() {
        let reject = reject.map_err(|source| ReplayError::Line {
            path: reasons.clone(),
            line: lines.line(),
            source,
        })?;
        match reject.after_steps {
            true => refused = true,
            false => shared = true,
        }
    }
    match shared && refused {
        true => Err(ReplayError::Mixed {
            file: rows.to_owned(),
        }),
        false => Ok(shared),
    }
}
