//! The ledger: one table of runs and one of units.

use std::fmt::Display;

use inrush_destination::{Error, LedgerRow, NewRun, Result, RunRecord, RunState, UnitRecord};
use inrush_rows::ids::{RunId, RunKey, UnitKey};

use crate::catalog;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;

/// The version of the ledger's format, stored in each run.
const VERSION: u64 = 1;
/// Units that are read at a time: all units of a run may not fit into memory.
const UNITS_AT_A_TIME: usize = 2_000;

/// The names of the ledger's tables.
#[derive(Clone, Debug)]
pub struct AdbcLedger {
    schema: Option<String>,
    run_name: String,
    /// The table of runs, quoted.
    pub run: String,
    /// The table of units, quoted.
    pub unit: String,
    /// The table of changes of targets, quoted.
    pub change: String,
    prefix: &'static str,
}

/// A row of the table of runs.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The part that all destinations have.
    pub record: RunRecord,
    /// Its staging tables: schema and name.
    pub staging: Vec<(Option<String>, String)>,
    /// The number of rows that a switched run has loaded into each target; `None` if other rows have replaced them.
    pub loaded: Vec<Option<u64>>,
}

const RUN_COLUMNS: &str = "run_id, version, name, run_key, package, package_hash, holder, epoch, state, \
                           started_at, switched_at, targets, staging, loaded";

impl AdbcLedger {
    /// The ledger in this schema, if the database has schemas.
    pub fn new(quirks: &Quirks, schema: &str) -> AdbcLedger {
        let prefix = quirks.ledger_prefix;
        let schema = quirks.has_schemas().then(|| schema.to_owned());
        let mut ledger = AdbcLedger {
            run: String::new(),
            unit: String::new(),
            change: String::new(),
            run_name: format!("{prefix}run"),
            prefix,
            schema,
        };
        ledger.run = ledger.table("run");
        ledger.unit = ledger.table("unit");
        ledger.change = ledger.table("change");
        ledger
    }

    /// The quoted name of a table beside those of the ledger.
    pub fn table(&self, name: &str) -> String {
        let name = sql::identifier(&format!("{}{name}", self.prefix));
        match &self.schema {
            Some(schema) => format!("{}.{name}", sql::identifier(schema)),
            None => name,
        }
    }

    /// Schema and name of a table beside those of the ledger.
    pub(crate) fn name_of(&self, name: &str) -> (Option<&str>, String) {
        (self.schema.as_deref(), format!("{}{name}", self.prefix))
    }

    /// True if it exists.
    pub fn exists(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        let schema = self.schema.as_deref();
        Ok(catalog::kind(session, quirks, schema, &self.run_name)?.is_some())
    }

