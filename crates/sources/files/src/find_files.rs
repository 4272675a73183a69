//! Finds the files that patterns name.
//!
//! Each pattern's files come in natural order, and the patterns in the order in which they are given. A glob matches
//! only files, never folders. Like a shell, it skips names that begin with a dot unless the glob has the dot. A file
//! that two patterns match is loaded once; two names of one file (links) are refused. A zip archive means the files in
//! it; a pattern that continues after its name chooses among them (`orders.zip/part*.csv`).

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;

use super::archive;
use super::compression::compression_of;
use super::expand::{expand, is_glob};
use super::file_state::FileState;
use super::lines::KnownLines;
use super::natural::compare_paths;
use super::nearest;
use super::pipe::{Pipes, STANDARD_INPUT};
use super::source_file::{FileOrigin, ReadStop, SourceFile};
use super::table::TableFile;

impl SourceFile {
    /// One file, with the compression by its name. A file that cannot be read is refused.
    pub fn open(path: PathBuf) -> Result<SourceFile, SourceError> {
        let compression = compression_of(&path);
        let metadata = inspect(&path)?;
        Ok(SourceFile::new(path, &metadata, compression, None))
    }
}

/// The settings for finding files, besides their patterns.
#[derive(Clone, Debug, Default)]
pub struct ResolveOptions<'a> {
    /// The declared compression; `None` means that names decide.
    pub compression: Option<Compression>,
    /// The declared encoding.
    pub encoding: Option<TextEncoding>,
    /// The pipes of the run.
    pub pipes: Pipes,
    /// The name of the flow that reads them.
    pub reader: &'a str,
}

/// Finds the files that `patterns` name; if there are none, this is an error. Each pattern is a path or a glob.
/// Relative patterns start at `base`; `-` is standard input.
pub fn resolve(patterns: &[String], base: &Path) -> Result<Vec<SourceFile>, SourceError> {
    resolve_as(patterns, base, &ResolveOptions::default())
}

/// Resolves patterns like [`resolve`], with all settings.
pub fn resolve_as(
    patterns: &[String],
    base: &Path,
    options: &ResolveOptions<'_>,
) -> Result<Vec<SourceFile>, SourceError> {
    if patterns.is_empty() {
        return Err(SourceError::NoPattern);
    }
    let mut files = Vec::new();
    // Positions in `files`. A search in the list would be slow, because there may be a hundred thousand files.
    let mut names: HashMap<Identity, usize> = HashMap::new();
    for pattern in patterns {
        for found in paths_of(pattern, base, options.compression)? {
            for file in files_of(found, options)? {
                let (identity, mut file) = file;
                file.stop = ReadStop(options.pipes.stop().clone());
                let first: Option<&SourceFile> = names.get(&identity).map(|index| &files[*index]);
                match first {
                    None => {}
                    Some(first) if is_same_path(&first.path, &file.path) => continue,
                    Some(first) => {
                        return Err(SourceError::LinkedTwice {
                            first: first.path.to_path_buf(),
                            second: file.path.to_path_buf(),
                        });
                    }
                }
                names.insert(identity, files.len());
                file.index = files.len() as u32;
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The system's name for a file, with a member's name in its archive.
type Identity = (u64, u64, Option<String>);

/// The files that a path means: one file, or the files in an archive.
fn files_of(
    found: FoundPath,
    options: &ResolveOptions<'_>,
) -> Result<Vec<(Identity, SourceFile)>, SourceError> {
    let FoundPath { path, members } = found;
    let is_standard_input = path == Path::new(STANDARD_INPUT);
    if is_standard_input || is_pipe(&path) {
        let pipe = options.pipes.open(&path, options.reader)?;
        let name = pipe.identity().to_owned();
        let named = match is_standard_input {
            true => Compression::None,
            false => compression_of(&path),
        };
        let compression = options.compression.unwrap_or(named);
        if compression == Compression::Zip {
            return Err(SourceError::Archive {
                path,
                reason: "the directory of an archive is at its end, but this is a pipe".to_owned(),
            });
        }
        let file = SourceFile {
            index: 0,
            path: path.into(),
            size_bytes: 0,
            modified_ns: 0,
            state: FileState::default(),
            compression,
            compression_by_signature: options.compression.is_none(),
            encoding: options.encoding,
            origin: FileOrigin::Pipe(pipe),
            lines: KnownLines::default(),
            stop: ReadStop::default(),
        };
        // Two names of one pipe are one pipe, whatever the descriptors are.
        return Ok(vec![((0, 0, Some(name)), file)]);
    }
    let metadata = inspect(&path)?;
    let compression = options.compression.unwrap_or_else(|| compression_of(&path));
    if members.is_none() && compression != Compression::Zip {
        let identity = (metadata.dev(), metadata.ino(), None);
        let table = match options.compression {
            None => TableFile::open(&path)?,
            Some(_) => None,
        };
        let file = match table {
            None => SourceFile::new(path, &metadata, compression, options.encoding),
            Some(table) => SourceFile {
                origin: FileOrigin::Table(Arc::new(table)),
                ..SourceFile::new(path, &metadata, Compression::None, None)
            },
        };
        return Ok(vec![(identity, file)]);
    }
    let mut files: Vec<_> = archive::select(&path, &metadata, members.as_deref())?
        .into_iter()
        .map(|member| {
            let identity = (metadata.dev(), metadata.ino(), Some(member.name.clone()));
            (
                identity,
                SourceFile::of_member(member, &metadata, options.encoding),
            )
        })
        .collect();
    files.sort_by(|(_, left), (_, right)| compare_paths(&left.path, &right.path));
    Ok(files)
}

/// A path that a pattern names.
struct FoundPath {
    path: PathBuf,
    /// The pattern of members, if the path is an archive and the pattern continues after it.
    members: Option<String>,
}

impl From<PathBuf> for FoundPath {
    fn from(path: PathBuf) -> FoundPath {
        FoundPath {
            path,
            members: None,
        }
    }
}

/// True if two paths to one file differ only in `.` and `//`.
fn is_same_path(left: &Path, right: &Path) -> bool {
    let parts = |path: &Path| -> PathBuf {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        absolute.components().collect()
    };
    parts(left) == parts(right)
}

/// The paths that a pattern names, in natural order. If there are none, this is an error.
fn paths_of(
    pattern: &str,
    base: &Path,
    compression: Option<Compression>,
) -> Result<Vec<FoundPath>, SourceError> {
    if pattern == STANDARD_INPUT {
        return Ok(vec![PathBuf::from(STANDARD_INPUT).into()]);
    }
    let literal = base.join(pattern);
    // A name may hold `[` or `?` itself.
    if literal.symlink_metadata().is_ok() {
        return Ok(vec![literal.into()]);
    }
    if matches!(compression, None | Some(Compression::Zip))
        && let Some(found) = in_archives(pattern, base)?
    {
        return Ok(found);
    }
    if !is_glob(pattern) {
        return Ok(vec![literal.into()]);
    }
    let mut paths = expand(pattern, base)?;
    let mut folder = None;
    // A broken link is not a folder: it is refused later, by name.
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
                    "it matches only folders, such as {}; to load the files in them, add /*",
                    folder.display()
                ),
                None => nearest::describe(&literal),
            },
        });
    }
    paths.sort_by(|left, right| compare_paths(left, right));
    Ok(paths.into_iter().map(FoundPath::from).collect())
}

