//! Constraints and indexes that a staging table gets only when its unit is loaded again.

/// Statements of a careful load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Statements that run before the rows are copied.
    pub before_rows: Vec<String>,
    /// Statements that run each time after rows were rolled back.
    pub after_undo: Vec<String>,
    /// Statements that run after all rows were copied.
    pub after_rows: Vec<String>,
}

impl Additions {
    /// True if there are no statements.
    pub fn is_empty(&self) -> bool {
        *self == Additions::default()
    }

    /// Appends the statements of `more`.
    pub fn add(&mut self, more: Additions) {
        self.before_rows.extend(more.before_rows);
        self.after_undo.extend(more.after_undo);
        self.after_rows.extend(more.after_rows);
    }
}
