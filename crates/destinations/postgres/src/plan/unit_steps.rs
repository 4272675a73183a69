//! The steps of the transactions that fill a unit, in order. `inrush check` prints them, and a stream performs them
//! (`load/performer.rs`): there is no second list.
//!
//! If the server refuses a row, another transaction follows that the printed plan does not show: [`careful`] has its
//! steps.

use std::borrow::Cow;
use std::ops::Range;

use inrush_destination::Step as Shown;

use super::additions::Additions;
use super::switch_steps::lock_timeout;
use super::{FlowCopy, FlowPlan, Plan, UnitPlan, begin_steps, statistics};
use crate::quote::{identifier, qualified};
use crate::staging;

/// The number of splits that are written to the ledger together; no more of them are kept in memory.
pub const SPLITS_AT_A_TIME: usize = 1_000;

/// A step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Begins the transaction.
    Begin,
    /// Begins a part of the transaction that the switch commits.
    BeginPart,
    /// Locks the run's row in the ledger if its epoch is still this attempt's, so that no other process can take over
    /// the run.
    HoldFence,
    /// Runs statements with a fixed text.
    Run(Cow<'a, str>),
    /// Adds the CHECK of the keys that are expected from the first and last row of the unit's file, if there are any.
    ExpectKeys,
    /// Opens the server extension in this transaction, and asks whether it stores the rows of this table.
    OpenServerCopy,
    /// Sends the rows of splits, with a COPY for each.
    Copy(Range<usize>),
    /// Takes the number of rows from the COPYs of this transaction, and the smallest and largest key from a CHECK or
    /// the COPYs. The server scans the table only for what they do not report.
    TakeCounts,
    /// Counts the rows, and finds the smallest and the largest key.
    Measure,
    /// Compares the rows as the server stores them with the rows that were sent.
    Verify,
    /// Adds the CHECK of the keys that were found, if there is none yet.
    CheckKeys,
    /// Removes the ledger's rows of the unit's splits.
    ForgetSplits,
    /// Fails if the target is not the same table as at the unit's first split.
    HoldTarget,
    /// Lets the server check deferred constraints immediately, except those that need rows of a later flow.
    CheckConstraints,
    /// Writes the unit into the ledger.
    RecordUnit {
        /// True if the unit is complete and its rows are counted.
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

/// The transactions that fill a unit, in order, if the server refuses no row.
pub fn transactions<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: UnitPlan<'a>,
) -> Vec<UnitTransaction<'a>> {
    let splits = unit.splits.len();
    let once = |steps| UnitTransaction { times: 1, steps };
    let for_each_split = |steps| UnitTransaction {
        times: splits,
        steps,
    };
    if flow.commits_at_publish() {
        // The transaction is begun once, before the first flow.
        vec![once(part(plan, flow, splits))]
    } else if flow.commits_each_split() {
        vec![
            once(shared_table(plan, unit)),
            for_each_split(straight(plan, flow)),
            once(shared_end(plan, flow, unit)),
        ]
    } else if unit.is_shared {
        vec![
            once(shared_table(plan, unit)),
            for_each_split(shared_split(plan, flow, unit)),
            once(shared_end(plan, flow, unit)),
        ]
    } else {
        vec![once(private(plan, flow, unit, splits))]
    }
}

/// A unit that one stream creates, fills and commits.
pub fn private<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: UnitPlan<'a>,
    splits: usize,
) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    steps.extend(unit.statements.create.iter().map(run));
    if expects_keys(flow, unit) {
        steps.push(Step::ExpectKeys);
    }
    steps.extend(open_server_copy(flow));
    steps.extend(copies(splits));
    // Nobody else sees the table before its COMMIT, so it has as many rows as the COPYs counted.
    steps.push(Step::TakeCounts);
    steps.extend(finish(plan, flow, unit, &unit.statements.ready));
    steps.extend(record_last(splits));
    steps.push(Step::Commit);
    steps
}

