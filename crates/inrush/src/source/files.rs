//! From patterns to files.
//!
//! Each pattern's files come in natural order, and the patterns in the order in which they are
//! given. A glob matches files only, never folders, and passes over names that begin with a dot
//! unless it says the dot, as a shell does. A file that two patterns match is taken once; two
//! names of one file (links) are refused.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compression::compression_of;
use super::error::SourceError;
use super::expand::{expand, is_glob};
use super::natural::compare_paths;
use super::nearest;
use crate::package::Compression;

/// A file to load, as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path: the base folder and what the user wrote.
    pub path: Arc<PathBuf>,
    /// Bytes as it is stored.
    pub size_bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// How it is compressed.
    pub compression: Compression,
}

impl SourceFile {
    /// One file, with the compression that its name tells. What cannot be read is refused.
    pub fn open(path: PathBuf) -> Result<SourceFile, SourceError> {
        let compression = compression_of(&path);
        let metadata = inspect(&path)?;
        Ok(SourceFile::new(path, &metadata, compression))
    }

    fn new(path: PathBuf, metadata: &Metadata, compression: Compression) -> SourceFile {
        SourceFile {
            path: Arc::new(path),
            size_bytes: metadata.len(),
            modified_ns: modified_ns(metadata),
            compression,
        }
    }
}

/// When a file was last written, in nanoseconds since 1970.
pub(super) fn modified_ns(metadata: &Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

/// Finds the files that `patterns` name, each a path or a glob: one file at least. Relative
/// ones start at `base`.
pub fn resolve(patterns: &[String], base: &Path) -> Result<Vec<SourceFile>, SourceError> {
    resolve_as(patterns, base, None)
}

/// As [`resolve`], with a compression that is declared and not taken from the names.
pub fn resolve_as(
    patterns: &[String],
    base: &Path,
    compression: Option<Compression>,
) -> Result<Vec<SourceFile>, SourceError> {
    if patterns.is_empty() {
        return Err(SourceError::NoPattern);
    }
    let mut files = Vec::new();
    let mut names: HashMap<(u64, u64), PathBuf> = HashMap::new();
    for pattern in patterns {
        for path in paths_of(pattern, base)? {
            let metadata = inspect(&path)?;
            let identity = (metadata.dev(), metadata.ino());
            match names.get(&identity) {
                None => {}
                Some(first) if is_same_path(first, &path) => continue,
                Some(first) => {
                    return Err(SourceError::LinkedTwice {
                        first: first.clone(),
                        second: path,
                    });
                }
            }
            names.insert(identity, path.clone());
            let compression = compression.unwrap_or_else(|| compression_of(&path));
            files.push(SourceFile::new(path, &metadata, compression));
        }
    }
    Ok(files)
}

/// Whether two paths that lead to one file are the same but for `.` and `//`.
fn is_same_path(left: &Path, right: &Path) -> bool {
    let parts = |path: &Path| -> PathBuf {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        absolute.components().collect()
    };
    parts(left) == parts(right)
}

/// The paths that a pattern names, in natural order, one at least.
fn paths_of(pattern: &str, base: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let literal = base.join(pattern);
    // A name may hold `[` or `?` itself.
    if !is_glob(pattern) || literal.symlink_metadata().is_ok() {
        return Ok(vec![literal]);
    }
    let mut paths = expand(pattern, base)?;
    let mut folder = None;
    // A link that leads nowhere is no folder: it is refused later, by name.
    paths.retain(|path| {
        let is_folder = path.is_dir();
        if is_folder {
            folder = Some(path.clone());
        }
        !is_folder
    });
    if paths.is_empty() {
        return Err(SourceError::NoMatch {
            pattern: pattern.to_owned(),
            hint: match folder {
                Some(folder) => format!(
                    "it matches folders only, {} among them; to load the files in them add /*",
                    folder.display()
                ),
                None => nearest::describe(&literal),
            },
        });
    }
    paths.sort_by(|left, right| compare_paths(left, right));
    Ok(paths)
}

/// Makes sure that `path` is a regular file that can be opened.
fn inspect(path: &Path) -> Result<Metadata, SourceError> {
    let unreadable = |cause| SourceError::Unreadable {
        path: path.to_path_buf(),
        cause,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            let hint = match fs::read_link(path) {
                Ok(target) => format!("it is a link to {}, which is not there", target.display()),
                Err(_) => nearest::describe(path),
            };
            return Err(SourceError::Missing {
                path: path.to_path_buf(),
                hint,
            });
        }
        // A file where a folder is needed on the way.
        Err(cause) if cause.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(SourceError::Missing {
                path: path.to_path_buf(),
                hint: nearest::describe(path),
            });
        }
        Err(cause) => return Err(unreadable(cause)),
    };
    let file_type = metadata.file_type();
    let kind = if file_type.is_dir() {
        return Err(SourceError::Folder {
            path: path.to_path_buf(),
        });
    } else if file_type.is_fifo() {
        Some("named pipe")
    } else if file_type.is_socket() {
        Some("socket")
    } else if file_type.is_char_device() || file_type.is_block_device() {
        Some("device")
    } else {
        None
    };
    if let Some(kind) = kind {
        return Err(SourceError::NotRegular {
            path: path.to_path_buf(),
            kind,
        });
    }
    // Opening a pipe would wait for its writer, so it is tried only now.
    File::open(path).map_err(unreadable)?;
    Ok(metadata)
}
