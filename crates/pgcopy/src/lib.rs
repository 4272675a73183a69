//! Arrow record batches in, the bytes of PostgreSQL's COPY out. No I/O: what is made here,
//! the destination sends.
//!
//! [`BinaryEncoder`] writes `COPY ... (FORMAT binary)`, for which the server parses nothing
//! again. [`TextEncoder`] writes `COPY ... (FORMAT text)`, for tables with a type that has no
//! binary encoder. Both take the same batches. The encoder is chosen by the type of the
//! target's column, never by the source's.
//!
//! What goes in has been checked by `convert` before. Values that PostgreSQL could not take
//! are refused here all the same ([`EncodeError`]), and never changed: [`limits`] names the
//! ends of each type. [`timestamp`] and [`interval`] tell which numbers of a batch stand for
//! values that Arrow itself cannot mean.

pub mod interval;
pub mod limits;
pub mod timestamp;

mod binary;
mod error;
mod text;

#[doc(hidden)]
pub use binary::Kernel;
pub use binary::{BinaryEncoder, PgType};
pub use error::EncodeError;
pub use text::TextEncoder;
