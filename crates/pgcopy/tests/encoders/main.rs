//! Tests of the encoders through their public interface.
//!
//! Three independent pieces of code must agree: the encoder, [`plain`], which makes the same bytes in the simplest way,
//! and [`decoder`], which reads them back as PostgreSQL's documentation describes. [`batches`] makes the batches, of
//! random types, extremes, NULLs and views. [`decoding`] tests the crate's own decoder with the encoder.
//! [`heap_tuples`] compares the decoder of the server extension with a simple decoder, on the same batches.

mod batches;
mod decoder;
mod decoding;
mod goldens;
mod heap_tuples;
mod numerics;
mod plain;
mod refusals;
mod round_trips;
mod text_form;
