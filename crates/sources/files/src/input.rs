//! The bytes of one file: opened, metered, decompressed, and compared with the plan.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use flate2::Crc;
use inrush_rows::compression::Compression;
use inrush_rows::plural::counted;
use inrush_source::SourceError;
use inrush_source::nanoseconds_since;

use super::archive::ZipMember;
use super::compression::{Decompressor, words};
use super::decoder_memory::{FIRST_BYTES, ZSTD_WINDOW_LOG_MAX, ZstdFrame};
use super::gzip::TrailingBytes;
use super::signature::{SIGNATURE_BYTES, binary_kind, compression_by_signature, signature};
use super::source_file::{FileOrigin, SourceFile};
use super::stored::{Purpose, StoredFile, changed};

/// How many bytes of text are read at a time until a decompressor reads more of its file.
const READ_ON_BYTES: usize = 4 << 10;

/// The decompressed bytes of one file.
pub(super) struct Input {
    decompressor: Decompressor,
    compression: Compression,
    planned: Arc<SourceFile>,
    /// The position in the file where reading began.
    start: u64,
    text_bytes: u64,
    /// The time in reads of a compressed file, including the system's reads.
    decompressor_ns: u64,
    /// The time in the system's reads before the decompressor existed.
    peek_ns: u64,
    /// The checksum of the text of an archive's member.
    checksum: Option<(Crc, Arc<ZipMember>)>,
}

impl Input {
    /// Opens a file. A plain file is read from byte `start` on.
    pub(super) fn open(
        planned: &Arc<SourceFile>,
        purpose: Purpose,
        start: u64,
    ) -> Result<Input, SourceError> {
        let path = &planned.path;
        let mut file = StoredFile::open(planned, purpose, start)?;
        let compression = match (&planned.origin, planned.compression) {
            (FileOrigin::Pipe(_), Compression::None) if planned.compression_by_signature => {
                let first = peek(&mut file, planned)?;
                compression_by_signature(&first)
            }
            (_, compression) => compression,
        };
        let is_member = matches!(planned.origin, FileOrigin::ZipMember(_));
        if compression != Compression::None && !is_member {
            let first = peek(&mut file, planned)?;
            check_compressed_kind(&first, planned, compression)?;
            if compression == Compression::Zstd {
                check_frame(&mut file, planned)?;
            }
        }
        let peek_ns = file.read_ns;
        let made = match &planned.origin {
            FileOrigin::ZipMember(member) => match &member.method {
                Ok(method) => Decompressor::of_member(file, *method),
                Err(reason) => {
                    return Err(SourceError::Member {
                        path: path.to_path_buf(),
                        reason: reason.clone(),
                    });
                }
            },
            _ => Decompressor::new(file, compression),
        };
        Ok(Input {
            decompressor: made.map_err(|cause| SourceError::read(path, 0, cause))?,
            compression,
            planned: Arc::clone(planned),
            start,
            text_bytes: 0,
            decompressor_ns: 0,
            peek_ns,
            checksum: match &planned.origin {
                FileOrigin::ZipMember(member) => Some((Crc::new(), Arc::clone(member))),
                _ => None,
            },
        })
    }

    /// The compression of the file, if only its first bytes show it.
    pub(super) fn compression(&self) -> Compression {
        self.compression
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

    /// The time for reading and decompressing, in nanoseconds.
    pub(super) fn reading_ns(&self) -> u64 {
        self.decompressor_ns
    }

    pub(super) fn decompress_ns(&self) -> u64 {
        match self.compression {
            Compression::None => 0,
            _ => (self.decompressor_ns + self.peek_ns).saturating_sub(self.read_ns()),
        }
    }

    /// Reads some text. Returns 0 only at the end, where the file is compared with the plan.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        // Without this check, a record without an end, or endless blank lines before a header, could not be stopped.
        if self.planned.stop.is_asked() {
            return Err(SourceError::Stopped {
                path: self.planned.path.to_path_buf(),
            });
        }
        let start = Instant::now();
        let result = self.decompressor.read(bytes);
        self.decompressor_ns += nanoseconds_since(start);
        let count = result.map_err(|cause| self.failure(cause))?;
        self.text_bytes += count as u64;
        if let Some((checksum, member)) = &mut self.checksum {
            checksum.update(&bytes[..count]);
            if self.text_bytes > member.text_bytes || count == 0 {
                self.check_member()?;
            }
        }
        let is_known = matches!(self.planned.origin, FileOrigin::File);
        let is_over = is_known && self.start + self.stored_bytes() > self.planned.size_bytes;
        if count == 0 || is_over {
            self.check_read_bytes()?;
            self.check_unchanged()?;
        }
        Ok(count)
    }

