//! Undoes a run, in one transaction: tables that it created are dropped, tables and partitions that it filled are empty again,
//! and rows that it replaced and kept are put back.
//!
//! If the partitions that a run filled had no rows before, only they are undone; otherwise the whole table is
//! ([`UndoCheck`]). Each target is locked before it is checked, until the transaction ends.

use inrush_destination::changes::{UndoCheck, What, change_of, not_switched};
use inrush_destination::{
    Error, PublishStep, Result, RunState, UndoRequest, UndoTarget, UndoneRun, UndoneTarget,
    undo_targets,
};
use inrush_rows::ids::RunName;

use crate::catalog;
use crate::changes::{ChangedPartitions, TargetChange};
use crate::connection::SqlSession;
use crate::emptying;
use crate::ledger::{Ledger, StoredRun};
use crate::moved_rows::{self, MovedRows};
use crate::options::Options;
use crate::partitions::{self, Partitioning};
use crate::shape::TableShape;
use crate::sql;

/// Undoes a run. Its lock is held.
pub fn undo(
    session: &mut SqlSession,
    options: &Options,
    ledger: &Ledger,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    let undone = session.in_transaction("cannot undo the run", |session| {
        let undone = carry_out(session, options, ledger, request, reached)?;
        reached(PublishStep::BeforeCommit);
        Ok(undone)
    });
    let undone = undone.map_err(|error| match error {
        Error::Blocked { message, .. } => Error::Held {
            what: format!(
                "a table of run {} was locked by another session ({message}); the undo waits at most {} ms for a lock, and nothing was changed",
                request.run.name,
                request.lock_timeout.as_millis()
            ),
            hint: "the same command tries again; --lock-timeout-ms lets it wait longer".to_owned(),
        },
        other => other,
    })?;
    reached(PublishStep::Committed);
    Ok(undone)
}

fn carry_out(
    session: &mut SqlSession,
    options: &Options,
    ledger: &Ledger,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    let record = request.run;
    let stored = ledger.run(session, record.run_id)?;
    let Some(stored) = stored.filter(|stored| stored.record.state == RunState::Switched) else {
        return Err(not_switched(&record.name));
    };
    let changes = ledger.changes(session, record.run_id)?;
    let mut targets = Vec::with_capacity(record.targets.len());
    for (place, target) in record.targets.iter().enumerate() {
        targets.push(TargetUndo {
            options,
            ledger,
            stored: &stored,
            place,
            target,
            names: names_of(target)?,
            change: change_of(&changes, &record.name, target)?,
        });
    }
    let undone = undo_targets(&targets, session, request.keeps, reached)?;
    let undone_changes = changes
        .iter()
        .map(|(target, change)| (target.as_str(), &change.change));
    ledger.mark_undone(session, record.run_id, undone_changes)?;
    Ok(undone)
}

/// The schema and the name of a table that the ledger names.
fn names_of(table: &str) -> Result<(String, String)> {
    sql::parse_names(table).ok_or_else(|| Error::Ledger {
        what: format!("a run of the ledger names the table {table:?}"),
        hint: "somebody or something changed the ledger".to_owned(),
    })
}

/// The undo of one target.
struct TargetUndo<'a> {
    options: &'a Options,
    ledger: &'a Ledger,
    stored: &'a StoredRun,
    /// Its index among the targets of the run.
    place: usize,
    target: &'a str,
    names: (String, String),
    change: &'a TargetChange,
}

impl UndoTarget<SqlSession> for TargetUndo<'_> {
    /// Locks the target. Fails unless it has exactly the rows of the run, and the rows that they replaced are kept.
    fn check(&self, session: &mut SqlSession) -> Result<()> {
        let (target, change) = (self.target, &self.change.change);
        let check = UndoCheck {
            run: &self.stored.record.name,
            target,
            change,
        };
        let later = self.later_run(session)?;
        let loaded = self.stored.loaded.get(self.place).copied().flatten();
        let left = check.left_rows(later.as_ref(), loaded)?;
        check.require_table(kind(session, &self.names)?.as_deref())?;
        match &self.change.partitions {
            None => check.require_rows(target, left, self.count(session, "")?)?,
            Some(changed) => self.check_partitions(session, &check, changed)?,
        }
        if let Some(kept) = &change.kept {
            let is_table = kind(session, &names_of(kept)?)?.as_deref() == Some("table");
            let rows = match is_table {
                true => Some(catalog::rows_told(session, kept, None)?),
                false => None,
            };
            check.require_kept(kept, rows)?;
        }
        if change.what == What::Made {
            return Ok(());
        }
        if catalog::has_triggers(session, target)? {
            return Err(check.has_triggers());
        }
        if catalog::is_temporal(session, target)? {
            return Err(check.impossible(
                format!("{target} is a temporal table, whose history would keep the rows"),
                "turn SYSTEM_VERSIONING off, undo the run, and turn it on again",
            ));
        }
        catalog::refuse_cascades(session, target)
    }

    fn carry_out(
        &self,
        session: &mut SqlSession,
        keeps: bool,
        undone: &mut UndoneRun,
    ) -> Result<()> {
        let (target, change) = (self.target, &self.change.change);
        let mut done = UndoneTarget {
            target: target.to_owned(),
            ..UndoneTarget::default()
        };
        let shape = TableShape::read(session, target)?;
        let numbers: Option<Vec<u64>> = self.change.partitions.as_ref().map(|changed| {
            let rows = changed.rows.iter();
            rows.map(|(number, _)| *number).collect()
        });
        let rows = |apart| MovedRows {
            table: target,
            shape: &shape,
            apart,
            numbers: numbers.as_deref(),
        };
        let apart = keeps.then(|| {
            let run_id = self.stored.record.run_id;
            self.ledger.undone_table(run_id, self.place)
        });
        let by_switch = moved_rows::is_switched(&shape, self.options);
        if let Some(apart) = &apart {
            rows(apart).take_out(session, by_switch)?;
            undone.removals.push(format!("DROP TABLE {apart};"));
        }
        if change.what == What::Made {
            self.drop_target(session, &shape, undone)?;
        } else if apart.is_none() || !by_switch {
            self.empty(session, &shape, numbers.as_deref())?;
        }
        done.taken_out.push((target.to_owned(), apart.clone()));
        if let Some(kept) = &change.kept {
            rows(kept).put_back(session, self.options, change.rows_before)?;
            done.put_back.push(target.to_owned());
        }
        undone.targets.push(done);
        Ok(())
    }
}

