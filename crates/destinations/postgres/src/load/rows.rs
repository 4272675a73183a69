//! Sends the rows of a piece by COPY, after comparing them with the expected keys.

use std::borrow::Cow;

use arrow_array::RecordBatch;
use inrush_destination::{LoadMethod, Written};
use inrush_package::ServerCopy;
use inrush_plan::UnitPlace;
use inrush_verdict::Phase;

use super::careful::CarefulCopy;
use super::copying::{Copied, Copying};
use super::expected_keys::ExpectedKeys;
use super::performer::Performer;
use super::prepared::PostgresRun;
use crate::copy::BlockPool;
use crate::load_error::LoadError;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::Step;
use crate::plan::{FlowPlan, UnitPlan};
use crate::unit_transaction::{self, UnitMeasure};
use crate::{PostgresError, Session, fast_copy, staging};

/// Passes a note to the user.
pub type Note<'a> = &'a (dyn Fn(String) + Sync);

/// Writes the rows of a piece to its staging table, or directly to its target.
pub struct CopyRows<'a> {
    pub(super) run: &'a PostgresRun,
    note: Note<'a>,
    pub(super) session: Session,
    pub(super) flow: &'a FlowPlan,
    pub(super) unit: UnitPlan<'a>,
    /// How rows are sent.
    pub(super) method: LoadMethod,
    /// The constraints and indexes that the staging table gets if the unit is loaded again.
    pub(super) additions: Additions,
    /// The keys that the unit's CHECK allows while its rows are sent.
    expected: Option<ExpectedKeys>,
    /// The COPY of the server extension, if it stores the rows.
    fast: Option<FastCopy>,
    /// The server's counts for the files that are complete.
    copied: Copied,
    pool: BlockPool,
    /// The writer of the current file.
    copier: Option<Copier<'a>>,
}

/// The COPY of the server extension.
struct FastCopy {
    statement: String,
    /// True if it reports the smallest and largest key.
    tells_keys: bool,
}

/// How rows are written to the table.
enum Copier<'a> {
    /// One COPY writes all batches.
    Quick(Copying<'a>),
    /// One COPY writes each batch, so that rows may be refused.
    Careful(CarefulCopy<'a>),
}

impl<'a> CopyRows<'a> {
    /// Nothing is sent yet.
    pub fn new(
        run: &'a PostgresRun,
        note: Note<'a>,
        session: Session,
        (flow, unit): (&'a FlowPlan, UnitPlan<'a>),
        method: LoadMethod,
        additions: Additions,
    ) -> CopyRows<'a> {
        CopyRows {
            run,
            note,
            session,
            flow,
            unit,
            method,
            additions,
            expected: None,
            fast: None,
            copied: Copied::default(),
            pool: BlockPool::default(),
            copier: None,
        }
    }

    /// Ends the open COPY, if there is one: its rows are about to be rolled back.
    pub fn give_up(&mut self) {
        self.copier = None;
    }

    /// Adds the CHECK of the expected keys, so that the server checks each row as it arrives.
    pub async fn expect_keys(&mut self) -> Result<(), PostgresError> {
        self.expected = ExpectedKeys::guess(self.flow, self.unit);
        if let Some(expected) = &self.expected {
            let schema = &self.run.plan.settings.staging_schema;
            let table = &self.unit.staging_table;
            let check = staging::add_bounds_check(schema, table, expected.bounds());
            let _waiting = self.session.meter.enter(Phase::ServerWait);
            self.session
                .execute(&check, "adding the CHECK of a unit")
                .await?;
        }
        Ok(())
    }

    /// Drops the CHECK of the expected keys.
    fn drop_check(&self) -> String {
        let schema = &self.run.plan.settings.staging_schema;
        staging::drop_bounds_check(schema, &self.unit.staging_table)
    }

    /// Opens the server extension, and asks how it can store the table. A table that it refuses is loaded by COPY,
    /// unless the package requires the extension.
    pub async fn open_server_copy(&mut self, place: UnitPlace) -> Result<(), PostgresError> {
        let run = self.run;
        let Some(fast) = self.flow.fast_copy(&run.plan.settings, self.unit) else {
            return Ok(());
        };
        let waiting = self.session.meter.enter(Phase::ServerWait);
        let way = fast_copy::open(&self.session, &fast.opening).await?;
        drop(waiting);
        let is_first_refusal = run.stored_ways.note(place, &way);
        match way {
            Ok(way) => {
                self.fast = Some(FastCopy {
                    statement: fast.statement(way),
                    tells_keys: fast.key.is_some(),
                });
            }
            Err(reason) if run.plan.settings.server_copy == ServerCopy::Require => {
                return Err(PostgresError::Unsuitable {
                    what: format!(
                        "`server_copy = \"require\"`, but unit {} of {} cannot go by the extension inrush_fastcopy: \
                         {reason}",
                        self.unit.number,
                        self.flow.target()
                    ),
                    hint: "use `server_copy = \"auto\"`: then this unit goes by COPY".to_owned(),
                });
            }
            Err(reason) if is_first_refusal => (self.note)(format!(
                "unit {} of {} goes by COPY: {reason}",
                self.unit.number,
                self.flow.target()
            )),
            Err(_) => {}
        }
        Ok(())
    }

    /// Gives `performer` the unit's row count from the COPYs, and its smallest and largest key if the CHECK of the
    /// expected keys is exact or the extension reports them. Otherwise the server must scan the table.
    pub async fn take_counts(&self, performer: &mut Performer<'_>) -> Result<(), LoadError> {
        let schema = &self.run.plan.settings.staging_schema;
        let waiting = self.session.meter.enter(Phase::ServerWait);
        let is_exact = self.expected.as_ref().is_some_and(ExpectedKeys::is_exact);
        if self.expected.is_some() && !is_exact {
            let doing = "dropping the CHECK of a unit";
            self.session.execute(&self.drop_check(), doing).await?;
        }
        let has_triggers = staging::has_triggers(schema, &self.unit.staging_table);
        if unit_transaction::has_triggers(&self.session, &has_triggers).await? {
            drop(waiting);
            // A trigger may change a row, or add another one, after the COPY has counted the row.
            if is_exact {
                let measured =
                    unit_transaction::measure(&self.session, &self.unit.statements.measure).await?;
                return performer.measured(measured, true);
            }
            return performer.perform(&Step::Measure).await;
        }
        let rows = self.copied.rows;
        if let Some(expected) = self.expected.as_ref().filter(|_| is_exact) {
            return performer.measured(expected.measured(rows), true);
        }
        let (Some(key), None) = (&self.flow.key, &self.unit.statements.bounds) else {
            return performer.measured(UnitMeasure::as_sent(rows), false);
        };
        if !self.fast.as_ref().is_some_and(|fast| fast.tells_keys) {
            drop(waiting);
            return performer.perform(&Step::Measure).await;
        }
        let keys = &self.copied.keys;
        let measured = unit_transaction::ends(&self.session, key, rows, keys).await?;
        performer.measured(measured, false)
    }
}

