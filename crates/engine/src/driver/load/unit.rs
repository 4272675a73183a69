//! A unit on its way: read, scanned, converted, written, and committed with its record.

use std::collections::BTreeMap;

use inrush_convert::{Converter, RunStamp};
use inrush_destination::{UnitRecord, UnitStream};
use inrush_files::{BufferPool, RowReader};
use inrush_rows::chunk::Chunk;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::Records;
use inrush_source::Chunks;
use inrush_verdict::Phase;

use super::ContractContext;
use crate::driver::plan::{ContractFlow, RangeUnit};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::gauge::Gauge;
use crate::ledger::{Account, SplitRecord};
use crate::pace::value_bytes;
use crate::pipeline::check_header::check_header;
use crate::pipeline::kept_rejects::KeptRejects;
use crate::pipeline::reading_meter::ReadingMeter;
use crate::pipeline::results::{Loaded, StreamResult};
use crate::pipeline::split_evidence::SplitEvidence;
use crate::pipeline::{damage, reject_files};
use crate::plan::Reading;
use crate::report::RejectFile;

/// Loads a unit and commits it.
pub fn load(
    context: &ContractContext<'_>,
    stream: &mut dyn UnitStream,
    number: usize,
    gauge: &Gauge,
    (flow_index, unit_index): (usize, usize),
    result: &mut StreamResult,
) -> Result<(), Error> {
    let flow = &context.run.plan.flows[flow_index];
    let unit = &flow.units[unit_index];
    let before = gauge.meter();
    context.notice(&Event::UnitStarted {
        flow: flow.reading.name.clone(),
        unit: unit.number,
        stream: number,
        file: unit.split.file.path.display().to_string(),
    });
    let file = RejectFile::new(
        &context.run.folder.rejects(),
        &reject_files::of_key(&flow.reading.name, &unit.key),
        &flow.reading.dialect,
        flow.reading.header.as_deref(),
    )?;
    let count = &context.run.rejects[flow_index];
    let mut work = Work {
        context,
        stream,
        flow,
        unit,
        flow_index,
        gauge,
        rejects: KeptRejects::new(context.event_sink(), &flow.reading, count, None, file),
    };
    work.begin()?;
    let loaded = work.load();
    let told = work.rejects.told();
    let meter = gauge.meter().since(&before);
    let (account, changes) = match loaded {
        Ok(done) => done,
        Err(error) => {
            // Those that led here are the ones to show.
            result.rejects.extend(told);
            context.notice(&Event::UnitAborted {
                flow: flow.reading.name.clone(),
                unit: unit.number,
                bytes: meter.stored_bytes,
            });
            return Err(error);
        }
    };
    context.notice(&Event::UnitCommitted {
        flow: flow.reading.name.clone(),
        unit: unit.number,
        stream: number,
        account,
        stored_bytes: meter.stored_bytes,
    });
    result.loaded.push(Loaded {
        flow: flow_index,
        unit: unit_index,
        is_whole: true,
        is_careful: false,
        account,
        meter,
        changes,
        rejects: told,
    });
    Ok(())
}

/// A unit under way.
struct Work<'a> {
    context: &'a ContractContext<'a>,
    stream: &'a mut dyn UnitStream,
    flow: &'a ContractFlow,
    unit: &'a RangeUnit,
    flow_index: usize,
    gauge: &'a Gauge,
    rejects: KeptRejects<'a>,
}

type Changes = BTreeMap<String, inrush_rows::column_policy::ColumnChanges>;

