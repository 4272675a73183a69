//! Gathers the ledger's rows of the file ranges of one transaction.
//!
//! A transaction may load a hundred thousand small files. The ledger gets their rows a thousand at a time, within the
//! transaction that loads them: no more of them are kept in memory.

use inrush_verdict::Phase;

use super::piece::Piece;
use crate::engine::error::Error;
use crate::engine::ledger::{Account, SplitRecord};
use crate::engine::verify::ExactSum;
use crate::plan::FlowPlan;

/// File ranges whose rows are in.
#[derive(Default)]
pub struct Gathered {
    /// What all of them add up to.
    pub account: Account,
    count: usize,
    is_verified: bool,
    /// The sums of all tallies; none where one is missing.
    sums: Option<Vec<ExactSum>>,
    /// Those that the ledger does not have yet.
    records: Vec<SplitRecord>,
}

impl Gathered {
    /// Nothing so far.
    pub fn new(piece: &Piece<'_>) -> Gathered {
        let is_verified = piece.unit.verify.is_some();
        Gathered {
            is_verified,
            sums: is_verified.then(|| piece.flow.verify.no_sums()),
            ..Gathered::default()
        }
    }

    /// Adds a file range.
    pub fn push(&mut self, flow: &FlowPlan, record: SplitRecord) {
        self.account.add(&record.account);
        self.count += 1;
        if self.is_verified {
            let added = |sums: &mut Vec<ExactSum>| flow.verify.add(sums, record.tally.as_deref());
            self.sums.take_if(|sums| !added(sums));
        }
        self.records.push(record);
    }

    /// How many file ranges there were in all.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The sums of all rows that were sent; none where a file range has none.
    pub fn sums(&self) -> Option<Vec<ExactSum>> {
        self.sums.clone()
    }

    /// Writes what the ledger does not have yet. No COPY is under way.
    pub async fn write(&mut self, piece: &Piece<'_>) -> Result<(), Error> {
        let run = piece.context.run;
        let _waiting = piece.session.gauge.enter(Phase::ServerWait);
        for record in self.records.drain(..) {
            run.ledger
                .record_split(piece.session, &run.fence, &record)
                .await?;
        }
        Ok(())
    }
}
