//! The rows of a piece on their way into a COPY: held against the keys that are expected, and sent.

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};

use super::careful::CarefulCopy;
use super::copying::Copying;
use super::expected_keys::ExpectedKeys;
use super::piece::{Piece, SendMethod};
use crate::engine::error::Error;
use crate::engine::fault::{self, Fault, FaultPoint};
use crate::engine::pipeline::row_loop::{RowLoop, RowWriter, Written};
use crate::plan::{FlowPlan, UnitPlan};

/// How rows get into the staging table.
enum Copier<'a> {
    /// By one COPY that goes on from batch to batch.
    Quick(Copying<'a>),
    /// By a COPY of its own for each batch, so that rows may be refused.
    Careful(CarefulCopy<'a>),
}

/// Takes batches into the table of a piece.
pub struct CopyRows<'p, 'a> {
    copier: Copier<'a>,
    /// The keys that the unit's CHECK allows, as long as all rows have such keys.
    expected: &'p mut Option<ExpectedKeys>,
    /// Takes that CHECK away.
    drop_check: String,
    fault: Option<&'a Fault>,
}

impl RowWriter for CopyRows<'_, '_> {
    async fn write(
        &mut self,
        batch: &RecordBatch,
        from: usize,
        refused_max: u64,
    ) -> Result<Written, Error> {
        match &mut self.copier {
            Copier::Quick(copying) => {
                // Where its keys are not those that the unit's CHECK allows, that goes first.
                if self.expected.as_mut().is_some_and(|keys| !keys.hold(batch)) {
                    *self.expected = None;
                    copying.interrupt(&self.drop_check).await?;
                }
                copying.send(batch).await?;
                Ok(Written::all(batch))
            }
            Copier::Careful(copy) => {
                let written = copy.send(batch, from, refused_max).await?;
                fault::reach(self.fault, FaultPoint::InCarefulCopy);
                Ok(written)
            }
        }
    }
}

impl CopyRows<'_, '_> {
    /// The rows of a file are all sent.
    pub async fn end(self) -> Result<(), Error> {
        match self.copier {
            Copier::Quick(copying) => copying.end().await,
            Copier::Careful(copy) => copy.end().await,
        }
    }
}

impl<'a> Piece<'a> {
    /// What makes rows of records.
    pub(super) fn converter(&self) -> Result<Converter, Error> {
        let record = &self.context.run.record;
        let stamp = RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        };
        Ok(converter(self.flow, self.unit)?.with_run(stamp))
    }

    /// What takes the rows of a file into the staging table.
    pub(super) async fn begin_copy<'p>(
        &'p mut self,
        file: &str,
    ) -> Result<(CopyRows<'p, 'a>, &'p mut RowLoop<'a>), Error> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let stop = self.context.stop.clone();
        let copier = match self.way {
            SendMethod::Careful(additions) => Copier::Careful(CarefulCopy::new(
                self.session,
                self.flow,
                self.unit,
                &self.context.run.plan.settings,
                additions,
                stop,
                doing,
            )?),
            SendMethod::Quick => {
                let (pool, copy) = (self.pool.clone(), &self.unit.copy);
                let begun = Copying::begin(self.session, self.flow, copy, pool, stop, doing);
                Copier::Quick(begun.await?)
            }
        };
        let drop_check = self.drop_check();
        let writer = CopyRows {
            copier,
            expected: &mut self.expected,
            drop_check,
            fault: self.context.fault,
        };
        Ok((writer, &mut self.rows))
    }
}

/// What makes rows of a flow's records, those of a unit.
pub fn converter(flow: &FlowPlan, unit: &UnitPlan) -> Result<Converter, Error> {
    let converter =
        Converter::new(&flow.columns, &flow.dialect, flow.field_count).map_err(|source| {
            Error::Convert {
                flow: flow.name.clone(),
                source,
            }
        })?;
    let converter = match &unit.key_set {
        Some(set) => converter.with_key_set(set.clone()),
        None => converter,
    };
    Ok(match &unit.key_bounds {
        Some(bounds) => converter.with_key_bounds(bounds.clone()),
        None => converter,
    })
}
