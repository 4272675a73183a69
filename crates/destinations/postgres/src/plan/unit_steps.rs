//! The steps of the transactions that fill a unit, in their order. `inrush check` prints them, and a stream performs
//! them (`load/performer.rs`): there is no second list.
//!
//! A row that the server refuses leads to a transaction that no plan foresees: [`careful`] has its steps.

use std::borrow::Cow;
use std::ops::Range;

use super::additions::Additions;
use super::switch_steps::lock_timeout;
use super::{FlowPlan, Plan, UnitPlan, begin_steps, statistics};
use crate::quote::{identifier, qualified};
use crate::staging;

/// The number of file ranges that are written to the ledger together; no more of them are kept in memory.
const SPLITS_AT_A_TIME: usize = 1_000;

/// A step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Begins the transaction.
    Begin,
    /// Begins a part of the transaction that the switch commits.
    BeginPart,
    /// Locks the run's row in the ledger if its epoch is still this attempt's, so that no other process takes the run
    /// over.
    HoldFence,
    /// Statements that are known word for word.
    Run(Cow<'a, str>),
    /// Adds the CHECK of the keys that the ends of the unit's file promise, where they promise some.
    ExpectKeys,
    /// Sends the rows of splits, with a COPY for each.
    Copy(Range<usize>),
    /// Counts the rows, and finds the smallest and the largest key.
    Measure,
    /// Compares the rows as the server stores them with the rows that were sent.
    Verify,
    /// Adds the CHECK of the keys that were found, where none stands yet.
    CheckKeys,
    /// Removes the ledger's rows of the unit's splits.
    ForgetSplits,
    /// Refuses to go on if the target is another table than at the unit's first split.
    HoldTarget,
    /// Has constraints checked at once that are deferred, except those that need rows of a later flow.
    CheckConstraints,
    /// Writes the unit into the ledger.
    RecordUnit {
        /// Its rows are counted.
        is_finished: bool,
    },
    /// Writes a group of copied splits into the ledger.
    RecordSplits(usize),
    /// Commits the transaction.
    Commit,
    /// Ends a part of the transaction that the switch commits.
    EndPart,
}

/// A transaction of a unit.
pub struct UnitTransaction<'a> {
    /// How often it runs: once, or once for each split.
    pub times: usize,
    /// Its steps.
    pub steps: Vec<Step<'a>>,
}

/// The transactions that fill a unit, in their order, where the server refuses no row.
pub fn transactions<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: &'a UnitPlan,
) -> Vec<UnitTransaction<'a>> {
    let splits = unit.splits.len();
    let once = |steps| UnitTransaction { times: 1, steps };
    let for_each_split = |steps| UnitTransaction {
        times: splits,
        steps,
    };
    if flow.commits_at_switch() {
        // The transaction is begun once, before the first flow.
        vec![once(part(plan, splits))]
    } else if flow.commits_each_split() {
        vec![
            once(shared_table(plan, unit)),
            for_each_split(straight(plan)),
            once(shared_end(plan, flow, unit)),
        ]
    } else if unit.shared {
        vec![
            once(shared_table(plan, unit)),
            for_each_split(shared_split(plan, unit)),
            once(shared_end(plan, flow, unit)),
        ]
    } else {
        vec![once(private(plan, flow, unit, splits))]
    }
}

/// A unit that one stream makes, fills and commits.
pub fn private<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: &'a UnitPlan,
    splits: usize,
) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    steps.extend(unit.create.iter().map(run));
    if expects_keys(flow, unit) {
        steps.push(Step::ExpectKeys);
    }
    steps.extend(copies(splits));
    steps.extend(finish(plan, flow, unit, &unit.ready));
    steps.extend([Step::RecordSplits(last(splits)), Step::Commit]);
    steps
}

/// The table of a unit that several streams fill. Rows that are written directly to a target have no such table, but a
/// row in the ledger.
pub fn shared_table<'a>(plan: &Plan, unit: &'a UnitPlan) -> Vec<Step<'a>> {
    let mut steps = vec![Step::Begin, Step::HoldFence];
    // It is made like the target, on which another session may hold a lock.
    steps.push(Step::Run(lock_timeout(plan).into()));
    steps.extend(unit.create.iter().map(run));
    steps.extend([Step::RecordUnit { is_finished: false }, Step::Commit]);
    steps
}

/// A split of a unit that several streams fill.
pub fn shared_split<'a>(plan: &Plan, unit: &UnitPlan) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    // Streams wait for each other only to extend the table. That wait is for a lock, too, and may take as long as the
    // disk does; `lock_timeout` must not end it.
    let held = staging::hold_for_rows(&plan.settings.staging_schema, &unit.staging_table);
    steps.push(Step::Run(
        format!("{held}; SET LOCAL lock_timeout = 0").into(),
    ));
    steps.push(Step::Copy(0..1));
    steps.push(Step::Run(lock_timeout(plan).into()));
    steps.extend([Step::RecordSplits(1), Step::Commit]);
    steps
}

