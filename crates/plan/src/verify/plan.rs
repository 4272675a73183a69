//! The sums that are computed over a flow's rows. The plan chooses them once.

use std::sync::Arc;

use inrush_destination::sums::{ExactSum, SumForm};
use inrush_rows::column::Column;

use super::destination_sums::DestinationSums;

/// The sums that are computed over the rows of each split: the number of rows, the destination's sums, and the promised
/// sums.
#[derive(Clone, Debug)]
pub struct VerifyPlan {
    /// The loaded columns, in the order of the batches.
    pub columns: Vec<VerifyColumn>,
    /// The destination's sums besides the count of rows, if it has any.
    pub destination: Option<Arc<dyn DestinationSums>>,
    /// Columns of numbers whose sums are compared with promised sums.
    pub summed: Vec<usize>,
}

/// A column that may be summed up.
#[derive(Clone, Debug)]
pub struct VerifyColumn {
    /// Its name.
    pub name: String,
    /// The form of its sum, if it has numbers.
    pub number: Option<SumForm>,
    /// Its type as the destination writes it.
    pub type_sql: String,
}

impl VerifyPlan {
    /// True if rows are only counted, so that their values are not needed.
    pub fn only_counts(&self) -> bool {
        self.destination.is_none() && self.summed.is_empty()
    }

    /// A plan with only the destination's own sums. `types` are the columns' types in the destination.
    pub fn new<'a>(
        columns: &[Column],
        types: impl Iterator<Item = &'a String>,
        destination: Option<Arc<dyn DestinationSums>>,
    ) -> VerifyPlan {
        let columns = columns.iter().zip(types);
        VerifyPlan {
            columns: columns
                .map(|(column, type_sql)| VerifyColumn {
                    name: column.name.clone(),
                    number: SumForm::new(&column.column_type),
                    type_sql: type_sql.clone(),
                })
                .collect(),
            destination,
            summed: Vec::new(),
        }
    }

    /// The form of the sum of a column that is one of `summed`.
    pub(super) fn number(&self, index: usize) -> SumForm {
        self.columns[index]
            .number
            .expect("only number columns have sums")
    }

    /// The number of sums: one for the number of rows, the destination's sums, and for each column of `summed` its count and
    /// its measures.
    pub(super) fn count(&self) -> usize {
        let of_destination = self
            .destination
            .as_ref()
            .map_or(0, |destination| destination.count());
        let summed = self.summed.iter();
        let of_columns = summed.map(|index| 1 + self.number(*index).measures().len());
        1 + of_destination + of_columns.sum::<usize>()
    }

    /// The sum of a column that is one of `summed`.
    pub fn sum_of(&self, items: &[ExactSum], name: &str) -> Option<ExactSum> {
        let wanted = self.columns.iter().position(|column| column.name == name)?;
        let lengths = |index: &usize| 1 + self.number(*index).measures().len();
        let place = self.summed.iter().position(|index| *index == wanted)?;
        let from_end: usize = self.summed[place..].iter().map(lengths).sum();
        // The count comes before the sum.
        items.get(items.len().checked_sub(from_end)? + 1).cloned()
    }

    /// The sums of several tallies; `None` if one of them does not belong to this plan.
    pub fn total<'a>(
        &self,
        tallies: impl Iterator<Item = Option<&'a [String]>>,
    ) -> Option<Vec<ExactSum>> {
        let mut sums = self.no_sums();
        for tally in tallies {
            if !self.add(&mut sums, tally) {
                return None;
            }
        }
        Some(sums)
    }

    /// The sums over zero rows.
    pub fn no_sums(&self) -> Vec<ExactSum> {
        vec![ExactSum::default(); self.count()]
    }

    /// Adds a tally to sums of this plan; returns false if the tally does not belong to this plan.
    pub fn add(&self, sums: &mut [ExactSum], tally: Option<&[String]>) -> bool {
        let Some(tally) = tally.filter(|tally| tally.len() == sums.len()) else {
            return false;
        };
        let mut pairs = sums.iter_mut().zip(tally);
        pairs.all(|(sum, text)| sum.add_text(text))
    }
}
