//! What one stream commits with one record: rows on their way from a source, and the record behind them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};
use inrush_destination::{Misfit, UnitRecord, UnitStream};
use inrush_files::Split;
use inrush_rows::ids::UnitKey;
use inrush_rows::reject::RejectCode;
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
use crate::pipeline::reject_files;
use crate::pipeline::results::{Loaded, StreamResult};
use crate::pipeline::row_loop::{self, RowFault, RowLoop, RowWriter, Written};
use crate::pipeline::split_evidence::SplitEvidence;
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
    let Commit { rows, account, .. } = commit;
    let RowLoop {
        rejects,
        changes,
        fed,
        ..
    } = rows;
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
    gauge: &'a Gauge,
    converter: Converter,
    rows: RowLoop<'a>,
    account: Account,
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
        let event_sink = context.event_sink();
        Ok(Commit {
            context,
            stream,
            flow,
            unit,
            gauge,
            converter: converter(context, flow)?,
            rows: RowLoop {
                event_sink,
                flow: reading,
                flow_count: &context.run.flow_counts[flow_index],
                gauge,
                stop: context.stop,
                fault: context.fault,
                batch_rows: context.run.plan.batch_rows,
                evidence: SplitEvidence::new(reading),
                rejects: KeptRejects::new(event_sink, reading, count, None, file),
                fed: SourceMeter::default(),
                changes: BTreeMap::new(),
            },
            account: Account::default(),
        })
    }

    /// What was sent so far.
    pub fn account(&self) -> Account {
        self.account
    }

    /// The feed has cost this much more.
    pub fn note_fed(&mut self, cost: &SourceMeter) {
        self.rows.note_fed(cost);
    }

    /// What the ledger is to know of a split whose rows were sent last.
    pub fn record(&mut self, split: &Split, account: Account) -> SplitRecord {
        self.rows.record(&self.unit.key, split, account)
    }

    /// Sends all rows of a source; their account holds.
    pub fn rows(&mut self, source: &mut impl Chunks) -> Result<Account, Error> {
        let file = self.unit.split.file.path.display().to_string();
        let mut writer = StreamWriter {
            context: self.context,
            stream: self.stream,
            flow: self.flow,
            gauge: self.gauge,
        };
        let sending = self
            .rows
            .send(source, &file, &mut self.converter, &mut writer);
        let account = row_loop::blocking(sending)?;
        self.account.add(&account);
        Ok(account)
    }

    /// Commits the rows with their record.
    fn end(&mut self, key: UnitKey, detail: String) -> Result<(), Error> {
        let record = UnitRecord {
            key,
            target: self.flow.reading.target.clone(),
            rows_loaded: self.account.rows_loaded,
            detail,
        };
        self.rows.rejects.finish()?;
        fault::reach(self.context.fault, FaultPoint::BeforeUnitCommit);
        let waiting = self.gauge.enter(Phase::ServerWait);
        self.stream.commit_unit(&record)?;
        drop(waiting);
        fault::reach(self.context.fault, FaultPoint::UnitCommitSent);
        fault::reach(self.context.fault, FaultPoint::AfterUnitCommit);
        self.rows.note_changes(&self.converter);
        Ok(())
    }
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
