//! Results of statements as columns, and errors of DuckDB.

use adbc_core::error::{Error as AdbcError, Status};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_select::concat::concat;

use crate::engine_message::message_without_place;
use crate::error::RunError;

/// The results of one expression for the rows of a batch.
pub struct Values {
    /// The values.
    pub array: ArrayRef,
    /// Rows for which the expression failed; none after a quick statement.
    pub failed: Option<BooleanArray>,
}

/// The columns of a careful statement: each value, followed by a column that says whether its expression failed.
pub fn with_failures(arrays: Vec<ArrayRef>) -> Vec<Values> {
    let mut arrays = arrays.into_iter();
    let mut values = Vec::new();
    while let (Some(array), Some(failed)) = (arrays.next(), arrays.next()) {
        values.push(Values {
            array,
            failed: Some(failed.as_boolean().clone()),
        });
    }
    values
}

/// Joins the columns of all batches of a result.
pub fn whole(batches: Vec<RecordBatch>) -> Result<Vec<ArrayRef>, RunError> {
    let Some(first) = batches.first() else {
        return Ok(Vec::new());
    };
    if batches.len() == 1 {
        return Ok(first.columns().to_vec());
    }
    (0..first.num_columns())
        .map(|column| {
            let parts: Vec<&dyn Array> = batches
                .iter()
                .map(|batch| batch.column(column).as_ref())
                .collect();
            concat(&parts)
        })
        .collect::<Result<_, _>>()
        .map_err(|error| RunError::Engine {
            message: error.to_string(),
        })
}

/// True if the values of a row may have caused an error. Too little memory is not a fault of a row: other streams may
/// need it now.
pub fn may_be_of_a_row(error: &AdbcError) -> bool {
    !matches!(error.status, Status::Cancelled | Status::IO)
}

/// An error of DuckDB.
pub fn engine_error(error: AdbcError) -> RunError {
    match error.status == Status::Cancelled {
        true => RunError::Interrupted,
        false => RunError::Engine {
            message: message_without_place(&error.message),
        },
    }
}