/// The end of a unit that several streams have filled.
pub fn shared_end<'a>(plan: &Plan, flow: &FlowPlan, unit: &'a UnitPlan) -> Vec<Step<'a>> {
    let mut steps = vec![Step::Begin, Step::HoldFence];
    match flow.is_straight() {
        true => steps.push(Step::RecordUnit { is_finished: true }),
        false => steps.extend(finish(plan, flow, unit, &unit.ready)),
    }
    steps.push(Step::Commit);
    steps
}

/// A split that goes straight into its target.
pub fn straight<'a>(plan: &Plan) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    steps.extend([
        Step::Copy(0..1),
        Step::HoldTarget,
        Step::RecordSplits(1),
        Step::Commit,
    ]);
    steps
}

/// A flow of a load in one transaction.
pub fn part<'a>(plan: &Plan, splits: usize) -> Vec<Step<'a>> {
    let mut steps = vec![Step::BeginPart, Step::Run(settings(plan).into())];
    steps.extend(copies(splits));
    steps.extend([
        Step::RecordUnit { is_finished: true },
        Step::RecordSplits(last(splits)),
        Step::CheckConstraints,
        Step::EndPart,
    ]);
    steps
}

/// The steps for the same rows after the server has refused one of them: many small COPYs, so that the row is found.
/// `splits` are those of this transaction.
pub fn careful<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: &'a UnitPlan,
    splits: usize,
    additions: &'a Additions,
) -> Vec<Step<'a>> {
    if flow.commits_at_switch() {
        let mut steps = part(plan, splits);
        steps.insert(2, Step::CheckConstraints);
        return steps;
    }
    // A constraint that is checked at COMMIT would refuse the unit and not the row.
    let at_once = Step::Run("SET CONSTRAINTS ALL IMMEDIATE".into());
    if flow.commits_each_split() {
        let mut steps = straight(plan);
        steps.insert(3, at_once);
        return steps;
    }
    let mut steps = begin(plan);
    // It may still have its indexes and the CHECK of its earlier rows.
    let table = qualified(&plan.settings.staging_schema, &unit.staging_table);
    steps.push(Step::Run(format!("DROP TABLE IF EXISTS {table}").into()));
    steps.push(Step::ForgetSplits);
    let create = unit.create.iter().chain(&unit.ready);
    steps.extend(create.chain(&additions.before_rows).map(run));
    steps.push(at_once);
    steps.extend(copies(splits));
    steps.extend(additions.after_rows.iter().map(run));
    steps.extend(finish(plan, flow, unit, &[]));
    steps.extend([Step::RecordSplits(last(splits)), Step::Commit]);
    steps
}

/// True if the ends of its file may tell the keys of a unit before it is loaded.
fn expects_keys(flow: &FlowPlan, unit: &UnitPlan) -> bool {
    let has_open_bounds = flow.key.is_some() && unit.bounds.is_none();
    has_open_bounds && !unit.shared && !flow.is_straight() && unit.splits.len() == 1
}

fn run(statement: &String) -> Step<'_> {
    Step::Run(Cow::from(statement))
}

fn begin<'a>(plan: &Plan) -> Vec<Step<'a>> {
    vec![
        Step::Begin,
        Step::HoldFence,
        Step::Run(settings(plan).into()),
    ]
}

/// Settings of the transaction: functions in the target's constraints find names as in any other session, and the wait
/// for a lock on the target is limited.
pub fn settings(plan: &Plan) -> String {
    format!("SET LOCAL search_path = DEFAULT; {}", lock_timeout(plan))
}

/// Copies splits. If there are many, the ledger gets their rows in groups, in between.
fn copies<'a>(splits: usize) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for start in (0..splits.max(1)).step_by(SPLITS_AT_A_TIME) {
        if start > 0 {
            if start == SPLITS_AT_A_TIME {
                // The ledger accepts a split only of a unit that it has; the unit's row is written again once its rows
                // are counted.
                steps.push(Step::RecordUnit { is_finished: false });
            }
            steps.push(Step::RecordSplits(SPLITS_AT_A_TIME));
        }
        steps.push(Step::Copy(start..splits.min(start + SPLITS_AT_A_TIME)));
    }
    steps
}

/// The splits that are written to the ledger at the end of the transaction; the others are in it by then.
fn last(splits: usize) -> usize {
    match splits % SPLITS_AT_A_TIME {
        0 => splits.min(SPLITS_AT_A_TIME),
        left => left,
    }
}

