//! Finds the ends of records and fields in delimited text.
//!
//! Bytes in, positions out: no I/O, no Arrow, no allocation per row.

mod dialect;
mod records;

pub use dialect::{Dialect, DialectError, Escape};
pub use records::{Fault, FaultKind, Record, Records};
