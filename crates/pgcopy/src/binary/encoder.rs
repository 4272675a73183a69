//! The encoder of `COPY ... (FORMAT binary)`.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, Schema};

use super::column::{Column, Scratch};
use super::instruction_set::InstructionSet;
use super::rows;
use crate::error::EncodeError;
use crate::limits::COLUMNS_MAX;
use crate::pg_type::PgType;

/// "11-byte sequence PGCOPY\n\377\r\n\0": its unusual bytes reveal transfers that changed line ends, dropped zero bytes
/// or cut the eighth bit.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// "32-bit integer bit mask to denote important aspects of the file format": none of them.
const FLAGS: i32 = 0;
/// "32-bit integer, length in bytes of remainder of header, not including self."
const EXTENSION_BYTES: i32 = 0;
/// "The file trailer consists of a 16-bit integer word containing -1."
const TRAILER: i16 = -1;

/// Encodes batches for `COPY ... (FORMAT binary)`.
///
/// For a stream, call [`begin`](Self::begin) once, [`encode`](Self::encode) for each batch and [`end`](Self::end) once;
/// each call appends to `out`.
#[derive(Clone, Debug)]
pub struct BinaryEncoder {
    types: Vec<PgType>,
    instruction_set: InstructionSet,
    scratch: Scratch,
}

impl BinaryEncoder {
    /// An encoder for columns of these types, in the order of the COPY statement.
    pub fn new(types: Vec<PgType>) -> Self {
        BinaryEncoder::with_instruction_set(types, InstructionSet::best())
    }

    /// An encoder with this instruction set, for tests and measurements.
    #[doc(hidden)]
    pub fn with_instruction_set(types: Vec<PgType>, instruction_set: InstructionSet) -> Self {
        BinaryEncoder {
            types,
            instruction_set,
            scratch: Scratch::default(),
        }
    }

    /// Checks that batches of this schema can be encoded.
    pub fn check(&self, schema: &Schema) -> Result<(), EncodeError> {
        self.check_column_count(schema)?;
        for (&pg_type, field) in self.types.iter().zip(schema.fields()) {
            if !pg_type.takes(field.data_type()) {
                return Err(column_type_error(field, pg_type));
            }
        }
        Ok(())
    }

    /// Appends the beginning of a stream.
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SIGNATURE);
        out.extend_from_slice(&FLAGS.to_be_bytes());
        out.extend_from_slice(&EXTENSION_BYTES.to_be_bytes());
    }

    /// Appends the rows of a batch. If it fails, `out` is unchanged.
    pub fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let schema = batch.schema_ref();
        self.check_column_count(schema)?;
        let mut slot_count = 0;
        let columns = self
            .types
            .iter()
            .zip(schema.fields())
            .zip(batch.columns())
            .map(|((&pg_type, field), array)| {
                let array: &dyn Array = array;
                Column::new(pg_type, array, self.instruction_set, &mut slot_count)
                    .ok_or_else(|| column_type_error(field, pg_type))
            })
            .collect::<Result<Vec<_>, _>>()?;
        rows::append(
            &columns,
            batch.num_rows(),
            self.instruction_set,
            &mut self.scratch,
            out,
        )
        .map_err(|(column, row, fault)| fault.at(schema.field(column).name(), row))
    }

    /// Appends the end of a stream.
    pub fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&TRAILER.to_be_bytes());
    }

    fn check_column_count(&self, schema: &Schema) -> Result<(), EncodeError> {
        let expected = self.types.len();
        let found = schema.fields().len();
        if expected != found {
            return Err(EncodeError::ColumnCount { expected, found });
        }
        if found > COLUMNS_MAX {
            return Err(EncodeError::TooManyColumns { found });
        }
        Ok(())
    }
}

#[cold]
fn column_type_error(field: &Field, pg_type: PgType) -> EncodeError {
    EncodeError::ColumnType {
        column: field.name().clone(),
        pg_type,
        expected: pg_type.arrow_types(),
        found: field.data_type().clone(),
    }
}