/// The steps that prepare a filled staging table for a switch without a scan: the CHECK of its keys, indexes,
/// statistics.
fn finish<'a>(
    plan: &Plan,
    flow: &FlowPlan,
    unit: &'a UnitPlan,
    ready: &'a [String],
) -> Vec<Step<'a>> {
    let mut steps = vec![Step::Measure];
    if unit.verify.is_some() {
        steps.push(Step::Verify);
    }
    if flow.key.is_some() && unit.bounds.is_none() {
        steps.push(Step::CheckKeys);
    }
    steps.extend(ready.iter().map(run));
    let analyze = statistics::of_unit(plan, flow, unit);
    steps.extend(analyze.map(|statement| Step::Run(statement.into())));
    steps.push(Step::RecordUnit { is_finished: true });
    steps
}

impl UnitTransaction<'_> {
    /// Sees its lines as the plan prints them. Values that only the load can tell stand in angle brackets, and a comment
    /// behind a statement says when it is run, or how often.
    pub fn each_line(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        unit: &UnitPlan,
        see: &mut dyn FnMut(&str),
    ) {
        if self.times > 1 {
            see(&format!("-- for each of {} splits:", self.times));
        }
        for step in &self.steps {
            step.each_line(plan, flow, unit, see);
        }
    }
}

impl Step<'_> {
    fn each_line(&self, plan: &Plan, flow: &FlowPlan, unit: &UnitPlan, see: &mut dyn FnMut(&str)) {
        let ledger = |table: &str| qualified(&plan.settings.ledger_schema, table);
        let staging = || qualified(&plan.settings.staging_schema, &unit.staging_table);
        let line = match self {
            Step::Begin => "BEGIN;".to_owned(),
            Step::BeginPart => "SAVEPOINT inrush_flow;".to_owned(),
            Step::HoldFence => format!("{};", begin_steps::fence(plan, "FOR SHARE")),
            Step::Run(statements) => format!("{statements};"),
            Step::ExpectKeys => format!(
                "{}; -- if the first and the last row of the file tell its keys",
                check(flow, &staging(), ["<first key>", "<last key>"])
            ),
            Step::Copy(range) if expects_keys(flow, unit) => {
                see(&format!("{};{}", unit.copy, often(range.len())));
                let drop =
                    staging::drop_bounds_check(&plan.settings.staging_schema, &unit.staging_table);
                see(&format!("{drop}; -- if a row has a key outside of it, or no row has one of its ends"));
                format!("{}; -- if rows are left", unit.copy)
            }
            Step::Copy(range) => format!("{};{}", unit.copy, often(range.len())),
            Step::Measure if expects_keys(flow, unit) => {
                let count =
                    staging::measure(&plan.settings.staging_schema, &unit.staging_table, None);
                see(&format!("{count}; -- if a CHECK tells the smallest and the largest key"));
                format!("{}; -- if none tells them", unit.measure)
            }
            Step::Measure => format!("{};", unit.measure),
            Step::Verify => format!("{};", unit.verify.as_deref().unwrap_or_default()),
            Step::CheckKeys => format!(
                "{}; -- if no such CHECK stands yet",
                check(flow, &staging(), ["<smallest key>", "<largest key>"])
            ),
            Step::ForgetSplits => format!(
                "DELETE FROM {} WHERE run_id = <run> AND unit_key = <unit>;",
                ledger("shard")
            ),
            // It asks the catalog, and changes nothing.
            Step::HoldTarget => return,
            Step::CheckConstraints => {
                "SET CONSTRAINTS <those that need no rows of a later flow> IMMEDIATE; -- if there are some".to_owned()
            }
            Step::RecordUnit { .. } => format!("INSERT INTO {} <the unit>;", ledger("unit")),
            Step::RecordSplits(count) => {
                format!("INSERT INTO {} <the split>;{}", ledger("shard"), often(*count))
            }
            Step::Commit => "COMMIT;".to_owned(),
            Step::EndPart => "RELEASE SAVEPOINT inrush_flow;".to_owned(),
        };
        see(&line);
    }
}

fn often(times: usize) -> String {
    match times {
        0 | 1 => String::new(),
        times => format!(" -- {times} times"),
    }
}

fn check(flow: &FlowPlan, table: &str, [lower, upper]: [&str; 2]) -> String {
    let column = flow.key.as_ref().map(|key| identifier(&key.column));
    let column = column.unwrap_or_default();
    format!(
        "ALTER TABLE {table} ADD CONSTRAINT {} CHECK ({column} IS NOT NULL AND {column} >= {lower} AND {column} <= {upper})",
        identifier(staging::BOUNDS_CHECK),
    )
}
