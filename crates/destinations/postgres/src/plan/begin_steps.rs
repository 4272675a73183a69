//! The steps of the control session before the first row: it makes the ledger where it is missing, and enters the run
//! into it.

use super::{FlowPlan, Plan};
use crate::quote::qualified;
use inrush_rows::ids::RunName;

/// Sees the lines as the plan prints them. Values that only the run can tell stand in angle brackets, and a comment
/// behind a statement says when it is run.
pub fn each_line(plan: &Plan, see: &mut dyn FnMut(&str)) {
    let ledger = |table: &str| qualified(&plan.settings.ledger_schema, table);
    if !plan.setup.is_empty() {
        see("BEGIN;");
        see("SELECT pg_advisory_xact_lock(<the ledger>);");
        plan.setup
            .iter()
            .for_each(|statement| see(&format!("{statement};")));
        see("COMMIT;");
    }
    see("SET lock_timeout = '3s';");
    see("SELECT pg_advisory_lock(<the package and its targets>);");
    see("SET lock_timeout = 0;");
    // What the plan asks of the catalog is asked again once the run is locked.
    let limit = plan.settings.lock_timeout_ms;
    see(&format!(
        "SET lock_timeout = {limit}; -- if the catalog is read"
    ));
    see("SET lock_timeout = 0; -- if the catalog is read");
    see("SET search_path = DEFAULT; -- if a name without a schema is looked up");
    see("SET search_path = pg_catalog; -- if a name without a schema is looked up");
    see(&format!("INSERT INTO {} <the run>;", ledger("run")));
    see("SET application_name = <the run's name>;");
    let straight = plan.flows.iter().filter(|flow| flow.commits_each_split());
    let marks = straight
        .filter(|flow| flow.mark(&RunName::new(""), 0).is_some())
        .count();
    if marks > 0 {
        see("BEGIN;");
        each_line_of_marks(marks, see);
        see("COMMIT;");
    }
    if plan.flows.iter().all(FlowPlan::commits_at_switch) {
        see("BEGIN;");
        see(&format!("{};", fence(plan, "FOR SHARE")));
    }
}

/// The marks of so many targets, which tell of appended files if the ledger is lost.
pub fn each_line_of_marks(targets: usize, see: &mut dyn FnMut(&str)) {
    const CONDITION: &str = "-- if the role may make large objects";
    see(&format!(
        "WITH <marks of this run, and the oldest of too many> SELECT lo_unlink(oid) FROM <them>; {CONDITION}"
    ));
    for _ in 0..targets {
        see(&format!("SELECT lo_create(0); {CONDITION}"));
        see(&format!(
            "COMMENT ON LARGE OBJECT <it> IS <the files that were appended>; {CONDITION}"
        ));
    }
}

/// The statement that locks the run's row in the ledger, as long as its epoch is this attempt's.
pub fn fence(plan: &Plan, strength: &str) -> String {
    format!(
        "SELECT 1 FROM {} WHERE run_id = <run> AND epoch = <epoch> AND state = 'loading' {strength}",
        qualified(&plan.settings.ledger_schema, "run")
    )
}
