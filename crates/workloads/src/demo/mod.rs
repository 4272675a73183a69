//! The demo: TPC-H in a package of its own, and a check of the loaded rows, row by row.

mod contents;
mod package;

pub use contents::check;
pub use package::{FILE_NAME, package, save};
