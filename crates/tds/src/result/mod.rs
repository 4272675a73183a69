//! Rows of a result, decoded to Arrow columns. There is no I/O: the session receives the bytes.
//!
//! A server sends the rows of a SELECT in the form of a bulk load ([MS-TDS] 2.2.7.19, 2.2.7.14), with a bitmap of NULLs
//! where that is shorter. [`row_bytes`] finds where a row ends, so that a caller knows how many whole rows it has;
//! [`RowDecoder`] decodes whole rows, column by column, until the caller takes a batch.
//!
//! A value that Arrow's type would change, and a text that is not valid, are never guessed: they become NULL and a
//! [`ValueFlaw`], from which a source makes a reject.

mod decoder;
mod framing;
mod values;

pub use decoder::{DecodedRows, RowDecoder, ValueFlaw};
pub use framing::{RowError, row_bytes};
pub use values::data_type;
