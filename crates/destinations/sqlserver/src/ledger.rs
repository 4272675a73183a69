//! The ledger: a table of runs and one of units, in a schema of their own.
//!
//! Texts have a binary collation: keys that differ in case or in blanks are different keys. Each table has a clustered
//! primary key, so that a session locks the row of its run and no other.

use std::fmt::Display;

use inrush_destination::{Error, LedgerRow, NewRun, Result, RunRecord, RunState, UnitRecord};
use inrush_rows::ids::{RunId, RunKey, UnitKey};

use crate::catalog;
use crate::changes::CHANGE;
use crate::connection::SqlSession;
use crate::sql;

/// The version of the ledger's format, stored in each run.
const VERSION: u64 = 1;
/// Units that are read at a time: all units of a run may not fit into memory.
const UNITS_AT_A_TIME: usize = 2_000;
/// Bytes are compared, not words of a language.
pub const COLLATION: &str = "COLLATE Latin1_General_BIN2";
/// Leaves out rows that another session is changing. Without READCOMMITTEDLOCK it is refused (error 650) where the
/// database has READ_COMMITTED_SNAPSHOT on.
const PASSES_LOCKED: &str = "WITH (READCOMMITTEDLOCK, READPAST)";
/// The step of all questions to the ledger.
pub const READING: &str = "cannot read the ledger";

/// The names of the ledger's tables.
#[derive(Clone, Debug)]
pub struct Ledger {
    schema: String,
    /// The table of runs, quoted.
    pub run: String,
    /// The table of units, quoted.
    pub unit: String,
    /// The table of what runs did to their targets, quoted.
    pub change: String,
    /// The table of the runs' lineage, quoted.
    lineage: String,
}

/// A row of the table of runs.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// The part that all destinations have.
    pub record: RunRecord,
    /// Its staging tables: schema and name.
    pub staging: Vec<(String, String)>,
    /// The rows that a switched run has loaded into each target; `None` if other rows have replaced them.
    pub loaded: Vec<Option<u64>>,
}

/// The name of the table of lineage.
const LINEAGE: &str = "lineage";

const RUN_COLUMNS: &str = "run_id, version, name, run_key, package, package_hash, holder, epoch, state, started_at, \
                           switched_at, targets, staging, loaded";

impl Ledger {
    /// The ledger in this schema.
    pub fn new(schema: &str) -> Ledger {
        Ledger {
            run: sql::table(schema, "run"),
            unit: sql::table(schema, "unit"),
            change: sql::table(schema, CHANGE),
            lineage: sql::table(schema, LINEAGE),
            schema: schema.to_owned(),
        }
    }

    /// True if it exists.
    pub fn exists(&self, session: &mut SqlSession) -> Result<bool> {
        self.has_table(session, "run")
    }

    /// True if it has this table.
    pub fn has_table(&self, session: &mut SqlSession, name: &str) -> Result<bool> {
        Ok(catalog::entry(session, &self.schema, name)?.is_some())
    }

    /// The statement that creates one of its tables, if it does not exist: ledgers of older versions lack some.
    pub fn create_table_statement(
        &self,
        session: &mut SqlSession,
        name: &str,
        columns: &str,
    ) -> Result<Option<String>> {
        let table = sql::table(&self.schema, name);
        let is_missing = !self.has_table(session, name)?;
        Ok(is_missing.then(|| format!("CREATE TABLE {table} ({columns})")))
    }

    /// The table that keeps the replaced rows of a target, by its index, until the package replaces them again.
    pub fn kept_table(&self, run_id: impl Display, place: usize) -> String {
        sql::table(&self.schema, &format!("kept_{run_id}_{}", place + 1))
    }

    /// The table that keeps the rows of a target that an undo takes out.
    pub fn undone_table(&self, run_id: RunId, place: usize) -> String {
        sql::table(&self.schema, &format!("undone_{run_id}_{}", place + 1))
    }

    /// Creates it if it does not exist. The session is in a transaction that no other process begins a run in.
    pub fn create(&self, session: &mut SqlSession) -> Result<()> {
        let mut statements = self.create_statements(session)?;
        statements.extend(self.create_changes_statement(session)?);
        for statement in statements {
            session.run("cannot make the ledger", &statement)?;
        }
        Ok(())
    }

