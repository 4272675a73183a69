//! The splits that a transaction has loaded so far.
//!
//! A transaction may load a hundred thousand small files. To limit the memory, a destination may write the records of some
//! of these files into its ledger before the next files are loaded.

use inrush_plan::Reading;
use inrush_plan::ledger::{Account, SplitRecord};
use inrush_plan::verify::ExactSum;

/// Splits whose rows are written.
#[derive(Default)]
pub struct Gathered {
    /// The account of all of them.
    pub account: Account,
    count: usize,
    is_verified: bool,
    /// The sums of all tallies; `None` if one is missing.
    sums: Option<Vec<ExactSum>>,
    /// The records that the ledger does not have yet.
    records: Vec<SplitRecord>,
}

impl Gathered {
    /// An empty collection for a flow. With `is_verified`, the sums of its rows are added up.
    pub fn new(flow: &Reading, is_verified: bool) -> Gathered {
        Gathered {
            is_verified,
            sums: is_verified.then(|| flow.verify.no_sums()),
            ..Gathered::default()
        }
    }

    /// Adds a split of the flow.
    pub fn push(&mut self, flow: &Reading, record: SplitRecord) {
        self.account.add(&record.account);
        self.count += 1;
        if self.is_verified {
            let added = |sums: &mut Vec<ExactSum>| flow.verify.add(sums, record.tally.as_deref());
            self.sums.take_if(|sums| !added(sums));
        }
        self.records.push(record);
    }

    /// The number of splits.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The sums of all rows that were sent; `None` if a split has none.
    pub fn sums(&self) -> Option<Vec<ExactSum>> {
        self.sums.clone()
    }

    /// The records that the ledger does not have yet.
    pub fn take_records(&mut self) -> Vec<SplitRecord> {
        std::mem::take(&mut self.records)
    }
}
