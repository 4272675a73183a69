//! Arrow IPC files: the footer, and the rows of the record batches.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, FileReaderBuilder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::ArrowError;

use super::joined::{JOINED, is_joined};
use super::{Batches, Opened, RowGroup, TableField, field_of, with_first_rows};

/// The number of bytes after a footer: its length, and the mark.
const TRAILER_BYTES: u64 = 10;
/// The most bytes of a buffer of a record batch, decompressed: offsets have 32 bits.
const BUFFER_BYTES_MAX: i64 = 1 << 32;

/// The bytes where two joined files meet: the mark that ends the first file, and the padded mark that begins the
/// second.
const SEAM: &[u8] = b"ARROW1ARROW1\0\0";

/// An Arrow IPC file's footer.
#[derive(Debug)]
pub(super) struct Footer {
    readable: Vec<usize>,
}

/// The data before a block's buffers.
struct BlockFacts {
    /// Its byte range in the file.
    stored: Range<u64>,
    row_count: u64,
    /// The number of bytes of its buffers, decompressed.
    decoded_bytes: u64,
}

/// Reads the footer, and the data before each block's buffers. Lengths are checked here, because a decoder allocates as
/// much memory as they say.
pub(super) fn open(file: &File) -> Result<Opened, String> {
    let size = file.metadata().map_err(text)?.len();
    let footer = footer_bytes(file, size).map_err(text)?;
    let footer_start = size - TRAILER_BYTES - footer.len() as u64;
    let footer = root_as_footer(&footer).map_err(text)?;
    if is_joined(file, data_end(&footer), footer_start, SEAM).map_err(text)? {
        return Err(JOINED.to_owned());
    }
    opened(file, size, &footer).map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// The end of the last block that a footer names.
fn data_end(footer: &arrow_ipc::Footer<'_>) -> u64 {
    let dictionaries = footer.dictionaries().into_iter().flatten();
    let blocks = dictionaries.chain(footer.recordBatches().into_iter().flatten());
    let place = |number: i64| u64::try_from(number).unwrap_or(0);
    let ends = blocks.map(|block| {
        let parts = [
            block.offset(),
            block.metaDataLength().into(),
            block.bodyLength(),
        ];
        parts.into_iter().map(place).fold(0, u64::saturating_add)
    });
    ends.max().unwrap_or(0)
}

fn opened(
    mut file: &File,
    size: u64,
    footer: &arrow_ipc::Footer<'_>,
) -> Result<Opened, ArrowError> {
    let dictionaries = footer.dictionaries().into_iter().flatten();
    let mut dictionary_bytes = 0;
    let mut shared = Vec::new();
    for block in dictionaries {
        let facts = facts(&mut file, block, size)?;
        dictionary_bytes += facts.decoded_bytes;
        shared.push(facts.stored);
    }
    let mut groups = Vec::new();
    for block in footer.recordBatches().into_iter().flatten() {
        let facts = facts(&mut file, block, size)?;
        groups.push(RowGroup {
            start: facts.stored.start,
            end: facts.stored.end,
            first_row: 0,
            row_count: facts.row_count,
            decoded_bytes: facts.decoded_bytes + dictionary_bytes,
        });
    }
    if !super::is_in_order(&groups) {
        return Err(ArrowError::IpcError(
            "its record batches are not in the order of its footer".to_owned(),
        ));
    }
    let reader = FileReaderBuilder::new().build(BufReader::new(file))?;
    let fields: Vec<TableField> = reader
        .schema()
        .fields()
        .iter()
        .map(|field| field_of(field, false))
        .collect();
    let readable = (0..fields.len())
        .filter(|index| fields[*index].is_readable())
        .collect();
    Ok(Opened {
        fields,
        groups: with_first_rows(groups),
        shared,
        footer: super::Footer::Arrow(Footer { readable }),
    })
}

fn footer_bytes(mut file: &File, size: u64) -> Result<Vec<u8>, ArrowError> {
    let mut trailer = [0; TRAILER_BYTES as usize];
    file.seek(SeekFrom::Start(size.saturating_sub(TRAILER_BYTES)))?;
    file.read_exact(&mut trailer)?;
    let length = read_footer_length(trailer)? as u64;
    let start = size
        .checked_sub(TRAILER_BYTES + length)
        .ok_or_else(|| ArrowError::IpcError("its footer is longer than the file".to_owned()))?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn told(error: impl ToString) -> ArrowError {
    ArrowError::IpcError(error.to_string())
}

fn in_file(number: i64) -> Result<u64, ArrowError> {
    u64::try_from(number).map_err(|_| told(format!("its footer names the position {number}")))
}

/// Reads the data before a block's buffers, and checks it against the file.
fn facts(file: &mut &File, block: &Block, size: u64) -> Result<BlockFacts, ArrowError> {
    let start = in_file(block.offset())?;
    let length = in_file(block.metaDataLength().into())?;
    let body = in_file(block.bodyLength())?;
    let body_start = start.saturating_add(length);
    if body_start.saturating_add(body) > size {
        return Err(told(format!(
            "a block begins at byte {start} and has {} bytes, but the file has {size}",
            length.saturating_add(body)
        )));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    // The message's length comes before it, and in newer files a mark before that.
    let message = match bytes.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => bytes.get(8..),
        _ => bytes.get(4..),
    };
    let message = root_as_message(message.unwrap_or_default()).map_err(told)?;
    let dictionary = message.header_as_dictionary_batch();
    let batch = message
        .header_as_record_batch()
        .or_else(|| dictionary.and_then(|dictionary| dictionary.data()))
        .ok_or_else(|| told("a block has no rows"))?;
    let mut decoded_bytes = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, length) = (in_file(buffer.offset())?, in_file(buffer.length())?);
        if offset.saturating_add(length) > body {
            return Err(told("a buffer lies outside of its block"));
        }
        decoded_bytes += match batch.compression() {
            Some(_) if length > 0 => {
                let mut bytes = [0; 8];
                if length < bytes.len() as u64 {
                    return Err(told("a compressed buffer has no room for its length"));
                }
                file.seek(SeekFrom::Start(body_start + offset))?;
                file.read_exact(&mut bytes)?;
                match i64::from_le_bytes(bytes) {
                    // Not compressed, because that is shorter.
                    -1 => length,
                    decoded @ 0..=BUFFER_BYTES_MAX => decoded as u64,
                    decoded => {
                        return Err(told(format!("a buffer says that it has {decoded} bytes")));
                    }
                }
            }
            _ => length,
        };
    }
    Ok(BlockFacts {
        stored: start..body_start.saturating_add(body),
        row_count: in_file(batch.length())?,
        decoded_bytes,
    })
}

