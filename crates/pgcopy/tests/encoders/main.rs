//! Tests of the encoders as others see them.
//!
//! Three things written apart must agree: the encoder, [`plain`], which makes the same bytes
//! without any haste, and [`decoder`], which reads them back by PostgreSQL's documentation.
//! [`batches`] makes the batches, of random types, extremes, NULLs and views. [`decoding`] holds the crate's own decoder to the encoder. [`heap_tuples`] holds the decoder of the
//! server extension to a plain one, on the same batches.

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
