//! Reads samples of the files: the beginning, many places in the middle, and the end. Their positions depend only on
//! the files' sizes, so the same files always give the same samples.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use inrush_files::{BufferPool, FileOrigin, SourceFile, Split, TextReader};
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_scan::{Dialect, Records};
use inrush_source::SourceError;

use super::error::SniffError;
use super::mapping;

/// The size of the samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The most bytes of all files together.
    pub bytes_max: u64,
    /// The most bytes of the beginning of a file.
    pub beginning_bytes_max: u64,
    /// The fewest bytes of a sample from the middle.
    pub piece_bytes_min: u64,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent {
            bytes_max: 16 << 20,
            beginning_bytes_max: 1 << 20,
            piece_bytes_min: 16 << 10,
        }
    }
}

/// The most places of one file that are read.
const PLACES_MAX: u64 = 64;

/// The most files that are read. If there are more, this many are chosen at equal steps.
const FILES_MAX: usize = 1024;

/// A piece of a file, decompressed.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub file: Arc<SourceFile>,
    /// The number of bytes of the (uncompressed) file before it.
    pub byte_offset: u64,
    pub bytes: Vec<u8>,
    /// The number of lines of the file before it, if it is from the beginning.
    pub line_offset: u64,
    /// True if it begins with the file's first record.
    pub starts_file: bool,
    /// True if it ends with the file.
    pub ends_file: bool,
    /// The encoding that it was translated from; `None` if it is read as UTF-8.
    pub translated_from: Option<TextEncoding>,
}

impl Sample {
    fn drop_lines(&mut self, lines: u32, dialect: &Dialect) {
        let mut dropped = 0;
        for _ in 0..lines {
            let text = &self.bytes[dropped..];
            let end = (0..text.len())
                .find(|at| dialect.terminator_bytes_at(&text[*at..]) > 0)
                .map_or(text.len(), |at| {
                    at + dialect.terminator_bytes_at(&text[at..])
                });
            self.line_offset += u64::from(dialect.line_count(&text[..end]));
            dropped += end;
        }
        self.bytes.drain(..dropped);
        self.byte_offset += dropped as u64;
    }
}

/// Pieces of all files.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub samples: Vec<Sample>,
    /// True if the samples contain all bytes of all files.
    pub is_everything: bool,
    /// The number of files that were read.
    pub files_sampled: usize,
    /// The number of files of which only the beginning was read, because they are compressed or not UTF-8.
    pub beginning_only: usize,
}

impl Samples {
    /// The number of bytes in the samples.
    pub fn bytes_count(&self) -> u64 {
        self.samples
            .iter()
            .map(|sample| sample.bytes.len() as u64)
            .sum()
    }

    /// The samples without the first lines of the files.
    pub fn without_lines(&self, lines: u32, dialect: &Dialect) -> Samples {
        let shorten = |sample: &Sample| {
            let mut sample = sample.clone();
            if sample.starts_file {
                sample.drop_lines(lines, dialect);
            }
            sample
        };
        Samples {
            samples: self.samples.iter().map(shorten).collect(),
            ..*self
        }
    }

    /// The beginnings of files.
    pub fn beginnings(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.starts_file)
    }
}

/// Takes samples of the files.
pub(super) fn take(files: &[Arc<SourceFile>], extent: &Extent) -> Result<Samples, SniffError> {
    let chosen = choose(files);
    let per_file = (extent.bytes_max / chosen.len().max(1) as u64).max(4 * extent.piece_bytes_min);
    let mut samples = Samples {
        is_everything: chosen.len() == files.len(),
        files_sampled: chosen.len(),
        ..Samples::default()
    };
    for (index, file) in chosen.iter().enumerate() {
        let bytes_max = if index == 0 {
            per_file.max(extent.beginning_bytes_max)
        } else {
            per_file
        };
        take_of(file, bytes_max, extent, &mut samples)?;
    }
    Ok(samples)
}

/// All files or, if there are too many, some at equal steps, including the first and the last.
fn choose(files: &[Arc<SourceFile>]) -> Vec<Arc<SourceFile>> {
    if files.len() <= FILES_MAX {
        return files.to_vec();
    }
    (0..FILES_MAX)
        .map(|index| Arc::clone(&files[index * (files.len() - 1) / (FILES_MAX - 1)]))
        .collect()
}

