//! The steps of the control session before the first row, in order: `inrush check` prints them, and the run performs
//! them (`load/entry.rs`, `load/one_transaction.rs`).

use inrush_destination::Step as Shown;
use inrush_rows::ids::RunName;

use super::{FlowPlan, Plan};
use crate::ledger::mark::Mark;
use crate::quote::qualified;

/// A step that enters the run into its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareStep {
    /// Takes the lock of the package and its targets.
    LockRun,
    /// Creates the ledger, or alters one of an older version.
    SetUp,
    /// Makes the plan again: another process may have run the package between the plan and the lock.
    PlanAgain,
    /// Enters the run into the ledger, or takes over a stopped run.
    EnterRun,
    /// Names the session after its run, so that a process which takes the run over can end it.
    NameSession,
    /// Leaves marks for the targets whose rows are committed split by split. The first row is written after that.
    LeaveMarks,
}

/// The steps that are performed with the first plan.
pub const LOCK: [PrepareStep; 2] = [PrepareStep::LockRun, PrepareStep::SetUp];

/// The steps that are performed with the second plan.
pub const ENTER: [PrepareStep; 3] = [
    PrepareStep::EnterRun,
    PrepareStep::NameSession,
    PrepareStep::LeaveMarks,
];

/// A step that begins the one transaction of a load without staging tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllFlowsStep {
    /// Begins the transaction. The switch commits it.
    Begin,
    /// Locks the run's row in the ledger if the row still has the epoch of this attempt.
    HoldFence,
}

/// The steps that begin the one transaction of a load without staging tables.
pub const ALL_FLOWS: [AllFlowsStep; 2] = [AllFlowsStep::Begin, AllFlowsStep::HoldFence];

/// Passes the steps to `see` as the plan prints them.
pub fn each_step(plan: &Plan, see: &mut dyn FnMut(Shown)) {
    for step in LOCK
        .into_iter()
        .chain([PrepareStep::PlanAgain])
        .chain(ENTER)
    {
        step.each_step(plan, see);
    }
    if plan.members().next().is_some() {
        let members = qualified(&plan.settings.ledger_schema, "inferred_member");
        let limit = plan.settings.lock_timeout_ms;
        let condition = "a stream meets keys that the reference of a lookup lacks";
        see(Shown::statement(format!("SET lock_timeout = {limit}")).only_if(condition));
        let reserve = format!("INSERT INTO {members} <the keys, with the next numbers>");
        see(Shown::sketch(reserve).only_if(condition));
    }
    if !plan.is_one_transaction() {
        return;
    }
    for step in ALL_FLOWS {
        match step {
            AllFlowsStep::Begin => see(Shown::statement("BEGIN")),
            AllFlowsStep::HoldFence => see(Shown::sketch(fence(plan, "FOR SHARE"))),
        }
    }
}

/// The marks that are left before the first row. `oid` returns the OID of a target.
pub fn marks(plan: &Plan, run: &RunName, oid: impl Fn(&FlowPlan) -> Option<u32>) -> Vec<Mark> {
    let straight = plan.flows.iter().filter(|flow| flow.commits_each_split());
    straight
        .filter_map(|flow| flow.mark(run, oid(flow)?))
        .collect()
}

impl PrepareStep {
    fn each_step(self, plan: &Plan, see: &mut dyn FnMut(Shown)) {
        match self {
            PrepareStep::LockRun => {
                see(Shown::statement("SET lock_timeout = '3s'"));
                see(Shown::sketch(
                    "SELECT pg_advisory_lock(<the package and its targets>)",
                ));
                see(Shown::statement("SET lock_timeout = 0"));
            }
            PrepareStep::SetUp => {
                if plan.setup.is_empty() {
                    return;
                }
                see(Shown::statement("BEGIN"));
                see(Shown::sketch("SELECT pg_advisory_xact_lock(<the ledger>)"));
                for statement in &plan.setup {
                    see(Shown::statement(statement));
                }
                see(Shown::statement("COMMIT"));
            }
            PrepareStep::PlanAgain => {
                let limit = plan.settings.lock_timeout_ms;
                const READ: &str = "the catalog is read";
                const LOOKED_UP: &str = "a name without a schema is looked up";
                let mut set = |setting: &str, condition| {
                    see(Shown::statement(format!("SET {setting}")).only_if(condition));
                };
                set(&format!("lock_timeout = {limit}"), READ);
                set("lock_timeout = 0", READ);
                set("search_path = DEFAULT", LOOKED_UP);
                set("search_path = pg_catalog", LOOKED_UP);
            }
            PrepareStep::EnterRun => {
                let runs = qualified(&plan.settings.ledger_schema, "run");
                see(Shown::sketch(format!("INSERT INTO {runs} <the run>")));
                if plan.keeps_lineage {
                    let lineage = qualified(&plan.settings.ledger_schema, "lineage");
                    see(Shown::sketch(format!(
                        "INSERT INTO {lineage} <where its columns come from>"
                    )));
                }
            }
            PrepareStep::NameSession => {
                see(Shown::sketch("SET application_name = <the run's name>"))
            }
            PrepareStep::LeaveMarks => {
                // The number of marks does not depend on the OIDs of the targets.
                let marks = marks(plan, &RunName::new(""), |_| Some(0)).len();
                if marks > 0 {
                    see(Shown::statement("BEGIN"));
                    each_step_of_marks(marks, see);
                    see(Shown::statement("COMMIT"));
                }
            }
        }
    }
}

/// Passes the steps that leave the marks of this number of targets to `see`. A mark names the appended files, in case
/// the ledger is lost.
pub fn each_step_of_marks(targets: usize, see: &mut dyn FnMut(Shown)) {
    let mut see = |sketch: &str| {
        see(Shown::sketch(sketch).only_if("the role may make large objects"));
    };
    see("WITH <marks of this run, and the oldest of too many> SELECT lo_unlink(oid) FROM <them>");
    for _ in 0..targets {
        see("SELECT lo_create(0)");
        see("COMMENT ON LARGE OBJECT <it> IS <the files that were appended>");
    }
}

/// The statement that locks the run's row in the ledger if the row still has the epoch of this attempt.
pub fn fence(plan: &Plan, strength: &str) -> String {
    format!(
        "SELECT 1 FROM {} WHERE run_id = <run> AND epoch = <epoch> AND state = 'loading' {strength}",
        qualified(&plan.settings.ledger_schema, "run")
    )
}
