//! The message for a name that does not exist: the folder that was searched, and similar names in it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// The most names that are shown.
const NAMES_MAX: usize = 3;

/// The most entries of a folder that are read, so that a large folder does not delay an error.
const ENTRIES_MAX: usize = 10_000;

/// Describes what exists instead of `path`, if a part of it does not exist or matches nothing.
pub(super) fn describe(path: &Path) -> String {
    if path.components().any(|part| part.as_os_str() == "~") {
        return "~ is replaced by the shell, not by Inrush: write the whole path, or leave it \
                unquoted on a command line"
            .to_owned();
    }
    // The deepest folder that exists, and the first name in it that does not.
    let mut folder = path;
    let mut missing = path.file_name();
    let mut depth = 0;
    loop {
        let Some(parent) = folder.parent() else {
            return "no folder of that path exists".to_owned();
        };
        folder = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        if folder.is_dir() {
            break;
        }
        missing = folder.file_name();
        depth += 1;
        if folder == Path::new(".") {
            return "the current folder does not exist any more".to_owned();
        }
    }
    let wanted = missing.unwrap_or(OsStr::new("")).to_string_lossy();
    let place = match depth {
        0 => format!("the folder is {}", folder.display()),
        _ => format!("{} has no folder {wanted}", folder.display()),
    };
    let names = match nearest_names(folder, &wanted) {
        Ok(names) => names,
        Err(error) => return format!("{place}, and it cannot be listed: {error}"),
    };
    if names.is_empty() {
        format!("{place}, and it is empty")
    } else {
        format!("{place}; nearest there: {}", names.join(", "))
    }
}

/// The names of a folder that are most similar to `wanted`, the nearest first.
fn nearest_names(folder: &Path, wanted: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(ENTRIES_MAX) {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let likeness = strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
        names.push((likeness, name));
    }
    names.sort_by(|(a, a_name), (b, b_name)| b.total_cmp(a).then_with(|| a_name.cmp(b_name)));
    names.truncate(NAMES_MAX);
    Ok(names.into_iter().map(|(_, name)| name).collect())
}
