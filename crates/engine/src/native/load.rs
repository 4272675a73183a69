//! The streams of a load.

pub use crate::gauge::Gauge;
pub use crate::load::{LoadStream, Loader, Part};
pub use crate::pipeline::row_loop::blocking;
