//! From patterns to files.
//!
//! Each pattern's files come in natural order, and the patterns in the order in which they are
//! given. A glob matches files only, never folders, and passes over names that begin with a dot
//! unless it says the dot, as a shell does. A file that two patterns match is taken once; two
//! names of one file (links) are refused. A zip archive stands for the files in it; a pattern
//! that goes on behind its name chooses among them (`orders.zip/part*.csv`).

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;

use super::archive::{self, ZipMember};
use super::compression::compression_of;
use super::decoder_memory::{FIRST_BYTES, decoder_bytes};
use super::expand::{expand, is_glob};
use super::lines::LineCounts;
use super::natural::compare_paths;
use super::nearest;
use super::pipe::{Pipe, Pipes, STANDARD_INPUT};
use super::signature::{Beginning, SIGNATURE_BYTES, beginning};
use super::stored::{Purpose, StoredFile};
use super::table::{TableFile, TableKind};

/// A file to load, as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path: the base folder and what the user wrote; of a member of an archive with its
    /// name there.
    pub path: Arc<PathBuf>,
    /// Bytes as it is stored; 0 for a pipe, which has no size.
    pub size_bytes: u64,
    /// When it, or its archive, was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// What tells that it, or its archive, was not written to since, even where its time was put
    /// back.
    pub state: FileState,
    /// How it is compressed.
    pub compression: Compression,
    /// Whether the first bytes may tell another compression: of a pipe for which none is
    /// declared.
    pub(super) compression_by_signature: bool,
    /// The encoding that is declared for its text.
    pub encoding: Option<TextEncoding>,
    /// Where its bytes come from.
    pub origin: FileOrigin,
    /// The line ends that were counted in it.
    pub(super) lines: Arc<LineCounts>,
    /// Ends every read of it.
    pub(super) stop: ReadStop,
}

/// The stop of the run that reads a file. It is no part of what the file is: files do not differ by it.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadStop(Stop);

impl ReadStop {
    /// Whether the run was asked to stop, so that reading on is in vain.
    pub(super) fn is_asked(&self) -> bool {
        self.0.asked().is_some()
    }
}

impl PartialEq for ReadStop {
    fn eq(&self, _: &ReadStop) -> bool {
        true
    }
}

impl Eq for ReadStop {}

/// What the system says of a file beside its size and its time of change: whoever writes to it, or
/// puts another in its place, changes one of these, and nobody can put them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// The file's number on its disk.
    pub inode: u64,
    /// When its inode was changed last, in nanoseconds since 1970.
    pub changed_ns: i64,
}

impl FileState {
    fn of(metadata: &Metadata) -> FileState {
        FileState {
            inode: metadata.ino(),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl fmt::Display for FileState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.inode, self.changed_ns)
    }
}

/// Where the bytes of a file come from.
#[derive(Clone, Debug)]
pub enum FileOrigin {
    /// A file by itself.
    File,
    /// A zip archive.
    ZipMember(Arc<ZipMember>),
    /// Standard input, a named pipe or a process substitution.
    Pipe(Arc<Pipe>),
    /// The rows of a file by itself, which are no text there.
    Table(Arc<TableFile>),
}