    /// The batches that create what it lacks, without the tables of changes and of lineage.
    pub fn create_statements(&self, session: &mut SqlSession) -> Result<Vec<String>> {
        if self.exists(session)? {
            return Ok(Vec::new());
        }
        let mut statements = Vec::new();
        if catalog::schema(session, &self.schema)?.is_none() {
            // CREATE SCHEMA must be alone in its batch.
            statements.push(format!("CREATE SCHEMA {}", sql::identifier(&self.schema)));
        }
        let unit = format!(
            "CREATE TABLE {} (run_id bigint NOT NULL, unit_key nvarchar(200) {COLLATION} NOT NULL, target nvarchar(max) \
             {COLLATION} NOT NULL, rows_loaded bigint NOT NULL, detail nvarchar(max) {COLLATION} NOT NULL, PRIMARY KEY \
             CLUSTERED (run_id, unit_key))",
            self.unit
        );
        let run = format!(
            "CREATE TABLE {} (run_id bigint NOT NULL PRIMARY KEY CLUSTERED, version bigint NOT NULL, name nvarchar(400) \
             {COLLATION} NOT NULL, run_key nvarchar(200) {COLLATION} NOT NULL, package nvarchar(max) {COLLATION} NOT NULL, \
             package_hash nvarchar(200) {COLLATION} NOT NULL, holder nvarchar(max) {COLLATION} NOT NULL, epoch bigint NOT \
             NULL, state nvarchar(20) {COLLATION} NOT NULL, started_at bigint NOT NULL, switched_at bigint NULL, targets \
             nvarchar(max) {COLLATION} NOT NULL, staging nvarchar(max) {COLLATION} NOT NULL, loaded nvarchar(max) {COLLATION} \
             NOT NULL)",
            self.run
        );
        statements.extend([unit, run]);
        Ok(statements)
    }

