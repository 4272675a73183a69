//! Publishes staged rows into all targets, in one transaction.
//!
//! This module and [`run`](crate::run) depend on each other: a run publishes with the functions here, and these get the
//! run as an argument.

use inrush_destination::changes::{Change, What, kept_name_is_taken};
use inrush_destination::{
    Error, MergedRows, PublishStep, Published, ReplacedRows, Result, WriteMode,
};
use inrush_rows::calendar::now_microseconds;

use crate::catalog;
use crate::merge::AdbcMerge;
use crate::run::AdbcRun;
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;
use crate::steps::{self, FillStep, SwitchStep, TargetState};

/// Publishes a run.
pub fn publish(
    run: &AdbcRun,
    session: &mut AdbcSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let quirks = run.shared.quirks;
    let mut switch = Switch {
        run,
        reached,
        loaded: Vec::with_capacity(run.stagings.len()),
        published: Published::default(),
    };
    for step in steps::switch(quirks) {
        if let Err(error) = switch.perform(step, session) {
            // The first error is reported.
            let _ = session.rollback();
            return Err(error);
        }
    }
    reached(PublishStep::Committed);
    let mut after = steps::after_switch(quirks).iter();
    // The rows are committed, so an error here does not fail the run.
    if let Err(error) = after.try_for_each(|step| switch.perform(*step, session)) {
        switch.published.notes.push(format!(
            "a staging table was not removed; the next run of the package removes it: {error}"
        ));
    }
    Ok(switch.published)
}

/// A publish in progress.
struct Switch<'a> {
    run: &'a AdbcRun,
    reached: &'a dyn Fn(PublishStep),
    /// The number of rows that each target got.
    loaded: Vec<u64>,
    published: Published,
}

impl Switch<'_> {
    fn perform(&mut self, step: SwitchStep, session: &mut AdbcSession) -> Result<()> {
        let run = self.run;
        let (shared, record) = (&run.shared, &run.record);
        let mut stagings = run.stagings.iter();
        match step {
            SwitchStep::CreateTargets => {
                stagings.try_for_each(|staging| match kind(run, session, staging)? {
                    Some(_) => Ok(()),
                    None => staging.create_target(session),
                })
            }
            SwitchStep::Begin => session.begin(),
            SwitchStep::HoldFence => shared.ledger.fence(session, record),
            SwitchStep::AddMembers => {
                if !run.members.is_empty() {
                    self.published.members = run.members.add(session, &run.stagings)?;
                }
                Ok(())
            }
            SwitchStep::PreSql => stagings.try_for_each(|staging| {
                user_statements(run, session, "pre_sql", staging, &staging.plan.pre_sql)
            }),
            SwitchStep::FillTargets => {
                (0..run.stagings.len()).try_for_each(|place| self.fill(session, place))
            }
            SwitchStep::PostSql => stagings.try_for_each(|staging| {
                user_statements(run, session, "post_sql", staging, &staging.plan.post_sql)
            }),
            SwitchStep::MarkSwitched => {
                let now = now_microseconds();
                let ledger = &shared.ledger;
                ledger.mark_switched(session, record.run_id, now, &self.loaded)
            }
            SwitchStep::DropStaging => stagings.try_for_each(|staging| staging.remove(session)),
            SwitchStep::ClearStaging => shared.ledger.clear_staging(session, record.run_id),
            SwitchStep::Commit => {
                (self.reached)(PublishStep::BeforeCommit);
                session.refuse_interrupted()?;
                session.commit("cannot commit the switch")
            }
        }
    }

    /// Fills a target.
    fn fill(&mut self, session: &mut AdbcSession, place: usize) -> Result<()> {
        let run = self.run;
        session.refuse_interrupted()?;
        let staging = &run.stagings[place];
        let staged = staging.count(session)?;
        let state = state(run, session, staging)?;
        let mut fill = Fill {
            run,
            place,
            staged,
            state,
            merged: None,
            change: Change::of(match state {
                TargetState::Missing => What::Made,
                TargetState::Empty => What::Filled,
                TargetState::HasRows if staging.plan.mode == WriteMode::Upsert => What::Merged,
                TargetState::HasRows => What::Added,
            }),
        };
        for step in steps::fill(run.shared.quirks, staging, state) {
            fill.perform(step, session)?;
        }
        self.published.rows.push(fill.rows(session)?);
        let merged = fill.merged.map(|rows| (place, rows));
        self.published.merged.extend(merged);
        let target = &staging.plan.name.sql;
        self.published
            .notes
            .extend(fill.change.kept_note(&run.record.name, target));
        self.loaded.push(staged);
        if place == 0 {
            (self.reached)(PublishStep::Under);
        }
        Ok(())
    }
}

/// A target that is being filled.
struct Fill<'a> {
    run: &'a AdbcRun,
    place: usize,
    staged: u64,
    /// The state of the target before it is filled.
    state: TargetState,
    /// The counts of its merged rows, if rows were merged.
    merged: Option<MergedRows>,
    change: Change,
}

