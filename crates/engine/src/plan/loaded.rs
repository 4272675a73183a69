//! Tells whether the files of a plan are loaded already.

use std::sync::Arc;

use inrush_files::SourceFile;

use super::error::PlanError;
use super::identity;
use crate::ledger::SwitchedFile;

/// The files of a flow, as far as they are looked for among those that were switched in.
pub struct WantedFiles<'a> {
    /// The flow's target.
    pub target: String,
    /// Its rows take the place of all others.
    pub replaces: bool,
    /// The files, each once.
    pub files: Vec<&'a Arc<SourceFile>>,
    /// Whether the target still holds the rows of such a file.
    pub holds: Box<dyn Fn(&SwitchedFile) -> bool + 'a>,
}

/// The run that has loaded all of the plan's files, as they are now. Some of them loaded and
/// others not is refused: what is wanted cannot be told, and rows must not come in twice.
pub fn loaded_by(
    flows: &[WantedFiles<'_>],
    switched: &[SwitchedFile],
) -> Result<Option<i64>, PlanError> {
    let mut newest: Option<i64> = None;
    let mut loaded_files = Vec::new();
    let mut first_new = None;
    for flow in flows {
        let files = flow.files.as_slice();
        if flow.replaces {
            // A second helping takes the place of the first, so there is nothing to refuse.
            match replaced_by(flow, switched) {
                Some(run_id) => newest = newest.max(Some(run_id)),
                None => first_new = first_new.or(files.first().copied()),
            }
            continue;
        }
        for &file in files {
            let key = identity::file_key(file);
            let is_file = |known: &&SwitchedFile| is_same(flow, file, &key, known);
            match switched.iter().find(is_file) {
                Some(switched) => {
                    newest = newest.max(Some(switched.run_id));
                    loaded_files.push((flow, file.path.display().to_string()));
                }
                None => first_new = first_new.or(Some(file)),
            }
        }
    }
    let (Some((flow, _)), Some(new)) = (loaded_files.first(), first_new) else {
        return Ok(newest);
    };
    let names: Vec<&str> = loaded_files.iter().map(|(_, name)| name.as_str()).collect();
    Err(PlanError::Target {
        target: flow.target.clone(),
        what: format!(
            "has {} of the files already, from earlier runs of this package ({}), but not all, for \
             example not {}",
            names.len(),
            shortened(&names),
            new.path.display()
        ),
        hint: "name only the new files; or load all files, the others once more, with --again"
            .to_owned(),
    })
}

/// The run whose rows took the place of all others, where it has loaded these files and no other.
fn replaced_by(flow: &WantedFiles<'_>, switched: &[SwitchedFile]) -> Option<i64> {
    let of_target = |known: &&SwitchedFile| known.target == flow.target;
    // They come newest first.
    let run_id = switched.iter().find(of_target)?.run_id;
    let last: Vec<&SwitchedFile> = switched
        .iter()
        .filter(of_target)
        .filter(|known| known.run_id == run_id)
        .collect();
    let are_same = flow.files.iter().all(|file| {
        let key = identity::file_key(file);
        last.iter().any(|known| is_same(flow, file, &key, known))
    });
    (are_same && flow.files.len() == last.len()).then_some(run_id)
}

/// Whether a file that was switched in is this one, its file unchanged and its rows still there.
fn is_same(flow: &WantedFiles<'_>, file: &SourceFile, key: &str, switched: &SwitchedFile) -> bool {
    switched.target == flow.target
        && switched.file_key == key
        && switched.file_bytes == file.size_bytes
        && switched.file_modified_ns == file.modified_ns
        && (flow.holds)(switched)
}

fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
