//! What is summed up of the rows that are sent.

use arrow_array::RecordBatch;

use super::exact::ExactSum;
use super::hash::of_row_hash;
use super::plan::VerifyPlan;
use super::{rows, sums};
use crate::package::Verify;

/// Sums over the rows of a shard, made of the converted columns.
#[derive(Debug)]
pub struct Tally {
    plan: VerifyPlan,
    items: Vec<ExactSum>,
    /// The hashes of a batch's rows; kept for their memory.
    row_hashes: Vec<u64>,
    scratch: Vec<u8>,
}

impl Tally {
    /// An empty tally; none where rows are only counted.
    pub fn new(plan: &VerifyPlan) -> Option<Tally> {
        let is_needed = plan.level != Verify::Count || !plan.summed.is_empty();
        is_needed.then(|| Tally {
            items: vec![ExactSum::default(); plan.items().len()],
            plan: plan.clone(),
            row_hashes: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Adds rows that are sent.
    pub fn add(&mut self, batch: &RecordBatch) {
        let row_count = batch.num_rows();
        let (rows_item, items) = self.items.split_first_mut().expect("rows are counted");
        rows_item.add(row_count as i128);
        if row_count == 0 {
            return;
        }
        let columns = self.plan.columns.iter().zip(batch.columns());
        match self.plan.level {
            Verify::Count => {}
            Verify::Sums => {
                let mut items = items;
                for (column, array) in columns {
                    let (own, rest) = items.split_at_mut(1 + column.form.measures().len());
                    sums::add(column.form, array, own);
                    items = rest;
                }
            }
            Verify::Rows => {
                self.row_hashes.clear();
                self.row_hashes.resize(row_count, 0);
                let (all, by_column) = items.split_first_mut().expect("rows are hashed");
                for ((column, array), item) in columns.zip(by_column) {
                    let hashes = &mut self.row_hashes;
                    item.add(rows::add(column.form, array, hashes, &mut self.scratch));
                }
                let hashes = self.row_hashes.iter();
                all.add(
                    hashes
                        .map(|hash| i128::from(of_row_hash(*hash) as i64))
                        .sum(),
                );
            }
        }
        self.add_summed(batch);
    }

    /// Adds to the sums that stand last.
    fn add_summed(&mut self, batch: &RecordBatch) {
        let mut end = self.items.len();
        for index in self.plan.summed.iter().rev() {
            let form = self.plan.columns[*index].form;
            let start = end - 1 - form.measures().len();
            sums::add(form, batch.column(*index), &mut self.items[start..end]);
            end = start;
        }
    }

    /// Takes the sums so far, as the ledger keeps them, and begins anew.
    pub fn take(&mut self) -> Vec<String> {
        self.items
            .iter_mut()
            .map(|item| std::mem::take(item).to_string())
            .collect()
    }
}
