//! The sums that are made of a flow's rows: chosen by the plan, once.

use std::sync::Arc;

use inrush_rows::column::Column;

use super::driver_sums::DriverSums;
use super::exact::ExactSum;
use super::number::SumForm;

/// What is summed up of the rows of each file range: how many there are, what the engine compares, and sums that
/// somebody promised.
#[derive(Clone, Debug)]
pub struct VerifyPlan {
    /// The loaded columns, in the order of the batches.
    pub columns: Vec<VerifyColumn>,
    /// What the engine compares beside the count of rows, if anything.
    pub engine: Option<Arc<dyn DriverSums>>,
    /// Columns of numbers whose sums are held against what somebody promised of the files.
    pub summed: Vec<usize>,
}

/// A column that may be summed up.
#[derive(Clone, Debug)]
pub struct VerifyColumn {
    /// Its name.
    pub name: String,
    /// How it is summed up, if it has numbers.
    pub number: Option<SumForm>,
    /// Its type as the destination writes it.
    pub type_sql: String,
}

impl VerifyPlan {
    /// A plan by which nothing is summed up yet but what the engine compares. `types` are the columns' as the
    /// destination writes them.
    pub fn new<'a>(
        columns: &[Column],
        types: impl Iterator<Item = &'a String>,
        engine: Option<Arc<dyn DriverSums>>,
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
            engine,
            summed: Vec::new(),
        }
    }

    /// How a column that is one of `summed` is summed up.
    pub(super) fn number(&self, index: usize) -> SumForm {
        self.columns[index]
            .number
            .expect("only number columns have sums")
    }

    /// How many sums there are: of rows, of the engine, and of each column of `summed` its count and its measures.
    pub(super) fn count(&self) -> usize {
        let of_engine = self.engine.as_ref().map_or(0, |engine| engine.count());
        let summed = self.summed.iter();
        let of_columns = summed.map(|index| 1 + self.number(*index).measures().len());
        1 + of_engine + of_columns.sum::<usize>()
    }

    /// The sum of a column that is one of `summed`.
    pub fn sum_of(&self, items: &[ExactSum], name: &str) -> Option<ExactSum> {
        let wanted = self.columns.iter().position(|column| column.name == name)?;
        let lengths = |index: &usize| 1 + self.number(*index).measures().len();
        let place = self.summed.iter().position(|index| *index == wanted)?;
        let from_end: usize = self.summed[place..].iter().map(lengths).sum();
        // The count stands before the sum.
        items.get(items.len().checked_sub(from_end)? + 1).cloned()
    }

    /// The sums of several tallies; none where one of them is not of this plan.
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

    /// The sums of no row.
    pub fn no_sums(&self) -> Vec<ExactSum> {
        vec![ExactSum::default(); self.count()]
    }

    /// Adds a tally to sums of this plan; false where it is not of this plan.
    pub fn add(&self, sums: &mut [ExactSum], tally: Option<&[String]>) -> bool {
        let Some(tally) = tally.filter(|tally| tally.len() == sums.len()) else {
            return false;
        };
        let mut pairs = sums.iter_mut().zip(tally);
        pairs.all(|(sum, text)| sum.add_text(text))
    }
}
