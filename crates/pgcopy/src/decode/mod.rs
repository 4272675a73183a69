//! The decoder of `COPY ... TO STDOUT (FORMAT binary)`: bytes in, Arrow arrays out.
//!
//! # How it works
//!
//! A block of bytes is decoded in two steps:
//!
//! 1. A walk over the lengths of the fields finds the whole rows of the block, and where each field begins ([`fields`]).
//! 2. Each column is made from its fields by the kernel of its type ([`column`], [`numeric`], [`texts`]). Texts and bytes are
//!    views into the block, and are not copied.
//!
//! For a target with the same columns, only the first step is done ([`passing`]).
//!
//! The arrays are those that [`BinaryEncoder`](crate::BinaryEncoder) takes for the same type, so that encoding and decoding
//! cancel out. There is one exception: a block in which a number does not fit the declared decimal, such as `NaN`, has
//! that column as text.
//!
//! The bytes are not trusted: a length past the end, a digit above 9999 or a time past midnight is a [`DecodeError`],
//! and memory stays a small multiple of the block's size. There is no unsafe code.

mod column;
mod decoder;
mod error;
mod fields;
mod numeric;
mod passing;
mod plain;
mod texts;

pub use decoder::{BinaryDecoder, DecodedBlock, DecodedType};
pub use error::DecodeError;
pub use passing::Passed;
pub use plain::plain_or_text;
pub use texts::BadText;
