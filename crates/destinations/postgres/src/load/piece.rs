//! A piece of work in one transaction: the plan's steps, from BEGIN through the rows to the ledger and COMMIT.

use std::collections::VecDeque;

use inrush_destination::{LoadMethod, SplitRecord, WrittenSplits};
use inrush_fault::{self as fault, FaultPoint};
use inrush_plan::UnitPlace;
use inrush_verdict::Phase;

use super::performer::Performer;
use super::prepared::PostgresRun;
use super::rows::{CopyRows, Note};
use crate::ledger::LedgerError;
use crate::load_error::LoadError;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::{self, Step};
use crate::{Session, unit_transaction};

/// A piece of work in progress. Its COPY is dropped before its transaction, because the COPY must end first.
pub struct Piece<'a> {
    place: UnitPlace,
    table: CopyRows<'a>,
    performer: Performer<'a>,
    /// The steps that are left.
    steps: VecDeque<Step<'a>>,
    /// The records of splits that the ledger does not have yet.
    records: Vec<SplitRecord>,
}

impl<'a> Piece<'a> {
    /// No step is done yet. `splits` is the number of splits that it loads.
    pub fn new(
        run: &'a PostgresRun,
        note: Note<'a>,
        session: &Session,
        additions: Additions,
        place: UnitPlace,
        method: LoadMethod,
        splits: usize,
    ) -> Piece<'a> {
        let (flow, unit) = run.unit_plan(place);
        let doing = format!("loading {}", flow.target());
        let is_careful = method == LoadMethod::Careful;
        if is_careful {
            run.stored_ways.loaded_again(place);
        }
        let table = CopyRows::new(run, note, session.clone(), (flow, unit), method, additions);
        Piece {
            place,
            steps: steps(&table, splits).into(),
            table,
            performer: Performer::new(run, session, place, is_careful, doing),
            records: Vec::new(),
        }
    }

    /// The index of its target.
    pub fn target(&self) -> usize {
        self.place.0
    }

    /// Writes its rows.
    pub fn rows(&mut self) -> &mut CopyRows<'a> {
        &mut self.table
    }

    /// Performs the steps before the first row.
    pub async fn begin(&mut self) -> Result<(), LoadError> {
        while let Some(step) = self.steps.pop_front_if(|step| is_before_rows(step)) {
            self.perform(&step).await?;
        }
        Ok(())
    }

    /// Begins the rows of a split. `name` is the name of its input.
    pub async fn begin_split(&mut self, name: &str) -> Result<(), LoadError> {
        if self.steps.pop_front_if(|step| is_copy(step)).is_some() {
            let ways = &self.table.run.stored_ways;
            ways.begin(self.place, &self.table.flow.server_copy);
        }
        self.table.begin_split(name).await
    }

    /// Takes the records of the splits whose rows are written. If other splits follow, these records are written to the
    /// ledger now.
    pub async fn record(&mut self, written: WrittenSplits) -> Result<(), LoadError> {
        self.performer.sent(written.rows, written.sums);
        self.records = written.records;
        if !self.steps.iter().any(is_copy) {
            return Ok(());
        }
        while let Some(step) = self.steps.pop_front_if(|step| !is_copy(step)) {
            self.perform(&step).await?;
        }
        Ok(())
    }

    /// Performs the steps that are left.
    pub async fn commit(&mut self) -> Result<(), LoadError> {
        while let Some(step) = self.steps.pop_front() {
            self.perform(&step).await?;
        }
        Ok(())
    }

    /// Gives up its COPY, and rolls back its transaction.
    pub async fn roll_back(&mut self) -> Result<(), LoadError> {
        self.table.give_up();
        self.performer.roll_back().await
    }

    async fn perform(&mut self, step: &Step<'_>) -> Result<(), LoadError> {
        let Piece {
            place,
            table,
            performer,
            ..
        } = self;
        match step {
            Step::ExpectKeys => table.expect_keys().await?,
            Step::OpenServerCopy => table.open_server_copy(*place).await?,
            Step::TakeCounts => table.take_counts(performer).await?,
            Step::RecordSplits(_) => {
                let records = std::mem::take(&mut self.records);
                record(table.run, &table.session, records).await?;
            }
            Step::Commit => {
                if fault::wished(table.run.fault.as_deref(), FaultPoint::UnitCommitSent) {
                    let die = || fault::die(FaultPoint::UnitCommitSent);
                    unit_transaction::send_commit_and(&table.session, die).await;
                }
                performer.perform(step).await?;
            }
            other => performer.perform(other).await?,
        }
        Ok(())
    }
}

fn is_copy(step: &Step<'_>) -> bool {
    matches!(step, Step::Copy(_))
}

/// True for the steps before the first row. They are also performed if there are no rows.
fn is_before_rows(step: &Step<'_>) -> bool {
    matches!(
        step,
        Step::Begin
            | Step::BeginPart
            | Step::HoldFence
            | Step::ForgetSplits
            | Step::Run(_)
            | Step::CheckConstraints
            | Step::ExpectKeys
            | Step::OpenServerCopy
    )
}

/// The steps of a piece's transaction, as the plan has them.
fn steps<'a>(table: &CopyRows<'a>, splits: usize) -> Vec<Step<'a>> {
    let (plan, flow, unit) = (&table.run.plan, table.flow, table.unit);
    match table.method {
        LoadMethod::Careful => unit_steps::careful(plan, flow, unit, splits, &table.additions),
        LoadMethod::Quick if flow.commits_at_publish() => unit_steps::part(plan, flow, splits),
        LoadMethod::Quick if flow.commits_each_split() => unit_steps::straight(plan, flow),
        LoadMethod::Quick if unit.is_shared => unit_steps::shared_split(plan, flow, unit),
        LoadMethod::Quick => unit_steps::private(plan, flow, unit, splits),
    }
}

/// Writes records of splits to the ledger. Called only when no COPY is open.
async fn record(
    run: &PostgresRun,
    session: &Session,
    records: Vec<SplitRecord>,
) -> Result<(), LedgerError> {
    let _waiting = session.meter.enter(Phase::ServerWait);
    for record in records {
        run.ledger
            .record_split(session, &run.fence, &record)
            .await?;
    }
    Ok(())
}
