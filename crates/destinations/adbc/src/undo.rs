//! Undoes a run in one transaction: tables that it created are dropped, tables that it filled become empty again, and
//! rows that it replaced and kept are put back.
//!
//! Rows of one run cannot be distinguished from others in the same table. So the undo refuses a run that added rows to
//! others, and a run whose target was loaded or changed since: then the target does not have exactly the rows of the run.

use inrush_destination::changes::{Change, UndoCheck, What, change_of, not_switched};
use inrush_destination::{
    Error, PublishStep, Result, RunState, TargetName, UndoRequest, UndoTarget, UndoneRun,
    UndoneTarget, undo_targets,
};
use inrush_rows::ids::RunName;
use inrush_rows::plural::counted;

use crate::catalog;
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
    let stored = ledger.run(session, record.run_id)?;
    let Some(stored) = stored.filter(|stored| stored.record.state == RunState::Switched) else {
        return Err(not_switched(&record.name));
    };
    let changes = ledger.changes(session, shared.quirks, record.run_id)?;
    let mut targets = Vec::with_capacity(record.targets.len());
    for (place, target) in record.targets.iter().enumerate() {
        targets.push(TargetUndo {
            shared,
            stored: &stored,
            place,
            name: name_of(target)?,
            change: change_of(&changes, &record.name, target)?,
        });
    }
    let undone = undo_targets(&targets, session, request.keeps, reached)?;
    let undone_changes = changes
        .iter()
        .map(|(target, change)| (target.as_str(), change));
    ledger.mark_undone(session, record.run_id, undone_changes)?;
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
    change: &'a Change,
}

impl UndoTarget<AdbcSession> for TargetUndo<'_> {
    /// Fails unless the target has exactly the rows of the run, and the rows that they replaced are kept.
    fn check(&self, session: &mut AdbcSession) -> Result<()> {
        let check = self.undo_check();
        let later = self.later_run(session)?;
        let loaded = self.stored.loaded.get(self.place).copied().flatten();
        let left = check.left_rows(later.as_ref(), loaded)?;
        check.require_table(self.kind(session, &self.name)?.as_deref())?;
        check.require_rows(&self.name.sql, left, self.count(session, &self.name.sql)?)?;
        if let Some(kept) = &self.change.kept {
            let is_table = self.kind(session, &name_of(kept)?)?.as_deref() == Some("table");
            let rows = match is_table {
                true => Some(self.count(session, kept)?),
                false => None,
            };
            check.require_kept(kept, rows)?;
        }
        match self.change.what != What::Made && self.has_triggers(session)? {
            true => Err(check.has_triggers()),
            false => Ok(()),
        }
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
}

impl TargetUndo<'_> {
    fn undo_check(&self) -> UndoCheck<'_> {
        UndoCheck {
            run: &self.stored.record.name,
            target: &self.name.sql,
            change: self.change,
        }
    }

    /// The name of a later run that has loaded into the target.
    fn later_run(&self, session: &mut AdbcSession) -> Result<Option<RunName>> {
        let own = self.stored.record.run_id;
        let runs = self.shared.ledger.runs(session, None)?;
        let later = runs.into_iter().map(|run| run.record).find(|run| {
            run.run_id > own
                && run.state == RunState::Switched
                && run.targets.contains(&self.name.sql)
        });
        Ok(later.map(|run| run.name))
    }

    fn kind(&self, session: &mut AdbcSession, name: &TargetName) -> Result<Option<String>> {
        let schema = name.schema.as_deref();
        let found = catalog::kind(session, self.shared.quirks, schema, &name.name)?;
        Ok(found.map(|found| found.kind))
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
                    "a constraint with ON CONFLICT drops rows, or replaces other rows with them"
                        .to_owned(),
                ),
            });
        }
        session.run(doing, &format!("DROP TABLE {kept}"))?;
        Ok(())
    }
}
