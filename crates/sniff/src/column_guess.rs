//! The sniffer's guess for one column.

use super::kinds::TypeGuess;

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGuess {
    /// A name that is valid in SQL.
    pub name: String,
    /// Its name in the header.
    pub field: Option<String>,
    /// Its type.
    pub column_type: TypeGuess,
    /// The observations: nulls, the smallest and largest value, examples.
    pub seen: String,
    /// Why it has this type, and how to choose another one.
    pub why: String,
    /// Unsure guesses.
    pub unsure: Vec<String>,
}