/// The table of a unit that several streams fill. With direct writes there is no such table, only a row in the ledger.
pub fn shared_table<'a>(plan: &Plan, unit: UnitPlan<'a>) -> Vec<Step<'a>> {
    let mut steps = vec![Step::Begin, Step::HoldFence];
    // The table is created like the target, on which another session may hold a lock.
    steps.push(Step::Run(lock_timeout(plan).into()));
    steps.extend(unit.statements.create.iter().map(run));
    steps.extend([Step::RecordUnit { is_finished: false }, Step::Commit]);
    steps
}

/// A split of a unit that several streams fill.
pub fn shared_split<'a>(plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'_>) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    // Streams wait for each other only to extend the table. That is a wait for a lock, too, and may take as long as the
    // disk needs; `lock_timeout` must not end it.
    let held = staging::hold_for_rows(&plan.settings.staging_schema, &unit.staging_table);
    steps.push(Step::Run(
        format!("{held}; SET LOCAL lock_timeout = 0").into(),
    ));
    steps.extend(open_server_copy(flow));
    steps.push(Step::Copy(0..1));
    steps.push(Step::Run(lock_timeout(plan).into()));
    steps.extend([Step::RecordSplits(1), Step::Commit]);
    steps
}

/// The end of a unit that several streams have filled.
pub fn shared_end<'a>(plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'a>) -> Vec<Step<'a>> {
    let mut steps = vec![Step::Begin, Step::HoldFence];
    match flow.is_straight() {
        true => steps.push(Step::RecordUnit { is_finished: true }),
        false => {
            steps.push(Step::Measure);
            steps.extend(finish(plan, flow, unit, &unit.statements.ready));
        }
    }
    steps.push(Step::Commit);
    steps
}

/// A split that is written directly to its target.
pub fn straight<'a>(plan: &Plan, flow: &FlowPlan) -> Vec<Step<'a>> {
    let mut steps = begin(plan);
    steps.extend(open_server_copy(flow));
    steps.extend(straight_rows());
    steps
}

/// The steps for the rows of a split that is written directly to its target.
fn straight_rows<'a>() -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    steps.extend([
        Step::Copy(0..1),
        Step::HoldTarget,
        Step::RecordSplits(1),
        Step::Commit,
    ]);
    steps
}

/// A flow of a load in one transaction.
pub fn part<'a>(plan: &Plan, flow: &FlowPlan, splits: usize) -> Vec<Step<'a>> {
    let mut steps = begin_part(plan);
    steps.extend(open_server_copy(flow));
    steps.extend(part_rows(splits));
    steps
}

fn begin_part<'a>(plan: &Plan) -> Vec<Step<'a>> {
    vec![Step::BeginPart, Step::Run(settings(plan).into())]
}

/// The steps for the rows of a flow in a load in one transaction.
fn part_rows<'a>(splits: usize) -> Vec<Step<'a>> {
    let mut steps = copies(splits);
    steps.push(Step::RecordUnit { is_finished: true });
    steps.extend(record_last(splits));
    steps.extend([Step::CheckConstraints, Step::EndPart]);
    steps
}

