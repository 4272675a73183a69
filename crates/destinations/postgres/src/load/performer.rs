//! Performs the steps of a unit's transactions, as [`unit_steps`](crate::plan::unit_steps) lists them. Steps that send
//! rows are a [`Piece`](super::piece::Piece)'s.

use inrush_verdict::Phase;

use super::prepared::PostgresRun;
use super::ready::{check_keys, record};
use super::{one_transaction, verifying};
use crate::Session;
use crate::engine::error::Error;
use crate::engine::verify::{ExactSum, VerifyError};
use crate::plan::unit_steps::Step;
use crate::plan::{FlowPlan, UnitPlan};
use crate::transaction::Transaction;
use crate::unit_transaction::{self, UnitMeasure};

/// The transaction of a unit under way. Dropped before its last step, it is rolled back.
pub struct Performer<'a> {
    run: &'a PostgresRun,
    session: &'a Session,
    flow_index: usize,
    flow: &'a FlowPlan,
    unit: &'a UnitPlan,
    is_careful: bool,
    doing: String,
    transaction: Option<Transaction<'a>>,
    /// Rows that were sent.
    rows_sent: u64,
    /// Their sums; none where a file range has none.
    sums_sent: Option<Vec<ExactSum>>,
    measured: Option<UnitMeasure>,
    /// The CHECK of the keys stands.
    is_checked: bool,
}

impl<'a> Performer<'a> {
    /// Nothing is begun yet. `doing` says what it is for, in errors.
    pub fn new(
        run: &'a PostgresRun,
        session: &'a Session,
        (flow_index, unit_index): (usize, usize),
        is_careful: bool,
        doing: String,
    ) -> Performer<'a> {
        let (flow, unit) = run.unit(flow_index, unit_index);
        Performer {
            run,
            session,
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

    /// Says what was sent, which the server's count and sums are held against.
    pub fn sent(&mut self, rows: u64, sums: Option<Vec<ExactSum>>) {
        self.rows_sent = rows;
        self.sums_sent = sums;
    }

    /// Undoes the transaction, where one is begun, and waits until that is done.
    pub async fn roll_back(&mut self) -> Result<(), Error> {
        if let Some(transaction) = self.transaction.take() {
            transaction.roll_back(&self.doing).await?;
        }
        Ok(())
    }

    /// Performs steps one after the other.
    pub async fn perform_all(&mut self, steps: &[Step<'_>]) -> Result<(), Error> {
        for step in steps {
            self.perform(step).await?;
        }
        Ok(())
    }

    /// Performs a step.
    pub async fn perform(&mut self, step: &Step<'_>) -> Result<(), Error> {
        let Performer {
            run, session, unit, ..
        } = *self;
        let _waiting = session.gauge.enter(Phase::ServerWait);
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
                let measured = unit_transaction::measure(session, &unit.measure).await?;
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
            Step::ExpectKeys | Step::Copy(_) | Step::RecordSplits(_) => {
                unreachable!("a piece performs the steps that send rows")
            }
        }
        Ok(())
    }

    /// Takes the server's count of the rows, which must be that of the rows sent. `is_checked` says that the CHECK of the
    /// keys stands already.
    pub fn measured(&mut self, measured: UnitMeasure, is_checked: bool) -> Result<(), Error> {
        if measured.rows != self.rows_sent {
            return Err(Error::Verification {
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

    async fn record_unit(&self, is_finished: bool) -> Result<(), Error> {
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
            .record_unit(self.session, &run.fence, &record)
            .await?)
    }

    /// Rows that went straight into a target must all be in one table: not some in one that was
    /// renamed since, or dropped, and the others in what has its name now. COPY has locked it, so
    /// it stays what it is until COMMIT.
    async fn refuse_other_target(&self) -> Result<(), Error> {
        let run = self.run;
        let stands = run
            .ledger
            .stands(self.session, &run.fence, &self.unit.key)
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