impl PartialEq for FileOrigin {
    fn eq(&self, other: &FileOrigin) -> bool {
        match (self, other) {
            (FileOrigin::File, FileOrigin::File) => true,
            (FileOrigin::ZipMember(left), FileOrigin::ZipMember(right)) => left == right,
            (FileOrigin::Pipe(left), FileOrigin::Pipe(right)) => {
                left.identity() == right.identity()
            }
            (FileOrigin::Table(left), FileOrigin::Table(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for FileOrigin {}

impl SourceFile {
    /// One file, with the compression that its name tells. What cannot be read is refused.
    pub fn open(path: PathBuf) -> Result<SourceFile, SourceError> {
        let compression = compression_of(&path);
        let metadata = inspect(&path)?;
        Ok(SourceFile::new(path, &metadata, compression, None))
    }

    fn new(
        path: PathBuf,
        metadata: &Metadata,
        compression: Compression,
        encoding: Option<TextEncoding>,
    ) -> SourceFile {
        SourceFile {
            path: Arc::new(path),
            size_bytes: metadata.len(),
            modified_ns: modified_ns(metadata),
            state: FileState::of(metadata),
            compression,
            compression_by_signature: false,
            encoding,
            origin: FileOrigin::File,
            lines: Arc::default(),
            stop: ReadStop::default(),
        }
    }

    fn of_member(
        member: Arc<ZipMember>,
        metadata: &Metadata,
        encoding: Option<TextEncoding>,
    ) -> SourceFile {
        SourceFile {
            path: Arc::new(member.path()),
            size_bytes: member.stored_bytes,
            modified_ns: member.modified_ns,
            state: FileState::of(metadata),
            compression: Compression::Zip,
            compression_by_signature: false,
            encoding,
            origin: FileOrigin::ZipMember(member),
            lines: Arc::default(),
            stop: ReadStop::default(),
        }
    }

    /// What the system says of it now, where that can be asked, with its size and its time.
    pub fn state_now(&self) -> Option<(FileState, i64)> {
        let path = match &self.origin {
            FileOrigin::File | FileOrigin::Table(_) => self.path.as_path(),
            FileOrigin::ZipMember(member) => member.archive.as_path(),
            FileOrigin::Pipe(_) => return None,
        };
        let metadata = fs::metadata(path).ok()?;
        Some((FileState::of(&metadata), modified_ns(&metadata)))
    }

    /// The file on the disk that holds its bytes, and where they begin there; a pipe has none.
    pub fn stored_at(&self) -> Option<(&Path, u64)> {
        match &self.origin {
            FileOrigin::File | FileOrigin::Table(_) => Some((&self.path, 0)),
            FileOrigin::ZipMember(member) => Some((&member.archive, member.data_start)),
            FileOrigin::Pipe(_) => None,
        }
    }

    /// Whether it can be read only once, and has neither size nor time.
    pub fn is_pipe(&self) -> bool {
        matches!(self.origin, FileOrigin::Pipe(_))
    }

    /// The file's typed rows, where it has such.
    pub fn table(&self) -> Option<&Arc<TableFile>> {
        match &self.origin {
            FileOrigin::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Keeps what is loaded of a pipe in a folder, so that it can be read again. A file can be anyway.
    pub fn keep_in(&self, folder: &Path) -> io::Result<()> {
        match &self.origin {
            FileOrigin::Pipe(pipe) => pipe.keep_in(folder),
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::ZipMember(_) => Ok(()),
        }
    }

    /// Whether it can be read once more after it was loaded.
    pub fn is_read_again(&self) -> bool {
        match &self.origin {
            FileOrigin::Pipe(pipe) => pipe.is_kept(),
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::ZipMember(_) => true,
        }
    }

    /// What its decompressor takes of memory, as its first bytes tell.
    pub fn decoder_bytes(&self) -> u64 {
        let mut first = Vec::new();
        if matches!(self.compression, Compression::Zstd | Compression::Xz)
            && let Some((path, _)) = self.stored_at()
            && let Ok(file) = File::open(path)
        {
            // What cannot be read is told by whoever loads it.
            let _ = file.take(FIRST_BYTES as u64).read_to_end(&mut first);
        }
        decoder_bytes(self.compression, &first)
    }

    /// Bytes of the file that holds it: of the archive, where it is a member of one.
    pub(super) fn container_bytes(&self) -> u64 {
        match &self.origin {
            FileOrigin::ZipMember(member) => member.archive_bytes,
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::Pipe(_) => self.size_bytes,
        }
    }

    /// Texts that name it beside its size and time: the same file is the same wherever the
    /// command is given, and however its path is written. A pipe is never the same again.
    pub fn identity(&self) -> Vec<String> {
        let canonical = |path: &Path| {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
            path.to_string_lossy().into_owned()
        };
        match &self.origin {
            FileOrigin::File | FileOrigin::Table(_) => vec![canonical(&self.path)],
            FileOrigin::ZipMember(member) => vec![
                canonical(&member.archive),
                member.archive_bytes.to_string(),
                member.name.clone(),
                format!("{:08x}", member.crc32),
            ],
            FileOrigin::Pipe(pipe) => vec![pipe.identity().to_owned()],
        }
    }

    /// Whether it is known beforehand that its text is translated: its encoding is declared, or a
    /// mark that nothing hides tells it.
    pub fn is_translated(&self) -> bool {
        let is_plain = self.origin == FileOrigin::File && self.compression == Compression::None;
        match self.encoding {
            Some(encoding) => encoding != TextEncoding::Utf8,
            None => is_plain && !self.reads_in_ranges().unwrap_or(true),
        }
    }

    /// Why byte ranges of it cannot be read by themselves, in words; nothing where they can.
    pub fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(match (&self.origin, self.compression) {
            _ if self.reads_in_ranges()? => None,
            (FileOrigin::Pipe(_), _) => Some("a pipe"),
            (FileOrigin::Table(table), _) => Some(match table.kind {
                TableKind::Parquet => "a Parquet file",
                TableKind::Arrow => "an Arrow IPC file",
            }),
            (FileOrigin::ZipMember(_), _) => Some("a member of an archive"),
            (_, Compression::None) => Some("not in UTF-8"),
            _ => Some("compressed"),
        })
    }

    /// Whether byte ranges of it can be read by themselves: it is neither compressed, nor a
    /// pipe, nor in another encoding than UTF-8. What cannot goes through a
    /// [`Feed`](super::Feed).
    pub fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        let is_plain = self.origin == FileOrigin::File && self.compression == Compression::None;
        match self.encoding {
            _ if !is_plain => Ok(false),
            Some(encoding) => Ok(encoding == TextEncoding::Utf8),
            None => {
                let mut file = StoredFile::open(self, Purpose::Look, 0)?;
                let first = file.peek(SIGNATURE_BYTES).map(<[u8]>::to_vec);
                let first = first.map_err(|cause| match file.is_stopped() {
                    true => SourceError::Stopped {
                        path: self.path.to_path_buf(),
                    },
                    false => SourceError::read(&self.path, 0, cause),
                })?;
                // What is refused there is refused by whoever reads it, with its reason.
                Ok(!matches!(beginning(&first), Beginning::Marked(encoding, _)
                    if encoding != TextEncoding::Utf8))
            }
        }
    }
}

/// When a file was last written, in nanoseconds since 1970.
pub(super) fn modified_ns(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// How files are to be found, beside their patterns.
#[derive(Clone, Debug, Default)]
pub struct ResolveOptions<'a> {
    /// A compression that is declared and not taken from the names.
    pub compression: Option<Compression>,
    /// An encoding that is declared.
    pub encoding: Option<TextEncoding>,
    /// The pipes of the run.
    pub pipes: Pipes,
    /// Who reads them: a flow.
    pub reader: &'a str,
}

/// Finds the files that `patterns` name, each a path or a glob: one file at least. Relative
/// ones start at `base`; `-` is standard input.
pub fn resolve(patterns: &[String], base: &Path) -> Result<Vec<SourceFile>, SourceError> {
    resolve_as(patterns, base, &ResolveOptions::default())
}

/// As [`resolve`], with more said.
pub fn resolve_as(
    patterns: &[String],
    base: &Path,
    options: &ResolveOptions<'_>,
) -> Result<Vec<SourceFile>, SourceError> {
    if patterns.is_empty() {
        return Err(SourceError::NoPattern);
    }
    let mut files = Vec::new();
    // By index, for there may be a hundred thousand.
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
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The system's name for a file, with a member's name in its archive.
type Identity = (u64, u64, Option<String>);

/// The files that a path stands for: one, or those in an archive.
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
                reason: "an archive's directory stands at its end, and this is a pipe".to_owned(),
            });
        }
        let file = SourceFile {
            path: Arc::new(path),
            size_bytes: 0,
            modified_ns: 0,
            state: FileState::default(),
            compression,
            compression_by_signature: options.compression.is_none(),
            encoding: options.encoding,
            origin: FileOrigin::Pipe(pipe),
            lines: Arc::default(),
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
    /// The members that are meant, where it is an archive and the pattern goes on behind it.
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

/// Whether two paths that lead to one file are the same but for `.` and `//`.
fn is_same_path(left: &Path, right: &Path) -> bool {
    let parts = |path: &Path| -> PathBuf {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        absolute.components().collect()
    };
    parts(left) == parts(right)
}

/// The paths that a pattern names, in natural order, one at least.
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
    Ok(paths.into_iter().map(FoundPath::from).collect())
}

/// The archives that a pattern goes through (`orders.zip/part*.csv`), with what it names in
/// them; nothing where no part of it names a zip file.
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
            // A folder may be called like an archive.
            let files = expand(pattern, base)?.into_iter();
            found.extend(files.filter(|path| path.is_file()).map(FoundPath::from));
        }
        found.sort_by(|left, right| compare_paths(&left.path, &right.path));
        return Ok(Some(found));
    }
    Ok(None)
}

/// Whether any of these paths and patterns leads to a pipe, which can be read only once. Relative ones start at
/// `base`.
pub fn names_a_pipe<'a>(patterns: impl IntoIterator<Item = &'a str>, base: &Path) -> bool {
    patterns.into_iter().any(|pattern| {
        pattern == STANDARD_INPUT
            || is_pipe(&base.join(pattern))
            || expand(pattern, base).is_ok_and(|paths| paths.iter().any(|path| is_pipe(path)))
    })
}

/// Whether a path leads to a named pipe, or to one that a shell made for a process.
fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
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
