//! Repairs of Parquet footers that some writers fill in wrongly, and a check for encrypted columns.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

/// The path of field numbers to a column's encryption in a footer: row groups, columns, `crypto_metadata`.
const COLUMN_ENCRYPTION: &[i64] = &[4, 1, 8];
/// The number of bytes after the footer: its length and the magic number.
const TAIL_BYTES: u64 = 8;
/// The most bytes of the header of a dictionary page.
const DICTIONARY_HEADER_BYTES_MAX: u64 = 100;
/// The most levels of nested structures in a footer.
const DEPTH_MAX: usize = 32;

/// The metadata corrected to match the file's pages; `None` if it needs no repair.
///
/// - Some writers set the position of a dictionary that they did not write to 0, where the file's magic number is, or
///   to a position after the first page. pyarrow and DuckDB then begin to read at the first page.
/// - parquet-mr before 1.2.9 did not count the header of a dictionary page in its column's size. Like pyarrow, this
///   adds up to 100 bytes to the column, but not beyond the beginning of the next column.
pub(super) fn repaired(
    metadata: &Arc<ParquetMetaData>,
    file_bytes: u64,
) -> Option<ParquetMetaData> {
    let leaves_out_headers = metadata
        .file_metadata()
        .created_by()
        .is_some_and(leaves_out_headers);
    let mut starts: Vec<u64> = Vec::new();
    if leaves_out_headers {
        let columns = metadata
            .row_groups()
            .iter()
            .flat_map(RowGroupMetaData::columns);
        starts.extend(columns.map(|column| column.byte_range().0));
        starts.sort_unstable();
    }
    let repair = |column: &ColumnChunkMetaData| {
        let dictionary = match has_wrong_dictionary(column) {
            true => None,
            false => column.dictionary_page_offset(),
        };
        let size = match leaves_out_headers {
            true => padded_size(column, &starts, file_bytes),
            false => column.compressed_size(),
        };
        let is_right =
            dictionary == column.dictionary_page_offset() && size == column.compressed_size();
        (!is_right).then(|| {
            let builder = column.clone().into_builder();
            let builder = builder.set_dictionary_page_offset(dictionary);
            builder.set_total_compressed_size(size).build()
        })
    };
    let mut is_right = true;
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|column| match repair(column) {
            None => Ok(column.clone()),
            Some(repaired) => {
                is_right = false;
                repaired
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let builder = group.clone().into_builder();
        builder.set_column_metadata(columns).build()
    });
    let groups: Vec<RowGroupMetaData> = groups.collect::<Result<_, _>>().ok()?;
    if is_right {
        return None;
    }
    let builder = ParquetMetaData::clone(metadata).into_builder();
    Some(builder.set_row_groups(groups).build())
}

fn has_wrong_dictionary(column: &ColumnChunkMetaData) -> bool {
    let place = column.dictionary_page_offset();
    place.is_some_and(|place| place <= 0 || place > column.data_page_offset())
        && column.data_page_offset() > 0
}

/// True if the file's writer is a version of parquet-mr that did not count headers of dictionaries in a column's size:
/// a version before 1.2.9, or an unknown version.
fn leaves_out_headers(created_by: &str) -> bool {
    let Some(rest) = created_by.strip_prefix("parquet-mr") else {
        return false;
    };
    let Some(version) = rest.trim_start().strip_prefix("version ") else {
        return true;
    };
    let mut numbers = version
        .split(|character: char| !character.is_ascii_digit())
        .map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) < (1, 2, 9)
}

fn padded_size(column: &ColumnChunkMetaData, starts: &[u64], file_bytes: u64) -> i64 {
    let (start, size) = column.byte_range();
    let next = starts.partition_point(|other| *other <= start);
    let limit = starts.get(next).copied().unwrap_or(file_bytes);
    let room = limit.saturating_sub(start.saturating_add(size));
    column
        .compressed_size()
        .saturating_add(room.min(DICTIONARY_HEADER_BYTES_MAX) as i64)
}

