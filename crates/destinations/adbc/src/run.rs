//! A run into a database.
//!
//! This module, [`publish`](crate::publish) and [`stream`](crate::stream) depend on each other: a run opens streams and
//! calls the functions that publish, and these get the run as an argument.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_destination::{
    CancelRun, ColumnForm, CommittedRecord, Error, MemberNumbers, NewRun, OpenRun, PublishStep,
    Published, Result, RowsInSource, RunRecord, RunState, StagedRows, StagedSums, StreamSetup,
    TargetPlan, UnitStream, staging_name,
};
use inrush_rows::ids::{RunId, RunKey, UnitKey};

use crate::catalog;
use crate::interrupt::Interrupt;
use crate::ledger::StoredRun;
use crate::lock::Held;
use crate::members::{MemberTable, RunMembers};
use crate::publish;
use crate::session::AdbcSession;
use crate::shared_database::{Claim, SharedDatabase};
use crate::staging::{self, Staging};
use crate::steps::{self, BeginStep};
use crate::stream::Stream;
use crate::sums;

/// A running load. Its fields are dropped in the order in which they are declared.
pub struct AdbcRun {
    session: Mutex<AdbcSession>,
    /// Lets the run be interrupted.
    pub interrupt: Arc<Interrupt>,
    /// The run as the ledger has it.
    pub record: RunRecord,
    /// Targets with their staging tables, in the plan's order.
    pub stagings: Vec<Staging>,
    /// The members that its lookups add.
    pub members: Arc<RunMembers>,
    _held: Held,
    _claim: Claim,
    /// The database.
    pub shared: Arc<SharedDatabase>,
}

impl AdbcRun {
    /// Begins a run, or resumes a stopped one.
    pub fn begin(
        shared: &Arc<SharedDatabase>,
        run: &NewRun,
        targets: &[TargetPlan],
    ) -> Result<AdbcRun> {
        let claim = Claim::take(shared, &run.run_key)?;
        let interrupt = Arc::new(Interrupt::default());
        let mut session = shared.session(&interrupt)?;
        let mut entering = Entering::new(shared, run, targets);
        for step in steps::begin(shared.quirks) {
            // An error drops the session, which rolls its transaction back.
            entering.perform(step, &mut session)?;
        }
        let Entering {
            stored,
            record,
            stagings,
            members,
            held,
            ..
        } = entering;
        let members = RunMembers::new(shared, &interrupt, members, targets);
        if stored.is_some() {
            members.read(&mut session)?;
        }
        Ok(AdbcRun {
            session: Mutex::new(session),
            interrupt,
            record: record.expect("a step enters the run"),
            stagings,
            members: Arc::new(members),
            _held: held.expect("a step locks the run"),
            _claim: claim,
            shared: shared.clone(),
        })
    }

    fn session(&self) -> MutexGuard<'_, AdbcSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is being entered into the ledger, step by step.
struct Entering<'a> {
    shared: &'a SharedDatabase,
    run: &'a NewRun,
    targets: &'a [TargetPlan],
    /// The run that is resumed.
    stored: Option<StoredRun>,
    run_id: RunId,
    stagings: Vec<Staging>,
    members: Vec<MemberTable>,
    record: Option<RunRecord>,
    held: Option<Held>,
}

