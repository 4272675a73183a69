//! A run into a database.
//!
//! This module, [`publish`](crate::publish) and [`stream`](crate::stream) depend on each other: a run opens streams and
//! publishes, and both are steps of a run that they get as an argument.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_destination::{
    CancelRun, ColumnForm, Error, NewRun, OpenRun, PublishStep, Published, Result, RunRecord,
    RunState, StagedSums, TargetPlan, UnitStream,
};
use inrush_rows::ids::{RunId, RunKey, UnitKey};

use crate::interrupt::Interrupt;
use crate::ledger::StoredRun;
use crate::lock::Held;
use crate::publish;
use crate::session::AdbcSession;
use crate::shared_database::{Claim, SharedDatabase};
use crate::staging::{self, Staging};
use crate::stream::Stream;
use crate::sums;

/// A running load. Its fields are dropped in their order.
pub struct AdbcRun {
    session: Mutex<AdbcSession>,
    /// Lets the run be interrupted.
    pub interrupt: Arc<Interrupt>,
    /// The run as the ledger has it.
    pub record: RunRecord,
    /// Targets with their staging tables, in the plan's order.
    pub stagings: Vec<Staging>,
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
        let held = shared.hold(&mut session, &run.run_key, &run.holder)?;
        shared.ledger.create(&mut session, shared.quirks)?;
        let transactional = shared.quirks.transactional_ddl;
        if transactional {
            session.begin()?;
        }
        let entered = enter(shared, &mut session, run, targets);
        let (record, stagings) = match entered {
            Ok(entered) => entered,
            Err(error) => {
                // The first error is reported.
                let _ = session.rollback();
                return Err(error);
            }
        };
        if transactional {
            session.commit("cannot begin the run")?;
        }
        shared.one_thread(&mut session)?;
        Ok(AdbcRun {
            session: Mutex::new(session),
            interrupt,
            record,
            stagings,
            _held: held,
            _claim: claim,
            shared: shared.clone(),
        })
    }

    fn session(&self) -> MutexGuard<'_, AdbcSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enters a run into the ledger and creates its staging tables.
fn enter(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    run: &NewRun,
    targets: &[TargetPlan],
) -> Result<(RunRecord, Vec<Staging>)> {
    let (quirks, ledger) = (shared.quirks, &shared.ledger);
    if let Some(lock) = quirks.lock_table {
        let statement = format!("LOCK TABLE {} {lock}", ledger.run);
        session.run("cannot lock the ledger", &statement)?;
    }
    let stored = match run.takes_over {
        Some(run_id) => Some(stopped(shared, session, run_id, &run.run_key)?),
        None => None,
    };
    let run_id = match &stored {
        Some(stored) => stored.record.run_id,
        None => ledger.next_id(session)?,
    };
    let stagings: Vec<Staging> = targets
        .iter()
        .map(|plan| Staging::new(quirks, shared.product, &run.run_key, run_id, plan))
        .collect::<Result<_>>()?;
    // The number of rows of each target, from the ledger's units.
    let mut rows_of_units: BTreeMap<String, u64> = BTreeMap::new();
    if stored.is_some() {
        ledger.units(session, run_id, &mut |unit| {
            *rows_of_units.entry(unit.target).or_default() += unit.rows_loaded;
        })?;
    }
    // Staging tables that no target of the plan uses any more, or that a process has left because it was killed after a
    // switch.
    let mut left = stored
        .iter()
        .flat_map(|stored| stored.staging.clone())
        .collect::<Vec<_>>();
    for past in ledger.runs(session, Some(&run.run_key))? {
        if past.record.state == RunState::Switched && !past.staging.is_empty() {
            left.extend(past.staging);
            ledger.clear_staging(session, past.record.run_id)?;
        }
    }
    left.retain(|table| stagings.iter().all(|staging| staging.stored() != *table));
    for (schema, table) in &left {
        staging::remove(session, schema.as_deref(), table)?;
    }
    let is_target = |name: &&str| {
        stagings
            .iter()
            .any(|staging| staging.plan.name.sql == *name)
    };
    let targets_with_units = rows_of_units.keys().map(String::as_str);
    let mut forgotten: Vec<&str> = targets_with_units.filter(|name| !is_target(name)).collect();
    for staging in &stagings {
        let target = staging.plan.name.sql.as_str();
        let rows = rows_of_units.get(target).copied();
        let stands = staging.stands(session, quirks)?;
        // A staging table of this name cannot be used if another run has left it or somebody has changed it.
        if stands && stored.is_some() && staging.count(session)? == rows.unwrap_or(0) {
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
        ledger.forget_target(session, run_id, target)?;
    }
    let names = targets.iter().map(|plan| plan.name.sql.clone()).collect();
    let tables: Vec<_> = stagings.iter().map(Staging::stored).collect();
    let record = match &stored {
        Some(stored) => ledger.take_over(session, stored, run, names, &tables)?,
        None => ledger.enter(session, run, run_id, names, &tables)?,
    };
    ledger.enter_lineage(session, quirks, run_id, &run.lineage)?;
    Ok((record, stagings))
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
        ledger.units(&mut session, run_id, &mut |unit| {
            if asked.contains(unit.key.as_str()) {
                gone_names.insert(unit.target);
            }
        })?;
        let mut gone = Vec::new();
        ledger.units(&mut session, run_id, &mut |unit| {
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
            ledger.fence(&mut session, quirks, &self.record)?;
            if quirks.transactional_ddl {
                staging.remove(&mut session)?;
                staging.create(&mut session)?;
            } else {
                let statement = format!("DELETE FROM {}", staging.sql);
                session.run("cannot empty a staging table", &statement)?;
            }
            ledger.forget_target(&mut session, run_id, &staging.plan.name.sql)
        });
        match emptied {
            Ok(()) => session.commit("cannot remove units from staging")?,
            Err(error) => {
                // The first error is reported.
                let _ = session.rollback();
                return Err(error);
            }
        }
        Ok(gone)
    }

    fn open_stream(&self) -> Result<Box<dyn UnitStream + '_>> {
        let session = self.shared.session(&self.interrupt)?;
        Ok(Box::new(Stream::new(self, session)))
    }

    fn staged_rows(&self) -> Result<Vec<u64>> {
        let mut session = self.session();
        self.stagings
            .iter()
            .map(|staging| staging.count(&mut session))
            .collect()
    }

    fn staged_sums(&self, target: usize, forms: &[ColumnForm]) -> Result<StagedSums> {
        let vendor = self.shared.quirks.vendor;
        sums::staged(vendor, &mut self.session(), &self.stagings[target], forms)
    }

    fn publish(&self, reached: &dyn Fn(PublishStep)) -> Result<Published> {
        publish::publish(self, &mut self.session(), reached)
    }

    fn is_switched(&self) -> Result<bool> {
        // The run's own connection may be lost, so this needs another one.
        let mut session = self.shared.session(&Arc::new(Interrupt::default()))?;
        let stored = self.shared.ledger.run(&mut session, self.record.run_id)?;
        Ok(stored.is_some_and(|stored| stored.record.state == RunState::Switched))
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.interrupt.clone()
    }
}
