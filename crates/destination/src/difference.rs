//! A difference between the rows that were sent and the rows that a destination has stored.

use std::fmt;

/// A number that the destination and Inrush have computed over the same rows, with different results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The column; `None` if the number is about whole rows.
    pub column: Option<String>,
    /// What was counted or summed.
    pub measure: &'static str,
    /// The destination's result.
    pub stored: String,
    /// Our result.
    pub sent: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column `{column}`, ")?;
        }
        let Difference {
            measure,
            stored,
            sent,
            ..
        } = self;
        write!(f, "{measure}: {stored} in the database, {sent} sent")
    }
}