impl Footer {
    /// The rows of some record batches, a few at a time.
    pub(super) fn batches(
        &self,
        file: File,
        groups: Range<usize>,
        batch_rows: usize,
    ) -> Result<Batches, ArrowError> {
        let mut reader = FileReaderBuilder::new()
            .with_projection(self.readable.clone())
            .build(BufReader::new(file))?;
        if !groups.is_empty() {
            reader.set_index(groups.start)?;
        }
        Ok(Box::new(Slices {
            reader,
            left: groups.len(),
            current: None,
            batch_rows,
        }))
    }
}

/// Returns record batches in slices: a single batch may have millions of rows.
struct Slices {
    reader: FileReader<BufReader<File>>,
    /// The number of record batches that are not read yet.
    left: usize,
    current: Option<RecordBatch>,
    batch_rows: usize,
}

impl Iterator for Slices {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.take() {
                if batch.num_rows() <= self.batch_rows {
                    return Some(Ok(batch));
                }
                let rest = batch.num_rows() - self.batch_rows;
                self.current = Some(batch.slice(self.batch_rows, rest));
                return Some(Ok(batch.slice(0, self.batch_rows)));
            }
            if self.left == 0 {
                return None;
            }
            self.left -= 1;
            match self.reader.next()? {
                Ok(batch) => self.current = Some(batch),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