impl TargetUndo<'_> {
    /// Fails unless each partition has exactly the rows that the run brought there.
    fn check_partitions(
        &self,
        session: &mut SqlSession,
        check: &UndoCheck<'_>,
        changed: &ChangedPartitions,
    ) -> Result<()> {
        let target = self.target;
        let found = Partitioning::of_table(session, target)?;
        let same = found.filter(|found| found.changed_at == changed.function_changed_at);
        let Some(partitioning) = same else {
            return Err(check.impossible(
                format!("partitions of {target} were added, split or merged since"),
                "delete its rows by hand, using the contents of the files",
            ));
        };
        for (number, rows) in &changed.rows {
            let condition = moved_rows::in_partitions(&partitioning, &number.to_string());
            let found = self.count(session, &condition)?;
            check.require_rows(&format!("partition {number} of {target}"), *rows, found)?;
        }
        Ok(())
    }

    /// Locks the target until the transaction ends, and counts its rows with this condition.
    fn count(&self, session: &mut SqlSession, condition: &str) -> Result<u64> {
        let doing = format!("cannot count the rows of {}", self.target);
        let question = format!(
            "SELECT COUNT_BIG(*) FROM {} WITH (TABLOCKX){condition}",
            self.target
        );
        let rows = session.number(&doing, &question)?;
        Ok(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0))
    }

    /// The name of a later run that has loaded into the same table, or into one of the same partitions.
    fn later_run(&self, session: &mut SqlSession) -> Result<Option<RunName>> {
        let own = self.stored.record.run_id;
        let runs = self.ledger.runs(session, None)?.into_iter();
        let later = runs.map(|run| run.record).filter(|run| {
            let has_target = run.targets.iter().any(|target| target == self.target);
            run.run_id > own && run.state == RunState::Switched && has_target
        });
        for run in later {
            let changes = self.ledger.changes(session, run.run_id)?;
            let change = changes.into_iter().find(|(name, _)| name == self.target);
            let theirs = change.and_then(|(_, change)| change.partitions);
            let is_apart = match (&self.change.partitions, &theirs) {
                (Some(own), Some(theirs)) => !own.overlaps(theirs),
                _ => false,
            };
            if !is_apart {
                return Ok(Some(run.name));
            }
        }
        Ok(None)
    }

    /// Removes the rows of the run.
    fn empty(
        &self,
        session: &mut SqlSession,
        shape: &TableShape,
        numbers: Option<&[u64]>,
    ) -> Result<()> {
        let target = self.target;
        let doing = format!("cannot undo the load of {target}");
        let statement = match (&shape.partitioning, numbers) {
            (_, Some([])) => return Ok(()),
            (Some(partitioning), Some(numbers)) => {
                let numbers = moved_rows::listed(numbers);
                emptying::partitions_statement(session, target, shape, partitioning, &numbers)?
            }
            _ => emptying::statement(session, target)?,
        };
        session.run(&doing, &statement).map(drop)
    }

    /// Drops the table, with the partition function and scheme that were made for it, unless something else uses them. The
    /// table that keeps the run's rows uses them until it is dropped.
    fn drop_target(
        &self,
        session: &mut SqlSession,
        shape: &TableShape,
        undone: &mut UndoneRun,
    ) -> Result<()> {
        let doing = format!("cannot undo the load of {}", self.target);
        session.run(&doing, &format!("DROP TABLE {}", self.target))?;
        let own = shape.partitioning.as_ref();
        let own = own.filter(|own| partitions::are_made_for_one_table(own));
        let Some(own) = own else {
            return Ok(());
        };
        let statements = partitions::drop_statements(&own.scheme);
        match own.is_used(session)? {
            true => undone
                .removals
                .extend(statements.map(|statement| format!("{statement};"))),
            false => {
                for statement in statements {
                    session.run(&doing, &statement)?;
                }
            }
        }
        Ok(())
    }
}

fn kind(session: &mut SqlSession, (schema, name): &(String, String)) -> Result<Option<String>> {
    Ok(catalog::entry(session, schema, name)?.map(|found| found.kind))
}
