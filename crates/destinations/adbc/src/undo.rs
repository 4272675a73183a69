//! Undoes a run in one transaction: tables that it created are dropped, tables that it filled become empty again, and
//! rows that it replaced and kept are put back.
//!
//! Rows of one run cannot be distinguished from others in the same table. So the undo refuses a run that added rows to
//! others, and a run whose target was loaded or changed since: then the target does not have exactly the rows of the run.

use inrush_destination::{
    Error, PublishStep, Result, RunState, TargetName, UndoRequest, UndoneRun, UndoneTarget,
};
use inrush_rows::plural::counted;

use crate::catalog;
use crate::changes::{Change, What, impossible};
use crate::ledger::StoredRun;
use crate::quirks::Vendor;
use crate::session::AdbcSession;
use crate::shared_database::SharedDatabase;
use crate::sql;

/// Undoes a run. Its lock is held.
pub fn undo(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    session.begin()?;
    // Dropping a session rolls its open transaction back.
    let undone = carry_out(shared, session, request, reached)?;
    reached(PublishStep::BeforeCommit);
    session.commit("cannot undo the run")?;
    reached(PublishStep::Committed);
    Ok(undone)
}

fn carry_out(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    let (ledger, record) = (&shared.ledger, request.run);
    let impossible = |what: String, hint: &str| impossible(record.name.as_str(), what, hint);
    let stored = ledger.run(session, record.run_id)?;
    let Some(stored) = stored.filter(|stored| stored.record.state == RunState::Switched) else {
        return Err(impossible(
            "it is not switched any more".to_owned(),
            "see `inrush status`",
        ));
    };
    let changes = ledger.changes(session, shared.quirks, record.run_id)?;
    let mut targets = Vec::with_capacity(record.targets.len());
    for (place, target) in record.targets.iter().enumerate() {
        let found = changes.iter().find(|(name, _)| name == target);
        let Some((_, change)) = found else {
            return Err(impossible(
                format!(
                    "the ledger does not say what it did to {target}, because an earlier version of Inrush loaded it"
                ),
                "delete its rows by hand, using the contents of the files",
            ));
        };
        targets.push(TargetUndo {
            shared,
            stored: &stored,
            place,
            name: name_of(target)?,
            change: change.clone(),
        });
    }
    for target in &targets {
        target.check(session)?;
    }
    let mut undone = UndoneRun::default();
    for target in &targets {
        target.carry_out(session, request.keeps, &mut undone)?;
        if target.place == 0 {
            reached(PublishStep::Under);
        }
    }
    ledger.mark_undone(session, record.run_id, &changes)?;
    Ok(undone)
}

fn name_of(target: &str) -> Result<TargetName> {
    let (schema, name) = sql::parse_names(target).ok_or_else(|| Error::Ledger {
        what: format!("a run of the ledger names the target {target:?}"),
        hint: "somebody or something changed the ledger".to_owned(),
    })?;
    Ok(TargetName {
        schema,
        name,
        sql: target.to_owned(),
    })
}

/// The undo of one target.
struct TargetUndo<'a> {
    shared: &'a SharedDatabase,
    stored: &'a StoredRun,
    /// Its index among the targets of the run.
    place: usize,
    name: TargetName,
    change: Change,
}

