//! Encodes Arrow record batches as the bytes of PostgreSQL's COPY, and decodes them. There is no I/O: the destination sends
//! the bytes, and the source receives them.
//!
//! [`BinaryEncoder`] writes `COPY ... (FORMAT binary)`, whose values the server need not parse. [`TextEncoder`] writes
//! `COPY ... (FORMAT text)`, for tables with a type that has no binary encoder. Both take the same batches. The encoder
//! is chosen by the type of the target's column, never by the type in the source.
//!
//! A [`NativeShape`] replaces the OIDs of one database by those of another, in values that pass in binary form.
//! [`BinaryDecoder`] reads `COPY ... TO STDOUT (FORMAT binary)` into the same arrays.
//!
//! The batches were checked by `inrush_convert` before. Values that PostgreSQL cannot store are nevertheless refused
//! here ([`EncodeError`]), and never changed: [`limits`] has the range of each type.
//! [`timestamp`](inrush_rows::timestamp) and [`interval`](inrush_rows::interval) of `rows` define the numbers that
//! stand for values that Arrow itself cannot express.

pub mod limits;

mod binary;
mod decode;
mod error;
mod native_shape;
mod pg_type;
mod text;

pub use binary::BinaryEncoder;
#[doc(hidden)]
pub use binary::InstructionSet;
pub use decode::{
    BadText, BinaryDecoder, DecodeError, DecodedBlock, DecodedType, Passed, plain_or_text,
};
pub use error::EncodeError;
pub use native_shape::NativeShape;
pub use pg_type::PgType;
pub use text::TextEncoder;
