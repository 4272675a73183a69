//! Sums of columns, by which a destination shows that it stores the rows that were sent
//! ([`Ability::VerifySums`](crate::Ability::VerifySums)).
//!
//! The engine computes its sums over the batches before they are written, and the destination computes its own over the
//! staged rows. [`ColumnForm`] says how a column is summed up, and in which unit; [`ExactSum`] never rounds or
//! overflows.

mod add;
mod addend;
mod exact;
mod form;
mod number;

pub use addend::{Addend, SumDialect, SummedColumn, TextRows};
pub use exact::ExactSum;
pub use form::ColumnForm;
pub use number::{SumForm, add_count, whole};

/// The destination's own sums of the rows that are staged for a target.
#[derive(Clone, Debug, Default)]
pub struct StagedSums {
    /// The number of rows.
    pub rows: ExactSum,
    /// For each filled column the number of its values that are not NULL, then its
    /// [measures](ColumnForm::measures). Columns follow each other in the order of the batches.
    pub columns: Vec<ExactSum>,
}

impl StagedSums {
    /// The sums of no row, for columns of these forms.
    pub fn none(forms: &[ColumnForm]) -> StagedSums {
        StagedSums {
            rows: ExactSum::default(),
            columns: vec![ExactSum::default(); ColumnForm::sum_count(forms)],
        }
    }

    /// Adds sums of other rows of the same target.
    pub fn add(&mut self, other: &StagedSums) {
        self.rows.add_sum(&other.rows);
        for (sum, other) in self.columns.iter_mut().zip(&other.columns) {
            sum.add_sum(other);
        }
    }
}
