//! The names of the reject files of each unit in the run's folder.
//!
//! A name is made of the flow and the unit's key, which stays the same when other files join the package between two
//! attempts. For the splits of a shared unit it also has the split's number, and for ranges of a fed file their first
//! byte. A file is valid if its rows belong to a committed record; all other files were left by attempts that did not
//! get that far.
//!
//! The engine names files of the contract's records by the keys of the records (`reject_files::of_record`). Here only the unit
//! has a key, so a split is named by its number, also if it is the only one of its unit. The names must not change: a resumed
//! run looks for the files of its earlier attempts.

use inrush_engine::native::load::{Part, of_key};

use crate::plan::{FlowPlan, UnitPlan};

/// The name of a unit's file, or of a part of it if `part` is not empty.
pub fn of_unit(flow: &FlowPlan, unit: &UnitPlan, part: &str) -> String {
    format!("{}{part}", of_key(&flow.name, &unit.key))
}

/// The name of the file of a part of a unit.
pub fn of_part(flow: &FlowPlan, unit: &UnitPlan, part: Part) -> String {
    let end = match part {
        Part::Whole => String::new(),
        Part::Split(number) => of_split(number),
        Part::Ranges { split, text_start } => of_range(split, text_start),
    };
    of_unit(flow, unit, &end)
}

/// The ending for a split.
fn of_split(number: usize) -> String {
    format!("-{number}")
}

/// The ending for the ranges of a fed split.
fn of_range(number: usize, byte_start: u64) -> String {
    format!("-{number}-{byte_start}")
}
