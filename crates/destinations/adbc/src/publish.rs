//! Publishes staged rows into all targets, in one transaction.
//!
//! This module and [`run`](crate::run) depend on each other: a run publishes by the functions here, and they take the
//! run.

use inrush_destination::{Error, PublishStep, Published, ReplacedRows, Result, WriteMode};
use inrush_rows::calendar::now_microseconds;
use inrush_rows::plural;

use crate::catalog;
use crate::changes::{Change, What};
use crate::run::AdbcRun;
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

/// Publishes a run.
pub fn publish(
    run: &AdbcRun,
    session: &mut AdbcSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let shared = &run.shared;
    if !shared.quirks.transactional_ddl {
        // Empty tables do no harm; the transaction inserts the rows.
        for staging in &run.stagings {
            if kind(run, session, staging)?.is_none() {
                staging.create_target(session)?;
            }
        }
    }
    session.begin()?;
    let published = switch(run, session, reached);
    let mut published = match published {
        Ok(published) => published,
        Err(error) => {
            // The first error is reported.
            let _ = session.rollback();
            return Err(error);
        }
    };
    reached(PublishStep::BeforeCommit);
    let committed = session
        .refuse_interrupted()
        .and_then(|()| session.commit("cannot commit the switch"));
    if let Err(error) = committed {
        let _ = session.rollback();
        return Err(error);
    }
    reached(PublishStep::Committed);
    if !shared.quirks.transactional_ddl {
        let removed = run
            .stagings
            .iter()
            .try_for_each(|staging| staging.remove(session));
        let cleared =
            removed.and_then(|()| shared.ledger.clear_staging(session, run.record.run_id));
        // The rows are committed, so an error here does not fail the run.
        if let Err(error) = cleared {
            published.notes.push(format!(
                "a staging table is still there, and the next run of the package removes it: {error}"
            ));
        }
    }
    Ok(published)
}

fn switch(
    run: &AdbcRun,
    session: &mut AdbcSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let shared = &run.shared;
    let ledger = &shared.ledger;
    ledger.fence(session, shared.quirks, &run.record)?;
    for staging in &run.stagings {
        user_statements(run, session, "pre_sql", staging, &staging.plan.pre_sql)?;
    }
    let mut published = Published::default();
    let mut loaded = Vec::with_capacity(run.stagings.len());
    for (place, staging) in run.stagings.iter().enumerate() {
        session.refuse_interrupted()?;
        let staged = staging.count(session)?;
        let target = &staging.plan.name.sql;
        let gone = match staging.plan.mode {
            WriteMode::Append => Vec::new(),
            _ => ledger.mark_gone(session, target)?,
        };
        let (rows, change) = fill(run, session, place, staged)?;
        if shared.quirks.undoes {
            let change = Change { gone, ..change };
            ledger.enter_change(session, run.record.run_id, target, &change)?;
            published.notes.extend(kept_note(run, target, &change));
        }
        published.rows.push(rows);
        loaded.push(staged);
        if place == 0 {
            reached(PublishStep::Under);
        }
    }
    for staging in &run.stagings {
        user_statements(run, session, "post_sql", staging, &staging.plan.post_sql)?;
    }
    let run_id = run.record.run_id;
    ledger.mark_switched(session, run_id, now_microseconds(), &loaded)?;
    if shared.quirks.transactional_ddl {
        ledger.clear_staging(session, run_id)?;
    }
    Ok(published)
}

/// Fills a target. Returns its number of rows then, if counting them is cheap, and the change.
fn fill(
    run: &AdbcRun,
    session: &mut AdbcSession,
    place: usize,
    staged: u64,
) -> Result<(Option<u64>, Change)> {
    let quirks = run.shared.quirks;
    let staging = &run.stagings[place];
    let target = &staging.plan.name;
    let Some(found) = kind(run, session, staging)? else {
        if staging.casts() {
            staging.create_target(session)?;
            run.shared.all_threads(session)?;
            copy(run, session, place, staged)?;
            staging.remove(session)?;
        } else {
            // Only the catalog changes; no row is copied.
            let rename = format!(
                "ALTER TABLE {} RENAME TO {}",
                staging.sql,
                sql::identifier(&target.name)
            );
            session.run(&format!("cannot make {}", target.sql), &rename)?;
        }
        return Ok((Some(staged), Change::of(What::Made)));
    };
    if found != "table" {
        return Err(Error::Unsuitable {
            what: format!("{} is a {found} by now", target.sql),
            hint: "remove it, or name another table".to_owned(),
        });
    }
    run.shared.all_threads(session)?;
    let mut change = Change::of(What::Added);
    if quirks.undoes && catalog::rows_up_to(session, target, 1)? == 0 {
        change.what = What::Filled;
    }
    match staging.plan.mode {
        WriteMode::Create if catalog::rows_up_to(session, target, 1)? > 0 => {
            return Err(Error::Unsuitable {
                what: format!(
                    "{} has rows now, but had none when the load began",
                    target.sql
                ),
                hint: "use the mode append or replace, or empty it".to_owned(),
            });
        }
        WriteMode::Replace => {
            if quirks.undoes && change.what == What::Added {
                change = keep_replaced(run, session, place)?;
            }
            let doing = format!("cannot empty {}", target.sql);
            session.run(&doing, &format!("DELETE FROM {}", target.sql))?;
        }
        _ => {}
    }
    session.refuse_interrupted()?;
    let before = counted(session, staging, quirks.counts_targets)?;
    copy(run, session, place, staged)?;
    let after = counted(session, staging, quirks.counts_targets)?;
    if before
        .zip(after)
        .is_some_and(|(before, after)| after != before + staged)
    {
        return Err(Error::Refused {
            doing: format!("cannot add the rows to {}", target.sql),
            message: format!(
                "{staged} rows are staged, but the table went from {} to {} rows",
                before.unwrap_or_default(),
                after.unwrap_or_default()
            ),
            hint: Some(
                "a trigger of the table, or ON CONFLICT in its constraints, drops rows or replaces \
                 others with them: fix or leave out those rows, or load into another table"
                    .to_owned(),
            ),
        });
    }
    if quirks.transactional_ddl {
        staging.remove(session)?;
    }
    let rows = match staging.plan.mode {
        WriteMode::Append if !quirks.counts_quickly => None,
        WriteMode::Append => {
            let doing = format!("cannot count the rows of {}", target.sql);
            session.number(&doing, &format!("SELECT count(*) FROM {}", target.sql))?
        }
        _ => Some(staged),
    };
    Ok((rows, change))
}

