//! The bytes of one file: opened, metered, decompressed, and held against what was planned.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::advise::advise_sequential;
use super::compression::{Decompressor, words};
use super::error::SourceError;
use super::files::{SourceFile, modified_ns};
use super::meter::nanoseconds_since;
use super::signature::binary_kind;
use crate::package::Compression;

/// A file as it is stored, with what reading it has cost.
pub(super) struct StoredFile {
    file: File,
    bytes_read: u64,
    read_ns: u64,
}

impl StoredFile {
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}

impl Read for StoredFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        let result = loop {
            match self.file.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.read_ns += nanoseconds_since(start);
        self.bytes_read += *result.as_ref().unwrap_or(&0) as u64;
        result
    }
}

/// The text of one file.
pub(super) struct Input {
    decompressor: Decompressor,
    planned: Arc<SourceFile>,
    text_bytes: u64,
    /// In reads of a compressed file, the system's own included.
    decompressor_ns: u64,
}

impl Input {
    pub(super) fn open(planned: &Arc<SourceFile>) -> Result<Input, SourceError> {
        let path = &planned.path;
        let file = File::open(path.as_path()).map_err(|cause| SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        })?;
        advise_sequential(&file);
        let file = StoredFile {
            file,
            bytes_read: 0,
            read_ns: 0,
        };
        let decompressor = Decompressor::new(file, planned.compression)
            .map_err(|cause| SourceError::read(path, 0, cause))?;
        let mut input = Input {
            decompressor,
            planned: Arc::clone(planned),
            text_bytes: 0,
            decompressor_ns: 0,
        };
        input.check_unchanged()?;
        input.check_compressed_kind()?;
        Ok(input)
    }

    fn path(&self) -> &Arc<PathBuf> {
        &self.planned.path
    }

    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    pub(super) fn stored_bytes(&self) -> u64 {
        self.decompressor.file().bytes_read
    }

    pub(super) fn read_ns(&self) -> u64 {
        self.decompressor.file().read_ns
    }

    pub(super) fn decompress_ns(&self) -> u64 {
        match self.planned.compression {
            Compression::None => 0,
            _ => self.decompressor_ns.saturating_sub(self.read_ns()),
        }
    }

    /// Reads some text; 0 bytes at the end only, where the file is held against the plan.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        let start = Instant::now();
        let result = self.decompressor.read(bytes);
        self.decompressor_ns += nanoseconds_since(start);
        match result {
            Ok(count) => {
                self.text_bytes += count as u64;
                let stored = self.stored_bytes();
                if count == 0 || stored > self.planned.size_bytes {
                    self.check_read_bytes()?;
                    self.check_unchanged()?;
                }
                Ok(count)
            }
            Err(cause) => Err(self.failure(cause)),
        }
    }

    fn failure(&self, cause: io::Error) -> SourceError {
        let path = self.path();
        // Errors of the system have a number, those of the decompressors have none.
        if cause.raw_os_error().is_some() {
            return SourceError::read(path, self.stored_bytes(), cause);
        }
        // A file that is still being written looks like a truncated one.
        if let Err(changed) = self.check_unchanged() {
            return changed;
        }
        let (format, test) = words(self.planned.compression);
        let path = path.to_path_buf();
        let compressed_offset = self.decompressor.used_bytes();
        let text_offset = self.text_bytes;
        if cause.kind() == io::ErrorKind::UnexpectedEof {
            SourceError::Truncated {
                path,
                format,
                test,
                compressed_offset,
                text_offset,
            }
        } else {
            SourceError::Corrupt {
                path,
                format,
                test,
                compressed_offset,
                text_offset,
                cause,
            }
        }
    }

    fn check_read_bytes(&self) -> Result<(), SourceError> {
        let (read, planned) = (self.stored_bytes(), self.planned.size_bytes);
        if read == planned {
            return Ok(());
        }
        Err(self.changed(format!(
            "{read} bytes were read where {planned} were planned"
        )))
    }

    fn check_unchanged(&self) -> Result<(), SourceError> {
        let file = &self.decompressor.file().file;
        let metadata = file
            .metadata()
            .map_err(|cause| SourceError::read(self.path(), self.stored_bytes(), cause))?;
        let (size, planned) = (metadata.len(), self.planned.size_bytes);
        if size != planned {
            return Err(self.changed(format!("it had {planned} bytes and has {size}")));
        }
        if modified_ns(&metadata) != self.planned.modified_ns {
            return Err(self.changed("it was written again".to_owned()));
        }
        Ok(())
    }

    fn changed(&self, what: String) -> SourceError {
        SourceError::Changed {
            path: self.path().to_path_buf(),
            what,
        }
    }

    /// A compressed file begins as its compression says, so that a wrong name is not taken for
    /// damage.
    fn check_compressed_kind(&mut self) -> Result<(), SourceError> {
        let expected = match self.planned.compression {
            Compression::None => return Ok(()),
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
        let start = Instant::now();
        let first = match self.decompressor.peek() {
            Ok(first) => first,
            Err(cause) => return Err(self.failure(cause)),
        };
        let is_empty = first.is_empty();
        let found = binary_kind(first);
        // A zstd file may begin with a frame that is to be passed over.
        let is_skippable = matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        self.decompressor_ns += nanoseconds_since(start);
        if is_empty {
            // Not even a header: an empty text would have one.
            return Err(self.failure(io::ErrorKind::UnexpectedEof.into()));
        }
        if found == Some(expected) || (expected == "zstd" && is_skippable) {
            return Ok(());
        }
        Err(SourceError::KindMismatch {
            path: self.path().to_path_buf(),
            expected,
            found: found.unwrap_or("plain text"),
            mend: match found {
                Some("gzip" | "zstd") => {
                    format!(
                        "declare it: format.compression = {:?}",
                        found.unwrap_or_default()
                    )
                }
                Some(_) => "make it again as text, gzip or zstd".to_owned(),
                None => "rename it, or declare it: format.compression = \"none\"".to_owned(),
            },
        })
    }
}
