//! The parts of a load that a stream knows: its gauge, and the part of a unit that it commits.

pub use crate::gauge::Gauge;
pub use inrush_plan::part::Part;
