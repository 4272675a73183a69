//! Lookups: add columns of a reference table to the rows with the same key.
//!
//! Keys are compared by their values. Whole numbers and decimals are compared as numbers, whatever their width; texts
//! by their bytes, or by the bytes of their folded form ([`Folds`](crate::fold::Folds)). Values of all other types are
//! compared only with values of the same type. NULL is equal to nothing. The reference is in memory once for all
//! streams, as an index from the bytes of a key to a row of the taken columns.

mod disk;
mod first;
mod index;
mod members;
mod reference;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use crate::error::{RunError, arrow_error};
pub use disk::{DiskBuilder, DiskReference};
pub use first::First;
pub use members::{MEMBERS_BYTES, MemberKey, MemberNumbers, Members};
use reference::FoundRows;
pub use reference::{Reference, ReferenceBuilder, ReferenceFault};

use crate::key::{KeyClass, key_text, plain_text};

/// A lookup in a reference.
#[derive(Clone, Debug)]
pub struct Lookup {
    reference: Arc<Reference>,
    /// Columns of the batches with the key, and how they are compared.
    keys: Vec<(usize, KeyClass)>,
    /// What happens to rows whose key is not in the reference.
    unmatched: Unmatched,
}

/// What happens to rows whose key is not in the reference.
#[derive(Clone, Debug)]
pub enum Unmatched {
    /// The row is rejected.
    Reject,
    /// The taken columns are NULL.
    Null,
    /// The taken columns have these values: an array with one value for each.
    Default(Vec<ArrayRef>),
    /// The only taken column has the number of a member that is added to the reference. A row is rejected if its key is
    /// NULL or does not fit.
    Add(Arc<Members>),
}

impl Unmatched {
    /// Words for the plan.
    pub fn words(&self) -> &'static str {
        match self {
            Unmatched::Reject => "rows without a match are rejected",
            Unmatched::Null => "rows without a match get NULL",
            Unmatched::Default(_) => "rows without a match get the default",
            Unmatched::Add(_) => "for keys without a match, members are added to it",
        }
    }
}

/// The columns that a lookup found for the rows of a batch.
pub struct Found {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// Indexes of the rows whose key is not in the reference, ascending.
    pub unmatched: Vec<usize>,
    /// The unmatched rows that are rejected. A reason is given if it is not simply the missing match.
    pub rejected: Vec<(usize, Option<String>)>,
}

impl Lookup {
    /// A lookup by these columns of the batches.
    pub fn new(
        reference: &Arc<Reference>,
        keys: Vec<(usize, KeyClass)>,
        unmatched: &Unmatched,
    ) -> Lookup {
        Lookup {
            reference: Arc::clone(reference),
            keys,
            unmatched: unmatched.clone(),
        }
    }

    /// Looks up the keys of a batch.
    pub fn find(&self, batch: &RecordBatch) -> Result<Found, RunError> {
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        let found = self.reference.find(&keys, batch.num_rows());
        let FoundRows { rows, taken } = found.map_err(|fault| RunError::Engine {
            message: fault.to_string(),
        })?;
        let missing = rows.iter().enumerate().filter(|(_, row)| row.is_none());
        let unmatched: Vec<usize> = missing.map(|(index, _)| index).collect();
        let columns: Result<Vec<ArrayRef>, ArrowError> = match &self.unmatched {
            Unmatched::Default(defaults) if !unmatched.is_empty() => {
                let places = rows.iter().map(|row| match row {
                    Some(row) => (0, *row as usize),
                    None => (1, 0),
                });
                let places: Vec<(usize, usize)> = places.collect();
                let both = taken.iter().zip(defaults);
                both.map(|(taken, default)| {
                    interleave(&[taken.as_ref(), default.as_ref()], &places)
                })
                .collect()
            }
            _ => {
                let rows = UInt32Array::from(rows);
                taken.iter().map(|taken| take(taken, &rows, None)).collect()
            }
        };
        let mut columns = columns.map_err(arrow_error)?;
        let rejected = match &self.unmatched {
            Unmatched::Null | Unmatched::Default(_) => Vec::new(),
            Unmatched::Reject => unmatched.iter().map(|row| (*row, None)).collect(),
            Unmatched::Add(members) => self.add(batch, members, &unmatched, &mut columns)?,
        };
        Ok(Found {
            columns,
            unmatched,
            rejected,
        })
    }

    /// Gives rows the numbers of the members that are added for their keys. Returns the rows whose key no member can
    /// have.
    fn add(
        &self,
        batch: &RecordBatch,
        members: &Members,
        unmatched: &[usize],
        columns: &mut [ArrayRef],
    ) -> Result<Vec<(usize, Option<String>)>, RunError> {
        let own = self.keys.iter().map(|(index, _)| batch.column(*index));
        let own: Vec<&ArrayRef> = own.collect();
        let mut rejected = Vec::new();
        let (mut rows, mut keys) = (Vec::new(), Vec::new());
        for row in unmatched {
            if self.has_null(batch, *row) {
                rejected.push((*row, None));
                continue;
            }
            match members.key(&own, *row) {
                Ok(key) => {
                    rows.push(*row);
                    keys.push(key);
                }
                Err(reason) => rejected.push((*row, Some(reason))),
            }
        }
        let numbers = members.numbers(&keys)?;
        let rows: Vec<(usize, i64)> = rows.into_iter().zip(numbers).collect();
        if let (Some(column), false) = (columns.first_mut(), rows.is_empty()) {
            *column = members::with_numbers(column, &rows)?;
        }
        Ok(rejected)
    }

    /// True if the key of a row has a NULL.
    pub fn has_null(&self, batch: &RecordBatch, row: usize) -> bool {
        let mut columns = self.keys.iter().map(|(index, _)| batch.column(*index));
        columns.any(|column| column.is_null(row))
    }

    /// The value of a row whose key is one column, as rejects show it; `None` if it is NULL, or if the key has several
    /// columns.
    pub fn only_value(&self, batch: &RecordBatch, row: usize) -> Option<String> {
        match self.keys.as_slice() {
            [(index, _)] => plain_text(batch.column(*index), row),
            _ => None,
        }
    }

    /// The key of a row in words, for a reject.
    pub fn key_text(&self, batch: &RecordBatch, row: usize) -> String {
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        key_text(&keys, row)
    }
}
