//! A transaction of a unit. It writes one record to the destination's ledger. The record is for the whole unit. If several
//! streams fill the unit, the record is for one split, or for the ranges of a fed split that this stream took. A
//! destination that keeps a record of each split gets those records, too.

use inrush_destination::{LoadMethod, UnitPart, UnitRecord, WrittenSplits};
use inrush_fault::{self as fault, FaultPoint};
use inrush_plan::UnitPlace;
use inrush_plan::ledger::{SplitRecord, unit_detail};
use inrush_plan::units::part::Part;
use inrush_rows::ids::UnitKey;
use inrush_verdict::Phase;

use super::stream::LoadStream;
use crate::error::Error;
use crate::pipeline::gathered::Gathered;
use crate::pipeline::row_loop::RowLoop;
use crate::pipeline::unit_writer::UnitWriter;
use crate::pipeline::work::Work;

/// A transaction of a unit. It is rolled back if it is dropped before its end.
pub struct UnitTransaction<'t, 'a> {
    target: &'t LoadStream<'a>,
    place: UnitPlace,
    part: Part,
    key: UnitKey,
    method: LoadMethod,
    /// True once the transaction has begun, until it is committed or rolled back.
    is_open: bool,
}

impl<'t, 'a> UnitTransaction<'t, 'a> {
    /// A transaction that has not begun.
    pub fn new(
        target: &'t LoadStream<'a>,
        place: UnitPlace,
        part: Part,
        method: LoadMethod,
    ) -> UnitTransaction<'t, 'a> {
        UnitTransaction {
            target,
            place,
            part,
            key: target.context.run.record_key(place, part),
            method,
            is_open: false,
        }
    }

    /// Begins the transaction, writes the rows of `work` by the row loop, and commits them with their records in the
    /// ledger. Returns the facts about the committed rows.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "a stream has one transaction at a time, and nobody else asks it meanwhile"
    )]
    pub async fn perform(
        &mut self,
        rows: &mut RowLoop<'_>,
        mut work: Work<'_>,
    ) -> Result<Gathered, Error> {
        let UnitTransaction {
            target,
            place,
            method,
            ..
        } = *self;
        let (context, gauge) = (target.context, target.gauge);
        let (flow, unit) = context.run.unit(place);
        let split_count = work.split_count();
        let waiting = gauge.enter(Phase::ServerWait);
        let part = UnitPart {
            target: place.0,
            unit: place.1,
            record_key: &self.key,
            unit_key: &unit.key,
            publishes_into: &unit.publishes_into,
            splits: split_count,
        };
        self.is_open = true;
        target.stream.borrow_mut().begin(&part, method)?;
        if let Some(given) = rows.given {
            target.stream.borrow_mut().take_steps(&given.steps)?;
        }
        // A stream that was rolled back may have another session.
        target.note_session();
        drop(waiting);
        let mut gathered = Gathered::new(&flow.reading, unit.is_verified);
        let mut stream = target.stream.borrow_mut();
        let kept_at_once = stream.keeps_splits();
        let mut writer = UnitWriter {
            stream: &mut **stream,
            method,
            gauge,
            runtime: context.runtime,
            pace: context.pace,
            stop: context.stop,
            fault: context.fault,
        };
        let mut start = 0;
        while start < split_count {
            let end = split_count.min(start.saturating_add(kept_at_once.unwrap_or(usize::MAX)));
            rows.copy(&unit.key, &mut work, start..end, &mut writer, &mut gathered)
                .await?;
            if kept_at_once.is_some() {
                writer.record(WrittenSplits {
                    records: gathered.take_records(),
                    rows: gathered.account.rows_loaded,
                    sums: gathered.sums(),
                })?;
            }
            start = end;
        }
        let record = UnitRecord {
            key: self.key.clone(),
            target: flow.reading.target.clone(),
            rows_loaded: gathered.account.rows_loaded,
            detail: match kept_at_once {
                Some(_) => String::new(),
                None => self.detail(gathered.take_records()),
            },
        };
        rows.rejects.finish()?;
        if !flow.commits_at_publish() {
            fault::reach(context.fault, FaultPoint::BeforeUnitCommit);
        }
        let waiting = gauge.enter(Phase::ServerWait);
        stream.commit(&record)?;
        self.is_open = false;
        drop(waiting);
        if self.part == Part::Whole {
            context.run.note_finished(place);
        }
        if !flow.commits_at_publish() {
            fault::reach(context.fault, FaultPoint::UnitCommitSent);
        }
        Ok(gathered)
    }

    /// The records of splits as one text. A ledger that does not keep these records stores the text in the record of the
    /// transaction.
    fn detail(&self, records: Vec<SplitRecord>) -> String {
        let (flow, unit) = self.target.context.run.unit(self.place);
        let splits = &unit.splits;
        match (self.part, self.method) {
            (Part::Ranges { .. }, _) => unit_detail::of_ranges(records),
            (Part::Split(number), _) => {
                unit_detail::of_splits(&splits[number - 1..number], records)
            }
            // A careful load reads a fed file from its beginning to its end.
            (Part::Whole, LoadMethod::Careful) => {
                unit_detail::of_splits(&unit.whole_splits(&*flow.reading.source), records)
            }
            (Part::Whole, LoadMethod::Quick) => unit_detail::of_splits(splits, records),
        }
    }

    /// Rolls it back and waits until that is done.
    pub fn roll_back(&mut self) -> Result<(), Error> {
        self.is_open = false;
        let aborted = self.target.stream.borrow_mut().abort();
        self.target.context.run.rolled_back();
        Ok(aborted?)
    }
}

/// A run that ends by an error, or by a panic, leaves no transaction open: its locks would last as long as its stream.
impl Drop for UnitTransaction<'_, '_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        // It is borrowed only while rows are written, and that has ended.
        if let Ok(mut stream) = self.target.stream.try_borrow_mut() {
            stream.give_up();
        }
    }
}
