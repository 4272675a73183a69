//! A piece of work in one transaction: the plan's steps, from BEGIN through the rows to the ledger and COMMIT.

use inrush_destination::LoadMethod;
use inrush_engine::error::Error;
use inrush_engine::fault::{self, FaultPoint};
use inrush_engine::native::load::{Gathered, RowLoop, UnitTransaction, Work};
use inrush_engine::native::plan::UnitPlace;
use inrush_verdict::Phase;

use super::context::Context;
use super::performer::Performer;
use super::rows::CopyRows;
use super::stream::SessionStream;
use crate::ledger::LedgerError;
use crate::plan::unit_steps::{self, Step};
use crate::{Session, unit_transaction};

/// A piece of work in progress. Its COPY is dropped before its transaction, because the COPY must end first.
pub struct Piece<'a> {
    place: UnitPlace,
    table: CopyRows<'a>,
    performer: Performer<'a>,
}

impl<'a> Piece<'a> {
    /// No step is done yet.
    pub fn new(stream: &'a SessionStream<'_>, place: UnitPlace, method: LoadMethod) -> Piece<'a> {
        let SessionStream {
            context, session, ..
        } = *stream;
        let (flow, unit) = context.run.unit(place.0, place.1);
        let doing = format!("loading {}", flow.target());
        let is_careful = method == LoadMethod::Careful;
        if is_careful {
            context.run.stored_ways.loaded_again(place);
        }
        Piece {
            place,
            table: CopyRows::new(stream, (flow, unit), method),
            performer: Performer::new(context.run, session, place, is_careful, doing),
        }
    }
}

impl UnitTransaction for Piece<'_> {
    /// Performs the steps of its transaction, or of its part of a larger transaction.
    async fn perform(
        &mut self,
        rows: &mut RowLoop<'_>,
        mut work: Work<'_>,
    ) -> Result<Gathered, Error> {
        let Piece {
            place,
            table,
            performer,
        } = self;
        let place = *place;
        let (context, session, unit) = (table.context, table.session, table.unit);
        let mut gathered = Gathered::new(table.flow, unit.verify.is_some());
        for step in &steps(table, work.split_count()) {
            match step {
                Step::ExpectKeys => table.expect_keys().await?,
                Step::Copy(splits) => {
                    let splits = splits.clone();
                    let ways = &context.run.stored_ways;
                    ways.begin(place, &table.flow.server_copy);
                    rows.copy(&unit.key, &mut work, splits, table, &mut gathered)
                        .await?;
                    performer.sent(gathered.account.rows_loaded, gathered.sums());
                }
                Step::OpenServerCopy => table.open_server_copy(place).await?,
                Step::TakeCounts => table.take_counts(performer).await?,
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
        Ok(gathered)
    }

    async fn roll_back(&mut self) -> Result<(), Error> {
        self.table.give_up();
        Ok(self.performer.roll_back().await?)
    }
}

/// The steps of a piece's transaction, as the plan has them.
fn steps<'a>(table: &CopyRows<'a>, splits: usize) -> Vec<Step<'a>> {
    let (plan, flow, unit) = (&table.context.run.plan, table.flow, table.unit);
    match table.method {
        LoadMethod::Careful => unit_steps::careful(plan, flow, unit, splits, table.additions),
        LoadMethod::Quick if flow.commits_at_switch() => unit_steps::part(plan, flow, splits),
        LoadMethod::Quick if flow.commits_each_split() => unit_steps::straight(plan, flow),
        LoadMethod::Quick if unit.shared => unit_steps::shared_split(plan, flow, unit),
        LoadMethod::Quick => unit_steps::private(plan, flow, unit, splits),
    }
}

/// Writes the splits that the ledger does not have yet. No COPY is open.
async fn record(
    context: &Context<'_>,
    session: &Session,
    gathered: &mut Gathered,
) -> Result<(), LedgerError> {
    let run = context.run;
    let _waiting = session.gauge.enter(Phase::ServerWait);
    for record in gathered.take_records() {
        run.ledger
            .record_split(session, &run.fence, &record)
            .await?;
    }
    Ok(())
}
