//! Constraints and indexes that a staging table gets only when its unit is loaded again.

/// Statements of a careful load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Statements before the rows come.
    pub before_rows: Vec<String>,
    /// Statements each time after rows were rolled back.
    pub after_undo: Vec<String>,
    /// Statements after all rows.
    pub after_rows: Vec<String>,
}

impl Additions {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        *self == Additions::default()
    }

    /// Adds others.
    pub fn add(&mut self, more: Additions) {
        self.before_rows.extend(more.before_rows);
        self.after_undo.extend(more.after_undo);
        self.after_rows.extend(more.after_rows);
    }
}