/// The archives in a pattern (`orders.zip/part*.csv`), each with the pattern of its members; `None` if no part of the
/// pattern names a zip file.
fn in_archives(pattern: &str, base: &Path) -> Result<Option<Vec<FoundPath>>, SourceError> {
    for (at, _) in pattern.match_indices('/') {
        let (head, members) = (&pattern[..at], &pattern[at + 1..]);
        if members.is_empty() || !archive::is_archive_name(head) {
            continue;
        }
        let literal = base.join(head);
        let mut paths = if literal.is_file() || !is_glob(head) {
            vec![literal]
        } else {
            expand(head, base)?
        };
        let has_folders = paths.iter().any(|path| path.is_dir());
        paths.retain(|path| path.is_file());
        if paths.is_empty() {
            continue;
        }
        let in_archive = |path| FoundPath {
            path,
            members: Some(members.to_owned()),
        };
        let mut found: Vec<FoundPath> = paths.into_iter().map(in_archive).collect();
        if has_folders {
            // A folder may have the name of an archive.
            let files = expand(pattern, base)?.into_iter();
            found.extend(files.filter(|path| path.is_file()).map(FoundPath::from));
        }
        found.sort_by(|left, right| compare_paths(&left.path, &right.path));
        return Ok(Some(found));
    }
    Ok(None)
}

/// True if any of these paths and patterns leads to a pipe, which can be read only once. Relative paths start at
/// `base`.
pub fn names_a_pipe<'a>(patterns: impl IntoIterator<Item = &'a str>, base: &Path) -> bool {
    patterns.into_iter().any(|pattern| {
        pattern == STANDARD_INPUT
            || is_pipe(&base.join(pattern))
            || expand(pattern, base).is_ok_and(|paths| paths.iter().any(|path| is_pipe(path)))
    })
}

/// True if a path leads to a named pipe, or to a pipe that a shell made for a process.
fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Checks that `path` is a regular file that can be opened.
fn inspect(path: &Path) -> Result<Metadata, SourceError> {
    let unreadable = |cause| SourceError::Unreadable {
        path: path.to_path_buf(),
        cause,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            let hint = match fs::read_link(path) {
                Ok(target) => format!("it is a link to {}, which does not exist", target.display()),
                Err(_) => nearest::describe(path),
            };
            return Err(SourceError::Missing {
                path: path.to_path_buf(),
                hint,
            });
        }
        // A part of the path is a file, but must be a folder.
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
    File::open(path).map_err(unreadable)?;
    Ok(metadata)
}
