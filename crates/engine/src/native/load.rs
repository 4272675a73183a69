//! The streams of a load.

pub use crate::gauge::Gauge;
pub use crate::load::Part;
