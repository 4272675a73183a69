//! The sniffer's guess for one column.

use super::kinds::TypeGuess;

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGuess {
    /// A name that SQL takes.
    pub name: String,
    /// What the header calls it.
    pub field: Option<String>,
    /// Its type.
    pub column_type: TypeGuess,
    /// What was seen: nulls, the smallest and largest, examples.
    pub seen: String,
    /// Why it has this type, and what would change it.
    pub why: String,
    /// What is unsure.
    pub unsure: Vec<String>,
}
