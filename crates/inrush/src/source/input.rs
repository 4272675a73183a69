//! The bytes of one file: opened, metered, decompressed, and held against what was planned.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use super::advise::advise_sequential;
use super::compression::{Decompressor, DecompressorError, words};
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
        check_unchanged(&file, planned)?;
        let file = StoredFile {
            file,
            bytes_read: 0,
            read_ns: 0,
        };
        let look = |first: &[u8]| check_compressed_kind(first, planned);
        let decompressor = match Decompressor::new(file, planned.compression, look) {
            Ok(decompressor) => decompressor,
            Err(DecompressorError::Read(cause)) => return Err(SourceError::read(path, 0, cause)),
            Err(DecompressorError::Refused(error)) => return Err(error),
        };
        Ok(Input {
            decompressor,
            planned: Arc::clone(planned),
            text_bytes: 0,
            decompressor_ns: 0,
        })
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
                    check_unchanged(&self.decompressor.file().file, &self.planned)?;
                }
                Ok(count)
            }
            Err(cause) => Err(self.failure(cause)),
        }
    }

    fn failure(&self, cause: io::Error) -> SourceError {
        let path = &self.planned.path;
        // Errors of the system have a number, those of the decompressors have none.
        if cause.raw_os_error().is_some() {
            return SourceError::read(path, self.stored_bytes(), cause);
        }
        // A file that is still being written looks like a truncated one.
        if let Err(changed) = check_unchanged(&self.decompressor.file().file, &self.planned) {
            return changed;
        }
        let compressed_offset = self.decompressor.used_bytes();
        if cause.kind() == io::ErrorKind::UnexpectedEof {
            return truncated(&self.planned, compressed_offset, self.text_bytes);
        }
        let (format, test) = words(self.planned.compression);
        SourceError::Corrupt {
            path: path.to_path_buf(),
            format,
            test,
            compressed_offset,
            text_offset: self.text_bytes,
            cause,
        }
    }

    fn check_read_bytes(&self) -> Result<(), SourceError> {
        let (read, planned) = (self.stored_bytes(), self.planned.size_bytes);
        if read == planned {
            return Ok(());
        }
        let what = format!("{read} bytes were read where {planned} were planned");
        Err(changed(&self.planned, what))
    }
}

fn check_unchanged(file: &File, planned: &SourceFile) -> Result<(), SourceError> {
    let metadata = file
        .metadata()
        .map_err(|cause| SourceError::read(&planned.path, 0, cause))?;
    let (size, planned_size) = (metadata.len(), planned.size_bytes);
    if size != planned_size {
        let what = format!("it had {planned_size} bytes and has {size}");
        return Err(changed(planned, what));
    }
    if modified_ns(&metadata) != planned.modified_ns {
        return Err(changed(planned, "it was written again".to_owned()));
    }
    Ok(())
}

fn changed(planned: &SourceFile, what: String) -> SourceError {
    SourceError::Changed {
        path: planned.path.to_path_buf(),
        what,
    }
}

fn truncated(planned: &SourceFile, compressed_offset: u64, text_offset: u64) -> SourceError {
    let (format, test) = words(planned.compression);
    SourceError::Truncated {
        path: planned.path.to_path_buf(),
        format,
        test,
        compressed_offset,
        text_offset,
    }
}

/// A compressed file begins as its compression says: a wrong name is not taken for damage.
fn check_compressed_kind(first: &[u8], planned: &SourceFile) -> Result<(), SourceError> {
    let (expected, _) = words(planned.compression);
    let signature: &[u8] = match planned.compression {
        Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        _ => &[0x1f, 0x8b],
    };
    let found = binary_kind(first);
    // A zstd file may begin with a frame that is to be passed over.
    let is_skippable = expected == "zstd" && matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    if found == Some(expected) || is_skippable {
        return Ok(());
    }
    // Not even a whole signature; an empty text would have one.
    if signature.starts_with(first) {
        return Err(truncated(planned, first.len() as u64, 0));
    }
    Err(SourceError::KindMismatch {
        path: planned.path.to_path_buf(),
        expected,
        found: found.unwrap_or("plain text"),
        mend: match found {
            Some(found @ ("gzip" | "zstd")) => {
                format!("declare it: format.compression = {found:?}")
            }
            Some(_) => "make it again as text, gzip or zstd".to_owned(),
            None => "rename it, or declare it: format.compression = \"none\"".to_owned(),
        },
    })
}