/// The steps for the same rows after the server has refused one of them: many small COPYs, so that the row is found.
/// `splits` is the number of splits in this transaction.
pub fn careful<'a>(
    plan: &'a Plan,
    flow: &'a FlowPlan,
    unit: UnitPlan<'a>,
    splits: usize,
    additions: &Additions,
) -> Vec<Step<'a>> {
    if flow.commits_at_publish() {
        let mut steps = begin_part(plan);
        steps.push(Step::CheckConstraints);
        steps.extend(part_rows(splits));
        return steps;
    }
    // A constraint that is checked only at COMMIT would refuse the unit and not the row.
    let at_once = Step::Run("SET CONSTRAINTS ALL IMMEDIATE".into());
    if flow.commits_each_split() {
        let mut steps = begin(plan);
        steps.push(at_once);
        steps.extend(straight_rows());
        return steps;
    }
    let mut steps = begin(plan);
    // The old table may still have its indexes, and the CHECK of its earlier rows.
    let table = qualified(&plan.settings.staging_schema, &unit.staging_table);
    steps.push(Step::Run(format!("DROP TABLE IF EXISTS {table}").into()));
    steps.push(Step::ForgetSplits);
    let create = unit.statements.create.iter().chain(&unit.statements.ready);
    steps.extend(create.map(run));
    let added = |statement: &String| Step::Run(statement.clone().into());
    steps.extend(additions.before_rows.iter().map(added));
    steps.push(at_once);
    steps.extend(copies(splits));
    steps.extend(additions.after_rows.iter().map(added));
    steps.push(Step::Measure);
    steps.extend(finish(plan, flow, unit, &[]));
    steps.extend(record_last(splits));
    steps.push(Step::Commit);
    steps
}

/// True if the keys of a unit may be known before it is loaded, from the first and the last row of its file.
fn expects_keys(flow: &FlowPlan, unit: UnitPlan<'_>) -> bool {
    let has_open_bounds = flow.key.is_some() && unit.statements.bounds.is_none();
    // If a row violates the CHECK, a second COPY sends the rest, and a table that is stored as pages takes only one
    // COPY.
    let may_stop = !flow.goes_by_pages(unit);
    has_open_bounds && may_stop && !unit.is_shared && !flow.is_straight() && unit.splits.len() == 1
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

/// The step that opens the server extension, if it stores the rows of a flow.
fn open_server_copy<'a>(flow: &FlowPlan) -> Option<Step<'a>> {
    matches!(flow.server_copy, FlowCopy::Extension { .. }).then_some(Step::OpenServerCopy)
}

/// The steps that copy splits; none for a unit without splits. If there are many splits, their rows in the ledger are
/// written in groups, between the COPYs.
fn copies<'a>(splits: usize) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for start in (0..splits).step_by(SPLITS_AT_A_TIME) {
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

/// The step that writes the remaining splits to the ledger, at the end of the transaction. `None` for a unit without
/// splits: a partition of a new table that gets no rows.
fn record_last<'a>(splits: usize) -> Option<Step<'a>> {
    let left = match splits % SPLITS_AT_A_TIME {
        0 => splits.min(SPLITS_AT_A_TIME),
        left => left,
    };
    (left > 0).then_some(Step::RecordSplits(left))
}

/// The steps that prepare a filled staging table so that the switch needs no scan: the CHECK of its keys, indexes,
/// statistics.
fn finish<'a>(
    plan: &Plan,
    flow: &FlowPlan,
    unit: UnitPlan<'a>,
    ready: &'a [String],
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    if unit.statements.verify.is_some() {
        steps.push(Step::Verify);
    }
    if flow.key.is_some() && unit.statements.bounds.is_none() {
        steps.push(Step::CheckKeys);
    }
    steps.extend(ready.iter().map(run));
    let analyze = statistics::of_unit(plan, flow, unit);
    steps.extend(analyze.map(|statement| Step::Run(statement.into())));
    steps.push(Step::RecordUnit { is_finished: true });
    steps
}

impl UnitTransaction<'_> {
    /// Passes its steps to `see` as the plan prints them.
    pub fn each_step(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        unit: UnitPlan<'_>,
        see: &mut dyn FnMut(Shown),
    ) {
        match self.times {
            0 => return,
            1 => {}
            _ => see(Shown::other(format!("for each of {} splits:", self.times))),
        }
        for step in &self.steps {
            step.each_step(plan, flow, unit, see);
        }
    }
}