/// The position of the footer in a file of this size.
pub(super) fn start(file: &File, size: u64) -> Option<u64> {
    let mut length = [0; 4];
    file.read_exact_at(&mut length, size.checked_sub(TAIL_BYTES)?)
        .ok()?;
    let length = u64::from(u32::from_le_bytes(length));
    size.checked_sub(TAIL_BYTES)?.checked_sub(length)
}

/// True if a footer that is not encrypted itself says that columns of the file are encrypted. The reader ignores this
/// statement, and would report the pages of these columns as damaged.
pub(super) fn says_encrypted(file: &File) -> bool {
    let footer = || -> Option<Vec<u8>> {
        let size = file.metadata().ok()?.len();
        let start = start(file, size)?;
        let length = size - TAIL_BYTES - start;
        let mut footer = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut footer, start).ok()?;
        Some(footer)
    };
    footer().is_some_and(|footer| has_field(&footer, COLUMN_ENCRYPTION))
}

/// True if a structure of Thrift's compact protocol has a field. `wanted` is the path to the field: the number of each
/// field on the way. Elements of a list count as fields of the structure that contains the list.
fn has_field(bytes: &[u8], wanted: &[i64]) -> bool {
    let mut thrift = Thrift {
        bytes,
        path: Vec::new(),
        wanted,
        is_found: false,
    };
    let read = thrift.fields();
    thrift.is_found && read.is_some()
}

/// Skips values of Thrift's compact protocol; returns `None` if the bytes are cut or not of this protocol.
struct Thrift<'a> {
    bytes: &'a [u8],
    path: Vec<i64>,
    wanted: &'a [i64],
    is_found: bool,
}

impl Thrift<'_> {
    fn fields(&mut self) -> Option<()> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => {
                    let id = self.varint()?;
                    (id >> 1) as i64 ^ -((id & 1) as i64)
                }
                more => field.checked_add(i64::from(more))?,
            };
            self.path.push(field);
            self.is_found |= self.path == self.wanted;
            // A boolean is part of the header.
            if !matches!(head & 15, 1 | 2) {
                self.value(head & 15, self.path.len())?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                (0..count).try_for_each(|_| self.value(head & 15, depth + 1))
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1)?;
                    self.value(kinds & 15, depth + 1)
                })
            }
            12 => self.fields(),
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_writers_are_known_by_what_they_say() {
        for old in [
            "parquet-mr",
            "parquet-mr version 1.2.8 (build x)",
            "parquet-mr version 1.0",
        ] {
            assert!(leaves_out_headers(old), "{old}");
        }
        for other in [
            "parquet-mr version 1.2.9",
            "parquet-mr version 1.12.0-2018",
            "parquet-rs",
        ] {
            assert!(!leaves_out_headers(other), "{other}");
        }
    }

    #[test]
    fn fields_are_found_behind_all_kinds_of_values() {
        // 1: i32; 2: a list of two structures; 3: true; 4: a text; 8: a structure.
        let bytes = [
            0x15, 0x04, 0x19, 0x2c, 0x15, 0x02, 0x00, 0x15, 0x04, 0x00, 0x11, 0x18, 0x02, b'a',
            b'b', 0x4c, 0x00, 0x00,
        ];
        for there in [&[8][..], &[3], &[2, 1]] {
            assert!(has_field(&bytes, there), "{there:?}");
        }
        for absent in [&[5][..], &[1, 1], &[2, 2]] {
            assert!(!has_field(&bytes, absent), "{absent:?}");
        }
        for cut in 0..bytes.len() {
            assert!(!has_field(&bytes[..cut], &[8]), "{cut}");
        }
        assert!(!has_field(
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[8]
        ));
        // One level of nesting for each byte.
        assert!(!has_field(&[0x1c; 100_000], &[8]));
    }
}
