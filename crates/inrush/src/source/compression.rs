//! How a file is compressed, by its name, and the decompressors.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::SourceError;
use super::input::StoredFile;
use crate::package::Compression;

/// Compressed bytes that are read at a time.
const COMPRESSED_READ_BYTES: usize = 128 << 10;

/// The compression that a file's name tells.
pub fn compression_of(path: &Path) -> Compression {
    let extension = path
        .extension()
        .map(|name| name.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("gz" | "gzip") => Compression::Gzip,
        Some("zst" | "zstd") => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The words for a compression, and the command that tests such a file.
pub(super) fn words(compression: Compression) -> (&'static str, &'static str) {
    match compression {
        Compression::None => ("plain", "cat"),
        Compression::Gzip => ("gzip", "gzip -t"),
        Compression::Zstd => ("zstd", "zstd -t"),
    }
}

/// Why a decompressor could not be made.
pub(super) enum DecompressorError {
    /// The file could not be read.
    Read(io::Error),
    /// The first bytes were refused.
    Refused(SourceError),
}

impl From<io::Error> for DecompressorError {
    fn from(error: io::Error) -> DecompressorError {
        DecompressorError::Read(error)
    }
}

impl From<SourceError> for DecompressorError {
    fn from(error: SourceError) -> DecompressorError {
        DecompressorError::Refused(error)
    }
}

/// The text of a stored file. Members of a gzip file, and frames of a zstd file, follow each
/// other as if they were one.
pub(super) enum Decompressor {
    /// As it is stored.
    None(StoredFile),
    /// gzip.
    Gzip(Box<MultiGzDecoder<BufReader<StoredFile>>>),
    /// Zstandard.
    Zstd(Box<zstd::Decoder<'static, BufReader<StoredFile>>>),
}

impl Decompressor {
    /// `look` sees the first bytes of a compressed file before a decompressor does; a plain
    /// file's bytes are seen anyway.
    pub(super) fn new(
        file: StoredFile,
        compression: Compression,
        look: impl FnOnce(&[u8]) -> Result<(), SourceError>,
    ) -> Result<Decompressor, DecompressorError> {
        if compression == Compression::None {
            return Ok(Decompressor::None(file));
        }
        let mut file = BufReader::with_capacity(COMPRESSED_READ_BYTES, file);
        look(file.fill_buf()?)?;
        Ok(match compression {
            Compression::Zstd => Decompressor::Zstd(Box::new(zstd::Decoder::with_buffer(file)?)),
            _ => Decompressor::Gzip(Box::new(MultiGzDecoder::new(file))),
        })
    }

    pub(super) fn file(&self) -> &StoredFile {
        match self {
            Decompressor::None(file) => file,
            Decompressor::Gzip(decoder) => decoder.get_ref().get_ref(),
            Decompressor::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }

    /// Bytes of the stored file that were used.
    pub(super) fn used_bytes(&self) -> u64 {
        let ahead = match self {
            Decompressor::None(_) => 0,
            Decompressor::Gzip(decoder) => decoder.get_ref().buffer().len(),
            Decompressor::Zstd(decoder) => decoder.get_ref().buffer().len(),
        };
        self.file().bytes_read() - ahead as u64
    }
}

impl Read for Decompressor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Decompressor::None(file) => file.read(bytes),
            Decompressor::Gzip(decoder) => decoder.read(bytes),
            Decompressor::Zstd(decoder) => decoder.read(bytes),
        }
    }
}
