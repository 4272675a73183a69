//! A run into a database.
//!
//! This module, [`publish`](crate::publish) and [`stream`](crate::stream) depend on each other: a run opens streams and
//! calls the functions that publish, and these get the run as an argument.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_destination::staging_name;
use inrush_destination::sums::{ColumnForm, StagedSums};
use inrush_destination::{
    CancelRun, CommittedRecord, Error, MemberNumbers, MembersPlan, NewRun, OpenRun, PublishStep,
    Published, Result, RowsInSource, RunRecord, RunState, SessionSampler, StagedRows, StreamSetup,
    TargetPlan, UnitStream,
};
use inrush_rows::ids::{RunId, RunKey, UnitKey};
use inrush_tdsclient::{Interrupt, SessionWatch};

use crate::added_partitions::AddedPartitions;
use crate::bulk_target::BulkTarget;
use crate::connection::{Purpose, RUN_LOCK_MILLISECONDS, RunInterrupt, SqlSession};
use crate::ledger::{Ledger, StoredRun};
use crate::lock;
use crate::members::{MemberTable, RunMembers};
use crate::nodes::Nodes;
use crate::options::Options;
use crate::publish;
use crate::sampler::Sampler;
use crate::server::Server;
use crate::session_waits::SessionWaits;
use crate::staging::{self, Staging};
use crate::stream::Stream;
use crate::sums;
use crate::ways;

/// The longest wait for a lock while a run begins.
pub const BEGIN_LOCK_MILLISECONDS: u32 = 600_000;

/// A running load. Its control session holds the run's lock.
pub struct SqlRun {
    control: Mutex<SqlSession>,
    interrupt: Arc<RunInterrupt>,
    /// The run as the ledger has it.
    pub record: RunRecord,
    /// Targets with their staging tables, in the plan's order.
    pub stagings: Vec<Staging>,
    /// How rows are sent into each staging table. The server is asked before the streams begin, because a query would wait
    /// for the locks of bulk loads.
    pub bulk_targets: Vec<BulkTarget>,
    /// True for each staging table to which an earlier attempt may have added indexes and CHECKs.
    may_be_prepared: Vec<Mutex<bool>>,
    /// The ledger.
    pub ledger: Ledger,
    /// The connection's options.
    pub options: Arc<Options>,
    server: Server,
    streams: AtomicUsize,
    /// The waits of the sessions of streams that have ended.
    pub waits: SessionWaits,
    /// Where the streams are connected, if there are several endpoints.
    pub nodes: Nodes,
    /// The members that lookups add.
    pub members: Arc<RunMembers>,
}

impl SqlRun {
    /// Begins a run, or resumes a stopped one.
    pub fn begin(
        options: &Arc<Options>,
        server: &Server,
        ledger: &Ledger,
        run: &NewRun,
        targets: &[TargetPlan],
    ) -> Result<SqlRun> {
        let interrupt = Arc::new(RunInterrupt::default());
        let mut control = SqlSession::connect(&options.session, 0, Purpose::Run, &interrupt.0)?;
        lock::take(&mut control, ledger, &run.run_key)?;
        // The server may still be rolling back transactions of a process that was killed.
        control.limit_lock_waits(BEGIN_LOCK_MILLISECONDS)?;
        let Entered {
            record,
            stagings,
            are_kept,
            members,
        } = control.in_transaction("cannot begin the run", |session| {
            lock::take_ledger(session, ledger)?;
            ledger.create(session)?;
            enter(ledger, session, options, run, targets)
        })?;
        let bulk_targets = stagings
            .iter()
            .map(|staging| staging.bulk_target(&mut control, options))
            .collect::<Result<_>>()?;
        let members = RunMembers::read(&mut control, options, &interrupt, members, targets)?;
        control.limit_lock_waits(RUN_LOCK_MILLISECONDS)?;
        Ok(SqlRun {
            control: Mutex::new(control),
            interrupt,
            record,
            stagings,
            bulk_targets,
            may_be_prepared: are_kept.into_iter().map(Mutex::new).collect(),
            ledger: ledger.clone(),
            options: Arc::clone(options),
            server: server.clone(),
            streams: AtomicUsize::new(0),
            waits: SessionWaits::default(),
            nodes: Nodes::default(),
            members: Arc::new(members),
        })
    }

    /// A session for the stream with this number.
    pub fn connect(&self, number: usize) -> Result<SqlSession> {
        SqlSession::connect(
            &self.options.session,
            number,
            Purpose::Run,
            &self.interrupt.0,
        )
    }