impl CopyRows<'_> {
    /// Writes the rows of a batch. A careful load stops once this many rows are refused.
    pub async fn write(
        &mut self,
        batch: &RecordBatch,
        refused_max: u64,
    ) -> Result<Written, LoadError> {
        let expects_others = self.expected.as_mut().is_some_and(|keys| !keys.hold(batch));
        let drop_check = expects_others.then(|| self.drop_check());
        match &mut self.copier {
            Some(Copier::Quick(copying)) => {
                if let Some(statement) = drop_check {
                    self.expected = None;
                    copying.interrupt(&statement).await?;
                }
                copying.send(batch).await?;
                Ok(Written::default())
            }
            Some(Copier::Careful(copy)) => copy.send(batch, refused_max).await,
            None => unreachable!("rows come between the beginning and the end of a file"),
        }
    }

    /// The block to which rows in the source's own form are appended, and the size in bytes from which it is sent;
    /// `None` if rows must be written as batches.
    pub fn native_block(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let passes = self.flow.rows_pass
            && self.expected.is_none()
            && self.unit.key_set.is_none()
            && self.unit.key_bounds.is_none();
        match &mut self.copier {
            Some(Copier::Quick(copying)) if passes => Some(copying.block()),
            _ => None,
        }
    }

    /// Counts rows that were appended to the block, and sends it if it is full.
    pub async fn appended(&mut self, rows: u64) -> Result<(), LoadError> {
        match &mut self.copier {
            Some(Copier::Quick(copying)) => copying.appended(rows).await,
            _ => unreachable!("rows are appended to the block of a quick load"),
        }
    }

    /// Begins the COPY of a split. `file` is the name of its input, for errors.
    pub async fn begin_split(&mut self, file: &str) -> Result<(), LoadError> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let stop = self.run.stop.clone();
        self.copier = Some(match self.method {
            LoadMethod::Careful => Copier::Careful(CarefulCopy::new(
                self.session.clone(),
                self.flow,
                self.unit,
                &self.run.plan.settings,
                self.additions.after_undo.clone(),
                stop,
                doing,
            )?),
            LoadMethod::Quick => {
                let copy = match &self.fast {
                    Some(fast) => Cow::from(fast.statement.clone()),
                    None => Cow::from(self.unit.copy()),
                };
                let pool = self.pool.clone();
                let begun = Copying::begin(&self.session, self.flow, copy, pool, stop, doing);
                let copying = begun.await?;
                Copier::Quick(match &self.fast {
                    Some(fast) if fast.tells_keys => copying.telling_keys(),
                    _ => copying,
                })
            }
        });
        Ok(())
    }

    /// Ends the COPY of the split.
    pub async fn end_split(&mut self) -> Result<(), LoadError> {
        match self.copier.take() {
            Some(Copier::Quick(copying)) => {
                let Copied { rows, keys } = copying.end().await?;
                self.copied.rows += rows;
                self.copied.keys.extend(keys);
                Ok(())
            }
            Some(Copier::Careful(copy)) => Ok(copy.end().await?),
            None => Ok(()),
        }
    }
}