impl<'a> Entering<'a> {
    fn new(shared: &'a SharedDatabase, run: &'a NewRun, targets: &'a [TargetPlan]) -> Entering<'a> {
        Entering {
            shared,
            run,
            targets,
            stored: None,
            run_id: RunId::FIRST,
            stagings: Vec::new(),
            members: Vec::new(),
            record: None,
            held: None,
        }
    }

    fn perform(&mut self, step: BeginStep, session: &mut AdbcSession) -> Result<()> {
        let (shared, ledger) = (self.shared, &self.shared.ledger);
        match step {
            BeginStep::LockRun => {
                let run = self.run;
                self.held = Some(shared.hold(session, &run.run_key, &run.holder)?);
                Ok(())
            }
            BeginStep::CreateLedger => ledger.create(session, shared.quirks),
            BeginStep::Begin => session.begin(),
            BeginStep::LockLedger => {
                if let Some(statement) = ledger.lock_statement(shared.quirks) {
                    session.run("cannot lock the ledger", &statement)?;
                }
                Ok(())
            }
            BeginStep::NumberRun => self.number(session),
            BeginStep::DropLeftovers => self.drop_leftovers(session),
            BeginStep::CreateStaging => self.create_staging(session),
            BeginStep::EnterRun => self.enter(session),
            BeginStep::EnterLineage => {
                ledger.enter_lineage(session, shared.quirks, self.run_id, &self.run.lineage)
            }
            BeginStep::Commit => session.commit("cannot begin the run"),
            BeginStep::OneThread => shared.one_thread(session),
        }
    }

    fn number(&mut self, session: &mut AdbcSession) -> Result<()> {
        let (shared, run) = (self.shared, self.run);
        self.stored = match run.takes_over {
            Some(run_id) => Some(stopped(shared, session, run_id, &run.run_key)?),
            None => None,
        };
        self.run_id = match &self.stored {
            Some(stored) => stored.record.run_id,
            None => shared.ledger.next_id(session)?,
        };
        let targets = self.targets.iter();
        self.stagings = targets
            .map(|plan| {
                Staging::new(
                    shared.quirks,
                    shared.product,
                    &run.run_key,
                    self.run_id,
                    plan,
                )
            })
            .collect::<Result<_>>()?;
        let plans: Vec<&TargetPlan> = self.targets.iter().collect();
        self.members = MemberTable::all(session, shared.quirks, &plans, &|_, members| {
            let name = staging_name::of_members(&run.run_key, self.run_id, members);
            let (schema, stored) = shared.ledger.name_of(&name);
            (
                schema.map(str::to_owned),
                stored,
                shared.ledger.table(&name),
            )
        })?;
        Ok(())
    }

    /// Drops staging tables that no target of the plan uses any more, or that a process has left because it was killed
    /// after a switch.
    fn drop_leftovers(&self, session: &mut AdbcSession) -> Result<()> {
        let ledger = &self.shared.ledger;
        let stored = self.stored.iter();
        let mut left: Vec<_> = stored.flat_map(|stored| stored.staging.clone()).collect();
        for past in ledger.runs(session, Some(&self.run.run_key))? {
            if past.record.state == RunState::Switched && !past.staging.is_empty() {
                left.extend(past.staging);
                ledger.clear_staging(session, past.record.run_id)?;
            }
        }
        let is_used = |table: &(Option<String>, String)| {
            let mut stagings = self.stagings.iter();
            let mut members = self.members.iter();
            stagings.any(|staging| staging.stored() == *table)
                || members.any(|members| members.stored == *table)
        };
        for (schema, table) in left.iter().filter(|table| !is_used(table)) {
            staging::remove(session, schema.as_deref(), table)?;
        }
        Ok(())
    }

    fn create_staging(&self, session: &mut AdbcSession) -> Result<()> {
        let (quirks, ledger) = (self.shared.quirks, &self.shared.ledger);
        // The number of rows of each target, from the ledger's units.
        let mut rows_of_units: BTreeMap<String, u64> = BTreeMap::new();
        if self.stored.is_some() {
            ledger.units(session, self.run_id, &mut |unit| {
                *rows_of_units.entry(unit.target).or_default() += unit.rows_loaded;
            })?;
        }
        let is_target = |name: &&str| {
            let mut stagings = self.stagings.iter();
            stagings.any(|staging| staging.plan.name.sql == *name)
        };
        let targets_with_units = rows_of_units.keys().map(String::as_str);
        let mut forgotten: Vec<&str> = targets_with_units.filter(|name| !is_target(name)).collect();
        let with_members = self.create_members(session)?;
        for (place, staging) in self.stagings.iter().enumerate() {
            let target = staging.plan.name.sql.as_str();
            let rows = rows_of_units.get(target).copied();
            let stands = staging.stands(session, quirks)?;
            // An existing staging table is replaced if another run has left it, if somebody has changed it, or if the
            // members that its rows refer to by number are lost.
            if stands
                && self.stored.is_some()
                && with_members[place]
                && staging.count(session)? == rows.unwrap_or(0)
            {
                continue;
            }
            if stands {
                staging.remove(session)?;
            }
            staging.create(session)?;
            if rows.is_some() {
                forgotten.push(target);
            }
        }
        for target in forgotten {
            ledger.forget_target(session, self.run_id, target)?;
        }
        Ok(())
    }

    /// Creates the tables of members, except those that the resumed run already has. Returns for each target whether
    /// all of its tables were kept.
    fn create_members(&self, session: &mut AdbcSession) -> Result<Vec<bool>> {
        let mut stood = vec![true; self.stagings.len()];
        for members in &self.members {
            let (schema, name) = &members.stored;
            let found = catalog::kind(session, self.shared.quirks, schema.as_deref(), name)?;
            if found.is_some() && self.stored.is_some() {
                continue;
            }
            let doing = format!(
                "cannot make the table of members of {}",
                members.reference()
            );
            if found.is_some() {
                session.run(&doing, &members.remove_statement())?;
            }
            session.run(&doing, &members.create_statement())?;
            for (target, stood) in stood.iter_mut().enumerate() {
                *stood &= !members.is_in(target);
            }
        }
        Ok(stood)
    }

    fn enter(&mut self, session: &mut AdbcSession) -> Result<()> {
        let (ledger, run) = (&self.shared.ledger, self.run);
        let targets = self.targets.iter();
        let names = targets.map(|plan| plan.name.sql.clone()).collect();
        let mut tables: Vec<_> = self.stagings.iter().map(Staging::stored).collect();
        tables.extend(self.members.iter().map(|members| members.stored.clone()));
        self.record = Some(match &self.stored {
            Some(stored) => ledger.take_over(session, stored, run, names, &tables)?,
            None => ledger.enter(session, run, self.run_id, names, &tables)?,
        });
        Ok(())
    }
}

/// The stopped run, if it can be resumed.
fn stopped(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    run_id: RunId,
    run_key: &RunKey,
) -> Result<StoredRun> {
    let found = shared.ledger.run(session, run_id)?;
    found
        .filter(|stored| {
            stored.record.state == RunState::Loading && stored.record.run_key == *run_key
        })
        .ok_or_else(|| Error::Ledger {
            what: format!("run {run_id} in {} cannot be resumed", shared.ledger.run),
            hint: "somebody ended it meanwhile: run the same command again".to_owned(),
        })
}

impl OpenRun for AdbcRun {
    fn record(&self) -> &RunRecord {
        &self.record
    }

    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        let shared = self.shared.clone();
        let (quirks, ledger, run_id) = (shared.quirks, &shared.ledger, self.record.run_id);
        let mut session = self.session();
        let asked: HashSet<&str> = keys.iter().map(UnitKey::as_str).collect();
        let mut gone_names: HashSet<String> = HashSet::new();
        ledger.units(&mut *session, run_id, &mut |unit| {
            if asked.contains(unit.key.as_str()) {
                gone_names.insert(unit.target);
            }
        })?;
        let mut gone = Vec::new();
        ledger.units(&mut *session, run_id, &mut |unit| {
            if gone_names.contains(&unit.target) {
                gone.push(unit.key);
            }
        })?;
        let stagings = self.stagings.iter();
        let gone_targets: Vec<&Staging> = stagings
            .filter(|staging| gone_names.contains(&staging.plan.name.sql))
            .collect();
        session.begin()?;
        let emptied = gone_targets.iter().try_for_each(|staging| {
            ledger.fence(&mut *session, &self.record)?;
            if quirks.transactional_ddl {
                staging.remove(&mut session)?;
                staging.create(&mut session)?;
            } else {
                let statement = format!("DELETE FROM {}", staging.sql);
                session.run("cannot empty a staging table", &statement)?;
            }
            ledger.forget_target(&mut *session, run_id, &staging.plan.name.sql)
        });
        match emptied {
            Ok(()) => {
                session.commit("cannot remove units from staging")?;
                self.members.refresh(&mut session)?;
            }
            Err(error) => {
                // The first error is reported.
                let _ = session.rollback();
                return Err(error);
            }
        }
        Ok(gone)
    }