impl Fill<'_> {
    fn perform(&mut self, step: FillStep, session: &mut AdbcSession) -> Result<()> {
        let (run, place) = (self.run, self.place);
        let (ledger, staging) = (&run.shared.ledger, &run.stagings[place]);
        let target = &staging.plan.name.sql;
        match step {
            FillStep::MarkGone => self.change.gone = ledger.mark_gone(session, target)?,
            FillStep::Rename => {
                let doing = format!("cannot make {target}");
                session.run(&doing, &staging.rename_statement())?;
            }
            FillStep::CreateTarget => staging.create_target(session)?,
            FillStep::AllThreads => run.shared.all_threads(session)?,
            FillStep::KeepReplaced => keep_replaced(run, session, place, &mut self.change)?,
            FillStep::Empty => {
                let doing = format!("cannot empty {target}");
                session.run(&doing, &staging.empty_target_statement())?;
            }
            FillStep::Copy => self.copy(session)?,
            FillStep::LockTarget => {
                let doing = format!("cannot lock {target}");
                if let Some(statement) = staging.lock_statement(run.shared.quirks) {
                    session.run(&doing, &statement)?;
                }
            }
            FillStep::Merge => {
                let quirks = run.shared.quirks;
                let merge = AdbcMerge::of_staging(session, quirks, staging)?;
                let started_at = run.record.started_at_microseconds;
                let rows = (place, self.staged);
                self.merged = Some(merge.perform(session, quirks, rows, started_at)?);
            }
            FillStep::DropStaging => staging.remove(session)?,
            FillStep::RecordChange => {
                ledger.enter_change(session, run.record.run_id, target, &self.change)?;
            }
        }
        Ok(())
    }

    /// Copies the rows. If the table existed before, checks that no row was lost or replaced.
    fn copy(&self, session: &mut AdbcSession) -> Result<()> {
        let (run, staged) = (self.run, self.staged);
        let staging = &run.stagings[self.place];
        session.refuse_interrupted()?;
        let counts = run.shared.quirks.counts_targets && self.state != TargetState::Missing;
        let before = counted(session, staging, counts)?;
        copy(run, session, self.place, staged)?;
        let after = counted(session, staging, counts)?;
        if before
            .zip(after)
            .is_some_and(|(before, after)| after != before + staged)
        {
            return Err(Error::Refused {
                doing: format!("cannot add the rows to {}", staging.plan.name.sql),
                message: format!(
                    "{staged} rows are staged, but the table went from {} to {} rows",
                    before.unwrap_or_default(),
                    after.unwrap_or_default()
                ),
                hint: Some(
                    "a trigger of the table, or a constraint with ON CONFLICT, drops rows or replaces \
                     others with them: fix or leave out those rows, or load into another table"
                        .to_owned(),
                ),
            });
        }
        Ok(())
    }

    /// The number of rows that the target has now, if counting them is cheap.
    fn rows(&self, session: &mut AdbcSession) -> Result<Option<u64>> {
        let staging = &self.run.stagings[self.place];
        let adds = matches!(staging.plan.mode, WriteMode::Append | WriteMode::Upsert);
        let is_added = adds && self.state != TargetState::Missing;
        match is_added {
            false => Ok(Some(self.staged)),
            true => counted(session, staging, self.run.shared.quirks.counts_quickly),
        }
    }
}

/// The state of the target now. Fails if the target cannot be filled.
fn state(run: &AdbcRun, session: &mut AdbcSession, staging: &Staging) -> Result<TargetState> {
    let target = &staging.plan.name;
    let Some(found) = kind(run, session, staging)? else {
        return match staging.plan.mode {
            WriteMode::Upsert => Err(Error::Unsuitable {
                what: format!("{} does not exist any more", target.sql),
                hint: "make it again, with a unique index on its key".to_owned(),
            }),
            _ => Ok(TargetState::Missing),
        };
    };
    if found != "table" {
        return Err(Error::Unsuitable {
            what: format!("{} is a {found} now", target.sql),
            hint: "remove it, or name another table".to_owned(),
        });
    }
    match catalog::rows_up_to(session, target, 1)? {
        0 => Ok(TargetState::Empty),
        _ if staging.plan.mode == WriteMode::Create => Err(Error::Unsuitable {
            what: format!(
                "{} has rows now, but had none when the load began",
                target.sql
            ),
            hint: "use the mode append or replace, or empty it".to_owned(),
        }),
        _ => Ok(TargetState::HasRows),
    }
}

/// Counts the rows that are about to be replaced, and keeps them in a table if the package asks for that.
fn keep_replaced(
    run: &AdbcRun,
    session: &mut AdbcSession,
    place: usize,
    change: &mut Change,
) -> Result<()> {
    let (shared, staging) = (&run.shared, &run.stagings[place]);
    let target = &staging.plan.name.sql;
    let doing = format!("cannot keep the rows of {target}");
    let rows = session.number(&doing, &format!("SELECT count(*) FROM {target}"))?;
    change.what = What::Replaced;
    change.rows_before = rows.unwrap_or(0);
    let kept = match &staging.plan.replaced {
        ReplacedRows::Removed => return Ok(()),
        ReplacedRows::KeptUntilNext => {
            // Only one generation is kept, so that the file does not grow with each run.
            let (ledger, run_key) = (&shared.ledger, &run.record.run_key);
            ledger.drop_kept(session, shared.quirks, run_key, target)?;
            change.until_next = true;
            ledger.kept_table(run.record.run_id, place)
        }
        ReplacedRows::KeptAs(name) => {
            let schema = staging.plan.name.schema.as_deref();
            let found = catalog::kind(session, shared.quirks, schema, name)?;
            let kept = staging.named_beside(name);
            if let Some(found) = found {
                return Err(kept_name_is_taken(target, &kept, &found.kind));
            }
            kept
        }
    };
    session.run(&doing, &staging.keep_statement(&kept))?;
    change.kept = Some(kept);
    Ok(())
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
    match session.change_rows(run.shared.quirks, place, &doing, &statement)? {
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
                what: format!("{doing}: {word} would end the transaction that publishes all rows"),
                hint: "leave it out".to_owned(),
            });
        }
        session.run(&doing, statement)?;
    }
    Ok(())
}
