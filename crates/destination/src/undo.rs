//! Taking the rows of a published run out of its targets again ([`Ability::Undo`](crate::Ability::Undo)).

use std::time::Duration;

use crate::error::Result;
use crate::ledger_records::RunRecord;
use crate::publishing::PublishStep;

/// A request to undo a run.
#[derive(Clone, Debug)]
pub struct UndoRequest<'a> {
    /// The run. It is switched.
    pub run: &'a RunRecord,
    /// True if the rows that are taken out are kept elsewhere; otherwise they are removed.
    pub keeps: bool,
    /// The longest wait for the lock of a target.
    pub lock_timeout: Duration,
    /// Host and process, for another process that finds the run locked.
    pub by: &'a str,
}

/// The undo of one target, in a session of type `S`.
pub trait UndoTarget<S> {
    /// Fails if the target cannot be undone.
    fn check(&self, session: &mut S) -> Result<()>;

    /// Undoes the target. Called after all targets were checked.
    fn carry_out(&self, session: &mut S, keeps: bool, undone: &mut UndoneRun) -> Result<()>;
}

/// Undoes all targets of a run, or none if one of them cannot be undone. Calls `reached` once the first one is undone.
pub fn undo_targets<S>(
    targets: &[impl UndoTarget<S>],
    session: &mut S,
    keeps: bool,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    for target in targets {
        target.check(session)?;
    }
    let mut undone = UndoneRun::default();
    for (place, target) in targets.iter().enumerate() {
        target.carry_out(session, keeps, &mut undone)?;
        if place == 0 {
            reached(PublishStep::Under);
        }
    }
    Ok(undone)
}

/// The changes of an undo.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UndoneRun {
    /// The changes of each target. A target is missing if an earlier undo, which was killed, has already changed it.
    pub targets: Vec<UndoneTarget>,
    /// Statements or commands that remove the kept rows, to be run when nobody needs them any more.
    pub removals: Vec<String>,
}

/// The changes of a target.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UndoneTarget {
    /// The target's name, as [`TargetName::sql`](crate::TargetName::sql) has it.
    pub target: String,
    /// The tables whose rows were taken out, and the table or folder that keeps them; `None` if they were removed.
    pub taken_out: Vec<(String, Option<String>)>,
    /// Tables that were put back.
    pub put_back: Vec<String>,
}