fn take_of(
    file: &Arc<SourceFile>,
    bytes_max: u64,
    extent: &Extent,
    samples: &mut Samples,
) -> Result<(), SniffError> {
    if matches!(file.origin, FileOrigin::Pipe(_)) {
        return Err(SniffError::Records {
            path: file.path.to_path_buf(),
            what: "a pipe cannot be sampled before it is loaded".to_owned(),
            mend: "declare its format and columns: --format and --columns".to_owned(),
        });
    }
    let is_plain = is_plain(file)?;
    let is_small = is_plain && file.size_bytes <= bytes_max;
    let wanted = match (is_plain, is_small) {
        (_, true) => file.size_bytes,
        (true, false) => (bytes_max / 4).clamp(extent.piece_bytes_min, extent.beginning_bytes_max),
        // No other part of the file will be read.
        (false, _) => bytes_max,
    };
    let beginning = beginning(file, wanted, is_plain)?;
    let is_whole = beginning.ends_file;
    let end = beginning.byte_offset + beginning.bytes.len() as u64;
    samples.samples.push(beginning);
    if is_whole {
        return Ok(());
    }
    samples.is_everything = false;
    if !is_plain {
        samples.beginning_only += 1;
        return Ok(());
    }
    let rest = file.size_bytes - end;
    let budget = (bytes_max - wanted).min(rest);
    let places = (budget / extent.piece_bytes_min).clamp(1, PLACES_MAX - 1);
    let piece = (budget / places).max(extent.piece_bytes_min).min(rest);
    let opened = File::open(&file.path).map_err(|cause| SourceError::Unreadable {
        path: file.path.to_path_buf(),
        cause,
    })?;
    for place in 1..=places {
        // The last sample ends with the file.
        let last_start = file.size_bytes - piece;
        let start = end + (last_start - end) * place / places;
        let mut bytes = vec![0; piece as usize];
        opened
            .read_exact_at(&mut bytes, start)
            .map_err(|cause| SourceError::Read {
                path: file.path.to_path_buf(),
                byte_offset: start,
                cause,
            })?;
        samples.samples.push(Sample {
            file: Arc::clone(file),
            byte_offset: start,
            bytes,
            line_offset: 0,
            starts_file: false,
            ends_file: place == places,
            translated_from: None,
        });
    }
    Ok(())
}

/// True if the stored bytes of a file are its text, so that a sample can be read at any position: it is not compressed,
/// and it is UTF-8.
fn is_plain(file: &SourceFile) -> Result<bool, SniffError> {
    if file.compression != Compression::None || file.encoding.is_some() {
        return Ok(false);
    }
    let mut mark = Vec::new();
    File::open(&file.path)
        .and_then(|opened| opened.take(2).read_to_end(&mut mark))
        .map_err(|cause| SourceError::Unreadable {
            path: file.path.to_path_buf(),
            cause,
        })?;
    Ok(!matches!(
        mark.as_slice(),
        [0xff, 0xfe] | [0xfe, 0xff] | [0, 0]
    ))
}

/// Reads the beginning of a file as the load reads it: decompressed, its first bytes checked, its byte order mark
/// skipped. It ends with a line.
fn beginning(
    file: &Arc<SourceFile>,
    bytes_wanted: u64,
    is_plain: bool,
) -> Result<Sample, SniffError> {
    let split = Split::whole(Arc::clone(file));
    let dialect = mapping::lines_dialect();
    const CHUNK_BYTES_MAX: u64 = 1 << 20;
    let chunk_bytes = bytes_wanted.clamp(1, CHUNK_BYTES_MAX) as usize;
    let mut reader = TextReader::open(split, &dialect, chunk_bytes, BufferPool::default())?;
    let mut records = Records::default();
    let mut sample = Sample {
        file: Arc::clone(file),
        byte_offset: 0,
        bytes: Vec::new(),
        line_offset: 0,
        starts_file: true,
        ends_file: false,
        translated_from: reader.translated_from(),
    };
    while (sample.bytes.len() as u64) < bytes_wanted {
        let Some(chunk) = reader.next_chunk(&mut records)? else {
            sample.ends_file = true;
            break;
        };
        if sample.bytes.is_empty() {
            sample.byte_offset = chunk.byte_offset;
        }
        sample.bytes.extend_from_slice(chunk.text());
        reader.recycle(chunk);
    }
    let read_bytes = sample.byte_offset + sample.bytes.len() as u64;
    if is_plain && read_bytes >= file.size_bytes {
        sample.ends_file = true;
    }
    Ok(sample)
}
