//! A file to load, as it was when it was found: its path, size, compression and origin.
//!
//! This module and [`table`](super::table) need each other: a file of typed rows contains its footer ([`TableFile`]),
//! and the readers of its rows use the file, to name it in errors and to check that it was not changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;

use super::archive::ZipMember;
use super::decoder_memory::{FIRST_BYTES, decoder_bytes};
use super::file_state::{FileState, modified_ns};
use super::lines::KnownLines;
use super::pipe::Pipe;
use super::table::TableFile;

/// A file to load, as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its index among the files that were found with it, counted from 0.
    pub index: u32,
    /// The path: the base folder and the path from the user; for a member of an archive, also its name there.
    pub path: Arc<Path>,
    /// The stored size in bytes; 0 for a pipe, which has no size.
    pub size_bytes: u64,
    /// When it, or its archive, was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The state that shows a later change of the file, or of its archive, even if its time was set back.
    pub state: FileState,
    /// Its compression.
    pub compression: Compression,
    /// True if the first bytes may show another compression: for a pipe without a declared compression.
    pub(super) compression_by_signature: bool,
    /// The declared encoding of its text.
    pub encoding: Option<TextEncoding>,
    /// The origin of its bytes.
    pub origin: FileOrigin,
    /// The line ends counted so far.
    pub(super) lines: KnownLines,
    /// The stop that ends every read of it.
    pub(super) stop: ReadStop,
}

/// The stop of the run that reads a file. It is ignored when files are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadStop(pub(super) Stop);

impl ReadStop {
    /// True if the run was asked to stop, so that there is no use in reading on.
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

/// The origin of a file's bytes.
#[derive(Clone, Debug)]
pub enum FileOrigin {
    /// A file on the disk.
    File,
    /// A member of a zip archive.
    ZipMember(Arc<ZipMember>),
    /// Standard input, a named pipe or a process substitution.
    Pipe(Arc<Pipe>),
    /// The typed rows of a file on the disk.
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
    pub(super) fn new(
        path: PathBuf,
        metadata: &Metadata,
        compression: Compression,
        encoding: Option<TextEncoding>,
    ) -> SourceFile {
        SourceFile {
            index: 0,
            path: path.into(),
            size_bytes: metadata.len(),
            modified_ns: modified_ns(metadata),
            state: FileState::of(metadata),
            compression,
            compression_by_signature: false,
            encoding,
            origin: FileOrigin::File,
            lines: KnownLines::default(),
            stop: ReadStop::default(),
        }
    }

    pub(super) fn of_member(
        member: Arc<ZipMember>,
        metadata: &Metadata,
        encoding: Option<TextEncoding>,
    ) -> SourceFile {
        SourceFile {
            index: 0,
            path: member.path().into(),
            size_bytes: member.stored_bytes,
            modified_ns: member.modified_ns,
            state: FileState::of(metadata),
            compression: Compression::Zip,
            compression_by_signature: false,
            encoding,
            origin: FileOrigin::ZipMember(member),
            lines: KnownLines::default(),
            stop: ReadStop::default(),
        }
    }

    /// The stop that ends every read of it.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop.0
    }

    /// True if the run that reads it was asked to stop.
    pub(super) fn is_stop_asked(&self) -> bool {
        self.stop.is_asked()
    }

    /// Its size, time and state now, from the system; `None` for a pipe. The size of an archive's member counts as
    /// unchanged as long as the archive's size is unchanged.
    pub(super) fn stat_now(&self) -> Option<(u64, i64, FileState)> {
        let path = match &self.origin {
            FileOrigin::File | FileOrigin::Table(_) => &*self.path,
            FileOrigin::ZipMember(member) => member.archive.as_path(),
            FileOrigin::Pipe(_) => return None,
        };
        let metadata = fs::metadata(path).ok()?;
        let size_bytes = match &self.origin {
            FileOrigin::ZipMember(member) if metadata.len() == member.archive_bytes => {
                self.size_bytes
            }
            _ => metadata.len(),
        };
        Some((size_bytes, modified_ns(&metadata), FileState::of(&metadata)))
    }

    /// The same file with its present state, as far as the system has one.
    pub(super) fn as_it_is_now(&self) -> SourceFile {
        let mut now = self.clone();
        if let Some((_, modified_ns, state)) = self.stat_now() {
            now.state = state;
            now.modified_ns = modified_ns;
        }
        now
    }

    /// The file on the disk with its bytes, and their position in it; `None` for a pipe.
    pub fn stored_at(&self) -> Option<(&Path, u64)> {
        match &self.origin {
            FileOrigin::File | FileOrigin::Table(_) => Some((&self.path, 0)),
            FileOrigin::ZipMember(member) => Some((&member.archive, member.data_start)),
            FileOrigin::Pipe(_) => None,
        }
    }

    /// True if it can be read only once, and has neither a size nor a time.
    pub fn is_pipe(&self) -> bool {
        matches!(self.origin, FileOrigin::Pipe(_))
    }

    /// The file's typed rows, if it has any.
    pub fn table(&self) -> Option<&Arc<TableFile>> {
        match &self.origin {
            FileOrigin::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Keeps what is loaded of a pipe in a folder, so that it can be read again. Other files can always be read again.
    pub fn keep_in(&self, folder: &Path) -> io::Result<()> {
        match &self.origin {
            FileOrigin::Pipe(pipe) => pipe.keep_in(folder),
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::ZipMember(_) => Ok(()),
        }
    }

    /// True if it can be read again after it was loaded.
    pub fn is_read_again(&self) -> bool {
        match &self.origin {
            FileOrigin::Pipe(pipe) => pipe.is_kept(),
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::ZipMember(_) => true,
        }
    }

    /// The memory that its decompressor needs, by its first bytes.
    pub fn decoder_bytes(&self) -> u64 {
        let mut first = Vec::new();
        if matches!(self.compression, Compression::Zstd | Compression::Xz)
            && let Some((path, _)) = self.stored_at()
            && let Ok(file) = File::open(path)
        {
            // If it cannot be read, the load reports the error.
            let _ = file.take(FIRST_BYTES as u64).read_to_end(&mut first);
        }
        decoder_bytes(self.compression, &first)
    }

    /// The size of the file that contains it: for a member, the size of the archive.
    pub(super) fn container_bytes(&self) -> u64 {
        match &self.origin {
            FileOrigin::ZipMember(member) => member.archive_bytes,
            FileOrigin::File | FileOrigin::Table(_) | FileOrigin::Pipe(_) => self.size_bytes,
        }
    }

    /// Texts that identify it, in addition to its size and time. They do not depend on the current folder or on how its
    /// path is written. A pipe never has the same texts again.
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
}
