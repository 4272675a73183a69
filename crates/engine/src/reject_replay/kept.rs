//! The rejected rows in a run's folder.

use std::fs;
use std::path::{Path, PathBuf};

use inrush_rows::ids::SHORT_DIGITS;
use inrush_rows::reject::RejectCode;
use serde::Serialize;

use super::error::ReplayError;
use crate::pipeline::reject_files::line_count;
use crate::report::{REASONS_SUFFIX, REJECTS, ReasonReader, RejectReport, age};

/// Rejects that are shown for each cause.
const EXAMPLES_MAX: usize = 3;

/// Rejects with the same cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RejectCause {
    /// The flow.
    pub flow: String,
    /// The stable name of the cause.
    pub code: RejectCode,
    /// The column at fault, if there is one.
    pub column: Option<String>,
    /// The number of rejects.
    pub rows: u64,
    /// The first rejects.
    pub examples: Vec<RejectReport>,
}

/// The folder of a run: by its name or its path, or else the newest one.
pub fn find_folder(runs_folder: &Path, run: Option<&str>) -> Result<PathBuf, ReplayError> {
    let is_run = |path: &Path| path.join(REJECTS).is_dir();
    let Some(run) = run else {
        let entries = fs::read_dir(runs_folder).map_err(|_| ReplayError::NoRun {
            path: runs_folder.to_owned(),
        })?;
        let newest = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_run(path))
            .max_by_key(|path| age(path));
        return newest.ok_or_else(|| ReplayError::NoRun {
            path: runs_folder.to_owned(),
        });
    };
    [runs_folder.join(run), PathBuf::from(run)]
        .into_iter()
        .find(|path| is_run(path))
        .ok_or_else(|| ReplayError::NoRun {
            path: runs_folder.join(run),
        })
}

/// The number of rejects in a run's folder.
pub fn count(folder: &Path) -> Result<u64, ReplayError> {
    let mut rows = 0;
    for path in files(folder, REASONS_SUFFIX)? {
        let counted = line_count(&path);
        rows += counted.map_err(|source| ReplayError::Unreadable { path, source })?;
    }
    Ok(rows)
}

/// The causes of a run's rejects, those with the most rows first. Memory holds only the examples.
pub fn causes(folder: &Path) -> Result<Vec<RejectCause>, ReplayError> {
    let mut found: Vec<RejectCause> = Vec::new();
    for path in files(folder, REASONS_SUFFIX)? {
        let flow = flow_of(&path, REASONS_SUFFIX).unwrap_or_default();
        let opened = ReasonReader::open(&path);
        let mut lines = opened.map_err(|source| ReplayError::Unreadable {
            path: path.clone(),
            source,
        })?;
        while let Some(reject) = lines.next() {
            let reject = reject.map_err(|source| ReplayError::Line {
                path: path.clone(),
                line: lines.line(),
                source,
            })?;
            add(&mut found, &flow, reject);
        }
    }
    // Causes with the same number of rows are in the order of their first rows.
    found.sort_by(|one, other| {
        let flows = one.flow.cmp(&other.flow);
        let [first, other_first] = [one, other].map(|cause| cause.examples.first().map(place));
        let firsts = first.cmp(&other_first);
        other.rows.cmp(&one.rows).then(flows).then(firsts)
    });
    Ok(found)
}

fn add(causes: &mut Vec<RejectCause>, flow: &str, reject: RejectReport) {
    let known = causes.iter().position(|cause| {
        cause.flow == flow && cause.code == reject.code && cause.column == reject.column
    });
    let at = known.unwrap_or_else(|| {
        causes.push(RejectCause {
            flow: flow.to_owned(),
            code: reject.code,
            column: reject.column.clone(),
            rows: 0,
            examples: Vec::new(),
        });
        causes.len() - 1
    });
    let cause = &mut causes[at];
    cause.rows += 1;
    // The first rejects in the order of the input files, from any of the run's reject files.
    let examples = &mut cause.examples;
    let before = examples.partition_point(|other| place(other) <= place(&reject));
    if before < EXAMPLES_MAX {
        examples.insert(before, reject);
        examples.truncate(EXAMPLES_MAX);
    }
}

fn place(reject: &RejectReport) -> (&str, u64) {
    (&reject.file, reject.byte_offset)
}

/// The files of a run's rejects with this ending, in order.
pub(super) fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>, ReplayError> {
    let rejects = folder.join(REJECTS);
    let failed = |source| ReplayError::Unreadable {
        path: rejects.clone(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(&rejects).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.ends_with(suffix)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The flow in a file's name: the part before the unit's key.
pub(super) fn flow_of(path: &Path, suffix: &str) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(suffix)?;
    let points = stem.rmatch_indices('.').map(|(at, _)| at);
    let is_before_key = |at: &usize| {
        let rest = &stem.as_bytes()[at + 1..];
        let is_key =
            rest.len() >= SHORT_DIGITS && rest[..SHORT_DIGITS].iter().all(u8::is_ascii_hexdigit);
        is_key && matches!(rest.get(SHORT_DIGITS), None | Some(b'-' | b'.'))
    };
    let at = points.into_iter().find(is_before_key)?;
    Some(stem[..at].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_flow() {
        for (name, flow) in [
            ("orders.0123456789abcdef.rejects", Some("orders")),
            ("orders.0123456789abcdef-12-8388608.rejects", Some("orders")),
            ("a.b 1.0123456789abcdef-12.last2.rejects", Some("a.b 1")),
            ("a.0123456789abcdef.windows-1252.rejects", Some("a")),
            ("orders.1.rejects", None),
            ("orders.rejects", None),
        ] {
            let found = flow_of(Path::new(name), ".rejects");
            assert_eq!(found.as_deref(), flow, "{name}");
        }
    }
}