    /// Creates it if it does not exist.
    pub fn create(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<()> {
        if self.exists(session, quirks)? {
            return Ok(());
        }
        let doing = "cannot make the ledger";
        let has_schema = self.schema_exists(session)?;
        let schema = self.create_schema().filter(|_| !has_schema);
        for statement in schema.into_iter().chain(self.create_tables()) {
            session.run(doing, &statement)?;
        }
        Ok(())
    }

    /// The statement that makes its schema, if the database has schemas.
    pub fn create_schema(&self) -> Option<String> {
        let schema = self.schema.as_deref()?;
        Some(format!("CREATE SCHEMA {}", sql::identifier(schema)))
    }

    /// The statements that make its tables. The table of runs is created last: if it exists, both do.
    pub fn create_tables(&self) -> [String; 2] {
        let unit = format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, unit_key TEXT NOT NULL, \
             target TEXT NOT NULL, rows_loaded BIGINT NOT NULL, detail TEXT NOT NULL)",
            self.unit
        );
        let run = format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, version BIGINT NOT NULL, \
             name TEXT NOT NULL, run_key TEXT NOT NULL, package TEXT NOT NULL, \
             package_hash TEXT NOT NULL, holder TEXT NOT NULL, epoch BIGINT NOT NULL, \
             state TEXT NOT NULL, started_at BIGINT NOT NULL, switched_at BIGINT, \
             targets TEXT NOT NULL, staging TEXT NOT NULL, loaded TEXT NOT NULL)",
            self.run
        );
        [unit, run]
    }

    /// True if its schema exists, or the database has no schemas.
    pub fn schema_exists(&self, session: &mut AdbcSession) -> Result<bool> {
        match &self.schema {
            Some(schema) => catalog::schema_exists(session, schema),
            None => Ok(true),
        }
    }

    /// The statement with which transactions that take the next run number wait for each other, if the database has one.
    pub fn lock_statement(&self, quirks: &Quirks) -> Option<String> {
        let lock = quirks.lock_table?;
        Some(format!("LOCK TABLE {} {lock}", self.run))
    }

    /// The table that keeps the replaced rows of a target, by its index, until the package replaces them again.
    pub fn kept_table(&self, run_id: impl Display, place: usize) -> String {
        self.table(&format!("kept_{run_id}_{}", place + 1))
    }

    /// The runs of a package, or of all, the oldest first.
    pub fn runs(
        &self,
        session: &mut AdbcSession,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<StoredRun>> {
        let condition = match run_key {
            Some(key) => format!("WHERE run_key = {}", sql::text(key.as_str())),
            None => String::new(),
        };
        self.select(session, &condition)
    }

    /// The run with this number.
    pub fn run(&self, session: &mut AdbcSession, run_id: RunId) -> Result<Option<StoredRun>> {
        let found = self.select(session, &format!("WHERE run_id = {run_id}"))?;
        Ok(found.into_iter().next())
    }

    fn select(&self, session: &mut AdbcSession, condition: &str) -> Result<Vec<StoredRun>> {
        let statement = format!(
            "SELECT {RUN_COLUMNS} FROM {} {condition} ORDER BY run_id",
            self.run
        );
        let rows = session.rows("cannot read the ledger", &statement)?;
        rows.into_iter().map(|row| self.parse(row)).collect()
    }

    fn parse(&self, row: Vec<Option<String>>) -> Result<StoredRun> {
        let mut row = LedgerRow::new(&self.run, row);
        Ok(StoredRun {
            record: row.run_record(VERSION)?,
            staging: row.json("staging")?,
            loaded: row.json("loaded")?,
        })
    }

    /// Passes each unit of a run to `see`, in the order of their keys.
    pub fn units(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        see: &mut dyn FnMut(UnitRecord),
    ) -> Result<()> {
        let mut after = String::new();
        loop {
            let statement = format!(
                "SELECT unit_key, target, rows_loaded, detail FROM {} \
                 WHERE run_id = {run_id} AND unit_key > {} ORDER BY unit_key LIMIT {UNITS_AT_A_TIME}",
                self.unit,
                sql::text(&after)
            );
            let rows = session.rows("cannot read the ledger", &statement)?;
            let is_last = rows.len() < UNITS_AT_A_TIME;
            for row in rows {
                let unit = self.parse_unit(row)?;
                unit.key.as_str().clone_into(&mut after);
                see(unit);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn parse_unit(&self, row: Vec<Option<String>>) -> Result<UnitRecord> {
        let mut row = LedgerRow::new(&self.unit, row);
        Ok(UnitRecord {
            key: UnitKey::new(row.text("unit_key")?),
            target: row.text("target")?,
            rows_loaded: row.number("rows_loaded")?,
            detail: row.text("detail")?,
        })
    }

    /// Enters a new run with the next number.
    pub fn enter(
        &self,
        session: &mut AdbcSession,
        run: &NewRun,
        run_id: RunId,
        targets: Vec<String>,
        staging: &[(Option<String>, String)],
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
            "{run_id}, {VERSION}, {}, {}, {}, {}, {}, 1, 'loading', {}, NULL, {}, {}, '[]'",
            sql::text(record.name.as_str()),
            sql::text(record.run_key.as_str()),
            sql::text(&record.package),
            sql::text(&record.package_hash),
            sql::text(&record.holder),
            record.started_at_microseconds,
            sql::text(&json(&record.targets)),
            sql::text(&json(&staging)),
        );
        let statement = self.enter_statement(&values);
        session.run("cannot enter the run into the ledger", &statement)?;
        Ok(record)
    }

    /// The statement that enters a run, with its values.
    pub fn enter_statement(&self, values: &str) -> String {
        format!("INSERT INTO {} ({RUN_COLUMNS}) VALUES ({values})", self.run)
    }

    /// The next number of a run.
    pub fn next_id(&self, session: &mut AdbcSession) -> Result<RunId> {
        let statement = format!("SELECT coalesce(max(run_id), 0) + 1 FROM {}", self.run);
        let next = session.number("cannot read the ledger", &statement)?;
        let next = next.and_then(|next| i64::try_from(next).ok());
        Ok(next.map_or(RunId::FIRST, RunId::new))
    }

    /// Takes over a stopped run: raises its epoch, so that its former holder cannot write any more.
    pub fn take_over(
        &self,
        session: &mut AdbcSession,
        stored: &StoredRun,
        run: &NewRun,
        targets: Vec<String>,
        staging: &[(Option<String>, String)],
    ) -> Result<RunRecord> {
        let mut record = stored.record.clone();
        record.epoch += 1;
        record.holder = run.holder.clone();
        record.package_hash = run.package_hash.clone();
        record.targets = targets;
        let values = format!(
            "epoch = {}, holder = {}, package_hash = {}, targets = {}, staging = {}",
            record.epoch,
            sql::text(&record.holder),
            sql::text(&record.package_hash),
            sql::text(&json(&record.targets)),
            sql::text(&json(&staging)),
        );
        let statement = self.take_over_statement(record.run_id, &values);
        session.run("cannot take the run over in the ledger", &statement)?;
        Ok(record)
    }

    /// The statement that takes a run over, with the new values.
    pub fn take_over_statement(&self, run_id: impl Display, values: &str) -> String {
        format!("UPDATE {} SET {values} WHERE run_id = {run_id}", self.run)
    }

    /// Locks the run's row, and fails if another process has taken over or ended the run.
    pub fn fence(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        record: &RunRecord,
    ) -> Result<()> {
        let statement = self.fence_statement(quirks, record.run_id);
        let rows = session.rows("cannot read the ledger", &statement)?;
        let row: Vec<String> = rows
            .into_iter()
            .flatten()
            .map(Option::unwrap_or_default)
            .collect();
        match row.as_slice() {
            [epoch, state, _] if *epoch == record.epoch.to_string() && state == "loading" => Ok(()),
            [_, state, holder] => Err(Error::Held {
                what: format!(
                    "run {} is no longer held by this process: it is {state}, and {holder} holds it",
                    record.name
                ),
                hint: "let the other process load, and end this one".to_owned(),
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

    /// The query that locks the run's row, if the database can lock rows.
    pub fn fence_statement(&self, quirks: &Quirks, run_id: impl Display) -> String {
        format!(
            "SELECT epoch, state, holder FROM {} WHERE run_id = {run_id}{}",
            self.run, quirks.hold_row
        )
    }

    /// Enters a unit.
    pub fn enter_unit(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        unit: &UnitRecord,
    ) -> Result<()> {
        let values = format!(
            "{run_id}, {}, {}, {}, {}",
            sql::text(unit.key.as_str()),
            sql::text(&unit.target),
            unit.rows_loaded,
            sql::text(&unit.detail),
        );
        let statement = self.enter_unit_statement(&values);
        session.run("cannot enter a unit into the ledger", &statement)?;
        Ok(())
    }

    /// The statement that enters a unit, with its values.
    pub fn enter_unit_statement(&self, values: &str) -> String {
        format!(
            "INSERT INTO {} (run_id, unit_key, target, rows_loaded, detail) VALUES ({values})",
            self.unit
        )
    }

    /// Deletes the units of a target.
    pub fn forget_target(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        target: &str,
    ) -> Result<()> {
        let statement = self.forget_statement(run_id, target);
        session.run("cannot remove units from the ledger", &statement)?;
        Ok(())
    }

    /// The statement that deletes the units of a target.
    pub fn forget_statement(&self, run_id: impl Display, target: &str) -> String {
        format!(
            "DELETE FROM {} WHERE run_id = {run_id} AND target = {}",
            self.unit,
            sql::text(target)
        )
    }

    /// Marks a run as switched.
    pub fn mark_switched(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        at_microseconds: i64,
        loaded: &[u64],
    ) -> Result<()> {
        let loaded = sql::text(&json(&loaded));
        let statement = self.switched_statement(run_id, at_microseconds, &loaded);
        session.run("cannot mark the run as switched", &statement)?;
        Ok(())
    }

    /// The statement that marks a run as switched.
    pub fn switched_statement(
        &self,
        run_id: impl Display,
        at_microseconds: impl Display,
        loaded: &str,
    ) -> String {
        format!(
            "UPDATE {} SET state = 'switched', switched_at = {at_microseconds}, loaded = {loaded} \
             WHERE run_id = {run_id}",
            self.run,
        )
    }

    /// Notes that a target has no rows of earlier runs any more. Returns these runs, and the rows that they had there.
    pub fn mark_gone(&self, session: &mut AdbcSession, target: &str) -> Result<Vec<(RunId, u64)>> {
        let mut gone = Vec::new();
        for stored in self.select(session, "WHERE state = 'switched'")? {
            let mut loaded = stored.loaded;
            let places = stored.record.targets.iter().enumerate();
            let own: Vec<usize> = places
                .filter(|(place, name)| {
                    *name == target && loaded.get(*place).is_some_and(Option::is_some)
                })
                .map(|(place, _)| place)
                .collect();
            if own.is_empty() {
                continue;
            }
            for place in own {
                gone.extend(
                    loaded[place]
                        .take()
                        .map(|rows| (stored.record.run_id, rows)),
                );
            }
            self.set_loaded(session, stored.record.run_id, &loaded)?;
        }
        Ok(gone)
    }

    /// Records the rows that a run has in each of its targets.
    pub(crate) fn set_loaded(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        loaded: &[Option<u64>],
    ) -> Result<()> {
        let statement = self.loaded_statement(run_id, &sql::text(&json(&loaded)));
        session.run("cannot record the replaced rows in the ledger", &statement)?;
        Ok(())
    }

    /// The statement that records the rows that a run has in each of its targets.
    pub fn loaded_statement(&self, run_id: impl Display, loaded: &str) -> String {
        format!(
            "UPDATE {} SET loaded = {loaded} WHERE run_id = {run_id}",
            self.run
        )
    }

    /// Notes that the staging tables of a run are removed.
    pub fn clear_staging(&self, session: &mut AdbcSession, run_id: RunId) -> Result<()> {
        session.run(
            "cannot record in the ledger that staging was removed",
            &self.clear_statement(run_id),
        )?;
        Ok(())
    }

    /// The statement that notes that the staging tables of a run are removed.
    pub fn clear_statement(&self, run_id: impl Display) -> String {
        format!(
            "UPDATE {} SET staging = '[]' WHERE run_id = {run_id}",
            self.run
        )
    }

    /// Marks a run as discarded.
    pub fn mark_discarded(&self, session: &mut AdbcSession, run_id: RunId) -> Result<()> {
        let doing = "cannot mark the run as given up";
        let units = format!("DELETE FROM {} WHERE run_id = {run_id}", self.unit);
        let run = format!(
            "UPDATE {} SET state = 'discarded', staging = '[]' WHERE run_id = {run_id}",
            self.run
        );
        session.run(doing, &units)?;
        session.run(doing, &run)?;
        Ok(())
    }
}

/// A value of the ledger as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers are written as JSON")
}
