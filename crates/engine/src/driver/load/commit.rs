//! What one stream commits with one record: rows on their way from a source, and the record behind them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};
use inrush_destination::{UnitRecord, UnitStream};
use inrush_files::Split;
use inrush_rows::chunk::Chunk;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::ids::UnitKey;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::Records;
use inrush_source::{Chunks, SourceMeter};
use inrush_verdict::Phase;

use super::ContractContext;
use crate::driver::plan::{ContractFlow, RangeUnit};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::gauge::Gauge;
use crate::ledger::{Account, SplitRecord};
use crate::pace::value_bytes;
use crate::pipeline::kept_rejects::KeptRejects;
use crate::pipeline::reading_meter::ReadingMeter;
use crate::pipeline::results::{Loaded, StreamResult};
use crate::pipeline::split_evidence::SplitEvidence;
use crate::pipeline::{damage, reject_files};
use crate::report::RejectFile;

/// A unit in the hands of a stream.
#[derive(Clone, Copy)]
pub struct StreamWork<'a> {
    /// What the run shares.
    pub context: &'a ContractContext<'a>,
    /// The stream's number, counted from 1.
    pub number: usize,
    /// Its gauge.
    pub gauge: &'a Gauge,
    /// The unit's flow.
    pub flow: &'a ContractFlow,
    /// The unit.
    pub unit: &'a RangeUnit,
    /// Flow and unit, by their places in the plan.
    pub place: (usize, usize),
}

/// Begins a record, lets `fill` send its rows, and commits it with the note that `fill` returns.
pub fn load(
    work: &StreamWork<'_>,
    stream: &mut dyn UnitStream,
    key: UnitKey,
    result: &mut StreamResult,
    fill: impl FnOnce(&mut Commit<'_>) -> Result<String, Error>,
) -> Result<(), Error> {
    let StreamWork {
        context,
        gauge,
        flow,
        unit,
        place: (flow_index, unit_index),
        ..
    } = *work;
    let before = gauge.meter();
    let name = &flow.reading.name;
    let mut commit = Commit::begin(work, stream, &key)?;
    let filled = fill(&mut commit).and_then(|detail| commit.end(key, detail));
    let Commit {
        rejects,
        account,
        changes,
        fed,
        ..
    } = commit;
    let rejects = rejects.told();
    let mut meter = gauge.meter().since(&before);
    meter.add_reading(&fed);
    result.meter.add_reading(&fed);
    let stored_bytes = meter.stored_bytes;
    if let Err(error) = filled {
        // Those that led here are the ones to show.
        result.rejects.extend(rejects);
        context.notice(&Event::UnitAborted {
            flow: name.clone(),
            unit: unit.number,
            bytes: stored_bytes,
        });
        return Err(error);
    }
    context.notice(&Event::UnitCommitted {
        flow: name.clone(),
        unit: unit.number,
        stream: work.number,
        account,
        stored_bytes,
    });
    result.loaded.push(Loaded {
        flow: flow_index,
        unit: unit_index,
        is_whole: !unit.split.is_fed,
        is_careful: false,
        account,
        meter,
        changes,
        rejects,
    });
    Ok(())
}

/// A record under way: what it will tell, and what sends its rows.
pub struct Commit<'a> {
    context: &'a ContractContext<'a>,
    stream: &'a mut dyn UnitStream,
    flow: &'a ContractFlow,
    unit: &'a RangeUnit,
    flow_index: usize,
    gauge: &'a Gauge,
    converter: Converter,
    evidence: SplitEvidence,
    rejects: KeptRejects<'a>,
    account: Account,
    changes: BTreeMap<String, ColumnChanges>,
    /// What another thread has read for it.
    fed: SourceMeter,
}

