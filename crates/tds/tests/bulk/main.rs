//! Tests of the encoder through its public interface.
//!
//! Three independent pieces of code must agree: the encoder, [`plain`], which makes the same bytes in the simplest way,
//! and [`decoder`], which reads packets and values back by the documentation of TDS. [`batches`] makes the batches, of
//! random types, extremes, NULLs and views.

mod batches;
mod captures;
mod code_pages;
mod decoder;
mod descriptions;
mod goldens;
mod packets;
mod plain;
mod refusals;
mod replay;
mod results;
mod round_trips;
