//! Expands a glob to the paths that match it.
//!
//! The `glob` crate matches names, but folders are walked here: the crate's own walk silently leaves out names that are
//! not UTF-8, and a file that is left out is lost data.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::Pattern;
use inrush_source::SourceError;

/// True if a pattern must be expanded.
pub(super) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// One part of a pattern between slashes.
enum Part {
    /// A name without wildcards.
    Name(String),
    /// A name with wildcards.
    Glob(Pattern),
    /// `**`: the folder and all folders in it, at any depth.
    Folders,
}

/// All paths that match, files and folders, in no order. Wildcards skip names that begin with a dot unless the pattern
/// has the dot; `**` does not follow links.
pub(super) fn expand(pattern: &str, base: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let mut parts = Vec::new();
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        parts.push(match part {
            "**" => Part::Folders,
            name if !is_glob(name) => Part::Name(name.to_owned()),
            glob => {
                Part::Glob(
                    Pattern::new(glob).map_err(|error| SourceError::PatternInvalid {
                        pattern: pattern.to_owned(),
                        reason: error.msg.to_owned(),
                    })?,
                )
            }
        });
    }
    if let Some(Part::Folders) = parts.last() {
        // All files at any depth, and not all folders.
        parts.push(Part::Glob(Pattern::new("*").expect("a star is a pattern")));
    }
    let root = if pattern.starts_with('/') {
        Path::new("/")
    } else {
        base
    };
    let mut paths = vec![root.to_path_buf()];
    for part in &parts {
        let mut longer = Vec::new();
        for path in &paths {
            match part {
                Part::Name(name) => {
                    let path = path.join(name);
                    if path.symlink_metadata().is_ok() {
                        longer.push(path);
                    }
                }
                Part::Glob(glob) => {
                    let says_dot = glob.as_str().starts_with('.');
                    for name in names_in(path)? {
                        let shown = name.to_string_lossy();
                        if glob.matches(&shown) && (says_dot || !shown.starts_with('.')) {
                            longer.push(path.join(name));
                        }
                    }
                }
                Part::Folders => add_folders(path, &mut longer)?,
            }
        }
        paths = longer;
    }
    // `**/**` finds some paths twice.
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Adds `path` and the folders in it, at any depth.
fn add_folders(path: &Path, folders: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let mut waiting = vec![path.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for name in names_in(&folder)? {
            let path = folder.join(&name);
            let is_hidden = name.to_string_lossy().starts_with('.');
            // The target of a link is not used: a link to a parent folder would never end.
            if !is_hidden && path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                waiting.push(path);
            }
        }
        folders.push(folder);
    }
    Ok(())
}

/// The names in a folder; empty if there is no such folder.
fn names_in(path: &Path) -> Result<Vec<OsString>, SourceError> {
    let folder = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let names = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    match names {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        names => names.map_err(|cause| SourceError::Unreadable {
            path: folder.to_path_buf(),
            cause,
        }),
    }
}
