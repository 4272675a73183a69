//! The decoder of a stream of binary COPY.

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;

use super::column;
use super::error::DecodeError;
use super::fields::RowIndex;
use super::numeric;
use super::texts::BadText;
use crate::limits::COLUMNS_MAX;
use crate::pg_type::PgType;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The signature, the flags, and the length of the header's extension.
const HEADER_BYTES: usize = SIGNATURE.len() + 8;
/// "Bits 16-31 are reserved for critical file format issues."
const CRITICAL_FLAGS: u32 = 0xffff_0000;

/// Bytes of the text that the numbers of one block may take together: 10 bytes of a `numeric` can stand for 131,072 digits.
const NUMBER_TEXT_BYTES_MAX: usize = 32 << 20;

/// The type of a column in a stream, and so of its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedType {
    /// A type of the encoder. `numeric` becomes text.
    Value(PgType),
    /// `numeric(precision, scale)`: Decimal128, but text in a block that has a value that does not fit, such as `NaN`.
    Decimal {
        /// Digits, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: i8,
    },
    /// `tid`: UInt64, the number of the page times 65,536 plus the number of the row in it.
    Tid,
}

/// Decodes a stream block by block.
#[derive(Clone, Debug)]
pub struct BinaryDecoder {
    pub(super) types: Vec<DecodedType>,
    rows: RowIndex,
    pub(super) row_count: u64,
    has_begun: bool,
    pub(super) is_at_end: bool,
}

/// The whole rows of a block.
#[derive(Clone, Debug)]
pub struct DecodedBlock {
    /// An array for each column.
    pub columns: Vec<ArrayRef>,
    /// The number of rows in each array.
    pub row_count: usize,
    /// Texts that are not UTF-8, ascending by row; the arrays have empty ones in their places.
    pub bad_texts: Vec<BadText>,
    /// True if `rest` contains more whole rows. Decode `rest` before more bytes are added.
    pub is_cut: bool,
    /// Bytes that the rows took in the stream.
    pub bytes_count: usize,
    /// The bytes behind the last whole row. They begin the next block.
    pub rest: Vec<u8>,
}

impl BinaryDecoder {
    /// A decoder for columns of these types, in the order of the COPY statement.
    pub fn new(types: Vec<DecodedType>) -> Result<BinaryDecoder, DecodeError> {
        if types.len() > COLUMNS_MAX {
            return Err(DecodeError::TooManyColumns { found: types.len() });
        }
        Ok(BinaryDecoder {
            types,
            rows: RowIndex::default(),
            row_count: 0,
            has_begun: false,
            is_at_end: false,
        })
    }

    /// Whole rows decoded so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Decodes the whole rows of the next bytes of the stream, of which there may be none.
    pub fn decode(&mut self, bytes: Vec<u8>) -> Result<DecodedBlock, DecodeError> {
        if bytes.len() > i32::MAX as usize {
            return Err(DecodeError::BlockTooLarge { bytes: bytes.len() });
        }
        let Some(start) = self.begin(&bytes)? else {
            let mut none = self.rows_of(Vec::new(), 0)?;
            none.rest = bytes;
            return Ok(none);
        };
        self.rows_of(bytes, start)
    }

    /// Call this at the end of the stream, with the `rest` of the last block.
    pub fn end(&self, rest: &[u8]) -> Result<(), DecodeError> {
        match (self.is_at_end, rest.len()) {
            (true, 0) => Ok(()),
            (true, byte_count) => Err(DecodeError::AfterEnd { byte_count }),
            (false, _) => Err(DecodeError::Truncated {
                rows: self.row_count,
            }),
        }
    }

    /// The position at which the rows of a block begin; none if the header is not complete.
    pub(super) fn begin(&mut self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        if self.has_begun {
            return Ok(Some(0));
        }
        let known = bytes.len().min(SIGNATURE.len());
        if bytes[..known] != SIGNATURE[..known] {
            return Err(DecodeError::Signature);
        }
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
            word.map(|word| u32::from_be_bytes(*word))
        };
        let (Some(flags), Some(extension)) = (word(SIGNATURE.len()), word(SIGNATURE.len() + 4))
        else {
            return Ok(None);
        };
        // PostgreSQL sends no extension, and a long one would have to be kept in memory.
        if flags & CRITICAL_FLAGS != 0 || extension != 0 {
            return Err(DecodeError::Flags { flags });
        }
        self.has_begun = true;
        Ok(Some(HEADER_BYTES))
    }

    /// Refuses bytes after the end of the stream.
    pub(super) fn refuse_after_end(&self, byte_count: usize) -> Result<(), DecodeError> {
        match self.is_at_end && byte_count > 0 {
            true => Err(DecodeError::AfterEnd { byte_count }),
            false => Ok(()),
        }
    }

    fn rows_of(&mut self, bytes: Vec<u8>, start: usize) -> Result<DecodedBlock, DecodeError> {
        self.refuse_after_end(bytes.len())?;
        let block = Buffer::from_vec(bytes);
        self.rows
            .find(&block, start, self.types.len(), self.row_count)?;
        let (columns, row_count, mut bad_texts) = self.columns(&block)?;
        let end = match row_count == self.rows.ends.len() {
            true => self.rows.end,
            false => match row_count {
                0 => start,
                count => self.rows.ends[count - 1] as usize,
            },
        };
        self.row_count += row_count as u64;
        let is_last = self.rows.is_last && end == self.rows.end;
        let rest_start = if is_last { end + 2 } else { end };
        self.is_at_end |= is_last;
        bad_texts.sort_by_key(|bad| (bad.row, bad.column));
        Ok(DecodedBlock {
            columns,
            row_count,
            bad_texts,
            is_cut: row_count < self.rows.ends.len(),
            bytes_count: end - start,
            rest: block[rest_start..].to_vec(),
        })
    }

    /// The columns of the rows that were found. If the text of their numbers is too long, only the first rows are
    /// decoded, as many as the limit allows.
    fn columns(&self, block: &Buffer) -> Result<(Vec<ArrayRef>, usize, Vec<BadText>), DecodeError> {
        let mut bad_texts = Vec::new();
        let mut columns = Vec::with_capacity(self.types.len());
        let mut numbers = Vec::new();
        for (index, decoded_type) in self.types.iter().enumerate() {
            let fields = self
                .rows
                .fields(block, self.types.len(), index, self.row_count);
            let array = match decoded_type {
                DecodedType::Value(PgType::Numeric) => None,
                DecodedType::Value(pg_type) => {
                    Some(column::array(*pg_type, &fields, block, &mut bad_texts)?)
                }
                DecodedType::Decimal { precision, scale } => {
                    numeric::decimals(&fields, *precision, *scale)?
                }
                DecodedType::Tid => Some(column::tids(&fields)?),
            };
            if array.is_none() {
                numbers.push(index);
            }
            columns.push(array);
        }
        let numbers_of = |index| {
            self.rows
                .fields(block, self.types.len(), index, self.row_count)
        };
        let texts = numbers.iter().map(|index| numbers_of(*index));
        let row_count = numeric::rows_within(texts, self.rows.ends.len(), NUMBER_TEXT_BYTES_MAX)?;
        let all = columns
            .into_iter()
            .enumerate()
            .map(|(index, array)| match array {
                Some(array) => Ok(array.slice(0, row_count)),
                None => numeric::texts(&numbers_of(index).first(row_count)),
            });
        let columns = all.collect::<Result<_, _>>()?;
        bad_texts.retain(|bad: &BadText| bad.row < row_count);
        Ok((columns, row_count, bad_texts))
    }
}
