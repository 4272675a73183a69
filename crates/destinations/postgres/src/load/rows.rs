//! The rows of a piece on their way into a COPY: held against the keys that are expected, and sent.

use arrow_array::RecordBatch;
use inrush_convert::{Converter, RunStamp};
use inrush_source::SourceError;
use inrush_verdict::Phase;

use super::careful::CarefulCopy;
use super::context::Context;
use super::copying::Copying;
use super::expected_keys::ExpectedKeys;
use super::performer::Performer;
use crate::copy::BlockPool;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::load::Method;
use crate::engine::pipeline::row_loop::{RowWriter, Written};
use crate::engine::pipeline::work::FileWriter;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::Step;
use crate::plan::{FlowPlan, UnitPlan};
use crate::{Session, staging, unit_transaction};

/// Takes the rows of a piece into its staging table, or straight into its target.
pub struct CopyRows<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) session: &'a Session,
    pub(super) flow: &'a FlowPlan,
    pub(super) unit: &'a UnitPlan,
    /// How rows are sent.
    pub(super) method: Method<'a, Additions>,
    /// The keys that the unit's CHECK allows while its rows come.
    expected: Option<ExpectedKeys>,
    pool: BlockPool,
    /// What takes the rows of the file that is loaded now.
    copier: Option<Copier<'a>>,
}

/// How rows get into the table.
enum Copier<'a> {
    /// By one COPY that goes on from batch to batch.
    Quick(Copying<'a>),
    /// By a COPY of its own for each batch, so that rows may be refused.
    Careful(CarefulCopy<'a>),
}

impl<'a> CopyRows<'a> {
    /// Nothing is sent yet.
    pub fn new(
        context: &'a Context<'a>,
        session: &'a Session,
        (flow, unit): (&'a FlowPlan, &'a UnitPlan),
        method: Method<'a, Additions>,
    ) -> CopyRows<'a> {
        CopyRows {
            context,
            session,
            flow,
            unit,
            method,
            expected: None,
            pool: BlockPool::default(),
            copier: None,
        }
    }

    /// Ends the COPY that is under way, if there is one: its rows are about to be rolled back.
    pub fn give_up(&mut self) {
        self.copier = None;
    }

    /// Lets the server check the keys that the file's ends promise, row by row as they come.
    pub async fn expect_keys(&mut self) -> Result<(), Error> {
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
    fn drop_check(&self) -> String {
        let schema = &self.context.run.plan.settings.staging_schema;
        staging::drop_bounds_check(schema, &self.unit.staging_table)
    }

    /// Has the server count the unit's rows. Where the CHECK of the expected keys holds them exactly, it need not look
    /// for the smallest and the largest key.
    pub async fn measure(&self, performer: &mut Performer<'_>) -> Result<(), Error> {
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

impl RowWriter for CopyRows<'_> {
    async fn write(
        &mut self,
        batch: &RecordBatch,
        from: usize,
        refused_max: u64,
    ) -> Result<Written, Error> {
        let expects_others = self.expected.as_mut().is_some_and(|keys| !keys.hold(batch));
        let drop_check = expects_others.then(|| self.drop_check());
        match &mut self.copier {
            Some(Copier::Quick(copying)) => {
                if let Some(statement) = drop_check {
                    self.expected = None;
                    copying.interrupt(&statement).await?;
                }
                copying.send(batch).await?;
                Ok(Written::all(batch))
            }
            Some(Copier::Careful(copy)) => {
                let written = copy.send(batch, from, refused_max).await?;
                fault::reach(self.context.fault, FaultPoint::InCarefulCopy);
                Ok(written)
            }
            None => unreachable!("rows come between the beginning and the end of a file"),
        }
    }
}

impl FileWriter for CopyRows<'_> {
    fn converter(&self) -> Result<Converter, Error> {
        let record = &self.context.run.record;
        let stamp = RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        };
        Ok(converter(self.flow, self.unit)?.with_run(stamp))
    }

    async fn begin_file(&mut self, file: &str) -> Result<(), Error> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let stop = self.context.stop.clone();
        self.copier = Some(match self.method {
            Method::Careful(additions) => Copier::Careful(CarefulCopy::new(
                self.session,
                self.flow,
                self.unit,
                &self.context.run.plan.settings,
                additions.unwrap_or(Additions::NONE),
                stop,
                doing,
            )?),
            Method::Quick => {
                let (pool, copy) = (self.pool.clone(), &self.unit.copy);
                let begun = Copying::begin(self.session, self.flow, copy, pool, stop, doing);
                Copier::Quick(begun.await?)
            }
        });
        Ok(())
    }

    async fn end_file(&mut self) -> Result<(), Error> {
        match self.copier.take() {
            Some(Copier::Quick(copying)) => Ok(copying.end().await?),
            Some(Copier::Careful(copy)) => copy.end().await,
            None => Ok(()),
        }
    }

    /// A stop drops all of the load.
    async fn wait<T>(
        &self,
        feed: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, Error> {
        Ok(feed.await?)
    }
}

/// What makes rows of a flow's records, those of a unit.
pub fn converter(flow: &FlowPlan, unit: &UnitPlan) -> Result<Converter, Error> {
    let converter =
        Converter::new(&flow.columns, &flow.dialect, flow.field_count).map_err(|source| {
            Error::Convert {
                flow: flow.name.clone(),
                source,
            }
        })?;
    let converter = match &unit.key_set {
        Some(set) => converter.with_key_set(set.clone()),
        None => converter,
    };
    Ok(match &unit.key_bounds {
        Some(bounds) => converter.with_key_bounds(bounds.clone()),
        None => converter,
    })
}