    /// Fails if the run was interrupted.
    pub fn refuse_interrupted(&self) -> Result<()> {
        match self.interrupt.0.is_raised() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Removes indexes and CHECKs from a staging table before more rows are loaded into it. The first stream does this, and the
    /// others wait for it.
    pub fn make_bare(&self, target: usize) -> Result<()> {
        let may_be_prepared = self.may_be_prepared[target].lock();
        let mut may_be_prepared = may_be_prepared.unwrap_or_else(PoisonError::into_inner);
        if *may_be_prepared {
            // The control session has the lock of the run, so no other process uses the table.
            ways::make_bare(&mut self.control(), &self.stagings[target])?;
            *may_be_prepared = false;
        }
        Ok(())
    }

    /// Adds the waits of a stream's session, before the session ends.
    pub fn note_waits(&self, session: &mut SqlSession) {
        let is_ready = session.is_open() && !session.is_in_transaction();
        if is_ready && !self.server.is_babelfish && self.refuse_interrupted().is_ok() {
            self.waits.add(session);
        }
    }

    fn control(&self) -> MutexGuard<'_, SqlSession> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run in the ledger, with its staging tables.
struct Entered {
    record: RunRecord,
    stagings: Vec<Staging>,
    /// True for each staging table that an earlier attempt has made.
    are_kept: Vec<bool>,
    /// The references to which lookups add members.
    members: Vec<MemberTable>,
}

/// Enters a run into the ledger and creates its staging tables.
fn enter(
    ledger: &Ledger,
    session: &mut SqlSession,
    options: &Options,
    run: &NewRun,
    targets: &[TargetPlan],
) -> Result<Entered> {
    let stored = match run.takes_over {
        Some(run_id) => Some(stopped(ledger, session, run_id, &run.run_key)?),
        None => None,
    };
    let run_id = match &stored {
        Some(stored) => stored.record.run_id,
        None => ledger.next_id(session)?,
    };
    let stagings: Vec<Staging> = targets
        .iter()
        .map(|plan| Staging::new(&run.run_key, run_id, plan))
        .collect::<Result<_>>()?;
    let named = |_, members: &MembersPlan| staging_name::of_members(&run.run_key, run_id, members);
    let members = MemberTable::all(session, targets.iter(), ledger.schema(), &named)?;
    // The number of rows of each target, from the ledger's units.
    let mut rows_of_units: BTreeMap<String, u64> = BTreeMap::new();
    let mut left = Vec::new();
    if let Some(stored) = &stored {
        ledger.units(session, run_id, &mut |unit| {
            *rows_of_units.entry(unit.target).or_default() += unit.rows_loaded;
        })?;
        // Staging tables that no target of the plan uses any more.
        left.extend(
            stored
                .staging
                .iter()
                .filter(|table| stagings.iter().all(|staging| staging.stored() != **table))
                .filter(|table| members.iter().all(|members| members.stored != **table)),
        );
    }
    for (schema, table) in left {
        staging::remove(session, schema, table)?;
    }
    for added in AddedPartitions::of_plans(session, options, targets)? {
        added.add(session)?;
    }
    let is_target = |name: &&String| {
        stagings
            .iter()
            .any(|staging| staging.plan.name.sql == **name)
    };
    let mut forgotten: Vec<String> = rows_of_units
        .keys()
        .filter(|name| !is_target(name))
        .cloned()
        .collect();
    let are_lost = MemberTable::make(&members, session, stored.is_some(), stagings.len())?;
    let mut are_kept = Vec::with_capacity(stagings.len());
    for (staging, is_lost) in stagings.iter().zip(are_lost) {
        let target = &staging.plan.name.sql;
        let rows = rows_of_units.get(target).copied();
        let stands = staging.stands(session)?;
        // A staging table of this name cannot be used if another run has left it or somebody has changed it.
        let is_kept =
            stands && !is_lost && stored.is_some() && staging.count(session)? == rows.unwrap_or(0);
        are_kept.push(is_kept);
        if is_kept {
            continue;
        }
        if stands {
            staging.remove(session)?;
        }
        staging.create(session, options)?;
        if rows.is_some() {
            forgotten.push(target.clone());
        }
    }
    for target in forgotten {
        ledger.forget_target(session, run_id, &target)?;
    }
    let names = targets.iter().map(|plan| plan.name.sql.clone()).collect();
    let tables = stagings.iter().map(Staging::stored);
    let tables = tables.chain(members.iter().map(|members| members.stored.clone()));
    let tables: Vec<_> = tables.collect();
    let record = match &stored {
        Some(stored) => ledger.take_over(session, stored, run, names, &tables)?,
        None => ledger.enter(session, run, run_id, names, &tables)?,
    };
    ledger.enter_lineage(session, run_id, &run.lineage)?;
    Ok(Entered {
        record,
        stagings,
        are_kept,
        members,
    })
}

/// The stopped run, if it can be resumed.
fn stopped(
    ledger: &Ledger,
    session: &mut SqlSession,
    run_id: RunId,
    run_key: &RunKey,
) -> Result<StoredRun> {
    let found = ledger.run(session, run_id)?;
    found
        .filter(|stored| {
            stored.record.state == RunState::Loading && stored.record.run_key == *run_key
        })
        .ok_or_else(|| Error::Ledger {
            what: format!("run {run_id} in {} cannot be resumed", ledger.run),
            hint: "somebody ended it meanwhile: run the same command again".to_owned(),
        })
}

impl OpenRun for SqlRun {
    fn record(&self) -> &RunRecord {
        &self.record
    }

    /// All units of a target share its staging table, so they are removed together.
    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        let (ledger, run_id) = (&self.ledger, self.record.run_id);
        let mut session = self.control();
        let asked: HashSet<&str> = keys.iter().map(UnitKey::as_str).collect();
        let mut targets: HashSet<String> = HashSet::new();
        ledger.units(&mut *session, run_id, &mut |unit| {
            if asked.contains(unit.key.as_str()) {
                targets.insert(unit.target);
            }
        })?;
        let mut gone = Vec::new();
        ledger.units(&mut *session, run_id, &mut |unit| {
            if targets.contains(&unit.target) {
                gone.push(unit.key);
            }
        })?;
        session.in_transaction("cannot remove units from staging", |session| {
            ledger.fence(session, &self.record)?;
            for staging in self
                .stagings
                .iter()
                .filter(|staging| targets.contains(&staging.plan.name.sql))
            {
                staging.remove(session)?;
                staging.create(session, &self.options)?;
                ledger.forget_target(session, run_id, &staging.plan.name.sql)?;
            }
            Ok(())
        })?;
        self.members.refresh(&mut session)?;
        Ok(gone)
    }

    fn member_numbers(&self) -> Option<Arc<dyn MemberNumbers>> {
        Some(Arc::clone(&self.members) as _)
    }

    fn open_stream(&self, _: &StreamSetup<'_>) -> Result<Box<dyn UnitStream + '_>> {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        let mut session = self.connect(number)?;
        if self.options.session.endpoints.len() > 1 {
            self.nodes.see(&mut session);
        }
        Ok(Box::new(Stream::new(self, number, session)))
    }

    /// Babelfish has no view of what sessions wait for.
    fn sampler(&self) -> Option<Box<dyn SessionSampler>> {
        if self.server.is_babelfish {
            return None;
        }
        let (options, interrupt) = (&self.options.session, &self.interrupt.0);
        let watch = SessionWatch::new(options.clone(), Arc::clone(interrupt));
        Some(Box::new(Sampler(watch)))
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        let see = &mut |unit| see(CommittedRecord::Unit(unit));
        self.ledger
            .units(&mut *self.control(), self.record.run_id, see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        let mut session = self.control();
        let rows = self.stagings.iter();
        let rows = rows.map(|staging| staging.count(&mut session));
        rows.collect::<Result<_>>().map(StagedRows::OfTargets)
    }

    fn staged_sums(&self, target: usize, forms: &[ColumnForm]) -> Result<StagedSums> {
        sums::staged(&mut self.control(), &self.stagings[target], forms)
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        _: &mut dyn RowsInSource,
    ) -> Result<Published> {
        publish::publish(self, &mut self.control(), reached)
    }

    fn is_switched(&self) -> Result<bool> {
        // The run's own connection may be lost, so this needs another one.
        let interrupt = Arc::new(Interrupt::default());
        let mut session = SqlSession::connect(&self.options.session, 0, Purpose::Run, &interrupt)?;
        let stored = self.ledger.run(&mut session, self.record.run_id)?;
        Ok(stored.is_some_and(|stored| stored.record.state == RunState::Switched))
    }

    fn analyze(&self, target: usize) -> Result<()> {
        self.refuse_interrupted()?;
        let staging = &self.stagings[target];
        let doing = format!("cannot update the statistics of {}", staging.plan.name.sql);
        self.control().run(&doing, &staging.analyze_statement())?;
        Ok(())
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.interrupt.clone()
    }
}
