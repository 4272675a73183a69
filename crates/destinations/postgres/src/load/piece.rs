//! A piece of work in one transaction: from BEGIN, through the rows, to what the ledger knows of
//! them and COMMIT.

use std::collections::BTreeMap;

use inrush_files::Split;
use inrush_rows::column_policy::ColumnChanges;
use inrush_source::SourceMeter;
use inrush_verdict::Phase;

use super::careful::Additions;
use super::context::Context;
use super::expected_keys::ExpectedKeys;
use super::one_transaction;
use super::ready::{Standing, make_ready, record};
use super::verifying;
use super::work::Work;
use crate::copy::BlockPool;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::{Account, SplitRecord};
use crate::engine::pipeline::kept_rejects::KeptRejects;
use crate::engine::pipeline::split_evidence::SplitEvidence;
use crate::engine::verify::VerifyError;
use crate::plan::{FlowPlan, UnitPlan};
use crate::unit_transaction::{self, UnitMeasure};
use crate::{Session, staging};

/// A piece of work under way.
pub struct Piece<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) session: &'a Session,
    pub(super) flow: &'a FlowPlan,
    pub(super) flow_index: usize,
    pub(super) unit: &'a UnitPlan,
    /// How its rows are sent.
    pub(super) way: SendMethod<'a>,
    /// The keys that the unit's CHECK allows while its rows come.
    pub(super) expected: Option<ExpectedKeys>,
    pub(super) rejects: KeptRejects<'a>,
    pub(super) pool: BlockPool,
    /// What another thread has read for it.
    pub(super) fed: SourceMeter,
    pub(super) changes: BTreeMap<String, ColumnChanges>,
    pub(super) evidence: SplitEvidence,
    /// Where the rows begin that the server refused, of the file range that is loaded now.
    pub(super) refused: Vec<u64>,
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
        let is_straight = self.flow.is_straight();
        !is_straight && (self.way.is_careful() || !self.unit.shared)
    }

    /// Whether it is a part of the transaction that the switch ends.
    fn is_part(&self) -> bool {
        self.flow.commits_at_switch()
    }

    /// Whether its transaction writes the row of its unit, and not only those of file ranges.
    pub(super) fn writes_unit(&self) -> bool {
        self.is_whole() || self.is_part()
    }

    /// Whether other streams send rows into the same staging table meanwhile. Rows that go straight
    /// into a target may also wait for what others do there, and do so with patience.
    fn is_beside_others(&self) -> bool {
        self.unit.shared && !self.way.is_careful() && !self.flow.is_straight()
    }

    /// All of it, from BEGIN to COMMIT; of a part of a larger transaction from its savepoint until
    /// that is released.
    pub async fn transaction(&mut self, work: Work<'_>) -> Result<(Account, usize), Error> {
        let run = self.context.run;
        let session = self.session;
        let doing = format!("loading {}", self.flow.target());
        let waiting = session.gauge.enter(Phase::ServerWait);
        if self.is_part() {
            one_transaction::begin_part(session, &doing).await?;
        } else {
            session.execute("BEGIN", &doing).await?;
            run.ledger.hold_fence(session, &run.fence).await?;
        }
        // Functions in the target's constraints find what they name as in any other session; a
        // lock that somebody holds on the target is not waited for without an end.
        let patience = format!(
            "SET LOCAL lock_timeout = {}",
            run.plan.settings.lock_timeout_ms
        );
        let local_settings = format!("SET LOCAL search_path = DEFAULT; {patience}");
        session.execute(&local_settings, &doing).await?;
        if let SendMethod::Careful(additions) = self.way {
            self.begin_carefully(additions, &doing).await?;
        } else if !self.unit.shared && !self.flow.is_straight() {
            for statement in &self.unit.create {
                session.execute(statement, &doing).await?;
            }
            self.expect_keys().await?;
        } else if self.is_beside_others() {
            // Streams wait for each other only to extend the table. That is a lock, too, and as long
            // as the disk takes; it is nobody's whom patience could run out with.
            let schema = &run.plan.settings.staging_schema;
            let held = staging::hold_for_rows(schema, &self.unit.staging_table);
            let statements = format!("{held}; SET LOCAL lock_timeout = 0");
            session.execute(&statements, &doing).await?;
        }
        drop(waiting);
        let gathered = self.copy(work).await?;
        if self.is_beside_others() {
            let _waiting = session.gauge.enter(Phase::ServerWait);
            session.execute(&patience, &doing).await?;
        }
        let account = gathered.account;
        let _waiting = session.gauge.enter(Phase::ServerWait);
        if let SendMethod::Careful(additions) = self.way {
            for statement in &additions.after_rows {
                session.execute(statement, &doing).await?;
            }
        }
        if self.is_whole() {
            let (measured, is_checked) = self.measure().await?;
            self.verify(&measured, &account)?;
            verifying::check(session, &run.plan, self.flow, self.unit, gathered.sums()).await?;
            let standing = Standing {
                is_checked,
                is_indexed: self.way.is_careful(),
            };
            make_ready(
                session, &run.plan, self.flow, self.unit, &measured, standing,
            )
            .await?;
            let mut record = record(&run.plan, self.flow, self.unit, Some(&measured), true);
            record.careful = self.way.is_careful();
            run.ledger.record_unit(session, &run.fence, &record).await?;
        }
        if self.flow.commits_each_split() {
            self.refuse_other_target().await?;
        }
        if self.is_part() {
            let measured = UnitMeasure::as_sent(account.rows_loaded);
            let mut record = record(&run.plan, self.flow, self.unit, Some(&measured), true);
            record.careful = self.way.is_careful();
            run.ledger.record_unit(session, &run.fence, &record).await?;
        }
        let count = gathered.write_rest(self).await?;
        self.rejects.finish()?;
        if self.is_part() {
            one_transaction::end_part(self.context, session, self.flow_index, &doing).await?;
            return Ok((account, count));
        }
        fault::reach(self.context.fault, FaultPoint::BeforeUnitCommit);
        if fault::wished(self.context.fault, FaultPoint::UnitCommitSent) {
            unit_transaction::send_commit_and(session, || fault::die(FaultPoint::UnitCommitSent))
                .await;
        }
        session.execute("COMMIT", &doing).await?;
        Ok((account, count))
    }

    /// Rows that went straight into a target must all be in one table: not some in one that was
    /// renamed since, or dropped, and the others in what has its name now. COPY has locked it, so
    /// it stays what it is until COMMIT.
    async fn refuse_other_target(&self) -> Result<(), Error> {
        let run = self.context.run;
        let ledger = &run.ledger;
        if ledger
            .stands(self.session, &run.fence, &self.unit.key)
            .await?
        {
            return Ok(());
        }
        Err(VerifyError::TargetReplaced {
            target: self.flow.target(),
        }
        .into())
    }

    /// What the ledger is to know of a file range.
    pub(super) fn split_record(&mut self, split: &Split, account: Account) -> SplitRecord {
        SplitRecord {
            refused: std::mem::take(&mut self.refused),
            ..self.evidence.record(&self.unit.key, split, account)
        }
    }

    /// Lets the server check the keys that the file's ends promise, row by row as they come.
    async fn expect_keys(&mut self) -> Result<(), Error> {
        self.expected = ExpectedKeys::guess(self.flow, self.unit);
        if let Some(expected) = &self.expected {
            let schema = &self.context.run.plan.settings.staging_schema;
            let table = &self.unit.staging_table;
            let check = staging::add_bounds_check(schema, table, expected.bounds());
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

    /// What the server says of the unit's rows, and whether its CHECK stands already.
    async fn measure(&mut self) -> Result<(UnitMeasure, bool), Error> {
        if let Some(expected) = &self.expected {
            if expected.is_exact() {
                let schema = &self.context.run.plan.settings.staging_schema;
                let count = staging::measure(schema, &self.unit.staging_table, None);
                let counted = unit_transaction::measure(self.session, &count).await?;
                return Ok((expected.measured(counted.rows), true));
            }
            let statement = self.drop_check();
            self.session
                .execute(&statement, "dropping the CHECK of a unit")
                .await?;
        }
        let measured = unit_transaction::measure(self.session, &self.unit.measure).await?;
        Ok((measured, false))
    }

    fn verify(&self, measured: &UnitMeasure, account: &Account) -> Result<(), Error> {
        if measured.rows == account.rows_loaded {
            return Ok(());
        }
        Err(Error::Verification {
            what: format!(
                "staging table of unit {} of {}",
                self.unit.number,
                self.flow.target()
            ),
            counted: measured.rows,
            sent: account.rows_loaded,
        })
    }
}
