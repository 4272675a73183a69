//! `COPY ... (FORMAT binary)`.
//!
//! # How it works
//!
//! The stream is a header, tuples, and a trailer. A tuple is an int16 field count and then,
//! for each field, an int32 length (-1 for NULL) and that many bytes, all of it big-endian.
//!
//! A batch is encoded in three steps:
//!
//! 1. Each column becomes plain slices ([`column`]), its Arrow type checked once.
//! 2. The most bytes that the batch can need are summed: fixed widths times rows, plus the lengths of all texts. That
//!    much is reserved in the output, once.
//! 3. Rows are written one after the other ([`rows`], [`values`]), without checking the output's size again
//!    ([`writer`]). Stores may be wider than the field: the next store overwrites the excess, and a slack at the end takes
//!    the last one.
//!
//! Step 3 is compiled more than once, and the instructions of the machine are detected at run time
//! ([`instruction_set`]). With AVX-512 the `numeric` fields of a few rows are made before these rows are written, eight
//! fields at a time ([`numeric_slots`]).
//!
//! # Before you change it
//!
//! `unsafe` is used in [`rows`], which reserves memory and chooses between instructions, in [`values`] and [`views`]
//! (reads by row without bounds checks), in [`writer`] (raw stores into the reserved memory) and in `avx512` (loads and
//! stores of vectors). Each of these files begins with the reason why it is sound. They depend on the sum of step 2: a
//! field that is longer than its column's `bytes_max` would be written past the end. `tests/encoders/plain.rs` has an
//! encoder without `unsafe`, which must give the same bytes.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(not(target_arch = "x86_64"))]
#[path = "no_avx512.rs"]
mod avx512;
mod byte;
mod column;
mod encoder;
mod instruction_set;
mod numeric;
mod numeric_slots;
mod numeric_text;
mod rows;
pub(crate) mod temporal;
mod values;
mod views;
mod writer;

pub use encoder::BinaryEncoder;
pub use instruction_set::InstructionSet;
