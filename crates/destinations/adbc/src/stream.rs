//! The connection of one thread to staging, with a transaction for each unit.
//!
//! This module and [`run`](crate::run) depend on each other: a run opens its streams, and a stream belongs to a run.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use inrush_destination::given_numbers::KeptNumbers;
use inrush_destination::{
    Adapted, Error, GivenSteps, LoadMethod, RefusedRow, Result, UnitPart, UnitRecord, UnitStream,
    Written,
};

use crate::adapt::Adapter;
use crate::careful::Trial;
use crate::given;
use crate::ingest::Ingest;
use crate::run::AdbcRun;
use crate::session::AdbcSession;
use crate::staging::Staging;
use crate::steps::{self, UnitStep};

/// A thread's connection, and the unit that it writes.
pub struct Stream<'a> {
    run: &'a AdbcRun,
    // This field comes before the session, because an open ingest must end before its connection does.
    unit: Option<OpenUnit>,
    session: AdbcSession,
    /// The members that the open transaction has written to their references.
    kept: KeptNumbers,
    /// The settings that steps need and this session has.
    set: Vec<String>,
}

/// A unit that is being written.
struct OpenUnit {
    target: usize,
    adapter: Adapter,
    ingest: Option<Ingest>,
    sent: u64,
    /// The rows that the driver counted; `None` if it does not count them.
    counted: Option<u64>,
    /// Rows in staging before the unit; needed only if the driver does not count.
    before: u64,
    /// Finds the rows that the target would refuse, in a careful load.
    trial: Option<Trial>,
    /// Steps that are a part of the ingest. The rows of each ingest are counted before the next one begins.
    steps: Option<GivenSteps>,
}

impl<'a> Stream<'a> {
    /// A stream of a run.
    pub fn new(run: &'a AdbcRun, session: AdbcSession) -> Stream<'a> {
        Stream {
            run,
            unit: None,
            session,
            kept: KeptNumbers::new(),
            set: Vec::new(),
        }
    }

    fn staging(&self, target: usize) -> &'a Staging {
        &self.run.stagings[target]
    }

    /// Sends rows. The first rows begin an ingest.
    fn send(&mut self, batch: RecordBatch) -> Result<()> {
        let unit = self.unit.as_mut().expect("a unit was begun");
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // With steps, the rows that are kept are counted at the end of the ingest.
        if unit.steps.is_none() {
            unit.sent += batch.num_rows() as u64;
        }
        let ingest = match &mut unit.ingest {
            Some(ingest) => ingest,
            none => {
                let staging = &self.run.stagings[unit.target];
                let (interrupt, schema) = (&self.run.interrupt, unit.adapter.schema());
                let session = &mut self.session;
                let begun = match &unit.steps {
                    None => Ingest::begin(session, interrupt, &staging.name, schema)?,
                    Some(steps) => {
                        let insert = |rows: &str| given::insert_statement(staging, steps, rows);
                        Ingest::begin_by(session, interrupt, &insert, schema)?
                    }
                };
                none.insert(begun)
            }
        };
        ingest.push(&self.session, batch)
    }

    /// Sends rows before the steps of the unit.
    fn send_to_steps(&mut self, adapted: Adapted) -> Result<Written> {
        if let Some(misfit) = adapted.misfits.first() {
            return Err(Error::StepsFailed {
                doing: "cannot send a row to the steps".to_owned(),
                message: format!("a value {}", misfit.reason),
            });
        }
        self.send(adapted.batch).map_err(given::failed)?;
        Ok(Written::default())
    }

    /// Sends the rows that the target accepts, and returns the indices of the others.
    fn send_carefully(&mut self, batch: &RecordBatch) -> Result<Vec<RefusedRow>> {
        let unit = self.unit.as_mut().expect("a unit was begun");
        let trial = unit.trial.as_ref().expect("the unit is loaded carefully");
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let staging = &self.run.stagings[unit.target];
        let refused = trial.write(&mut self.session, &self.run.interrupt, staging, batch)?;
        unit.sent += (batch.num_rows() - refused.len()) as u64;
        Ok(refused)
    }

    /// Performs a step. `record` is the record of the unit, which exists only at the end of its transaction.
    fn perform(&mut self, step: UnitStep, record: Option<&UnitRecord>) -> Result<()> {
        let (shared, run) = (&self.run.shared, &self.run.record);
        let (ledger, session) = (&shared.ledger, &mut self.session);
        match step {
            UnitStep::Begin => session.begin(),
            UnitStep::HoldFence => ledger.fence(session, run),
            UnitStep::NumberMembers => self.run.members.begin_unit(session),
            UnitStep::KeepMembers => {
                self.kept = self.run.members.keep(session)?;
                Ok(())
            }
            UnitStep::RecordUnit => {
                let record = record.expect("a transaction ends with its record");
                ledger.enter_unit(session, run.run_id, record)
            }
            UnitStep::Commit => session.commit("cannot commit a unit"),
        }
    }

    /// Ends the open ingest.
    fn finish(&mut self) -> Result<()> {
        let unit = self.unit.as_mut().expect("a unit was begun");
        if let Some(ingest) = unit.ingest.take() {
            unit.counted = match self.run.shared.quirks.ingest_counts {
                true => ingest.finish(&self.session)?,
                false => ingest.finish(&self.session).map(|_| None)?,
            };
        }
        Ok(())
    }

