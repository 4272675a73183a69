//! `verify = "sums"`: the sums of each column, and their comparison with those of the destination.

use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::Difference;
use inrush_destination::sums::{ColumnForm, ExactSum};
use serde::{Deserialize, Serialize};

use super::destination_sums::{BatchSums, DestinationSums};

/// The columns of a target in the order of the batches, and the sums that are computed over each column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSums {
    /// Names of the columns.
    pub names: Vec<String>,
    /// The form of the sums of each column.
    pub forms: Vec<ColumnForm>,
}

impl ColumnSums {
    /// Adds a batch to the sums of all columns.
    pub fn add(
        forms: impl Iterator<Item = ColumnForm>,
        batch: &RecordBatch,
        sums: &mut [ExactSum],
    ) {
        let mut sums = sums;
        for (form, array) in forms.zip(batch.columns()) {
            let (own, rest) = sums.split_at_mut(1 + form.measures().len());
            form.add(array, own);
            sums = rest;
        }
    }

    /// The measures of all columns. Each is given as the index of its column and its own name.
    pub fn measures(
        forms: impl Iterator<Item = ColumnForm>,
    ) -> impl Iterator<Item = (usize, &'static str)> {
        forms.enumerate().flat_map(|(index, form)| {
            let measures = form.measures().iter().copied();
            std::iter::once("values")
                .chain(measures)
                .map(move |measure| (index, measure))
        })
    }

    /// The comparison in words for the plan, one line each. `types` are the columns' types in the destination.
    pub fn words<'a>(&self, types: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut lines = vec![
            "verified: counts and sums of each column (`sums`); the destination reads the staged rows once more"
                .to_owned(),
        ];
        let columns = self.names.iter().zip(types).zip(&self.forms);
        let counted = columns.filter(|(_, form)| form.measures().is_empty());
        let counted: Vec<String> = counted
            .map(|((name, type_sql), _)| format!("{name} {type_sql}"))
            .collect();
        if !counted.is_empty() {
            lines.push(format!(
                "only the NULLs of these columns are verified, because the destination has no exact sum of them: {}",
                counted.join(", ")
            ));
        }
        lines
    }

    /// The sums in which the destination differs from the rows that were sent.
    pub fn differences(&self, sent: &[ExactSum], stored: &[ExactSum]) -> Vec<Difference> {
        let measures = ColumnSums::measures(self.forms.iter().copied());
        let compared = measures.zip(sent.iter().zip(stored));
        let differing = compared.filter(|(_, (sent, stored))| sent != stored);
        differing
            .map(|((index, measure), (sent, stored))| Difference {
                column: Some(self.names[index].clone()),
                measure,
                stored: stored.to_string(),
                sent: sent.to_string(),
            })
            .collect()
    }
}

impl DestinationSums for ColumnSums {
    fn count(&self) -> usize {
        ColumnForm::sum_count(&self.forms)
    }

    fn begin(self: Arc<Self>) -> Box<dyn BatchSums> {
        Box::new(OurSide(self))
    }
}

/// Our side of the comparison.
#[derive(Debug)]
struct OurSide(Arc<ColumnSums>);

impl BatchSums for OurSide {
    fn add(&mut self, batch: &RecordBatch, sums: &mut [ExactSum]) {
        ColumnSums::add(self.0.forms.iter().copied(), batch, sums);
    }
}