    /// How many stored bytes belong to the first `text_bytes` of the text. This is an estimate: if `text_bytes` are
    /// half of the decompressed text, it is half of the stored bytes that the decompressor has used. A decompressor
    /// takes whole blocks and returns their text bit by bit. So this function reads until the decompressor takes the
    /// next block: only then has the decompressor returned all text of the bytes that it has used.
    pub(super) fn stored_bytes_of(&mut self, text_bytes: u64) -> u64 {
        let mut even = (self.decompressor.used_bytes(), self.text_bytes);
        if !matches!(self.decompressor, Decompressor::None(_)) {
            let mut text = [0; READ_ON_BYTES];
            // Damage that is found here is reported when the load reads this far.
            while let Ok(count) = self.read(&mut text) {
                let used_bytes = self.decompressor.used_bytes();
                if used_bytes != even.0 && count > 0 {
                    break;
                }
                even = (used_bytes, self.text_bytes);
                if count == 0 {
                    break;
                }
            }
        }
        let (used_bytes, all_text_bytes) = (u128::from(even.0), u128::from(even.1.max(1)));
        u64::try_from(u128::from(text_bytes) * used_bytes / all_text_bytes).unwrap_or(u64::MAX)
    }

    /// Checks that the file has not changed since it was planned.
    pub(super) fn check_unchanged(&self) -> Result<(), SourceError> {
        self.decompressor.file().check_unchanged(&self.planned)
    }

    fn failure(&self, cause: io::Error) -> SourceError {
        let path = &self.planned.path;
        if self.decompressor.file().is_stopped() {
            return SourceError::Stopped {
                path: path.to_path_buf(),
            };
        }
        // Errors of the system have a number, errors of the decompressors have none.
        if cause.raw_os_error().is_some() {
            return SourceError::read(path, self.stored_bytes(), cause);
        }
        // A file that is still being written looks like a truncated one.
        if let Err(changed) = self.check_unchanged() {
            return changed;
        }
        let compressed_offset = self.decompressor.used_bytes();
        if self.compression == Compression::Zstd {
            // A frame after the first one, whose header is no longer available.
            match cause.to_string().as_str() {
                "Dictionary mismatch" => return dictionary_missing(&self.planned, None),
                "Frame requires too much memory for decoding" => {
                    return window_too_long(&self.planned, None);
                }
                _ => {}
            }
        }
        if cause
            .get_ref()
            .is_some_and(|cause| cause.is::<TrailingBytes>())
        {
            return SourceError::Trailing {
                path: path.to_path_buf(),
                compressed_offset,
                text_offset: self.text_bytes,
                cause,
            };
        }
        // The decoder's message if a second xz stream ends within its first bytes.
        let is_cut =
            self.compression == Compression::Xz && cause.to_string() == "incomplete XZ magic bytes";
        if cause.kind() == io::ErrorKind::UnexpectedEof || is_cut {
            return truncated(
                &self.planned,
                self.compression,
                compressed_offset,
                self.text_bytes,
            );
        }
        self.corrupt(cause)
    }

    fn corrupt(&self, cause: io::Error) -> SourceError {
        let (format, test) = words(self.compression);
        SourceError::Corrupt {
            path: self.planned.path.to_path_buf(),
            format,
            test,
            compressed_offset: self.decompressor.used_bytes(),
            text_offset: self.text_bytes,
            cause,
        }
    }

    /// Compares the text of an archive's member with the archive's directory.
    fn check_member(&self) -> Result<(), SourceError> {
        let Some((checksum, member)) = &self.checksum else {
            return Ok(());
        };
        let what = if self.text_bytes != member.text_bytes {
            self.check_unchanged()?;
            format!(
                "the archive says that it has {}",
                counted(member.text_bytes, "byte")
            )
        } else if checksum.sum() != member.crc32 {
            self.check_unchanged()?;
            "its checksum is not the archive's".to_owned()
        } else {
            return Ok(());
        };
        Err(self.corrupt(io::Error::new(io::ErrorKind::InvalidData, what)))
    }

