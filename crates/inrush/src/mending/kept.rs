//! What a run's folder holds of rejected rows.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::MendingError;
use crate::plan::identity::KEY_DIGITS;
use crate::reject::RejectCode;
use crate::report::{REASONS_SUFFIX, RejectReport};

/// Rejects that are shown of each cause.
const EXAMPLES_MAX: usize = 3;

/// A rejected row in a run's folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptReject {
    /// The flow.
    pub flow: String,
    /// Where it was, and why it was rejected.
    #[serde(flatten)]
    pub reject: RejectReport,
}

/// Rejects that have their cause in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The flow.
    pub flow: String,
    /// The stable name of the cause.
    pub code: RejectCode,
    /// The column at fault, where it is one.
    pub column: Option<String>,
    /// How many.
    pub rows: usize,
    /// The first ones.
    pub examples: Vec<RejectReport>,
}

/// The folder of a run: by its name, as a path, or where neither is given the newest one.
pub fn find_folder(runs_folder: &Path, run: Option<&str>) -> Result<PathBuf, MendingError> {
    let is_run = |path: &Path| path.join("rejects").is_dir();
    let Some(run) = run else {
        let entries = fs::read_dir(runs_folder).map_err(|_| MendingError::NoRun {
            path: runs_folder.to_owned(),
        })?;
        // Names begin with the time.
        let newest = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_run(path))
            .max();
        return newest.ok_or_else(|| MendingError::NoRun {
            path: runs_folder.to_owned(),
        });
    };
    [runs_folder.join(run), PathBuf::from(run)]
        .into_iter()
        .find(|path| is_run(path))
        .ok_or_else(|| MendingError::NoRun {
            path: runs_folder.join(run),
        })
}

/// All rejects of a run, in the order of their files and lines.
pub fn read(folder: &Path) -> Result<Vec<KeptReject>, MendingError> {
    let mut found = Vec::new();
    for path in files(folder, REASONS_SUFFIX)? {
        let flow = flow_of(&path, REASONS_SUFFIX).unwrap_or_default();
        let text = fs::read_to_string(&path).map_err(|source| MendingError::Unreadable {
            path: path.clone(),
            source,
        })?;
        for (index, line) in text.lines().enumerate() {
            let reject = serde_json::from_str(line).map_err(|source| MendingError::Line {
                path: path.clone(),
                line: index + 1,
                source,
            })?;
            found.push(KeptReject {
                flow: flow.clone(),
                reject,
            });
        }
    }
    found.sort_by(|one, other| {
        let key = |kept: &KeptReject| {
            let reject = &kept.reject;
            (kept.flow.clone(), reject.file.clone(), reject.byte_offset)
        };
        key(one).cmp(&key(other))
    });
    Ok(found)
}

/// Rejects by cause, those with the most rows first.
pub fn causes(rejects: &[KeptReject]) -> Vec<Cause> {
    let mut found: Vec<Cause> = Vec::new();
    for kept in rejects {
        let reject = &kept.reject;
        let known = found.iter_mut().find(|cause| {
            cause.flow == kept.flow && cause.code == reject.code && cause.column == reject.column
        });
        let cause = match known {
            Some(cause) => cause,
            None => {
                found.push(Cause {
                    flow: kept.flow.clone(),
                    code: reject.code,
                    column: reject.column.clone(),
                    rows: 0,
                    examples: Vec::new(),
                });
                found.last_mut().expect("pushed just now")
            }
        };
        cause.rows += 1;
        if cause.examples.len() < EXAMPLES_MAX {
            cause.examples.push(reject.clone());
        }
    }
    found.sort_by_key(|cause| std::cmp::Reverse(cause.rows));
    found
}

/// The files of a run's rejects whose names end so, in their order.
pub(super) fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>, MendingError> {
    let rejects = folder.join("rejects");
    let failed = |source| MendingError::Unreadable {
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

/// The flow that a file's name says: what stands before the unit's key.
pub(super) fn flow_of(path: &Path, suffix: &str) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(suffix)?;
    let points = stem.rmatch_indices('.').map(|(at, _)| at);
    let is_before_key = |at: &usize| {
        let rest = &stem.as_bytes()[at + 1..];
        let is_key =
            rest.len() >= KEY_DIGITS && rest[..KEY_DIGITS].iter().all(u8::is_ascii_hexdigit);
        is_key && matches!(rest.get(KEY_DIGITS), None | Some(b'-' | b'.'))
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
