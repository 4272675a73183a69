//! `verify = "sums"`: compares the sums of all rows that were sent, from the ledger, with the destination's own sums of
//! the staged rows.

use std::sync::Arc;

use inrush_destination::{Difference, OpenRun};
use inrush_plan::ledger::SplitRecord;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::verify::{ExactSum, VerifyError};

use crate::error::Error;

/// The sums of the rows that were sent, for each flow with `verify = "sums"`. Records are added in the order in which
/// the ledger returns them.
#[derive(Debug, Default)]
pub struct SentSums {
    flows: Vec<Option<FlowSums>>,
}

#[derive(Debug)]
struct FlowSums {
    /// The number of rows, then the sums of the columns, then the sums that are compared with promised numbers.
    sums: Vec<ExactSum>,
    /// Every split has brought its sums.
    is_complete: bool,
}

impl SentSums {
    /// The sums of no row.
    pub fn none(flows: &[Arc<LoadFlow>]) -> SentSums {
        let flows = flows.iter().map(|flow| {
            flow.sums.as_ref().map(|_| FlowSums {
                sums: flow.reading.verify.no_sums(),
                is_complete: true,
            })
        });
        SentSums {
            flows: flows.collect(),
        }
    }

    /// Adds a split of a flow.
    pub fn add(&mut self, index: usize, flow: &LoadFlow, split: &SplitRecord) {
        if let Some(FlowSums { sums, is_complete }) = &mut self.flows[index] {
            *is_complete &= flow.reading.verify.add(sums, split.tally.as_deref());
        }
    }

    /// Compares the sums of each flow with those of the destination.
    pub fn compare(&self, flows: &[Arc<LoadFlow>], run: &dyn OpenRun) -> Result<(), Error> {
        for (index, (flow, sent)) in flows.iter().zip(&self.flows).enumerate() {
            let (Some(columns), Some(sent)) = (&flow.sums, sent) else {
                continue;
            };
            let table = flow.reading.target.clone();
            if !sent.is_complete {
                return Err(VerifyError::NoTally { table }.into());
            }
            let stored = run.staged_sums(index, &columns.forms)?;
            let mut differences = columns.differences(&sent.sums[1..], &stored.columns);
            if stored.rows != sent.sums[0] {
                let rows = Difference {
                    column: None,
                    measure: "rows",
                    stored: stored.rows.to_string(),
                    sent: sent.sums[0].to_string(),
                };
                differences.insert(0, rows);
            }
            if !differences.is_empty() {
                return Err(VerifyError::Sums { table, differences }.into());
            }
        }
        Ok(())
    }
}
