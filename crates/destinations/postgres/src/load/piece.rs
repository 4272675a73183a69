//! A piece of work in one transaction: the plan's steps, from BEGIN through the rows to the ledger and COMMIT.

use inrush_verdict::Phase;

use super::context::Context;
use super::performer::Performer;
use super::rows::CopyRows;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::Account;
use crate::engine::pipeline::gathered::Gathered;
use crate::engine::pipeline::row_loop::RowLoop;
use crate::engine::pipeline::work::Work;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::{self, Step};
use crate::{Session, unit_transaction};

/// A piece of work under way.
pub struct Piece<'a> {
    pub(super) table: CopyRows<'a>,
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

impl Piece<'_> {
    /// Whether it is all of its unit: one that nobody else loads, or one that is loaded carefully
    /// and not straight into the target, where what is committed stays.
    pub fn is_whole(&self) -> bool {
        let CopyRows {
            flow, unit, way, ..
        } = &self.table;
        !flow.is_straight() && (way.is_careful() || !unit.shared)
    }

    /// The steps of its transaction, one after the other; of a part of a larger one, those of that part.
    pub async fn perform(
        &mut self,
        mut work: Work<'_>,
        performer: &mut Performer<'_>,
    ) -> Result<(Account, usize), Error> {
        let Piece { table, rows } = self;
        let (context, session, unit) = (table.context, table.session, table.unit);
        let mut gathered = Gathered::new(table.flow, unit.verify.is_some());
        for step in &steps(table, work.split_count()) {
            match step {
                Step::ExpectKeys => table.expect_keys().await?,
                Step::Copy(splits) => {
                    rows.copy(&unit.key, &mut work, splits.clone(), table, &mut gathered)
                        .await?;
                    performer.sent(gathered.account.rows_loaded, gathered.sums());
                }
                Step::Measure => table.measure(performer).await?,
                Step::RecordSplits(_) => record(context, session, &mut gathered).await?,
                Step::EndPart => {
                    rows.rejects.finish()?;
                    performer.perform(step).await?;
                }
                Step::Commit => {
                    rows.rejects.finish()?;
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
}

/// The steps of a piece's transaction, as the plan has them.
fn steps<'a>(table: &CopyRows<'a>, splits: usize) -> Vec<Step<'a>> {
    let (plan, flow, unit) = (&table.context.run.plan, table.flow, table.unit);
    match table.way {
        SendMethod::Careful(additions) => unit_steps::careful(plan, flow, unit, splits, additions),
        SendMethod::Quick if flow.commits_at_switch() => unit_steps::part(plan, splits),
        SendMethod::Quick if flow.commits_each_split() => unit_steps::straight(plan),
        SendMethod::Quick if unit.shared => unit_steps::shared_split(plan, unit),
        SendMethod::Quick => unit_steps::private(plan, flow, unit, splits),
    }
}

/// Writes the splits that the ledger does not have yet. No COPY is under way.
async fn record(
    context: &Context<'_>,
    session: &Session,
    gathered: &mut Gathered,
) -> Result<(), Error> {
    let run = context.run;
    let _waiting = session.gauge.enter(Phase::ServerWait);
    for record in gathered.take_records() {
        run.ledger
            .record_split(session, &run.fence, &record)
            .await?;
    }
    Ok(())
}
