//! The table of runs.

use std::fmt::Display;

use inrush_rows::ids::{RunId, RunKey};

use super::{LedgerSession, READING, SqlLedger, VERSION, json};
use crate::error::{Error, Result};
use crate::ledger_records::{NewRun, RunRecord, RunState};
use crate::ledger_row::LedgerRow;

const COLUMNS: &str = "run_id, version, name, run_key, package, package_hash, holder, epoch, state, started_at, \
                       switched_at, targets, staging, loaded";

/// A row of the table of runs.
#[derive(Clone, Debug)]
pub struct StoredRun<N> {
    /// The part that all destinations have.
    pub record: RunRecord,
    /// Its staging tables.
    pub staging: Vec<N>,
    /// The rows that a switched run has loaded into each target; `None` if other rows have replaced them.
    pub loaded: Vec<Option<u64>>,
}

impl SqlLedger {
    /// The runs of a package, or of all, the oldest first.
    pub fn runs<S: LedgerSession>(
        &self,
        session: &mut S,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<StoredRun<S::StagingName>>> {
        let condition = match run_key {
            Some(key) => format!("WHERE run_key = {}", self.text(key.as_str())),
            None => String::new(),
        };
        self.select(session, self.dialect.passes_locked, &condition)
    }

    /// The run with this number.
    pub fn run<S: LedgerSession>(
        &self,
        session: &mut S,
        run_id: RunId,
    ) -> Result<Option<StoredRun<S::StagingName>>> {
        let found = self.select(session, "", &format!("WHERE run_id = {run_id}"))?;
        Ok(found.into_iter().next())
    }

    fn select<S: LedgerSession>(
        &self,
        session: &mut S,
        hint: &str,
        condition: &str,
    ) -> Result<Vec<StoredRun<S::StagingName>>> {
        let query = format!(
            "SELECT {COLUMNS} FROM {}{hint} {condition} ORDER BY run_id",
            self.run
        );
        let parse = |row| {
            let mut row = LedgerRow::new(&self.run, row);
            Ok(StoredRun {
                record: row.run_record(VERSION)?,
                staging: row.json("staging")?,
                loaded: row.json("loaded")?,
            })
        };
        let rows = session.rows(READING, &query)?;
        rows.into_iter().map(parse).collect()
    }

    /// The number of the next run.
    pub fn next_id(&self, session: &mut impl LedgerSession) -> Result<RunId> {
        let query = format!(
            "SELECT max(run_id) FROM {}{}",
            self.run, self.dialect.reads_uncommitted
        );
        let rows = session.rows(READING, &query)?;
        let row = rows.into_iter().next().unwrap_or_default();
        let last = LedgerRow::new(&self.run, row).number_or_null("run_id")?;
        Ok(last.map_or(RunId::FIRST, |last| RunId::new(last).next()))
    }

    /// Enters a new run with this number.
    pub fn enter<S: LedgerSession>(
        &self,
        session: &mut S,
        run: &NewRun,
        run_id: RunId,
        targets: Vec<String>,
        staging: &[S::StagingName],
    ) -> Result<RunRecord> {
        let record = RunRecord {
            run_id,
            name: run.name.clone(),
            run_key: run.run_key.clone(),
            package: run.package.clone(),
            package_hash: run.package_hash.clone(),
            holder: run.holder.clone(),
            epoch: 1,
            state: RunState::Loading,
            started_at_microseconds: run.started_at_microseconds,
            switched_at_microseconds: None,
            targets,
        };
        let values = format!(
            "{run_id}, {VERSION}, {}, {}, {}, {}, {}, 1, {}, {}, NULL, {}, {}, {}",
            self.text(record.name.as_str()),
            self.text(record.run_key.as_str()),
            self.text(&record.package),
            self.text(&record.package_hash),
            self.text(&record.holder),
            self.text("loading"),
            record.started_at_microseconds,
            self.text(&json(&record.targets)),
            self.text(&json(&staging)),
            self.text("[]"),
        );
        let statement = self.enter_statement(&values);
        session.run("cannot enter the run into the ledger", &statement)?;
        Ok(record)
    }

    /// The statement that enters a run, with its values.
    pub fn enter_statement(&self, values: &str) -> String {
        format!("INSERT INTO {} ({COLUMNS}) VALUES ({values})", self.run)
    }

    /// Takes over a stopped run: raises its epoch, so that its former holder cannot write any more.
    pub fn take_over<S: LedgerSession>(
        &self,
        session: &mut S,
        stored: &StoredRun<S::StagingName>,
        run: &NewRun,
        targets: Vec<String>,
        staging: &[S::StagingName],
    ) -> Result<RunRecord> {
        let mut record = stored.record.clone();
        record.epoch += 1;
        record.holder = run.holder.clone();
        record.package_hash = run.package_hash.clone();
        record.targets = targets;
        let values = format!(
            "epoch = {}, holder = {}, package_hash = {}, targets = {}, staging = {}",
            record.epoch,
            self.text(&record.holder),
            self.text(&record.package_hash),
            self.text(&json(&record.targets)),
            self.text(&json(&staging)),
        );
        let statement = self.take_over_statement(record.run_id, &values);
        session.run("cannot take the run over in the ledger", &statement)?;
        Ok(record)
    }

    /// The statement that takes a run over, with the new values.
    pub fn take_over_statement(&self, run_id: impl Display, values: &str) -> String {
        format!("UPDATE {} SET {values} WHERE run_id = {run_id}", self.run)
    }

    /// Locks the run's row until the transaction ends, and fails if another process has taken over or ended the run.
    pub fn fence(&self, session: &mut impl LedgerSession, record: &RunRecord) -> Result<()> {
        let rows = session.rows(READING, &self.fence_statement(record.run_id))?;
        let row: Vec<String> = rows
            .into_iter()
            .flatten()
            .map(Option::unwrap_or_default)
            .collect();
        match row.as_slice() {
            [epoch, state, _] if *epoch == record.epoch.to_string() && state == "loading" => Ok(()),
            [_, state, holder] if state == "loading" => Err(Error::Held {
                what: format!(
                    "run {} is no longer held by this process: {holder} has taken it over",
                    record.name
                ),
                hint: "let the other process load; this one commits nothing more".to_owned(),
            }),
            [_, state, _] => Err(Error::Held {
                what: format!(
                    "run {} is no longer held by this process: another one has ended it, and it is {state}",
                    record.name
                ),
                hint: "this process commits nothing more; the same command begins a new run, unless the files are loaded"
                    .to_owned(),
            }),
            _ => Err(Error::Ledger {
                what: format!(
                    "run {} is no longer in the ledger {}",
                    record.name, self.run
                ),
                hint: "somebody removed it: run the same command again".to_owned(),
            }),
        }
    }

    /// The query that reads the row of a run, and locks it if the database can lock rows.
    pub fn fence_statement(&self, run_id: impl Display) -> String {
        format!(
            "SELECT epoch, state, holder FROM {}{} WHERE run_id = {run_id}{}",
            self.run, self.dialect.holds_row, self.dialect.holds_row_at_end
        )
    }

    /// Marks a run as switched. `loaded` has the number of its rows in each target.
    pub fn mark_switched(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        at_microseconds: i64,
        loaded: &[u64],
    ) -> Result<()> {
        let loaded = self.text(&json(&loaded));
        let statement = self.switched_statement(run_id, at_microseconds, &loaded);
        session.run("cannot mark the run as switched", &statement)
    }

    /// The statement that marks a run as switched. `loaded` is a literal.
    pub fn switched_statement(
        &self,
        run_id: impl Display,
        at_microseconds: impl Display,
        loaded: &str,
    ) -> String {
        let staging = match self.dialect.switch_ends_staging {
            true => format!(", staging = {}", self.text("[]")),
            false => String::new(),
        };
        format!(
            "UPDATE {} SET state = {}, switched_at = {at_microseconds}, loaded = {loaded}{staging} WHERE run_id = {run_id}",
            self.run,
            self.text("switched"),
        )
    }

    /// Notes that a target has no rows of earlier runs any more. Returns these runs, each with the number of its rows
    /// there.
    pub fn mark_gone<S: LedgerSession>(
        &self,
        session: &mut S,
        target: &str,
    ) -> Result<Vec<(RunId, u64)>> {
        let mut gone = Vec::new();
        let condition = format!("WHERE state = {}", self.text("switched"));
        for stored in self.select(session, self.dialect.passes_locked, &condition)? {
            let run_id = stored.record.run_id;
            let mut loaded = stored.loaded;
            let before = gone.len();
            for (place, name) in stored.record.targets.iter().enumerate() {
                let own = loaded.get_mut(place).filter(|_| name == target);
                let rows = own.and_then(Option::take);
                gone.extend(rows.map(|rows| (run_id, rows)));
            }
            if gone.len() > before {
                self.set_loaded(session, run_id, &loaded)?;
            }
        }
        Ok(gone)
    }

    /// Records how many rows a run has in each of its targets.
    pub(super) fn set_loaded(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        loaded: &[Option<u64>],
    ) -> Result<()> {
        let statement = self.loaded_statement(run_id, &self.text(&json(&loaded)));
        session.run("cannot record the replaced rows in the ledger", &statement)
    }

    /// The statement that records how many rows a run has in each of its targets. `loaded` is a literal.
    pub fn loaded_statement(&self, run_id: impl Display, loaded: &str) -> String {
        format!(
            "UPDATE {} SET loaded = {loaded} WHERE run_id = {run_id}",
            self.run
        )
    }

    /// Notes that the staging tables of a run are removed.
    pub fn clear_staging(&self, session: &mut impl LedgerSession, run_id: RunId) -> Result<()> {
        session.run(
            "cannot record in the ledger that staging was removed",
            &self.clear_statement(run_id),
        )
    }

    /// The statement that notes that the staging tables of a run are removed.
    pub fn clear_statement(&self, run_id: impl Display) -> String {
        format!(
            "UPDATE {} SET staging = {} WHERE run_id = {run_id}",
            self.run,
            self.text("[]")
        )
    }

    /// Marks a run as discarded, and removes its units.
    pub fn mark_discarded(&self, session: &mut impl LedgerSession, run_id: RunId) -> Result<()> {
        let doing = "cannot mark the run as given up";
        let units = format!("DELETE FROM {} WHERE run_id = {run_id}", self.unit);
        let run = format!(
            "UPDATE {} SET state = {}, staging = {} WHERE run_id = {run_id}",
            self.run,
            self.text("discarded"),
            self.text("[]")
        );
        session.run(doing, &units)?;
        session.run(doing, &run)
    }
}
