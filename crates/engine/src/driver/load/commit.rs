//! What one stream commits with one record: rows on their way from a source, and the record behind them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};
use inrush_destination::{Misfit, UnitRecord, UnitStream};
use inrush_rows::ids::UnitKey;
use inrush_rows::reject::RejectCode;
use inrush_source::{SourceError, SourceMeter};
use inrush_verdict::Phase;

use super::ContractContext;
use crate::driver::plan::{ContractFlow, RangeUnit};
use crate::driver::unit_detail;
use crate::error::Error;
use crate::fault::{self, FaultPoint};
use crate::gauge::Gauge;
use crate::pace::value_bytes;
use crate::pipeline::gathered::Gathered;
use crate::pipeline::kept_rejects::KeptRejects;
use crate::pipeline::piece_events::{EndedPiece, PieceEvents};
use crate::pipeline::reject_files;
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop::{self, RowFault, RowLoop, RowWriter, Written};
use crate::pipeline::split_evidence::SplitEvidence;
use crate::pipeline::work::{FileWriter, Work};
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

impl<'a> StreamWork<'a> {
    /// Tells of it.
    pub fn events(&self) -> PieceEvents<'a> {
        PieceEvents {
            event_sink: self.context.event_sink(),
            reading: &self.flow.reading,
            flow: self.place.0,
            unit: self.place.1,
            unit_number: self.unit.number,
            stream: self.number,
        }
    }
}

/// Loads work and commits it with one record under this key. Returns how many splits it was, or ranges of a file that is fed.
pub fn load(
    work: &StreamWork<'_>,
    stream: &mut dyn UnitStream,
    key: UnitKey,
    splits: Work<'_>,
    result: &mut StreamResult,
) -> Result<usize, Error> {
    let before = work.gauge.meter();
    let mut rows = row_loop(work, &key)?;
    let waiting = work.gauge.enter(Phase::ServerWait);
    stream.begin_unit(work.place.0, &key)?;
    drop(waiting);
    let filled = fill(work, stream, key, splits, &mut rows);
    let mut ended = EndedPiece::of(rows, work.gauge.meter().since(&before));
    result.meter.add_reading(&ended.fed);
    match filled {
        Ok(gathered) => {
            ended.is_whole = !work.unit.split.is_fed;
            work.events().committed(ended, gathered.account, result);
            Ok(gathered.count())
        }
        Err(error) => {
            // Those that led here are the ones to show.
            result.rejects.extend(ended.rejects.told());
            work.events().aborted(ended.meter.stored_bytes);
            Err(error)
        }
    }
}

/// The row loop of a record.
fn row_loop<'a>(work: &StreamWork<'a>, key: &UnitKey) -> Result<RowLoop<'a>, Error> {
    let StreamWork { context, flow, .. } = *work;
    let (flow_index, _) = work.place;
    let (run, reading) = (context.run, &flow.reading);
    let file = RejectFile::new(
        &run.folder.rejects(),
        &reject_files::of_record(&reading.name, key),
        &reading.dialect,
        reading.header.as_deref(),
    )?;
    let event_sink = context.event_sink();
    let count = &run.rejects[flow_index];
    Ok(RowLoop {
        event_sink,
        flow: reading,
        flow_count: &run.flow_counts[flow_index],
        gauge: work.gauge,
        stop: context.stop,
        fault: context.fault,
        chunk_bytes: run.plan.settings.chunk_bytes as usize,
        batch_rows: run.plan.batch_rows,
        evidence: SplitEvidence::new(reading),
        rejects: KeptRejects::new(event_sink, reading, count, None, file),
        fed: SourceMeter::default(),
        changes: BTreeMap::new(),
    })
}

/// Sends the rows of a record that is begun, and commits them with it.
fn fill(
    work: &StreamWork<'_>,
    stream: &mut dyn UnitStream,
    key: UnitKey,
    mut splits: Work<'_>,
    rows: &mut RowLoop<'_>,
) -> Result<Gathered, Error> {
    let StreamWork {
        context,
        gauge,
        flow,
        unit,
        ..
    } = *work;
    let mut gathered = Gathered::new(&flow.reading, false);
    let mut writer = StreamWriter {
        context,
        stream: &mut *stream,
        flow,
        gauge,
    };
    let all = 0..splits.split_count();
    let copying = rows.copy(&unit.key, &mut splits, all, &mut writer, &mut gathered);
    row_loop::blocking(copying)?;
    let record = UnitRecord {
        key,
        target: flow.reading.target.clone(),
        rows_loaded: gathered.account.rows_loaded,
        detail: unit_detail::of_records(&unit.split, gathered.take_records()),
    };
    rows.rejects.finish()?;
    fault::reach(context.fault, FaultPoint::BeforeUnitCommit);
    let waiting = gauge.enter(Phase::ServerWait);
    stream.commit_unit(&record)?;
    drop(waiting);
    fault::reach(context.fault, FaultPoint::UnitCommitSent);
    fault::reach(context.fault, FaultPoint::AfterUnitCommit);
    Ok(gathered)
}

/// A stream of the contract as the row loop writes to it. It blocks.
struct StreamWriter<'c> {
    context: &'c ContractContext<'c>,
    stream: &'c mut dyn UnitStream,
    flow: &'c ContractFlow,
    gauge: &'c Gauge,
}

impl RowWriter for StreamWriter<'_> {
    async fn write(&mut self, batch: &RecordBatch, _: usize, _: u64) -> Result<Written, Error> {
        self.pace(batch);
        let sending = self.gauge.enter(Phase::SendWait);
        let misfits = self.stream.write(batch)?;
        drop(sending);
        let columns = &self.flow.reading.columns;
        let fault = |misfit: Misfit| RowFault {
            row: misfit.row,
            column: Some(columns[misfit.column].name.clone()),
            code: RejectCode::OutOfRange,
            reason: misfit.reason,
        };
        Ok(Written {
            misfits: misfits.into_iter().map(fault).collect(),
            ..Written::all(batch)
        })
    }
}

impl FileWriter for StreamWriter<'_> {
    fn converter(&self) -> Result<Converter, Error> {
        converter(self.context, self.flow)
    }

    /// A unit has no seams between files.
    async fn begin_file(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn end_file(&mut self) -> Result<(), Error> {
        Ok(())
    }

    async fn wait<T>(
        &self,
        feed: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, Error> {
        self.context.wait_for_feed(feed)
    }
}

impl StreamWriter<'_> {
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