impl Work<'_> {
    fn begin(&mut self) -> Result<(), Error> {
        let _waiting = self.gauge.enter(Phase::ServerWait);
        Ok(self.stream.begin_unit(self.flow_index, &self.unit.key)?)
    }

    /// All of it, to the commit.
    fn load(&mut self) -> Result<(Account, Changes), Error> {
        let reading = &self.flow.reading;
        let split = &self.unit.split;
        let settings = &self.context.run.plan.settings;
        let chunk_bytes = settings.chunk_bytes as usize;
        let opening = self.gauge.enter(Phase::Read);
        let mut reader = RowReader::open(
            split.clone(),
            &reading.dialect,
            chunk_bytes,
            BufferPool::default(),
        )?;
        drop(opening);
        check_header(reading, split, reader.header())?;
        let mut converter = self.converter(reading)?;
        let mut evidence = SplitEvidence::new(reading);
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut account = Account::default();
        let mut stored_before = 0;
        let mut read = ReadingMeter::new(self.gauge);
        while let Some(mut chunk) = read.next_chunk(&mut reader, &mut records)? {
            self.refuse_stopped()?;
            account.rows_skipped += evidence.see(&mut chunk, &mut records)?;
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + self.context.run.plan.batch_rows);
                let converting = self.gauge.enter(Phase::Convert);
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                drop(converting);
                let rows = batch.num_rows() as u64;
                let misfits = self.write(&batch, &mut converter, &chunk, &records, &mut rejects)?;
                account.rows_loaded += rows - misfits.len() as u64;
                // Sums are of what was taken.
                let mut from = 0;
                for row in misfits.into_iter().chain([batch.num_rows()]) {
                    if row > from {
                        evidence.add(&batch.slice(from, row - from), self.gauge);
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
            let stored_bytes = reader.meter().stored_bytes;
            self.context.progress(
                self.flow_index,
                records.len() as u64,
                stored_bytes - stored_before,
            );
            stored_before = stored_bytes;
            self.rejects
                .note_read(records.len() as u64, chunk.size_bytes());
            reader.recycle(chunk);
            fault::reach(self.context.fault, FaultPoint::InCopy);
        }
        let read = reader.meter();
        self.gauge.add_rows(account.rows_loaded);
        account.rows_read = read.record_count + read.skipped_line_count;
        account.rows_skipped += read.skipped_line_count;
        account.bytes_read = read.text_bytes;
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {}", split.file.path.display()),
                counted: account.rows_loaded + account.rows_rejected + account.rows_skipped,
                sent: account.rows_read,
            });
        }
        reader.close();
        self.commit(&mut evidence, account)?;
        let changes = converter
            .changes()
            .filter(|(_, changes)| changes.total() > 0)
            .map(|(column, changes)| (column.to_owned(), changes));
        Ok((account, changes.collect()))
    }

    /// An error where the run was asked to stop.
    fn refuse_stopped(&self) -> Result<(), Error> {
        match self.context.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    fn converter(&self, reading: &Reading) -> Result<Converter, Error> {
        let converter = Converter::new(&reading.columns, &reading.dialect, reading.field_count);
        let record = self.context.run.open.record();
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

    /// Writes a batch; the rows that the destination has no counterpart for become rejects, in the
    /// order of the file, and come back by their places in the batch.
    fn write(
        &mut self,
        batch: &arrow_array::RecordBatch,
        converter: &mut Converter,
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
            rejects.push(converter.reject_row(
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
    fn pace(&self, batch: &arrow_array::RecordBatch) {
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

    fn commit(&mut self, evidence: &mut SplitEvidence, account: Account) -> Result<(), Error> {
        let detail = self.detail(evidence, account);
        let record = UnitRecord {
            key: self.unit.key.clone(),
            target: self.flow.reading.target.clone(),
            rows_loaded: account.rows_loaded,
            detail: serde_json::to_string(&detail).expect("a record has nothing that JSON lacks"),
        };
        self.rejects.finish()?;
        fault::reach(self.context.fault, FaultPoint::BeforeUnitCommit);
        let waiting = self.gauge.enter(Phase::ServerWait);
        self.stream.commit_unit(&record)?;
        drop(waiting);
        fault::reach(self.context.fault, FaultPoint::UnitCommitSent);
        fault::reach(self.context.fault, FaultPoint::AfterUnitCommit);
        Ok(())
    }

    /// The driver's own note of the unit, for a later run.
    fn detail(&self, evidence: &mut SplitEvidence, account: Account) -> SplitRecord {
        let split = &self.unit.split;
        let record = evidence.record(&self.unit.key, split, account);
        SplitRecord {
            // What a pipe brings has no size before.
            byte_end: record.byte_end.filter(|_| !split.is_whole()),
            ..record
        }
    }
}
