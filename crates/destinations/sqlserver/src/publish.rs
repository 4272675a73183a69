//! The switch: staged rows become part of all targets, in one transaction.
//!
//! If the target is new, the staging table is renamed to it: no row is moved. If the target exists, its empty partitions get
//! their rows by SWITCH, which moves no row either. A whole table that is empty gets its rows by SWITCH, too. All other rows
//! are copied by `INSERT ... SELECT`, or [merged](crate::merge). Rows that are replaced are first removed, by TRUNCATE or
//! DELETE. Readers wait for the transaction. With READ_COMMITTED_SNAPSHOT on, readers of a target do not wait if rows are only
//! added to it by INSERT. No reader sees a part of the rows.
//!
//! SWITCH waits for its lock at low priority: statements that come later do not have to wait behind it.

use inrush_destination::changes::{Change, What};
use inrush_destination::{Error, PublishStep, Published, Result, WriteMode};
use inrush_rows::calendar::now_microseconds;

use crate::columnstore;
use crate::connection::SqlSession;
use crate::filling::Filling;
use crate::run::SqlRun;
use crate::sql;
use crate::staging::Staging;
use crate::ways::{self, Way};

/// Publishes a run.
pub fn publish(
    run: &SqlRun,
    session: &mut SqlSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let mut found = Vec::with_capacity(run.stagings.len());
    let mut notes = Vec::new();
    for staging in &run.stagings {
        run.refuse_interrupted()?;
        let way = session.filling(found.len(), |session| {
            ways::prepare(session, staging, &run.options)
        })?;
        if way.builds_columnstore(&run.options) {
            let target = &staging.plan.name.sql;
            notes.extend(columnstore::built_note(session, &staging.sql, target));
        }
        found.push(way);
    }
    let Switched {
        mut published,
        copied,
    } = session.in_transaction("cannot commit the switch", |session| {
        let switched = switch(run, session, &found, reached)?;
        reached(PublishStep::BeforeCommit);
        run.refuse_interrupted()?;
        Ok(switched)
    })?;
    reached(PublishStep::Committed);
    for place in copied {
        let target = &run.stagings[place].plan.name.sql;
        notes.extend(columnstore::copied_note(session, target));
    }
    published.notes.append(&mut notes);
    published.notes.extend(run.nodes.note());
    published.notes.extend(run.waits.note());
    Ok(published)
}

/// The effects of the switch's transaction.
struct Switched {
    published: Published,
    /// The targets that got rows by INSERT ... SELECT, by their places in the plan.
    copied: Vec<usize>,
}

fn switch(
    run: &SqlRun,
    session: &mut SqlSession,
    found: &[Way],
    reached: &dyn Fn(PublishStep),
) -> Result<Switched> {
    let ledger = &run.ledger;
    ledger.fence(session, &run.record)?;
    let members = run.members.add(session, &run.stagings)?;
    for staging in &run.stagings {
        user_batches(run, session, "pre_sql", staging, &staging.plan.pre_sql)?;
    }
    let mut published = Published {
        members,
        ..Published::default()
    };
    let mut copied = Vec::new();
    let mut loaded = Vec::with_capacity(run.stagings.len());
    for (place, (staging, way)) in run.stagings.iter().zip(found).enumerate() {
        run.refuse_interrupted()?;
        let staged = staging.count(session)?;
        let target = &staging.plan.name.sql;
        let mut change = Change::of(What::Made);
        if matches!(staging.plan.mode, WriteMode::Create | WriteMode::Replace) {
            change.gone = ledger.mark_gone(session, target)?;
        }
        let mut filled = session.filling(place, |session| {
            Filling::new(run, session, place, staged, change).fill(way)
        })?;
        let (run_id, run_name) = (run.record.run_id, &run.record.name);
        ledger.enter_change(session, run_id, target, &filled.change)?;
        published.rows.push(filled.rows);
        let kept = filled.change.change.kept_note(run_name, target);
        published.notes.extend(kept);
        published.notes.append(&mut filled.notes);
        let merged = filled.merged.map(|rows| (place, rows));
        published.merged.extend(merged);
        if filled.has_copied {
            copied.push(place);
        }
        if !filled.partitions.is_empty() {
            let partitions = filled.partitions.into_iter().map(Into::into);
            published.partitions.insert(place, partitions.collect());
        }
        loaded.push(staged);
        if place == 0 {
            reached(PublishStep::Under);
        }
    }
    for staging in &run.stagings {
        user_batches(run, session, "post_sql", staging, &staging.plan.post_sql)?;
    }
    ledger.mark_switched(session, run.record.run_id, now_microseconds(), &loaded)?;
    Ok(Switched { published, copied })
}

/// Runs the user's batches, one at a time.
fn user_batches(
    run: &SqlRun,
    session: &mut SqlSession,
    setting: &str,
    staging: &Staging,
    batches: &[String],
) -> Result<()> {
    let doing = format!("{setting} of {}", staging.plan.name.sql);
    for batch in batches {
        run.refuse_interrupted()?;
        if let Some((word, reason)) = sql::unsuitable_word(batch) {
            return Err(Error::Unsuitable {
                what: format!("{doing}: {word} {reason}"),
                hint: "correct the package, then run it again: the units are kept".to_owned(),
            });
        }
        session.run(&doing, batch)?;
        let open = session.number(&doing, "SELECT @@TRANCOUNT")?;
        if open != Some(1) || !session.is_in_transaction() {
            return Err(Error::Unsuitable {
                what: format!(
                    "{doing}: it ended the transaction that publishes all rows, or began another one"
                ),
                hint: "leave COMMIT, ROLLBACK and BEGIN TRANSACTION out".to_owned(),
            });
        }
    }
    Ok(())
}
