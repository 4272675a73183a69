//! The rows of a source on their way into a COPY: scanned, converted, held against the keys that
//! are expected, sent and counted.

use std::ops::Range;

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};
use inrush_rows::reject::Reject;
use inrush_scan::Records;
use inrush_source::Chunks;
use inrush_verdict::Phase;

use super::careful::{BatchOrigin, CarefulCopy};
use super::copying::Copying;
use super::piece::{Piece, SendMethod};
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::Account;
use crate::engine::pipeline::damage;
use crate::engine::pipeline::reading_meter::ReadingMeter;
use crate::plan::{FlowPlan, UnitPlan};

/// How rows get into the staging table.
pub enum Copier<'a> {
    /// By one COPY that goes on from batch to batch.
    Quick(Copying<'a>),
    /// By a COPY of its own for each batch, so that rows may be refused.
    Careful(CarefulCopy<'a>),
}

impl Copier<'_> {
    /// The rows of a file are all sent.
    pub async fn end(self) -> Result<(), Error> {
        match self {
            Copier::Quick(copying) => Ok(copying.end().await?),
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

    /// A COPY into the staging table, for the rows of a file.
    pub(super) async fn begin_copy(&self, file: &str) -> Result<Copier<'a>, Error> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let stop = self.context.stop.clone();
        if let SendMethod::Careful(additions) = self.way {
            let settings = &self.context.run.plan.settings;
            let copy = CarefulCopy::new(
                self.session,
                self.flow,
                self.unit,
                settings,
                additions,
                stop,
                doing,
            )?;
            return Ok(Copier::Careful(copy));
        }
        let pool = self.pool.clone();
        let copying =
            Copying::begin(self.session, self.flow, &self.unit.copy, pool, stop, doing).await?;
        Ok(Copier::Quick(copying))
    }

    /// All rows of a source; their account holds.
    pub(super) async fn send_rows(
        &mut self,
        source: &mut impl Chunks,
        file: &str,
        converter: &mut Converter,
        mut copier: Copier<'a>,
    ) -> Result<(Account, Copier<'a>), Error> {
        let batch_rows = self.context.run.plan.settings.batch_rows as usize;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut rows_rejected = 0_u64;
        let mut rows_loaded = 0_u64;
        let mut stored_before = 0;
        let mut trailers = 0;
        let gauge = &self.session.gauge;
        let mut reading = ReadingMeter::new(gauge);
        while let Some(mut chunk) = reading.next_chunk(source, &mut records)? {
            self.refuse_stopped()?;
            trailers += self.evidence.see(&mut chunk, &mut records)?;
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + batch_rows);
                let converting = gauge.enter(Phase::Convert);
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                drop(converting);
                copier = match copier {
                    Copier::Quick(copying) => {
                        if !rejects.is_empty() {
                            self.refuse_stopped()?;
                            rows_rejected += rejects.len() as u64;
                            self.rejects.keep(&mut rejects)?;
                        }
                        rows_loaded += batch.num_rows() as u64;
                        Copier::Quick(self.send_batch(&batch, copying).await?)
                    }
                    Copier::Careful(mut copy) => {
                        let origin = BatchOrigin {
                            converter,
                            chunk: &chunk,
                            records: &records,
                        };
                        let account = self
                            .send_carefully(&batch, &origin, &mut copy, &mut rejects)
                            .await?;
                        rows_loaded += account.rows_loaded;
                        rows_rejected += account.rows_rejected;
                        Copier::Careful(copy)
                    }
                };
                at = end;
            }
            let stored_bytes = source.meter().stored_bytes;
            self.context.progress(
                self.flow_index,
                records.len() as u64,
                stored_bytes - stored_before,
            );
            stored_before = stored_bytes;
            self.rejects
                .note_read(records.len() as u64, chunk.size_bytes());
            source.recycle(chunk);
            fault::reach(self.context.fault, FaultPoint::InCopy);
        }
        gauge.add_rows(rows_loaded);
        let read = source.meter();
        let account = Account {
            rows_read: read.record_count + read.skipped_line_count,
            rows_loaded,
            rows_rejected,
            rows_skipped: read.skipped_line_count + trailers,
            bytes_read: read.text_bytes,
            ..Account::default()
        };
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {file}"),
                counted: account.rows_out(),
                sent: account.rows_in(),
            });
        }
        Ok((account, copier))
    }

    /// An error where the run was asked to stop. Who sends rows is told so by the COPY; rows that are all rejected, or
    /// skipped, send nothing.
    fn refuse_stopped(&self) -> Result<(), Error> {
        match self.context.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Sends a batch so that the server may refuse rows of it; they go to those that were found
    /// while it was converted, in the order of the file.
    async fn send_carefully(
        &mut self,
        batch: &RecordBatch,
        origin: &BatchOrigin<'_>,
        copy: &mut CarefulCopy<'a>,
        rejects: &mut Vec<Reject>,
    ) -> Result<Account, Error> {
        let mut account = Account::default();
        let mut at = 0;
        loop {
            let refused_max = self.rejects.left().saturating_sub(rejects.len() as u64) + 1;
            let (refused, end) = copy.send(batch, at, refused_max, origin, rejects).await?;
            self.prove(batch, at..end, &refused);
            self.refused.extend(refused.iter().map(|row| {
                let place = origin
                    .converter
                    .row_location(origin.chunk, origin.records, *row);
                place.byte_offset
            }));
            let loaded = (end - at - refused.len()) as u64;
            fault::reach(self.context.fault, FaultPoint::InCarefulCopy);
            account.rows_loaded += loaded;
            account.rows_rejected += rejects.len() as u64;
            rejects.sort_by_key(|reject| reject.location.byte_offset);
            self.rejects.keep(rejects)?;
            at = end;
            if at == batch.num_rows() {
                return Ok(account);
            }
        }
    }

    /// Adds up the rows that went in: those of `rows` that were not refused.
    fn prove(&mut self, batch: &RecordBatch, rows: Range<usize>, refused: &[usize]) {
        let mut from = rows.start;
        for row in refused.iter().copied().chain([rows.end]) {
            if row > from {
                self.evidence
                    .add(&batch.slice(from, row - from), &self.session.gauge);
            }
            from = row + 1;
        }
    }

    /// Sends a batch by the COPY that is under way. Where its keys are not those that the unit's
    /// CHECK allows, that goes first.
    async fn send_batch(
        &mut self,
        batch: &RecordBatch,
        mut copying: Copying<'a>,
    ) -> Result<Copying<'a>, Error> {
        if self.expected.as_mut().is_some_and(|keys| !keys.hold(batch)) {
            self.expected = None;
            let statement = self.drop_check();
            copying = copying.interrupt(&statement).await?;
        }
        self.evidence.add(batch, &self.session.gauge);
        for part in damage::harmed(self.context.fault, batch) {
            copying.send(&part).await?;
        }
        Ok(copying)
    }

    /// Adds up what a converter has changed.
    pub(super) fn note_changes(&mut self, converter: &Converter) {
        for (column, changes) in converter.changes() {
            if changes.total() > 0 {
                let sum = self.changes.entry(column.to_owned()).or_default();
                sum.add(&changes);
            }
        }
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
