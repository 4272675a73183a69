//! Runs that another process has begun, opened to load some of their units from here.
//!
//! The process that began a run holds its lock. A process that joins it has no lock, but a fence: each of its commits
//! holds the fence's lock while it reads the run's file and writes the record of the unit. A process that takes the run
//! over, closes it or gives it up writes the run's file under the same lock. So a commit is either seen by that
//! process, or refused.

use std::sync::atomic::{AtomicU64, Ordering};

use inrush_destination::{Error, Result, RunRecord, RunState, TargetPlan};
use inrush_rows::calendar::now_microseconds;

use crate::layout::Layout;
use crate::ledger::{Root, StoredRun};
use crate::lock::Lock;
use crate::names;
use crate::options::Options;
use crate::run::{Hold, ParquetRun, staged_target};
use crate::table::Table;

/// The number of runs that this process has joined. It makes the names of their staged files differ.
static JOINED: AtomicU64 = AtomicU64::new(0);

/// Opens a run that another process holds.
pub(super) fn join(
    root: &Root,
    options: &Options,
    record: &RunRecord,
    plans: &[TargetPlan],
    joiner: &str,
) -> Result<ParquetRun> {
    let stored = open_run(root, record)?;
    let staged = plans.iter().map(|plan| {
        let path = names::path(&plan.name)?;
        let layout = Layout::new(plan, Table::read(root, &path)?.as_ref())?;
        Ok(staged_target(
            root,
            record.run_id,
            plan.clone(),
            path,
            layout,
        ))
    });
    let staged: Vec<_> = staged.collect::<Result<_>>()?;
    let (stored_targets, targets): (Vec<_>, Vec<_>) = staged.into_iter().unzip();
    if stored_targets != stored.targets {
        return Err(Error::Unsuitable {
            what: format!(
                "{} has other tables, or tables of another form, than this plan: it fills {}",
                in_words(root, record),
                stored.record.targets.join(", ")
            ),
            hint: "a table was changed since that run began: stop the run, then start it again"
                .to_owned(),
        });
    }
    let number = JOINED.fetch_add(1, Ordering::Relaxed);
    // Two hosts may have one name, as containers often do, and the same process id.
    let by = format!("{joiner} ({number}, {})", now_microseconds());
    let hold = Hold::Joined { by };
    Ok(ParquetRun::open(root, options, stored, targets, hold))
}

/// The fence of a process that joined the run: while it is held, the run's state cannot change. `None` for the process
/// that holds the run itself.
pub(super) fn fence(run: &ParquetRun) -> Result<Option<Lock>> {
    let Hold::Joined { by } = &run.hold else {
        return Ok(None);
    };
    let lock = take(&run.root, &run.stored, by, &|| run.is_interrupted())?;
    open_run(&run.root, &run.stored.record)?;
    Ok(Some(lock))
}

/// Fails if the process joined the run and the run accepts no more units. Without the lock the answer may be outdated
/// immediately; it only avoids work on a unit that cannot be committed.
pub(super) fn require_open(run: &ParquetRun) -> Result<()> {
    match &run.hold {
        Hold::Lock { .. } => Ok(()),
        Hold::Joined { .. } => open_run(&run.root, &run.stored.record).map(drop),
    }
}

/// Writes a run's new state, after which processes that joined it must not commit any more.
pub(super) fn close(root: &Root, stored: &StoredRun, stop: &dyn Fn() -> bool) -> Result<()> {
    let _lock = take(root, stored, &stored.record.holder, stop)?;
    root.store_run(stored)
}

/// Refuses an action that only the process that holds the run may do.
pub(super) fn refuse_joined(run: &ParquetRun, what: &str) -> Result<()> {
    match &run.hold {
        Hold::Lock { .. } => Ok(()),
        Hold::Joined { .. } => Err(Error::Refused {
            doing: in_words(&run.root, &run.stored.record),
            message: format!("a process that joined a run {what}"),
            hint: None,
        }),
    }
}

fn take(root: &Root, stored: &StoredRun, by: &str, stop: &dyn Fn() -> bool) -> Result<Lock> {
    Lock::wait(
        &root.fence_lock(&stored.record.run_key),
        &format!("the fence of {}", in_words(root, &stored.record)),
        by,
        stop,
    )
}

/// The run from its file, if it still accepts units from processes that join it with this record.
fn open_run(root: &Root, record: &RunRecord) -> Result<StoredRun> {
    let shut_out = |what: String| Error::ShutOut {
        what: format!("{} {what}", in_words(root, record)),
        hint: "nothing of this unit is committed; look at the command that began the run"
            .to_owned(),
    };
    let Some(stored) = root.stored_run(record.run_id)? else {
        return Err(shut_out("does not exist".to_owned()));
    };
    let is_same = stored.record.run_key == record.run_key
        && stored.record.name == record.name
        && stored.record.started_at_microseconds == record.started_at_microseconds;
    if !is_same {
        return Err(shut_out(format!(
            "is another run here: {}",
            stored.record.name
        )));
    }
    match stored.record.state {
        RunState::Loading => {}
        RunState::Switched => return Err(shut_out("is published".to_owned())),
        RunState::Discarded => return Err(shut_out("was discarded".to_owned())),
        RunState::Undone => return Err(shut_out("was undone".to_owned())),
    }
    if stored.record.epoch != record.epoch {
        return Err(shut_out(format!(
            "was taken over by {} (attempt {}, and this plan is of attempt {})",
            stored.record.holder, stored.record.epoch, record.epoch
        )));
    }
    if stored.is_closed || stored.publishing.is_some() {
        return Err(shut_out(
            "takes no more units: it is being published".to_owned(),
        ));
    }
    Ok(stored)
}

fn in_words(root: &Root, record: &RunRecord) -> String {
    format!("run {} in {}", record.name, root.folder().display())
}
