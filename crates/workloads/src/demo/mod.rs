//! The demo: TPC-H in a package of its own, and a check of what was loaded, row for row.

mod contents;
mod package;

pub use contents::check;
pub use package::{FILE_NAME, package, save};
