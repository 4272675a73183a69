//! A piece of work in one transaction: the plan's steps, from BEGIN through the rows to the ledger and COMMIT.

use inrush_verdict::Phase;

use super::context::Context;
use super::expected_keys::ExpectedKeys;
use super::gathered::Gathered;
use super::performer::Performer;
use super::work::Work;
use crate::copy::BlockPool;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::Account;
use crate::engine::pipeline::row_loop::RowLoop;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::{self, Step};
use crate::plan::{FlowPlan, UnitPlan};
use crate::unit_transaction;
use crate::{Session, staging};

/// A piece of work under way.
pub struct Piece<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) session: &'a Session,
    pub(super) flow: &'a FlowPlan,
    pub(super) unit: &'a UnitPlan,
    /// How its rows are sent.
    pub(super) way: SendMethod<'a>,
    /// The keys that the unit's CHECK allows while its rows come.
    pub(super) expected: Option<ExpectedKeys>,
    pub(super) pool: BlockPool,
    pub(super) rows: RowLoop<'a>,
}

/// How rows are sent.
#[derive(Clone, Copy)]
pub enum SendMethod<'a> {
    /// By one COPY for each file: a row that the server refuses undoes the transaction.
    Quick,
    /// So that the server may refuse rows, into a staging table that is given what it does not have
    /// else.
    Careful(&'a Additions),
}

impl SendMethod<'_> {
    /// Whether the server may refuse rows.
    pub fn is_careful(self) -> bool {
        matches!(self, SendMethod::Careful(_))
    }
}

impl<'a> Piece<'a> {
    /// Whether it is all of its unit: one that nobody else loads, or one that is loaded carefully
    /// and not straight into the target, where what is committed stays.
    pub fn is_whole(&self) -> bool {
        let is_straight = self.flow.is_straight();
        !is_straight && (self.way.is_careful() || !self.unit.shared)
    }

    /// The steps of its transaction, one after the other; of a part of a larger one, those of that part.
    pub async fn perform(
        &mut self,
        mut work: Work<'_>,
        performer: &mut Performer<'_>,
    ) -> Result<(Account, usize), Error> {
        let Piece {
            context, session, ..
        } = *self;
        let mut gathered = Gathered::new(self);
        for step in &self.steps(work.split_count()) {
            match step {
                Step::ExpectKeys => self.expect_keys().await?,
                Step::Copy(splits) => {
                    self.copy(&mut work, splits.clone(), &mut gathered).await?;
                    performer.sent(gathered.account.rows_loaded, gathered.sums());
                }
                Step::Measure => self.measure(performer).await?,
                Step::RecordSplits(_) => gathered.write(self).await?,
                Step::EndPart => {
                    self.rows.rejects.finish()?;
                    performer.perform(step).await?;
                }
                Step::Commit => {
                    self.rows.rejects.finish()?;
                    fault::reach(context.fault, FaultPoint::BeforeUnitCommit);
                    if fault::wished(context.fault, FaultPoint::UnitCommitSent) {
                        let die = || fault::die(FaultPoint::UnitCommitSent);
                        unit_transaction::send_commit_and(session, die).await;
                    }
                    performer.perform(step).await?;
                }
                other => performer.perform(other).await?,
            }
        }
        Ok((gathered.account, gathered.count()))
    }

    /// The steps of its transaction, as the plan has them.
    fn steps(&self, splits: usize) -> Vec<Step<'a>> {
        let plan = &self.context.run.plan;
        match self.way {
            SendMethod::Careful(additions) => {
                unit_steps::careful(plan, self.flow, self.unit, splits, additions)
            }
            SendMethod::Quick if self.flow.commits_at_switch() => unit_steps::part(plan, splits),
            SendMethod::Quick if self.flow.commits_each_split() => unit_steps::straight(plan),
            SendMethod::Quick if self.unit.shared => unit_steps::shared_split(plan, self.unit),
            SendMethod::Quick => unit_steps::private(plan, self.flow, self.unit, splits),
        }
    }

    /// Lets the server check the keys that the file's ends promise, row by row as they come.
    async fn expect_keys(&mut self) -> Result<(), Error> {
        self.expected = ExpectedKeys::guess(self.flow, self.unit);
        if let Some(expected) = &self.expected {
            let schema = &self.context.run.plan.settings.staging_schema;
            let table = &self.unit.staging_table;
            let check = staging::add_bounds_check(schema, table, expected.bounds());
            let _waiting = self.session.gauge.enter(Phase::ServerWait);
            self.session
                .execute(&check, "adding the CHECK of a unit")
                .await?;
        }
        Ok(())
    }

    /// Takes the CHECK of the expected keys away.
    pub(super) fn drop_check(&self) -> String {
        let schema = &self.context.run.plan.settings.staging_schema;
        staging::drop_bounds_check(schema, &self.unit.staging_table)
    }

    /// Has the server count the unit's rows. Where the CHECK of the expected keys holds them exactly, it need not look
    /// for the smallest and the largest key.
    async fn measure(&mut self, performer: &mut Performer<'_>) -> Result<(), Error> {
        let Some(expected) = &self.expected else {
            return performer.perform(&Step::Measure).await;
        };
        let waiting = self.session.gauge.enter(Phase::ServerWait);
        if expected.is_exact() {
            let schema = &self.context.run.plan.settings.staging_schema;
            let count = staging::measure(schema, &self.unit.staging_table, None);
            let counted = unit_transaction::measure(self.session, &count).await?;
            return performer.measured(expected.measured(counted.rows), true);
        }
        let statement = self.drop_check();
        self.session
            .execute(&statement, "dropping the CHECK of a unit")
            .await?;
        drop(waiting);
        performer.perform(&Step::Measure).await
    }
}
