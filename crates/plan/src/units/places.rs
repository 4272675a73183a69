//! A place names a unit or a split of a plan by indexes.

/// A unit, by the indexes of its flow and of itself.
pub type UnitPlace = (usize, usize);

/// A split, by the indexes of its flow, of its unit, and of itself.
pub type SplitPlace = (usize, usize, usize);
