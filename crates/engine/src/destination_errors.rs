//! Converts errors of the contract into the engine's own errors.

use inrush_plan::verify::VerifyError;

use crate::error::Error;

/// An interruption is not a failure of the destination. A wrong count, and rows that differ, end with the exit status of a
/// failed verification.
impl From<inrush_destination::Error> for Error {
    fn from(error: inrush_destination::Error) -> Error {
        match error {
            inrush_destination::Error::Interrupted => Error::Interrupted,
            inrush_destination::Error::Count {
                what,
                counted,
                sent,
            } => Error::Verification {
                what,
                counted,
                sent,
            },
            inrush_destination::Error::Differs {
                table,
                rows,
                columns,
            } => Error::Verify(match columns {
                Some(columns) => VerifyError::Rows {
                    table,
                    rows,
                    columns,
                },
                None => VerifyError::Sums {
                    table,
                    differences: rows,
                },
            }),
            other => Error::Destination(other.into()),
        }
    }
}