    /// The number of the unit's rows, counted by the database. Fails if it is not the number that was sent.
    fn counted(&mut self) -> Result<u64> {
        let unit = self.unit.as_ref().expect("a unit was begun");
        let (target, before, sent) = (unit.target, unit.before, unit.sent);
        let counted = match unit.counted {
            Some(counted) => counted,
            None => self
                .staging(target)
                .count(&mut self.session)?
                .saturating_sub(before),
        };
        if counted != sent {
            return Err(Error::Refused {
                doing: format!("cannot add rows to {}", self.staging(target).plan.name.sql),
                message: format!("{sent} rows were sent, but the database counts {counted}"),
                hint: Some(
                    "check whether a trigger or rule of the database changes rows that are added to staging tables"
                        .to_owned(),
                ),
            });
        }
        Ok(counted)
    }
}

fn unconverted(product: &str, error: &ArrowError) -> Error {
    Error::Refused {
        doing: format!("cannot convert rows for {product}"),
        message: error.to_string(),
        hint: None,
    }
}

impl UnitStream for Stream<'_> {
    /// All units of a target share its staging table.
    fn begin(&mut self, unit: &UnitPart<'_>, method: LoadMethod) -> Result<()> {
        let target = unit.target;
        assert!(
            self.unit.is_none(),
            "a unit is ended before the next one begins"
        );
        let shared = &self.run.shared;
        let staging = self.staging(target);
        for step in steps::unit_begin(!self.run.members.is_empty()) {
            self.perform(step, None)?;
        }
        let ways = staging.carried.iter().map(|carried| carried.way).collect();
        let adapter = Adapter::new(&staging.plan.columns, ways, shared.product);
        let trial = match method {
            LoadMethod::Quick => None,
            LoadMethod::Careful => {
                let (quirks, fields) = (shared.quirks, adapter.schema());
                Some(Trial::begin(&mut self.session, quirks, staging, fields)?)
            }
        };
        let is_counted = shared.quirks.ingest_counts && trial.is_none();
        let before = match is_counted {
            true => 0,
            false => staging.count(&mut self.session)?,
        };
        self.unit = Some(OpenUnit {
            target,
            adapter,
            ingest: None,
            sent: 0,
            counted: is_counted.then_some(0),
            before,
            trial,
            steps: None,
        });
        Ok(())
    }

    fn take_steps(&mut self, steps: &GivenSteps) -> Result<()> {
        let shared = &self.run.shared;
        let unit = self.unit.as_mut().expect("a unit was begun");
        unit.adapter = given::adapter(shared.quirks, shared.product, steps)
            .expect("the plan asked whether the columns can be sent");
        unit.steps = Some(steps.clone());
        if self.set != steps.session {
            for statement in &steps.session {
                let doing = "cannot set a session up for the steps";
                self.session.run(doing, statement).map_err(given::failed)?;
            }
            self.set.clone_from(&steps.session);
        }
        Ok(())
    }

    fn end_steps(&mut self) -> Result<u64> {
        let unit = self.unit.as_mut().expect("a unit was begun");
        let before = unit.counted.unwrap_or(0);
        let Some(ingest) = unit.ingest.take() else {
            return Ok(0);
        };
        let added = ingest.finish(&self.session).map_err(given::failed)?;
        let added = added.ok_or_else(|| Error::Unverified {
            what: "DuckDB does not say how many rows it has added".to_owned(),
            hint: "use the version of DuckDB that Inrush is installed with: pip install -U inrush"
                .to_owned(),
        })?;
        unit.counted = Some(before + added);
        unit.sent += added;
        Ok(added)
    }

    fn write(&mut self, batch: &RecordBatch, _: u64) -> Result<Written> {
        let unit = self.unit.as_ref().expect("a unit was begun");
        let adapted = unit.adapter.adapt(batch);
        let adapted = adapted.map_err(|error| unconverted(self.run.shared.product, &error))?;
        if unit.steps.is_some() {
            return self.send_to_steps(adapted);
        }
        let Adapted {
            batch: fits,
            misfits,
        } = adapted;
        if unit.trial.is_none() {
            self.send(fits)?;
            return Ok(Written {
                misfits,
                ..Written::default()
            });
        }
        let mut refused = self.send_carefully(&fits)?;
        if !misfits.is_empty() && !refused.is_empty() {
            let left_out: BTreeSet<usize> = misfits.iter().map(|misfit| misfit.row).collect();
            let sent = (0..batch.num_rows()).filter(|row| !left_out.contains(row));
            let sent: Vec<usize> = sent.collect();
            for refused in &mut refused {
                refused.row = sent[refused.row];
            }
        }
        Ok(Written {
            misfits,
            refused,
            rest: None,
        })
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        self.finish()?;
        let unit = self.unit.as_mut().expect("a unit was begun");
        if let Some(trial) = unit.trial.take() {
            trial.end(&mut self.session)?;
        }
        let counted = self.counted()?;
        if counted != record.rows_loaded {
            return Err(Error::Count {
                what: format!("the staged rows of {}", record.target),
                counted,
                sent: record.rows_loaded,
            });
        }
        let members = &self.run.members;
        for step in steps::unit_end(self.run.shared.quirks, !members.is_empty()) {
            self.perform(step, Some(record))?;
        }
        members.committed(&std::mem::take(&mut self.kept));
        members.end_unit();
        self.unit = None;
        Ok(counted)
    }

    fn abort(&mut self) -> Result<()> {
        // Dropping an open ingest discards its rows.
        self.unit = None;
        self.kept.clear();
        self.run.members.end_unit();
        self.session.rollback()
    }
}