    fn member_numbers(&self) -> Option<Arc<dyn MemberNumbers>> {
        Some(Arc::clone(&self.members) as _)
    }

    fn open_stream(&self, _: &StreamSetup<'_>) -> Result<Box<dyn UnitStream + '_>> {
        let session = self.shared.session(&self.interrupt)?;
        Ok(Box::new(Stream::new(self, session)))
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        let see = &mut |unit| see(CommittedRecord::Unit(unit));
        let ledger = &self.shared.ledger;
        ledger.units(&mut *self.session(), self.record.run_id, see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        let mut session = self.session();
        let rows = self.stagings.iter();
        let rows = rows.map(|staging| staging.count(&mut session));
        rows.collect::<Result<_>>().map(StagedRows::OfTargets)
    }

    fn staged_sums(&self, target: usize, forms: &[ColumnForm]) -> Result<StagedSums> {
        let vendor = self.shared.quirks.vendor;
        sums::staged(vendor, &mut self.session(), &self.stagings[target], forms)
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        _: &mut dyn RowsInSource,
    ) -> Result<Published> {
        publish::publish(self, &mut self.session(), reached)
    }

    fn is_switched(&self) -> Result<bool> {
        // The run's own connection may be lost, so this needs another one.
        let mut session = self.shared.session(&Arc::new(Interrupt::default()))?;
        let stored = self.shared.ledger.run(&mut session, self.record.run_id)?;
        Ok(stored.is_some_and(|stored| stored.record.state == RunState::Switched))
    }

    fn analyze(&self, target: usize) -> Result<()> {
        let staging = &self.stagings[target];
        let mut session = self.session();
        session.refuse_interrupted()?;
        let doing = format!("cannot analyze {}", staging.plan.name.sql);
        let Some([limit, reset]) = self.shared.quirks.analyze_wait else {
            session.run(&doing, &staging.analyze_statement())?;
            return Ok(());
        };
        session.run(&doing, limit)?;
        let analyzed = session.run(&doing, &staging.analyze_statement());
        let reset = session.run(&doing, reset);
        analyzed?;
        reset?;
        Ok(())
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.interrupt.clone()
    }
}