impl<'a> Commit<'a> {
    fn begin(
        work: &StreamWork<'a>,
        stream: &'a mut dyn UnitStream,
        key: &UnitKey,
    ) -> Result<Commit<'a>, Error> {
        let StreamWork {
            context,
            gauge,
            flow,
            unit,
            place: (flow_index, _),
            ..
        } = *work;
        let reading = &flow.reading;
        let file = RejectFile::new(
            &context.run.folder.rejects(),
            &reject_files::of_record(&reading.name, key),
            &reading.dialect,
            reading.header.as_deref(),
        )?;
        let count = &context.run.rejects[flow_index];
        let waiting = gauge.enter(Phase::ServerWait);
        stream.begin_unit(flow_index, key)?;
        drop(waiting);
        Ok(Commit {
            context,
            stream,
            flow,
            unit,
            flow_index,
            gauge,
            converter: converter(context, flow)?,
            evidence: SplitEvidence::new(reading),
            rejects: KeptRejects::new(context.event_sink(), reading, count, None, file),
            account: Account::default(),
            changes: BTreeMap::new(),
            fed: SourceMeter::default(),
        })
    }

    /// What was sent so far.
    pub fn account(&self) -> Account {
        self.account
    }

    /// The feed has cost this much more.
    pub fn note_fed(&mut self, cost: &SourceMeter) {
        self.context.progress(self.flow_index, 0, cost.stored_bytes);
        self.fed.add(cost);
    }

    /// What the ledger is to know of a split whose rows were sent last.
    pub fn record(&mut self, split: &Split, account: Account) -> SplitRecord {
        self.evidence.record(&self.unit.key, split, account)
    }

    /// Sends all rows of a source; their account holds.
    pub fn rows(&mut self, source: &mut impl Chunks) -> Result<Account, Error> {
        let batch_rows = self.context.run.plan.batch_rows;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut account = Account::default();
        let mut stored_before = 0;
        let mut read = ReadingMeter::new(self.gauge);
        while let Some(mut chunk) = read.next_chunk(source, &mut records)? {
            self.refuse_stopped()?;
            account.rows_skipped += self.evidence.see(&mut chunk, &mut records)?;
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + batch_rows);
                let converting = self.gauge.enter(Phase::Convert);
                let batch = self
                    .converter
                    .convert(&chunk, &records, at..end, &mut rejects);
                drop(converting);
                let rows = batch.num_rows() as u64;
                let misfits = self.write(&batch, &chunk, &records, &mut rejects)?;
                account.rows_loaded += rows - misfits.len() as u64;
                // Sums are of what was taken.
                let mut from = 0;
                for row in misfits.into_iter().chain([batch.num_rows()]) {
                    if row > from {
                        let taken = batch.slice(from, row - from);
                        self.evidence.add(&taken, self.gauge);
                    }
                    from = row + 1;
                }
                if !rejects.is_empty() {
                    self.refuse_stopped()?;
                    account.rows_rejected += rejects.len() as u64;
                    self.rejects.keep(&mut rejects)?;
                }
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
        let read = source.meter();
        self.gauge.add_rows(account.rows_loaded);
        account.rows_read = read.record_count + read.skipped_line_count;
        account.rows_skipped += read.skipped_line_count;
        account.bytes_read = read.text_bytes;
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {}", self.unit.split.file.path.display()),
                counted: account.rows_out(),
                sent: account.rows_in(),
            });
        }
        self.account.add(&account);
        Ok(account)
    }

    /// An error where the run was asked to stop.
    fn refuse_stopped(&self) -> Result<(), Error> {
        match self.context.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Writes a batch; the rows that the destination has no counterpart for become rejects, in the
    /// order of the file, and come back by their places in the batch.
    fn write(
        &mut self,
        batch: &RecordBatch,
        chunk: &Chunk,
        records: &Records,
        rejects: &mut Vec<Reject>,
    ) -> Result<Vec<usize>, Error> {
        self.pace(batch);
        let sending = self.gauge.enter(Phase::SendWait);
        let mut misfits = Vec::new();
        for part in damage::harmed(self.context.fault, batch) {
            misfits.extend(self.stream.write(&part)?);
        }
        drop(sending);
        if misfits.is_empty() {
            return Ok(Vec::new());
        }
        for misfit in &misfits {
            let column = &self.flow.reading.columns[misfit.column].name;
            rejects.push(self.converter.reject_row(
                chunk,
                records,
                misfit.row,
                Some(column),
                RejectCode::OutOfRange,
                misfit.reason.clone(),
            ));
        }
        rejects.sort_by_key(|reject| reject.location.byte_offset);
        Ok(misfits.into_iter().map(|misfit| misfit.row).collect())
    }

    /// Waits until a batch may be written. What counts are the bytes of its Arrow columns.
    fn pace(&self, batch: &RecordBatch) {
        let ContractContext {
            pace,
            runtime,
            stop,
            ..
        } = self.context;
        if pace.is_limited() {
            let _paced = self.gauge.enter(Phase::PaceWait);
            runtime.block_on(pace.pass(value_bytes(batch) as usize, stop));
        }
    }

    /// Commits the rows with their record.
    fn end(&mut self, key: UnitKey, detail: String) -> Result<(), Error> {
        let record = UnitRecord {
            key,
            target: self.flow.reading.target.clone(),
            rows_loaded: self.account.rows_loaded,
            detail,
        };
        self.rejects.finish()?;
        fault::reach(self.context.fault, FaultPoint::BeforeUnitCommit);
        let waiting = self.gauge.enter(Phase::ServerWait);
        self.stream.commit_unit(&record)?;
        drop(waiting);
        fault::reach(self.context.fault, FaultPoint::UnitCommitSent);
        fault::reach(self.context.fault, FaultPoint::AfterUnitCommit);
        let changes = self.converter.changes();
        let changes = changes.filter(|(_, changes)| changes.total() > 0);
        self.changes = changes
            .map(|(column, changes)| (column.to_owned(), changes))
            .collect();
        Ok(())
    }
}

fn converter(context: &ContractContext<'_>, flow: &ContractFlow) -> Result<Converter, Error> {
    let reading = &flow.reading;
    let converter = Converter::new(&reading.columns, &reading.dialect, reading.field_count);
    let record = context.run.open.record();
    let stamp = RunStamp {
        run_id: record.run_id,
        started_at_microseconds: record.started_at_microseconds,
    };
    match converter {
        Ok(converter) => Ok(converter.with_run(stamp)),
        Err(source) => Err(Error::Convert {
            flow: reading.name.clone(),
            source,
        }),
    }
}