impl TargetUndo<'_> {
    fn impossible(&self, what: String, hint: &str) -> Error {
        impossible(self.stored.record.name.as_str(), what, hint)
    }

    /// Fails unless the target has exactly the rows of the run, and the rows before them are kept.
    fn check(&self, session: &mut AdbcSession) -> Result<()> {
        let target = &self.name.sql;
        let by_hand = "delete its rows by hand, using the contents of the files";
        if self.change.what == What::Added {
            return Err(self.impossible(
                format!(
                    "it added its rows to those of {target}, and they can no longer be told apart"
                ),
                by_hand,
            ));
        }
        if self.change.what == What::Merged {
            return Err(self.impossible(
                format!(
                    "it merged its rows into those of {target}, and what it overwrote is not kept"
                ),
                "restore the table from a backup: it also overwrote rows that were there before",
            ));
        }
        if let Some(later) = self.later_run(session)? {
            return Err(self.impossible(
                format!("run {later} has loaded into {target} since"),
                "undo the later run first, if it can be undone",
            ));
        }
        if self.change.what == What::Replaced && self.change.kept.is_none() {
            let rows = counted(self.change.rows_before, "row");
            return Err(self.impossible(
                format!("it replaced {rows} of {target}, which are not kept"),
                "load the earlier files again; replace = { keep = true } keeps replaced rows",
            ));
        }
        let loaded = self.stored.loaded.get(self.place).copied().flatten();
        let Some(loaded) = loaded else {
            return Err(self.impossible(
                format!("the rows of {target} were replaced or removed since"),
                by_hand,
            ));
        };
        self.require_table(session, &self.name)?;
        let rows = self.count(session, target)?;
        if rows != loaded {
            return Err(self.impossible(
                format!(
                    "it left {target} with {}, which has {} now: something else has changed it",
                    counted(loaded, "row"),
                    counted(rows, "row")
                ),
                by_hand,
            ));
        }
        if let Some(kept) = &self.change.kept {
            self.check_kept(session, kept)?;
        }
        if self.change.what != What::Made && self.has_triggers(session)? {
            return Err(self.impossible(
                format!(
                    "{target} has triggers, which would fire when its rows are removed and put back"
                ),
                "drop the triggers, undo the run, and create them again",
            ));
        }
        Ok(())
    }

    fn check_kept(&self, session: &mut AdbcSession, kept: &str) -> Result<()> {
        let (before, target) = (self.change.rows_before, &self.name.sql);
        let name = name_of(kept)?;
        let found = self.kind(session, &name)?;
        let is_whole = found.as_deref() == Some("table") && self.count(session, kept)? == before;
        match is_whole {
            true => Ok(()),
            false => Err(self.impossible(
                format!(
                    "{kept}, where it kept {} of {target}, was dropped or changed",
                    counted(before, "row")
                ),
                "load the earlier files again",
            )),
        }
    }

    /// The name of a later run that has loaded into the target.
    fn later_run(&self, session: &mut AdbcSession) -> Result<Option<String>> {
        let own = self.stored.record.run_id;
        let runs = self.shared.ledger.runs(session, None)?;
        let later = runs.into_iter().map(|run| run.record).find(|run| {
            run.run_id > own
                && run.state == RunState::Switched
                && run.targets.contains(&self.name.sql)
        });
        Ok(later.map(|run| run.name.to_string()))
    }

    fn kind(&self, session: &mut AdbcSession, name: &TargetName) -> Result<Option<String>> {
        let schema = name.schema.as_deref();
        let found = catalog::kind(session, self.shared.quirks, schema, &name.name)?;
        Ok(found.map(|found| found.kind))
    }

    fn require_table(&self, session: &mut AdbcSession, name: &TargetName) -> Result<()> {
        match self.kind(session, name)?.as_deref() {
            Some("table") => Ok(()),
            found => Err(self.impossible(
                format!(
                    "table {} was removed{}",
                    name.sql,
                    found.map_or(String::new(), |kind| format!(", and a {kind} is there now"))
                ),
                "what is left of the run has to be removed by hand",
            )),
        }
    }

    fn count(&self, session: &mut AdbcSession, table: &str) -> Result<u64> {
        let doing = format!("cannot count the rows of {table}");
        let rows = session.number(&doing, &format!("SELECT count(*) FROM {table}"))?;
        Ok(rows.unwrap_or(0))
    }

    fn has_triggers(&self, session: &mut AdbcSession) -> Result<bool> {
        if self.shared.quirks.vendor != Vendor::Sqlite {
            return Ok(false);
        }
        let query = format!(
            "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = {} COLLATE NOCASE",
            sql::text(&self.name.name)
        );
        Ok(session.number("cannot read the catalog", &query)? != Some(0))
    }

    fn carry_out(
        &self,
        session: &mut AdbcSession,
        keeps: bool,
        undone: &mut UndoneRun,
    ) -> Result<()> {
        let target = &self.name.sql;
        let doing = format!("cannot undo the load of {target}");
        let mut done = UndoneTarget {
            target: target.clone(),
            ..UndoneTarget::default()
        };
        let run_id = self.stored.record.run_id;
        let kept = keeps.then(|| {
            let ledger = &self.shared.ledger;
            ledger.table(&format!("undone_{run_id}_{}", self.place + 1))
        });
        if let Some(kept) = &kept {
            session.run(
                &doing,
                &format!("CREATE TABLE {kept} AS SELECT * FROM {target}"),
            )?;
            undone.removals.push(format!("DROP TABLE {kept};"));
        }
        done.taken_out.push((target.clone(), kept));
        match self.change.what {
            What::Made => {
                session.run(&doing, &format!("DROP TABLE {target}"))?;
            }
            What::Filled | What::Replaced | What::Added | What::Merged => {
                session.run(&doing, &format!("DELETE FROM {target}"))?;
            }
        }
        if let Some(before) = &self.change.kept {
            self.put_back(session, &doing, before)?;
            done.put_back.push(target.clone());
        }
        undone.targets.push(done);
        Ok(())
    }

    /// Puts the replaced rows back. Generated columns compute their values again.
    fn put_back(&self, session: &mut AdbcSession, doing: &str, kept: &str) -> Result<()> {
        let target = &self.name.sql;
        let facts = catalog::target(session, self.shared.quirks, &self.name)?;
        let columns = facts.map(|facts| facts.columns).unwrap_or_default();
        let columns = columns.iter().filter(|column| !column.generated);
        let names = sql::names(columns.map(|column| column.name.as_str()));
        let insert = format!("INSERT INTO {target} ({names}) SELECT {names} FROM {kept}");
        session.run(doing, &insert)?;
        let rows = self.count(session, target)?;
        if rows != self.change.rows_before {
            return Err(Error::Refused {
                doing: doing.to_owned(),
                message: format!(
                    "{kept} has {}, but {target} got {rows} of them",
                    counted(self.change.rows_before, "row")
                ),
                hint: Some(
                    "ON CONFLICT in its constraints drops rows or replaces others with them"
                        .to_owned(),
                ),
            });
        }
        session.run(doing, &format!("DROP TABLE {kept}"))?;
        Ok(())
    }
}
