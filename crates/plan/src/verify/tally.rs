//! Sums over the rows that are sent.

use arrow_array::RecordBatch;
use inrush_destination::sums::{ExactSum, SumForm, add_count};

use super::destination_sums::BatchSums;
use super::plan::VerifyPlan;

/// Sums over the rows of a split, made of the converted columns.
#[derive(Debug)]
pub struct Tally {
    /// The number of rows, then the destination's sums, then the sums of the `summed` columns.
    items: Vec<ExactSum>,
    destination: Option<Box<dyn BatchSums>>,
    summed: Vec<(usize, SumForm)>,
}

impl Tally {
    /// An empty tally; `None` if rows are only counted.
    pub fn new(plan: &VerifyPlan) -> Option<Tally> {
        (!plan.only_counts()).then(|| Tally {
            items: vec![ExactSum::default(); plan.count()],
            destination: plan
                .destination
                .clone()
                .map(|destination| destination.begin()),
            summed: plan
                .summed
                .iter()
                .map(|index| (*index, plan.number(*index)))
                .collect(),
        })
    }

    /// Adds rows that are sent.
    pub fn add(&mut self, batch: &RecordBatch) {
        let (rows, items) = self.items.split_first_mut().expect("rows are counted");
        rows.add(batch.num_rows() as i128);
        if batch.num_rows() == 0 {
            return;
        }
        let lengths = self.summed.iter();
        let of_summed: usize = lengths.map(|(_, form)| 1 + form.measures().len()).sum();
        let (of_destination, mut items) = items.split_at_mut(items.len() - of_summed);
        if let Some(destination) = &mut self.destination {
            destination.add(batch, of_destination);
        }
        for (index, form) in &self.summed {
            let array = batch.column(*index);
            let (own, rest) = items.split_at_mut(1 + form.measures().len());
            let (count, sums) = own.split_first_mut().expect("every column is counted");
            add_count(array, count);
            form.add(array, sums);
            items = rest;
        }
    }

    /// Returns the sums so far, as the ledger keeps them, and starts again from zero.
    pub fn take(&mut self) -> Vec<String> {
        self.items
            .iter_mut()
            .map(|item| std::mem::take(item).to_string())
            .collect()
    }
}