impl Step<'_> {
    /// The COPY of the quick load, as the plan expects it.
    fn planned_copy<'u>(&self, plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'u>) -> Cow<'u, str> {
        match flow.fast_copy(&plan.settings, unit) {
            Some(fast) => fast.planned().into(),
            None => unit.copy().into(),
        }
    }

    fn each_step(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        unit: UnitPlan<'_>,
        see: &mut dyn FnMut(Shown),
    ) {
        let ledger = |table: &str| qualified(&plan.settings.ledger_schema, table);
        let staging = || qualified(&plan.settings.staging_schema, &unit.staging_table);
        let shown = match self {
            Step::Begin => Shown::statement("BEGIN"),
            Step::BeginPart => Shown::statement("SAVEPOINT inrush_flow"),
            Step::HoldFence => Shown::sketch(begin_steps::fence(plan, "FOR SHARE")),
            Step::Run(statements) => Shown::statement(&**statements),
            Step::ExpectKeys => {
                Shown::sketch(check(flow, &staging(), ["<first key>", "<last key>"]))
                    .only_if("the first and the last row of the file show its keys")
            }
            Step::OpenServerCopy => match flow.fast_copy(&plan.settings, unit) {
                Some(fast) => Shown::statement(fast.opening),
                None => return,
            },
            Step::Copy(range) => {
                let copy = self.planned_copy(plan, flow, unit);
                if expects_keys(flow, unit) {
                    see(often(&*copy, range.len()));
                    let (schema, table) = (&plan.settings.staging_schema, &unit.staging_table);
                    let drop = staging::drop_bounds_check(schema, table);
                    see(Shown::statement(drop).only_if(
                        "a key is outside of it, or no row has its smallest or its largest key",
                    ));
                    Shown::sketch(copy).only_if("rows are left")
                } else {
                    often(copy, range.len())
                }
            }
            Step::TakeCounts => {
                let (schema, table) = (&plan.settings.staging_schema, &unit.staging_table);
                see(Shown::statement(staging::has_triggers(schema, table)));
                let needs_keys = flow.key.is_some() && unit.statements.bounds.is_none();
                let fast = flow.fast_copy(&plan.settings, unit);
                let when = match fast.is_some_and(|fast| fast.key.is_some()) {
                    true => "it has triggers, or neither a CHECK nor the COPY shows its keys",
                    false if needs_keys => "it has triggers, or no CHECK shows its keys",
                    false => "it has triggers",
                };
                Shown::statement(&unit.statements.measure).only_if(when)
            }
            Step::Measure => Shown::statement(&unit.statements.measure),
            Step::Verify => Shown::statement(unit.statements.verify.as_deref().unwrap_or_default()),
            Step::CheckKeys => {
                Shown::sketch(check(flow, &staging(), ["<smallest key>", "<largest key>"]))
                    .only_if("there is no such CHECK yet")
            }
            Step::ForgetSplits => Shown::sketch(format!(
                "DELETE FROM {} WHERE run_id = <run> AND unit_key = <unit>",
                ledger("shard")
            )),
            // It only reads the catalog.
            Step::HoldTarget => return,
            Step::CheckConstraints => {
                Shown::sketch("SET CONSTRAINTS <those that need no rows of a later flow> IMMEDIATE")
                    .only_if("there are some")
            }
            Step::RecordUnit { .. } => {
                Shown::sketch(format!("INSERT INTO {} <the unit>", ledger("unit")))
            }
            Step::RecordSplits(count) => often(
                format!("INSERT INTO {} <the split>", ledger("shard")),
                *count,
            ),
            Step::Commit => Shown::statement("COMMIT"),
            Step::EndPart => Shown::statement("RELEASE SAVEPOINT inrush_flow"),
        };
        see(shown);
    }
}

/// A statement that only the run can perform, this number of times.
fn often(sql: impl Into<String>, times: usize) -> Shown {
    match times {
        1 => Shown::sketch(sql),
        times => Shown::sketch(sql).repeated(format!("{times} times")),
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
