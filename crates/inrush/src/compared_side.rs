//! The two sides of a comparison, in messages.

use inrush_engine::error::Error;

/// The side from which rows were copied, in messages.
pub const SOURCE: &str = "source";
/// The side into which rows were copied, in messages.
pub const TARGET: &str = "target";

/// The error of a side that cannot be read. A run that was asked to stop is not such an error.
pub fn of_side(flow: &str, side: &'static str, error: Error) -> Error {
    match error {
        Error::Interrupted => Error::Interrupted,
        error => Error::ComparedSide {
            flow: flow.to_owned(),
            side,
            cause: Box::new(error),
        },
    }
}
