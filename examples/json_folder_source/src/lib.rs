//! A folder of JSON files as a source: the example of `docs/adding-a-source.md`. No setting of a package selects it.
//!
//! A file is an array with one object on each line, as the example of a destination writes it, or has an object on each line
//! and no array around them (JSON Lines). Files are read from their beginning, each as one split, a line at a time.
//!
//! ```text
//! [                          a line that is not a row
//! {"id":1,"note":"a"},       row 1, line = 2
//! {"id":"two"}               row 2, line = 3: a row with a fault, because "two" is no integer
//! ]
//! ```
//!
//! A key that a row lacks is NULL. A row with a key that is not a column is faulty: its value would be lost.

mod input;
mod reader;
mod rows;
mod source;

pub use source::JsonFiles;

use std::path::PathBuf;

use arrow_schema::DataType;

/// The source's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder whose files, those that end in `.json`, are the inputs.
    pub folder: PathBuf,
    /// The columns: names, and one of `Boolean`, `Int64`, `Float64` and `Utf8`.
    pub columns: Vec<(String, DataType)>,
}
