//! The units of a plan: what fills them, what streams take of them, and where each of them is in the plan.

pub mod key_start;
pub mod load_unit;
pub mod long_units;
pub mod part;
pub mod partition_keys;
pub mod pieces;
pub mod places;
pub mod unit_index;
pub mod work_items;
