//! Files of which a stopped run has loaded, and that somebody wrote to since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_scan::Dialect;

use super::contents::Contents;
use super::error::PlanError;
use super::identity;
use super::options::PlanOptions;
use crate::ledger::{SplitRecord, TouchedFile};

/// Files of which a stopped run has loaded and that are not as they were.
#[derive(Default)]
pub struct FoundFiles {
    /// Those that have other text now.
    pub changed: Vec<ChangedFile>,
    /// Those that have the same text, and another time.
    pub touched: Vec<TouchedFile>,
}

/// A file that has other text than the one that was loaded.
pub struct ChangedFile {
    /// Names it.
    pub key: String,
    target: String,
    file: Arc<SourceFile>,
    before: SplitRecord,
}

/// The files of a flow, as far as they are held against what was loaded of them.
pub struct PlannedFiles<'a> {
    /// The flow's target.
    pub target: String,
    /// How the files are written.
    pub dialect: &'a Dialect,
    /// The files, each once.
    pub files: Vec<&'a Arc<SourceFile>>,
    /// The keys of the flow's units.
    pub unit_keys: BTreeSet<&'a str>,
}

/// Holds the plan's files against what a stopped run has loaded of them.
pub async fn look(
    flows: &[PlannedFiles<'_>],
    splits: &[SplitRecord],
    options: &PlanOptions<'_>,
) -> Result<FoundFiles, PlanError> {
    let mut before: BTreeMap<&str, Vec<&SplitRecord>> = BTreeMap::new();
    for split in splits {
        before.entry(&split.file_key).or_default().push(split);
    }
    let mut found = FoundFiles::default();
    for flow in flows {
        for file in flow.files.iter().filter(|file| !file.is_pipe()) {
            let key = identity::file_key(file);
            let Some(splits) = before.get(key.as_str()) else {
                continue;
            };
            // Of units that the plan does not have nothing is kept.
            let kept: Vec<&SplitRecord> = splits
                .iter()
                .copied()
                .filter(|split| flow.unit_keys.contains(split.unit_key.as_str()))
                .collect();
            let stop = options.pipes.stop();
            let contents = if kept.is_empty() {
                match splits
                    .iter()
                    .all(|split| split.file_bytes == file.size_bytes)
                {
                    true => Contents::Untouched,
                    false => Contents::Changed,
                }
            } else {
                let looked = options.contents.look(file, flow.dialect, &kept, stop);
                looked.await?
            };
            match contents {
                Contents::Untouched => {}
                Contents::Same => found.touched.push(TouchedFile {
                    file_key: key,
                    modified_ns: file.modified_ns,
                    state: file.state.to_string(),
                }),
                Contents::Changed => found.changed.push(ChangedFile {
                    key,
                    target: flow.target.clone(),
                    file: Arc::clone(file),
                    before: (*splits[0]).clone(),
                }),
            }
        }
    }
    Ok(found)
}

/// Refuses files that a stopped run has loaded in part and that are not what they were: rows of
/// both would come together. What nothing is loaded of may change.
pub fn refuse(run: &str, changed: &[ChangedFile]) -> Result<(), PlanError> {
    let Some(first) = changed.first() else {
        return Ok(());
    };
    let ChangedFile {
        target,
        file,
        before,
        ..
    } = first;
    let others = match changed.len() {
        1 => String::new(),
        count => format!(", and {} more files changed", count - 1),
    };
    let was = (before.file_bytes, before.file_modified_ns);
    let how = match was == (file.size_bytes, file.modified_ns) {
        true => format!(
            "it has the same size and time as before ({} bytes of {}), but its text changed",
            was.0,
            time_words(was.1)
        ),
        false => format!(
            "it had {} bytes of {}, and now has {} of {}",
            was.0,
            time_words(was.1),
            file.size_bytes,
            time_words(file.modified_ns)
        ),
    };
    Err(PlanError::Target {
        target: target.clone(),
        what: format!(
            "has rows that the stopped run {} staged, and {} changed since: {how}{others}",
            run,
            file.path.display(),
        ),
        hint: "restore the file; or load the changed files again and keep the rest with --again; \
               or start from the beginning after `inrush cleanup`"
            .to_owned(),
    })
}

fn time_words(nanoseconds: i64) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds.into())
        .map_or_else(|_| nanoseconds.to_string(), |moment| moment.to_string())
}
