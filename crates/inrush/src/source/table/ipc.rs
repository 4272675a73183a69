//! Arrow IPC files: the footer, and the rows of the record batches.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, FileReaderBuilder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::ArrowError;

use super::{Batches, Opened, RowGroup, TableField, field_of, in_order};

/// Bytes behind a footer: its length, and the mark.
const TRAILER_BYTES: u64 = 10;

/// An Arrow IPC file's footer.
#[derive(Debug)]
pub(super) struct Footer {
    readable: Vec<usize>,
}

/// Reads the footer.
pub(super) fn open(mut file: &File) -> Result<Opened, ArrowError> {
    let reader = FileReaderBuilder::new().build(BufReader::new(file))?;
    let schema = reader.schema();
    let fields: Vec<TableField> = schema
        .fields()
        .iter()
        .map(|field| field_of(field, false))
        .collect();
    let size = file.metadata()?.len();
    let footer = footer_bytes(file, size)?;
    let footer =
        root_as_footer(&footer).map_err(|error| ArrowError::IpcError(error.to_string()))?;
    let blocks: Vec<Block> = footer
        .recordBatches()
        .into_iter()
        .flatten()
        .copied()
        .collect();
    let mut groups = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let start = in_file(block.offset())?;
        groups.push(RowGroup {
            start,
            first_row: 0,
            row_count: row_count(&mut file, block, size)?,
            decoded_bytes: in_file(block.bodyLength())?,
        });
    }
    if !super::is_in_order(&groups) {
        return Err(ArrowError::IpcError(
            "its record batches do not stand in the order of its footer".to_owned(),
        ));
    }
    let readable = (0..fields.len())
        .filter(|index| fields[*index].is_readable())
        .collect();
    Ok(Opened {
        fields,
        groups: in_order(groups),
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

fn in_file(number: i64) -> Result<u64, ArrowError> {
    u64::try_from(number)
        .map_err(|_| ArrowError::IpcError(format!("its footer names the place {number}")))
}

/// The rows that a record batch says it has.
fn row_count(file: &mut &File, block: &Block, size: u64) -> Result<u64, ArrowError> {
    let (start, length) = (
        in_file(block.offset())?,
        in_file(block.metaDataLength().into())?,
    );
    if start.saturating_add(length) > size {
        return Err(ArrowError::IpcError(format!(
            "a record batch stands at byte {start}, and the file has {size}"
        )));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    // Before the message stands its length, and in newer files a mark before that.
    let message = match bytes.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => bytes.get(8..),
        _ => bytes.get(4..),
    };
    let message = root_as_message(message.unwrap_or_default())
        .map_err(|error| ArrowError::IpcError(error.to_string()))?;
    let batch = message
        .header_as_record_batch()
        .ok_or_else(|| ArrowError::IpcError("a block is no record batch".to_owned()))?;
    in_file(batch.length())
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

/// Record batches in slices: a file may have millions of rows in one.
struct Slices {
    reader: FileReader<BufReader<File>>,
    /// Record batches that are not read yet.
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
