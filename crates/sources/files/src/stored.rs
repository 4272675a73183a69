//! The bytes of a file as they are stored: a file, a member of an archive, or a pipe.
//!
//! This module is part of a dependency cycle: it opens a [`SourceFile`], which contains the footer of a file of typed
//! rows ([`table`](super::table)), and the readers of such rows use this module to check that the file was not changed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::Instant;

use inrush_rows::plural::counted;
use inrush_source::SourceError;
use inrush_source::nanoseconds_since;

use super::advise::advise_sequential;
use super::file_state::modified_ns;
use super::pipe::PipeReader;
use super::source_file::{FileOrigin, ReadStop, SourceFile};

/// The purpose of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its beginning is read; it is read again later.
    Look,
    /// All of it is loaded.
    Load,
}

enum Bytes {
    /// A file from its beginning, or from a position on.
    File(File),
    /// A part of a file: a member of an archive.
    Piece { file: File, left: u64 },
    /// A pipe.
    Pipe(PipeReader),
}

/// The stored bytes of a file, with the cost of reading them.
pub(super) struct StoredFile {
    bytes: Bytes,
    /// First bytes that were examined and not handed out yet, from `peeked_at` on.
    peeked: Vec<u8>,
    peeked_at: usize,
    pub(super) bytes_read: u64,
    pub(super) read_ns: u64,
    stop: ReadStop,
}

impl StoredFile {
    /// Opens a file from byte `start` on, and checks that it has not changed since it was planned.
    pub(super) fn open(
        planned: &SourceFile,
        purpose: Purpose,
        start: u64,
    ) -> Result<StoredFile, SourceError> {
        let open = |path: &std::path::Path| {
            File::open(path).map_err(|cause| SourceError::Unreadable {
                path: planned.path.to_path_buf(),
                cause,
            })
        };
        let seek = |file: &mut File, place: u64| {
            file.seek(SeekFrom::Start(place))
                .map_err(|cause| SourceError::read(&planned.path, 0, cause))
        };
        let bytes = match &planned.origin {
            FileOrigin::File => {
                let mut file = open(&planned.path)?;
                check_unchanged(&file, planned)?;
                if start > 0 {
                    seek(&mut file, start)?;
                }
                advise_sequential(&file);
                Bytes::File(file)
            }
            FileOrigin::ZipMember(member) => {
                let mut file = open(&member.archive)?;
                check_unchanged(&file, planned)?;
                seek(&mut file, member.data_start)?;
                Bytes::Piece {
                    file,
                    left: member.stored_bytes,
                }
            }
            FileOrigin::Table(_) => unreachable!("typed rows are read by their own reader"),
            FileOrigin::Pipe(pipe) => Bytes::Pipe(match purpose {
                Purpose::Look => PipeReader::look(pipe)?,
                Purpose::Load => PipeReader::load(pipe)?,
            }),
        };
        Ok(StoredFile {
            bytes,
            peeked: Vec::new(),
            peeked_at: 0,
            bytes_read: 0,
            read_ns: 0,
            stop: planned.stop.clone(),
        })
    }

    /// Checks that it has not changed since it was planned; a pipe always passes.
    pub(super) fn check_unchanged(&self, planned: &SourceFile) -> Result<(), SourceError> {
        match &self.bytes {
            Bytes::File(file) | Bytes::Piece { file, .. } => check_unchanged(file, planned),
            Bytes::Pipe(_) => Ok(()),
        }
    }

    /// True if reading ended because a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        match &self.bytes {
            Bytes::Pipe(reader) => reader.pipe().is_stopped(),
            Bytes::File(_) | Bytes::Piece { .. } => self.stop.is_asked(),
        }
    }
}

impl StoredFile {
    /// The first `count` bytes, or fewer if there are no more. They are not consumed.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.peeked_bytes() >= count {
            return Ok(&self.peeked[self.peeked_at..][..count]);
        }
        let mut first = self.peeked.split_off(self.peeked_at);
        let mut filled = first.len();
        first.resize(count, 0);
        while filled < count {
            match self.read_stored(&mut first[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        first.truncate(filled);
        self.peeked = first;
        self.peeked_at = 0;
        Ok(&self.peeked)
    }

    /// The number of bytes that were examined and not handed out yet.
    pub(super) fn peeked_bytes(&self) -> usize {
        self.peeked.len() - self.peeked_at
    }

    fn read_stored(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // The stop is checked here, because a decompressor may read its whole file and return no text.
        if self.stop.is_asked() {
            return Err(io::Error::other("stopped on request"));
        }
        let start = Instant::now();
        let result = loop {
            let result = match &mut self.bytes {
                Bytes::File(file) => file.read(bytes),
                Bytes::Piece { file, left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let most = most.min(bytes.len());
                    file.read(&mut bytes[..most])
                        .inspect(|count| *left -= *count as u64)
                }
                Bytes::Pipe(reader) => reader.read(bytes),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.read_ns += nanoseconds_since(start);
        self.bytes_read += *result.as_ref().unwrap_or(&0) as u64;
        result
    }
}

impl Read for StoredFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = &self.peeked[self.peeked_at..];
        if left.is_empty() {
            return self.read_stored(bytes);
        }
        let count = left.len().min(bytes.len());
        bytes[..count].copy_from_slice(&left[..count]);
        self.peeked_at += count;
        Ok(count)
    }
}

/// Compares an open file or archive with the plan.
pub(super) fn check_unchanged(file: &File, planned: &SourceFile) -> Result<(), SourceError> {
    let metadata = file
        .metadata()
        .map_err(|cause| SourceError::read(&planned.path, 0, cause))?;
    let (size, planned_size) = (metadata.len(), planned.container_bytes());
    if size != planned_size {
        let what = format!(
            "it had {} and now has {size}",
            counted(planned_size, "byte")
        );
        return Err(changed(planned, what));
    }
    if modified_ns(&metadata) != planned.modified_ns {
        return Err(changed(planned, "it was written again".to_owned()));
    }
    Ok(())
}

pub(super) fn changed(planned: &SourceFile, what: String) -> SourceError {
    SourceError::Changed {
        path: Arc::clone(&planned.path).to_path_buf(),
        what,
    }
}
