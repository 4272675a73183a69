//! A stream of the contract as the loader uses it. Each transaction writes one record to the destination's ledger: for
//! a whole unit or, if several streams fill it, for one of its splits, or for the ranges that this stream took of a fed
//! split.

use std::cell::RefCell;

use arrow_array::RecordBatch;
use inrush_destination::{LoadMethod, UnitPart, UnitRecord, UnitStream, Written};
use inrush_rows::ids::UnitKey;
use inrush_rows::pace::value_bytes;
use inrush_verdict::Phase;

use super::{ContractContext, members};
use crate::driver::plan::{ContractFlow, RangeUnit};
use crate::error::Error;
use crate::fault::{self, FaultPoint};
use crate::gauge::Gauge;
use crate::ledger::unit_detail;
use crate::load::{Part, Transactions, UnitTransaction};
use crate::pipeline::gathered::Gathered;
use crate::pipeline::reject_files;
use crate::pipeline::row_loop::{RowLoop, RowWriter};
use crate::pipeline::work::{FileWriter, Work};
use crate::plan::{PlannedUnit, UnitPlace};

/// A stream and its connection to the destination, whose calls block. Its futures are pending only while they wait for a
/// feed, or for other streams.
pub struct ContractStream<'a> {
    /// The context that all streams of the run share.
    pub context: &'a ContractContext<'a>,
    /// The stream's gauge.
    pub gauge: &'a Gauge,
    /// The destination's side.
    pub stream: RefCell<&'a mut dyn UnitStream>,
}

impl ContractStream<'_> {
    /// Tells the meter the session of the stream on the destination's server.
    pub fn note_session(&self) {
        if let Some(session) = self.stream.borrow().session_number() {
            self.gauge.served_by(session, None);
        }
    }

    /// The key of the record that commits a part of a unit.
    fn record_key(&self, (flow, unit): UnitPlace, part: Part) -> UnitKey {
        self.context.run.plan.flows[flow].units[unit].record_key(part)
    }
}

impl<'a> Transactions for ContractStream<'a> {
    type Flow = ContractFlow;
    type Transaction<'t>
        = RecordTransaction<'t, 'a>
    where
        Self: 't;

    fn gauge(&self) -> &Gauge {
        self.gauge
    }

    fn transaction<'t>(
        &'t self,
        place: UnitPlace,
        part: Part,
        method: LoadMethod,
    ) -> RecordTransaction<'t, 'a> {
        let flow = &self.context.run.plan.flows[place.0];
        RecordTransaction {
            target: self,
            place,
            flow,
            unit: &flow.units[place.1],
            part,
            key: self.record_key(place, part),
            method,
            is_open: false,
        }
    }

    fn reject_file_name(&self, place: UnitPlace, part: Part) -> String {
        let flow = &self.context.run.plan.flows[place.0];
        reject_files::of_record(&flow.reading.name, &self.record_key(place, part))
    }

    async fn finish_shared(&self, place: UnitPlace) -> Result<(), Error> {
        let unit = &self.context.run.plan.flows[place.0].units[place.1];
        let waiting = self.gauge.enter(Phase::ServerWait);
        let finished = self.stream.borrow_mut().finish(place.0, &unit.key);
        if finished.is_err() {
            // The first error is reported; an error of the rollback adds nothing to it.
            let _ = self.stream.borrow_mut().abort();
        }
        finished.map_err(not_of_rows)?;
        drop(waiting);
        self.context.run.finished(place);
        Ok(())
    }
}

/// An error of a finished unit, which cannot be loaded again while other streams load units of its target.
fn not_of_rows(error: inrush_destination::Error) -> inrush_destination::Error {
    match error {
        inrush_destination::Error::RowsRefused {
            doing,
            message,
            hint,
            ..
        } => inrush_destination::Error::Refused {
            doing,
            message,
            hint,
        },
        other => other,
    }
}

/// The rows that one record commits.
pub struct RecordTransaction<'t, 'a> {
    target: &'t ContractStream<'a>,
    place: UnitPlace,
    flow: &'t ContractFlow,
    unit: &'t RangeUnit,
    part: Part,
    key: UnitKey,
    method: LoadMethod,
    /// It was begun, and is neither committed nor rolled back.
    is_open: bool,
}