    fn check_read_bytes(&self) -> Result<(), SourceError> {
        if !matches!(self.planned.origin, FileOrigin::File) {
            return Ok(());
        }
        let (read, planned) = (self.start + self.stored_bytes(), self.planned.size_bytes);
        if read == planned {
            return Ok(());
        }
        let what = format!(
            "{} were read, and {planned} were planned",
            counted(read, "byte")
        );
        Err(changed(&self.planned, what))
    }
}

fn peek(file: &mut StoredFile, planned: &SourceFile) -> Result<Vec<u8>, SourceError> {
    let first = file.peek(SIGNATURE_BYTES).map(<[u8]>::to_vec);
    match first {
        Ok(first) => Ok(first),
        Err(_) if file.is_stopped() => Err(SourceError::Stopped {
            path: planned.path.to_path_buf(),
        }),
        Err(cause) => Err(SourceError::read(&planned.path, 0, cause)),
    }
}

/// Checks that the first frame of a zstd file can be read.
fn check_frame(file: &mut StoredFile, planned: &SourceFile) -> Result<(), SourceError> {
    let first = file
        .peek(FIRST_BYTES)
        .map_err(|cause| SourceError::read(&planned.path, 0, cause))?;
    match ZstdFrame::read(first) {
        Some(frame) if frame.dictionary != 0 => {
            Err(dictionary_missing(planned, Some(frame.dictionary)))
        }
        Some(frame) if frame.window_bytes > 1 << ZSTD_WINDOW_LOG_MAX => {
            Err(window_too_long(planned, Some(frame.window_bytes)))
        }
        _ => Ok(()),
    }
}

fn dictionary_missing(planned: &SourceFile, id: Option<u32>) -> SourceError {
    SourceError::Undecodable {
        path: planned.path.to_path_buf(),
        what: match id {
            Some(id) => format!("was compressed with a zstd dictionary (its id is {id})"),
            None => "was compressed with a zstd dictionary in its later part".to_owned(),
        },
        fix: "decompress it first: zstd -d -D DICTIONARY FILE".to_owned(),
    }
}

fn window_too_long(planned: &SourceFile, window_bytes: Option<u64>) -> SourceError {
    let most_mib = (1_u64 << ZSTD_WINDOW_LOG_MAX) >> 20;
    let needed = match window_bytes {
        Some(bytes) => format!("a zstd window of {} MiB", bytes >> 20),
        None => "a longer zstd window in its later part".to_owned(),
    };
    SourceError::Undecodable {
        path: planned.path.to_path_buf(),
        what: format!("needs {needed}, and Inrush allows at most {most_mib} MiB"),
        fix: format!(
            "compress it again with a shorter window: zstd -dc --long=31 FILE | zstd --long={ZSTD_WINDOW_LOG_MAX} -o NEW.zst"
        ),
    }
}

fn truncated(
    planned: &SourceFile,
    compression: Compression,
    compressed_offset: u64,
    text_offset: u64,
) -> SourceError {
    let (format, test) = words(compression);
    SourceError::Truncated {
        path: planned.path.to_path_buf(),
        format,
        test,
        compressed_offset,
        text_offset,
    }
}

/// Checks that a compressed file begins as its compression requires, so that a wrong name is not taken for damage.
fn check_compressed_kind(
    first: &[u8],
    planned: &SourceFile,
    compression: Compression,
) -> Result<(), SourceError> {
    let (expected, _) = words(compression);
    let signature = signature(compression);
    // A zstd file may begin with a frame that is skipped.
    let is_skippable =
        compression == Compression::Zstd && matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    if first.starts_with(signature) || is_skippable {
        return Ok(());
    }
    // There is not even a whole signature, which even an empty text would have.
    if signature.starts_with(first) {
        return Err(truncated(planned, compression, first.len() as u64, 0));
    }
    let found = binary_kind(first).or_else(|| super::signature::unreadable_kind(first));
    Err(SourceError::KindMismatch {
        path: planned.path.to_path_buf(),
        expected,
        found: found.unwrap_or("plain text"),
        mend: match found {
            Some(found @ ("gzip" | "zstd" | "bzip2" | "xz")) => {
                format!("declare it: format.compression = {found:?}")
            }
            Some(_) => "make it again as text, gzip, zstd, bzip2 or xz".to_owned(),
            None => "rename it, or declare it: format.compression = \"none\"".to_owned(),
        },
    })
}