/// Counts the rows that are about to be replaced, and keeps them in a table if the package asks for that.
fn keep_replaced(run: &AdbcRun, session: &mut AdbcSession, place: usize) -> Result<Change> {
    let (shared, staging) = (&run.shared, &run.stagings[place]);
    let target = &staging.plan.name.sql;
    let doing = format!("cannot keep the rows of {target}");
    let rows = session.number(&doing, &format!("SELECT count(*) FROM {target}"))?;
    let mut change = Change {
        rows_before: rows.unwrap_or(0),
        ..Change::of(What::Replaced)
    };
    let kept = match &staging.plan.replaced {
        ReplacedRows::Removed => return Ok(change),
        ReplacedRows::KeptUntilNext => {
            // Only one generation is kept, so that the file does not grow with each run.
            let (ledger, run_key) = (&shared.ledger, &run.record.run_key);
            ledger.drop_kept(session, shared.quirks, run_key, target)?;
            change.until_next = true;
            let number = format!("kept_{}_{}", run.record.run_id, place + 1);
            shared.ledger.table(&number)
        }
        ReplacedRows::KeptAs(name) => {
            let schema = staging.plan.name.schema.as_deref();
            let found = catalog::kind(session, shared.quirks, schema, name)?;
            let kept = staging.named_beside(name);
            if let Some(found) = found {
                return Err(Error::Unsuitable {
                    what: format!(
                        "the rows of {target} are to be kept in {kept}, and a {} of that name exists",
                        found.kind
                    ),
                    hint: "drop or rename it, or keep them under another name".to_owned(),
                });
            }
            kept
        }
    };
    session.run(
        &doing,
        &format!("CREATE TABLE {kept} AS SELECT * FROM {target}"),
    )?;
    change.kept = Some(kept);
    Ok(change)
}

fn kept_note(run: &AdbcRun, target: &str, change: &Change) -> Option<String> {
    let kept = change.kept.as_ref()?;
    let until = match change.until_next {
        true => " until this package replaces the table with `keep = true` again",
        false => "",
    };
    Some(format!(
        "{} of {target} are kept in {kept}{until}; `inrush undo {}` puts them back",
        plural::counted(change.rows_before, "replaced row"),
        run.record.name
    ))
}

/// The number of rows of the target, if it is wanted.
fn counted(session: &mut AdbcSession, staging: &Staging, is_wanted: bool) -> Result<Option<u64>> {
    let target = &staging.plan.name.sql;
    match is_wanted {
        false => Ok(None),
        true => session.number(
            &format!("cannot count the rows of {target}"),
            &format!("SELECT count(*) FROM {target}"),
        ),
    }
}

/// Copies all rows of staging into its target.
fn copy(run: &AdbcRun, session: &mut AdbcSession, place: usize, staged: u64) -> Result<()> {
    let staging = &run.stagings[place];
    let doing = format!("cannot add the rows to {}", staging.plan.name.sql);
    let statement = staging.copy_statement();
    match session.add_rows(run.shared.quirks, place, &doing, &statement)? {
        Some(copied) if copied != staged => Err(Error::Refused {
            doing,
            message: format!("{staged} rows are staged, but {copied} were added"),
            hint: Some("does a trigger or rule of the table drop rows?".to_owned()),
        }),
        _ => Ok(()),
    }
}

fn kind(run: &AdbcRun, session: &mut AdbcSession, staging: &Staging) -> Result<Option<String>> {
    let name = &staging.plan.name;
    let found = catalog::kind(
        session,
        run.shared.quirks,
        name.schema.as_deref(),
        &name.name,
    )?;
    Ok(found.map(|found| found.kind))
}

/// Runs the user's statements, one at a time.
fn user_statements(
    run: &AdbcRun,
    session: &mut AdbcSession,
    setting: &str,
    staging: &Staging,
    texts: &[String],
) -> Result<()> {
    if !texts.is_empty() {
        run.shared.all_threads(session)?;
    }
    let doing = format!("{setting} of {}", staging.plan.name.sql);
    for statement in texts.iter().flat_map(|text| sql::statements(text)) {
        if let Some(word) = sql::ends_transaction(statement) {
            return Err(Error::Unsuitable {
                what: format!(
                    "{doing}: {word} would end the transaction that all rows are published in"
                ),
                hint: "leave it out".to_owned(),
            });
        }
        session.run(&doing, statement)?;
    }
    Ok(())
}