    /// The runs of a package, or of all, the oldest first. A run whose row another session is changing is left out:
    /// waiting for it could last as long as that session.
    pub fn runs(
        &self,
        session: &mut SqlSession,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<StoredRun>> {
        let condition = match run_key {
            Some(key) => format!("WHERE run_key = {}", sql::text(key.as_str())),
            None => String::new(),
        };
        self.select(session, PASSES_LOCKED, &condition)
    }

    /// The run with this number.
    pub fn run(&self, session: &mut SqlSession, run_id: RunId) -> Result<Option<StoredRun>> {
        let found = self.select(session, "", &format!("WHERE run_id = {run_id}"))?;
        Ok(found.into_iter().next())
    }

    /// The holders of runs that are loading, or whose rows another session is changing now; of one package or of all.
    /// Uncommitted rows are read, so that this never waits.
    pub fn holders(
        &self,
        session: &mut SqlSession,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<String>> {
        let of_key = match run_key {
            Some(key) => format!("run_key = {} AND ", sql::text(key.as_str())),
            None => String::new(),
        };
        let question = format!(
            "SELECT holder FROM {} WITH (NOLOCK) WHERE {of_key}(state = N'loading' OR run_id NOT IN (SELECT run_id FROM {} \
             {PASSES_LOCKED})) ORDER BY run_id DESC",
            self.run, self.run
        );
        let rows = session.rows(READING, &question)?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    fn select(
        &self,
        session: &mut SqlSession,
        hint: &str,
        condition: &str,
    ) -> Result<Vec<StoredRun>> {
        let question = format!(
            "SELECT {RUN_COLUMNS} FROM {} {hint} {condition} ORDER BY run_id",
            self.run
        );
        let rows = session.rows(READING, &question)?;
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
        session: &mut SqlSession,
        run_id: RunId,
        see: &mut dyn FnMut(UnitRecord),
    ) -> Result<()> {
        let mut after = String::new();
        loop {
            let question = format!(
                "SELECT TOP ({UNITS_AT_A_TIME}) unit_key, target, rows_loaded, detail FROM {} WHERE run_id = {run_id} AND \
                 unit_key > {} ORDER BY unit_key",
                self.unit,
                sql::text(&after)
            );
            let rows = session.rows(READING, &question)?;
            let is_last = rows.len() < UNITS_AT_A_TIME;
            for row in rows {
                let mut row = LedgerRow::new(&self.unit, row);
                let unit = UnitRecord {
                    key: UnitKey::new(row.text("unit_key")?),
                    target: row.text("target")?,
                    rows_loaded: row.number("rows_loaded")?,
                    detail: row.text("detail")?,
                };
                unit.key.as_str().clone_into(&mut after);
                see(unit);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The next number of a run.
    pub fn next_id(&self, session: &mut SqlSession) -> Result<RunId> {
        let next = session.number(
            READING,
            &format!("SELECT MAX(run_id) FROM {} WITH (NOLOCK)", self.run),
        )?;
        Ok(next.map_or(RunId::FIRST, |last| RunId::new(last).next()))
    }

    /// Enters a new run with this number.
    pub fn enter(
        &self,
        session: &mut SqlSession,
        run: &NewRun,
        run_id: RunId,
        targets: Vec<String>,
        staging: &[(String, String)],
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
            "{run_id}, {VERSION}, {}, {}, {}, {}, {}, 1, N'loading', {}, NULL, {}, {}, N'[]'",
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

    /// Takes over a stopped run: raises its epoch, so that its former holder cannot write any more.
    pub fn take_over(
        &self,
        session: &mut SqlSession,
        stored: &StoredRun,
        run: &NewRun,
        targets: Vec<String>,
        staging: &[(String, String)],
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

    /// Keeps the lineage of a run in place of an earlier attempt's, in the transaction that enters the run. Ledgers of older
    /// versions lack its table.
    pub fn enter_lineage(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        lineage: &str,
    ) -> Result<()> {
        let create = self.create_lineage_statement(session)?;
        let keep = self.lineage_statements(run_id, &sql::text(lineage));
        for statement in create.into_iter().chain(keep) {
            session.run(
                "cannot enter the lineage of the run into the ledger",
                &statement,
            )?;
        }
        Ok(())
    }

    /// The statement that creates the table of lineage, if it does not exist.
    pub fn create_lineage_statement(&self, session: &mut SqlSession) -> Result<Option<String>> {
        let columns = format!(
            "run_id bigint NOT NULL PRIMARY KEY CLUSTERED, lineage nvarchar(max) {COLLATION} NOT NULL"
        );
        self.create_table_statement(session, LINEAGE, &columns)
    }

    /// The statements that keep the lineage of a run. `lineage` is a literal.
    pub fn lineage_statements(&self, run_id: impl Display, lineage: &str) -> [String; 2] {
        let table = &self.lineage;
        [
            format!("DELETE FROM {table} WHERE run_id = {run_id}"),
            format!("INSERT INTO {table} (run_id, lineage) VALUES ({run_id}, {lineage})"),
        ]
    }

    /// The lineage of a run, if it was kept.
    pub fn lineage(&self, session: &mut SqlSession, run_id: RunId) -> Result<Option<String>> {
        if !self.has_table(session, LINEAGE)? {
            return Ok(None);
        }
        let question = format!(
            "SELECT lineage FROM {} WHERE run_id = {run_id}",
            self.lineage
        );
        let rows = session.rows(READING, &question)?;
        Ok(rows.into_iter().flatten().next().flatten())
    }

    /// Holds the run's row until the transaction ends, and fails if another process has taken over or ended the run.
    /// Streams share the row; a process that takes the run over waits for their transactions.
    pub fn fence(&self, session: &mut SqlSession, record: &RunRecord) -> Result<()> {
        let rows = session.rows(READING, &self.fence_statement(record.run_id))?;
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

    /// The query that holds the row of a run.
    pub fn fence_statement(&self, run_id: impl Display) -> String {
        format!(
            "SELECT epoch, state, holder FROM {} WITH (REPEATABLEREAD) WHERE run_id = {run_id}",
            self.run
        )
    }

    /// The statement that enters a unit.
    pub fn unit_statement(&self, run_id: RunId, unit: &UnitRecord) -> String {
        self.enter_unit_statement(&format!(
            "{run_id}, {}, {}, {}, {}",
            sql::text(unit.key.as_str()),
            sql::text(&unit.target),
            unit.rows_loaded,
            sql::text(&unit.detail),
        ))
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
        session: &mut SqlSession,
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

    /// Marks a run as switched. Its staging tables are gone.
    pub fn mark_switched(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        at_microseconds: i64,
        loaded: &[u64],
    ) -> Result<()> {
        let loaded = sql::text(&json(&loaded));
        let statement = self.switched_statement(run_id, at_microseconds, &loaded);
        session.run("cannot mark the run as switched", &statement)?;
        Ok(())
    }

    /// The statement that marks a run as switched. `loaded` is a literal.
    pub fn switched_statement(
        &self,
        run_id: impl Display,
        at_microseconds: impl Display,
        loaded: &str,
    ) -> String {
        format!(
            "UPDATE {} SET state = N'switched', switched_at = {at_microseconds}, loaded = {loaded}, staging = N'[]' WHERE \
             run_id = {run_id}",
            self.run
        )
    }

    /// Notes that a target has no rows of earlier runs any more. Returns these runs, each with the rows that it had there.
    pub fn mark_gone(&self, session: &mut SqlSession, target: &str) -> Result<Vec<(RunId, u64)>> {
        let mut gone = Vec::new();
        for stored in self.select(session, PASSES_LOCKED, "WHERE state = N'switched'")? {
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

    /// Records the rows that a run has in each of its targets.
    pub fn set_loaded(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        loaded: &[Option<u64>],
    ) -> Result<()> {
        let statement = self.loaded_statement(run_id, &sql::text(&json(&loaded)));
        session.run("cannot record the replaced rows in the ledger", &statement)?;
        Ok(())
    }

    /// The statement that records the rows that a run has in each of its targets. `loaded` is a literal.
    pub fn loaded_statement(&self, run_id: impl Display, loaded: &str) -> String {
        format!(
            "UPDATE {} SET loaded = {loaded} WHERE run_id = {run_id}",
            self.run
        )
    }

    /// Marks a run as discarded.
    pub fn mark_discarded(&self, session: &mut SqlSession, run_id: RunId) -> Result<()> {
        let statement = format!(
            "DELETE FROM {} WHERE run_id = {run_id}; UPDATE {} SET state = N'discarded', staging = N'[]' WHERE run_id = {run_id}",
            self.unit, self.run
        );
        session.run("cannot mark the run as given up", &statement)?;
        Ok(())
    }
}

pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers are written as JSON")
}
