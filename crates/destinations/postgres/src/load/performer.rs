//! Performs the steps of a unit's transactions, as [`unit_steps`](crate::plan::unit_steps) lists them. A
//! [`Piece`](super::piece::Piece) performs the steps that send rows.

use inrush_destination::sums::ExactSum;
use inrush_plan::verify::VerifyError;
use inrush_verdict::Phase;

use super::prepared::PostgresRun;
use super::ready::{check_keys, record};
use super::{one_transaction, verifying};
use crate::Session;
use crate::load_error::LoadError;
use crate::plan::unit_steps::Step;
use crate::plan::{FlowPlan, UnitPlan};
use crate::transaction::Transaction;
use crate::unit_transaction::{self, UnitMeasure};

/// The transaction of a unit. It is rolled back if it is dropped before its last step.
pub struct Performer<'a> {
    run: &'a PostgresRun,
    session: Session,
    flow_index: usize,
    flow: &'a FlowPlan,
    unit: UnitPlan<'a>,
    is_careful: bool,
    doing: String,
    transaction: Option<Transaction>,
    /// Rows that were sent.
    rows_sent: u64,
    /// Their sums; `None` if a split has none.
    sums_sent: Option<Vec<ExactSum>>,
    measured: Option<UnitMeasure>,
    /// True if the CHECK of the keys exists.
    is_checked: bool,
}

impl<'a> Performer<'a> {
    /// A performer that has done no step yet. `doing` describes the transaction, for errors.
    pub fn new(
        run: &'a PostgresRun,
        session: &Session,
        (flow_index, unit_index): (usize, usize),
        is_careful: bool,
        doing: String,
    ) -> Performer<'a> {
        let (flow, unit) = run.unit_plan((flow_index, unit_index));
        Performer {
            run,
            session: session.clone(),
            flow_index,
            flow,
            unit,
            is_careful,
            doing,
            transaction: None,
            rows_sent: 0,
            sums_sent: None,
            measured: None,
            is_checked: false,
        }
    }

    /// Sets the number of rows sent and their sums, which are compared with the server's.
    pub fn sent(&mut self, rows: u64, sums: Option<Vec<ExactSum>>) {
        self.rows_sent = rows;
        self.sums_sent = sums;
    }

    /// Rolls the transaction back, if one is open, and waits until that is done.
    pub async fn roll_back(&mut self) -> Result<(), LoadError> {
        if let Some(transaction) = self.transaction.take() {
            transaction.roll_back(&self.doing).await?;
        }
        Ok(())
    }

    /// Performs steps one after the other.
    pub async fn perform_all(&mut self, steps: &[Step<'_>]) -> Result<(), LoadError> {
        for step in steps {
            self.perform(step).await?;
        }
        Ok(())
    }

    /// Performs a step.
    pub async fn perform(&mut self, step: &Step<'_>) -> Result<(), LoadError> {
        let Performer { run, unit, .. } = *self;
        let session = &self.session.clone();
        let _waiting = session.meter.enter(Phase::ServerWait);
        match step {
            Step::Begin => {
                self.transaction = Some(Transaction::begin(session, &self.doing).await?);
            }
            Step::BeginPart => {
                let part = Transaction::part(session, one_transaction::PART, &self.doing);
                self.transaction = Some(part.await?);
            }
            Step::HoldFence => run.ledger.hold_fence(session, &run.fence).await?,
            Step::Run(statements) => session.execute(statements, &self.doing).await?,
            Step::Measure => {
                let measured = unit_transaction::measure(session, &unit.statements.measure).await?;
                self.measured(measured, false)?;
            }
            Step::Verify => {
                let sums = self.sums_sent.as_deref();
                verifying::check(session, &run.plan, self.flow, unit, sums).await?;
            }
            Step::CheckKeys => {
                if let (Some(measured), false) = (&self.measured, self.is_checked) {
                    check_keys(session, &run.plan, self.flow, unit, measured).await?;
                }
            }
            Step::ForgetSplits => {
                let ledger = &run.ledger;
                ledger.forget_splits(session, &run.fence, &unit.key).await?;
            }
            Step::HoldTarget => self.refuse_other_target().await?,
            Step::CheckConstraints => {
                one_transaction::check_at_once(&run.plan, session, self.flow_index).await?;
            }
            Step::RecordUnit { is_finished } => self.record_unit(*is_finished).await?,
            Step::Commit | Step::EndPart => {
                if let Some(transaction) = self.transaction.take() {
                    transaction.commit(&self.doing).await?;
                }
            }
            Step::ExpectKeys
            | Step::OpenServerCopy
            | Step::Copy(_)
            | Step::TakeCounts
            | Step::RecordSplits(_) => {
                unreachable!("a piece performs the steps that send rows")
            }
        }
        Ok(())
    }

    /// Takes the server's count of the rows. Fails if it is not the number of rows sent. `is_checked` is true if the
    /// CHECK of the keys exists already.
    pub fn measured(&mut self, measured: UnitMeasure, is_checked: bool) -> Result<(), LoadError> {
        if measured.rows != self.rows_sent {
            return Err(LoadError::Count {
                what: format!(
                    "staging table of unit {} of {}",
                    self.unit.number,
                    self.flow.target()
                ),
                counted: measured.rows,
                sent: self.rows_sent,
            });
        }
        self.measured = Some(measured);
        self.is_checked = is_checked;
        Ok(())
    }

    async fn record_unit(&self, is_finished: bool) -> Result<(), LoadError> {
        let run = self.run;
        let as_sent = || UnitMeasure::as_sent(self.rows_sent);
        let measured = is_finished.then(|| self.measured.clone().unwrap_or_else(as_sent));
        let mut record = record(
            &run.plan,
            self.flow,
            self.unit,
            measured.as_ref(),
            is_finished,
        );
        record.careful = self.is_careful;
        let ledger = &run.ledger;
        Ok(ledger
            .record_unit(&self.session, &run.fence, &record)
            .await?)
    }

    /// Fails if the rows that were written directly to a target are not all in the same table: the target was renamed or
    /// dropped meanwhile, and another table has its name now. COPY has locked the table, so it cannot be replaced before
    /// COMMIT.
    async fn refuse_other_target(&self) -> Result<(), LoadError> {
        let run = self.run;
        let stands = run
            .ledger
            .stands(&self.session, &run.fence, &self.unit.key)
            .await?;
        match stands {
            true => Ok(()),
            false => Err(VerifyError::TargetReplaced {
                target: self.flow.target(),
            }
            .into()),
        }
    }
}
