//! The encoder of a bulk load.

use std::fmt;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, Schema};

use super::column::{Column, arrow_type, takes};
use super::instruction_set::InstructionSet;
use super::rows;
use crate::column_metadata::{ColumnMetadata, RowMetadata};
use crate::error::{EncodeError, ValueFault};
use crate::packet::{PacketBuffer, PacketSize};

/// DONE: the token, then a status, a command and a count of rows. These three are zero, because the server counts the
/// rows itself.
const DONE: [u8; 13] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A value that the target's column cannot hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The row within the batch, from 0.
    pub row: usize,
    /// The column's index in the batch, from 0.
    pub column_index: usize,
    /// The column's name.
    pub column: String,
    /// Why the value does not fit.
    pub fault: ValueFault,
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "column \"{}\", row {} of the batch: {}",
            self.column, self.row, self.fault
        )
    }
}

impl std::error::Error for Misfit {}

/// Encodes batches for `INSERT BULK`, cut into packets.
///
/// For a message, call [`begin`](Self::begin) once, [`encode`](Self::encode) for each batch and [`end`](Self::end)
/// once. In between, [`ready`](Self::ready) returns the packets to send, and [`clear_ready`](Self::clear_ready) removes
/// them when they are sent.
#[derive(Clone, Debug)]
pub struct BulkEncoder {
    target: RowMetadata,
    packets: PacketBuffer,
    instruction_set: InstructionSet,
    /// Memory for texts of UTF-16, kept from batch to batch.
    units: Vec<u16>,
}

impl BulkEncoder {
    /// An encoder for the columns that the server described, and the size of packets that it granted.
    pub fn new(target: RowMetadata, packet_size: PacketSize) -> BulkEncoder {
        BulkEncoder::with_instruction_set(target, packet_size, InstructionSet::best())
    }

    /// An encoder with this instruction set, for tests and measurements.
    #[doc(hidden)]
    pub fn with_instruction_set(
        target: RowMetadata,
        packet_size: PacketSize,
        instruction_set: InstructionSet,
    ) -> BulkEncoder {
        BulkEncoder {
            target,
            packets: PacketBuffer::new(packet_size),
            instruction_set,
            units: Vec::new(),
        }
    }

    /// Checks that batches of this schema can be encoded.
    pub fn check(&self, schema: &Schema) -> Result<(), EncodeError> {
        self.check_column_count(schema)?;
        for (target, field) in self.target.columns().iter().zip(schema.fields()) {
            if !takes(&target.type_info, field.data_type()) {
                return Err(column_type_error(field, target));
            }
        }
        Ok(())
    }

    /// Begins a message: the description of the columns. Packets of an earlier message that was not ended are dropped,
    /// unless they are ready.
    pub fn begin(&mut self) {
        let mut description = Vec::new();
        self.target.write(&mut description);
        self.packets.begin();
        self.packets.append(&description);
    }

    /// Adds the rows of a batch to the open message. If it fails, nothing of the batch is added.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<(), EncodeError> {
        let mut columns = self.columns(batch)?;
        for (column_index, column) in columns.iter_mut().enumerate() {
            column.check().map_err(|(row, fault)| {
                EncodeError::Value(misfit(batch, column_index, row, fault))
            })?;
        }
        rows::append(
            &columns,
            batch.num_rows(),
            self.instruction_set,
            &mut self.units,
            &mut self.packets,
        );
        Ok(())
    }

    /// Every value of a batch that does not fit, by rows and then by columns. Use it only for a batch that
    /// [`encode`](Self::encode) has refused, because it checks each value separately.
    pub fn misfits(&self, batch: &RecordBatch) -> Result<Vec<Misfit>, EncodeError> {
        let columns = self.columns(batch)?;
        let mut misfits = Vec::new();
        for row in 0..batch.num_rows() {
            for (column_index, column) in columns.iter().enumerate() {
                if let Some(fault) = column.fault(row) {
                    misfits.push(misfit(batch, column_index, row, fault));
                }
            }
        }
        Ok(misfits)
    }

    /// Ends the message: DONE, and the end mark on its last packet.
    pub fn end(&mut self) {
        self.packets.append(&DONE);
        self.packets.end();
    }

    /// The packets that can be sent, whole ones only.
    pub fn ready(&self) -> &[u8] {
        self.packets.ready()
    }

    /// Removes the ready packets, which have been sent. Their memory is reused.
    pub fn clear_ready(&mut self) {
        self.packets.clear_ready();
    }

    fn columns<'a>(&self, batch: &'a RecordBatch) -> Result<Vec<Column<'a>>, EncodeError> {
        let schema = batch.schema_ref();
        self.check_column_count(schema)?;
        self.target
            .columns()
            .iter()
            .zip(schema.fields())
            .zip(batch.columns())
            .map(|((target, field), array)| {
                let array: &dyn Array = array;
                Column::new(target, array).ok_or_else(|| column_type_error(field, target))
            })
            .collect()
    }

    fn check_column_count(&self, schema: &Schema) -> Result<(), EncodeError> {
        let expected = self.target.columns().len();
        let found = schema.fields().len();
        if expected != found {
            return Err(EncodeError::ColumnCount { expected, found });
        }
        Ok(())
    }
}

#[cold]
fn misfit(batch: &RecordBatch, column_index: usize, row: usize, fault: ValueFault) -> Misfit {
    Misfit {
        row,
        column_index,
        column: batch.schema_ref().field(column_index).name().clone(),
        fault,
    }
}

#[cold]
fn column_type_error(field: &Field, target: &ColumnMetadata) -> EncodeError {
    EncodeError::ColumnType {
        column: field.name().clone(),
        type_info: target.type_info,
        expected: arrow_type(&target.type_info),
        found: field.data_type().clone(),
    }
}
