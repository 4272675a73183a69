//! The demo: TPC-H in a new package, and a check of the loaded rows, row by row.

mod contents;
mod package;

pub use contents::check;
pub use package::{FILE_NAME, package, save};
