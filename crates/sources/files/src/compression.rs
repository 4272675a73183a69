//! The compression of a file, by its name, and the decompressors.

use std::io::{self, BufReader, Read};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::DeflateDecoder;
use inrush_rows::compression::Compression;
use lzma_rust2::XzReader;

use super::archive::MemberMethod;
use super::decoder_memory::{XZ_MEMORY_KIB_MAX, ZSTD_WINDOW_LOG_MAX};
use super::gzip::GzipMembers;
use super::stored::StoredFile;

/// How many compressed bytes are read at a time.
const COMPRESSED_READ_BYTES: usize = 128 << 10;

/// The compression by a file's name; part numbers are ignored.
pub fn compression_of(path: &Path) -> Compression {
    match path.file_name() {
        Some(name) => Compression::of_file(&name.to_string_lossy()),
        None => Compression::None,
    }
}

/// The words for a compression, and the command that tests such a file.
pub(super) fn words(compression: Compression) -> (&'static str, &'static str) {
    match compression {
        Compression::None => ("plain", "cat"),
        Compression::Gzip => ("gzip", "gzip -t"),
        Compression::Zstd => ("zstd", "zstd -t"),
        Compression::Bzip2 => ("bzip2", "bzip2 -t"),
        Compression::Xz => ("xz", "xz -t"),
        Compression::Zip => ("zip", "unzip -t"),
    }
}

/// The text of a stored file. All members of a gzip file, frames of a zstd file, and streams of a bzip2 or xz file are
/// read as one text.
pub(super) enum Decompressor {
    /// Not compressed.
    None(StoredFile),
    /// gzip.
    Gzip(Box<GzipMembers<BufReader<StoredFile>>>),
    /// Deflate without gzip's frame, in a zip archive.
    Deflate(Box<DeflateDecoder<BufReader<StoredFile>>>),
    /// Zstandard.
    Zstd(Box<zstd::Decoder<'static, BufReader<StoredFile>>>),
    /// bzip2.
    Bzip2(Box<MultiBzDecoder<BufReader<StoredFile>>>),
    /// xz.
    Xz(Box<XzReader<BufReader<StoredFile>>>),
}

impl Decompressor {
    pub(super) fn new(file: StoredFile, compression: Compression) -> io::Result<Decompressor> {
        let method = match compression {
            Compression::None | Compression::Zip => MemberMethod::Stored,
            Compression::Gzip => {
                return Ok(Decompressor::Gzip(Box::new(GzipMembers::new(buffered(
                    file,
                )))));
            }
            Compression::Zstd => MemberMethod::Zstd,
            Compression::Bzip2 => MemberMethod::Bzip2,
            Compression::Xz => MemberMethod::Xz,
        };
        Decompressor::of_member(file, method)
    }

    /// The compression of a member of a zip archive.
    pub(super) fn of_member(file: StoredFile, method: MemberMethod) -> io::Result<Decompressor> {
        Ok(match method {
            MemberMethod::Stored => Decompressor::None(file),
            MemberMethod::Deflate => {
                Decompressor::Deflate(Box::new(DeflateDecoder::new(buffered(file))))
            }
            MemberMethod::Bzip2 => {
                Decompressor::Bzip2(Box::new(MultiBzDecoder::new(buffered(file))))
            }
            MemberMethod::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(buffered(file))?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Decompressor::Zstd(Box::new(decoder))
            }
            MemberMethod::Xz => Decompressor::Xz(Box::new(XzReader::new_mem_limit(
                buffered(file),
                true,
                XZ_MEMORY_KIB_MAX,
            ))),
        })
    }

    pub(super) fn file(&self) -> &StoredFile {
        match self.buffer() {
            Ok(buffer) => buffer.get_ref(),
            Err(file) => file,
        }
    }

    /// How many bytes of the stored file were used.
    pub(super) fn used_bytes(&self) -> u64 {
        let (file, ahead) = match self.buffer() {
            Ok(buffer) => (buffer.get_ref(), buffer.buffer().len()),
            Err(file) => (file, 0),
        };
        file.bytes_read - (ahead + file.peeked_bytes()) as u64
    }

    fn buffer(&self) -> Result<&BufReader<StoredFile>, &StoredFile> {
        match self {
            Decompressor::None(file) => Err(file),
            Decompressor::Gzip(decoder) => Ok(decoder.get_ref()),
            Decompressor::Deflate(decoder) => Ok(decoder.get_ref()),
            Decompressor::Zstd(decoder) => Ok(decoder.get_ref()),
            Decompressor::Bzip2(decoder) => Ok(decoder.get_ref()),
            Decompressor::Xz(decoder) => Ok(decoder.inner()),
        }
    }
}

fn buffered(file: StoredFile) -> BufReader<StoredFile> {
    BufReader::with_capacity(COMPRESSED_READ_BYTES, file)
}

impl Read for Decompressor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Decompressor::None(file) => file.read(bytes),
            Decompressor::Gzip(decoder) => decoder.read(bytes),
            Decompressor::Deflate(decoder) => decoder.read(bytes),
            Decompressor::Zstd(decoder) => decoder.read(bytes),
            Decompressor::Bzip2(decoder) => decoder.read(bytes),
            Decompressor::Xz(decoder) => decoder.read(bytes),
        }
    }
}
