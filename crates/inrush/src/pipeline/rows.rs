//! The rows of a source on their way into a COPY: scanned, converted, held against the keys that
//! are expected, sent and counted.

use std::time::Instant;

use inrush_scan::Records;

use super::copying::Copying;
use super::piece::Piece;
use crate::convert::{Converter, RunStamp};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::ledger::Account;
use crate::meter::nanoseconds;
use crate::plan::{FlowPlan, UnitPlan};
use crate::source::Chunks;

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
    pub(super) async fn begin_copy(&self, file: &str) -> Result<Copying<'a>, Error> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let (pool, stop) = (self.pool.clone(), self.context.stop.clone());
        Copying::begin(self.session, self.flow, &self.unit.copy, pool, stop, doing).await
    }

    /// All rows of a source; their account holds.
    pub(super) async fn send_rows(
        &mut self,
        source: &mut impl Chunks,
        file: &str,
        converter: &mut Converter,
        mut copying: Copying<'a>,
    ) -> Result<(Account, Copying<'a>), Error> {
        let batch_rows = self.context.run.plan.settings.batch_rows as usize;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut rows_rejected = 0_u64;
        let mut rows_loaded = 0_u64;
        let mut stored_before = 0;
        while let Some(chunk) = source.next_chunk(&mut records)? {
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + batch_rows);
                let started = Instant::now();
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                self.meter.convert_ns += nanoseconds(started.elapsed());
                if !rejects.is_empty() {
                    rows_rejected += rejects.len() as u64;
                    self.rejects.keep(&mut rejects)?;
                }
                if self
                    .expected
                    .as_mut()
                    .is_some_and(|keys| !keys.hold(&batch))
                {
                    self.expected = None;
                    let statement = self.drop_check();
                    copying = copying.interrupt(&statement, &mut self.meter).await?;
                }
                rows_loaded += batch.num_rows() as u64;
                copying.send(&batch, &mut self.meter).await?;
                at = end;
            }
            let read = source.meter();
            self.context.observer.notice(&Event::Progress {
                flow: self.flow.name.clone(),
                rows: records.len() as u64,
                bytes: read.stored_bytes - stored_before,
            });
            self.meter.stored_bytes += read.stored_bytes - stored_before;
            stored_before = read.stored_bytes;
            source.recycle(chunk);
            fault::reach(self.context.fault, FaultPoint::InCopy);
        }
        let read = source.meter();
        self.meter.stored_bytes += read.stored_bytes - stored_before;
        self.meter.read_ns += read.read_ns;
        self.meter.decompress_ns += read.decompress_ns;
        self.meter.scan_ns += read.scan_ns;
        self.meter.text_bytes += read.text_bytes;
        self.meter.rows += rows_loaded;
        let account = Account {
            rows_read: read.record_count + read.skipped_line_count,
            rows_loaded,
            rows_rejected,
            rows_skipped: read.skipped_line_count,
            bytes_read: read.text_bytes,
        };
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {file}"),
                counted: account.rows_loaded + account.rows_rejected + account.rows_skipped,
                sent: account.rows_read,
            });
        }
        Ok((account, copying))
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

fn converter(flow: &FlowPlan, unit: &UnitPlan) -> Result<Converter, Error> {
    let converter =
        Converter::new(&flow.columns, &flow.dialect, flow.field_count).map_err(|source| {
            Error::Convert {
                flow: flow.name.clone(),
                source,
            }
        })?;
    Ok(match &unit.key_bounds {
        Some(bounds) => converter.with_key_bounds(bounds.clone()),
        None => converter,
    })
}