impl RecordTransaction<'_, '_> {
    fn abort(&mut self) -> Result<(), inrush_destination::Error> {
        self.is_open = false;
        self.target.stream.borrow_mut().abort()
    }
}

/// A run that ends by an error, or by a panic, leaves no transaction open: its locks would last as long as its stream.
impl Drop for RecordTransaction<'_, '_> {
    fn drop(&mut self) {
        // A call that has panicked may not have given the stream back.
        if self.is_open && self.target.stream.try_borrow_mut().is_ok() {
            // The error that ended the transaction says more.
            let _ = self.abort();
        }
    }
}

impl UnitTransaction for RecordTransaction<'_, '_> {
    async fn perform(
        &mut self,
        rows: &mut RowLoop<'_>,
        mut work: Work<'_>,
    ) -> Result<Gathered, Error> {
        let RecordTransaction {
            target,
            flow,
            unit,
            key,
            ..
        } = self;
        let (context, gauge, stream) = (target.context, target.gauge, &target.stream);
        let waiting = gauge.enter(Phase::ServerWait);
        let part = UnitPart {
            target: self.place.0,
            record_key: key,
            unit_key: &unit.key,
            publishes_into: &unit.publishes_into,
        };
        self.is_open = true;
        stream.borrow_mut().begin(&part, self.method)?;
        // A stream that was rolled back may have another session.
        target.note_session();
        drop(waiting);
        let mut gathered = Gathered::new(&flow.reading, false);
        let splits = 0..work.split_count();
        let mut writer = StreamWriter {
            target,
            method: self.method,
        };
        rows.copy(&unit.key, &mut work, splits, &mut writer, &mut gathered)
            .await?;
        let records = gathered.take_records();
        let detail = match (self.part, self.method) {
            (Part::Ranges { .. }, _) => unit_detail::of_ranges(records),
            (Part::Split(number), _) => {
                unit_detail::of_splits(&unit.splits[number - 1..number], records)
            }
            // A careful load reads a fed file from its beginning to its end.
            (Part::Whole, LoadMethod::Careful) => {
                unit_detail::of_splits(&unit.whole_splits(&*flow.reading.source), records)
            }
            (Part::Whole, LoadMethod::Quick) => unit_detail::of_splits(&unit.splits, records),
        };
        let record = UnitRecord {
            key: key.clone(),
            target: flow.reading.target.clone(),
            rows_loaded: gathered.account.rows_loaded,
            detail,
        };
        rows.rejects.finish()?;
        fault::reach(context.fault, FaultPoint::BeforeUnitCommit);
        let waiting = gauge.enter(Phase::ServerWait);
        stream.borrow_mut().commit(&record)?;
        self.is_open = false;
        drop(waiting);
        if self.part == Part::Whole {
            context.run.finished(self.place);
        }
        fault::reach(context.fault, FaultPoint::UnitCommitSent);
        Ok(gathered)
    }

    async fn roll_back(&mut self) -> Result<(), Error> {
        let aborted = self.abort();
        members::forget(&self.target.context.run.plan.flows);
        Ok(aborted?)
    }
}

/// Writes batches into the open unit.
struct StreamWriter<'t, 'a> {
    target: &'t ContractStream<'a>,
    method: LoadMethod,
}

impl RowWriter for StreamWriter<'_, '_> {
    async fn write(&mut self, batch: &RecordBatch, _: u64) -> Result<Written, Error> {
        self.pace(batch);
        let sending = self.target.gauge.enter(Phase::SendWait);
        let written = self.target.stream.borrow_mut().write(batch)?;
        drop(sending);
        if self.method == LoadMethod::Careful {
            fault::reach(self.target.context.fault, FaultPoint::InCarefulCopy);
        }
        Ok(written)
    }
}

impl FileWriter for StreamWriter<'_, '_> {
    /// The rows of a unit's files follow each other.
    async fn begin_file(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn end_file(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl StreamWriter<'_, '_> {
    /// Waits until a batch may be written. The rate limit counts the bytes of its Arrow columns.
    fn pace(&self, batch: &RecordBatch) {
        let ContractContext {
            pace,
            runtime,
            stop,
            ..
        } = self.target.context;
        if pace.is_limited() {
            let _paced = self.target.gauge.enter(Phase::PaceWait);
            runtime.block_on(pace.pass(value_bytes(batch) as usize, stop));
        }
    }
}
