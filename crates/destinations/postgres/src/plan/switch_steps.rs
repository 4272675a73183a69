//! The steps of the switch, in their order: `inrush check` prints them, and the switch performs them
//! (`switch/run.rs`). Each unit's own statements are in [`switch_statements`].
//!
//! Flows whose targets refer to each other by foreign keys are switched in the order of the references, which are read
//! from the catalog; the plan lists flows in the package's order.

use inrush_destination::Step as Shown;

use super::switch_statements::{
    SwitchStep, UnitTask, count_updates, create_target, declared, lock_mode, publish_unit,
    version_rows,
};
use super::{
    FlowPlan, Plan, Publish, begin_steps, index_rebuild, members, statistics, take_out_steps,
};
use crate::quote::{identifier, qualified};

/// If more staging tables than this are locked, the plan prints their number and not their names.
const NAMES_SHOWN: usize = 3;

/// A step of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begins the transaction or, in a load without staging tables, a savepoint.
    Begin,
    /// Limits the wait for a lock.
    LockTimeout,
    /// Locks the run's row in the ledger exclusively, so that nothing else of the run can commit.
    HoldFence,
    /// Locks the staging tables, so that they stay as they were verified.
    HoldStaging,
    /// Adds the members that lookups lack to their references.
    AddMembers,
    /// The steps of all flows.
    Flows,
    /// Names the indexes that new partitions have from their parents.
    NameIndexes,
    /// Checks all constraints that COMMIT would check.
    CheckConstraints,
    /// Records in the ledger which tables were created, attached and taken out.
    RecordTables,
    /// Marks the run as switched.
    MarkSwitched,
    /// Leaves the marks that show appended files if the ledger is lost.
    LeaveMarks,
    /// Commits the switch.
    Commit,
}

/// The steps of the switch.
pub const STEPS: [Step; 12] = [
    Step::Begin,
    Step::LockTimeout,
    Step::HoldFence,
    Step::HoldStaging,
    Step::AddMembers,
    Step::Flows,
    Step::NameIndexes,
    Step::CheckConstraints,
    Step::RecordTables,
    Step::MarkSwitched,
    Step::LeaveMarks,
    Step::Commit,
];

/// A step of one flow in the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowStep {
    /// A statement about tables alone.
    Run(String),
    /// Locks an existing target.
    Lock,
    /// Runs the package's `pre_sql`, before the target gets rows.
    PreSql,
    /// Takes out the part of the target that the new rows replace.
    TakeOut,
    /// Makes each unit a part of the target.
    Units,
    /// Creates an empty default partition if one was taken out with its rows.
    RemakeDefault,
    /// Runs the package's `post_sql`, after the target has all rows.
    PostSql,
}

/// The steps of a flow.
pub fn of_flow(flow: &FlowPlan) -> Vec<FlowStep> {
    if let Publish::Route(_) = &flow.publish {
        return vec![
            FlowStep::PreSql,
            FlowStep::Lock,
            FlowStep::Units,
            FlowStep::PostSql,
        ];
    }
    let mut steps: Vec<FlowStep> = create_target(flow).map(FlowStep::Run).into_iter().collect();
    if let Publish::CreatePartitioned { .. } = &flow.publish {
        let indexes = flow.new_indexes.iter();
        let built = indexes.map(|index| index.build(&flow.schema, &flow.table, &index.name));
        steps.extend(built.map(FlowStep::Run));
    }
    steps.extend([FlowStep::Lock, FlowStep::PreSql]);
    if flow.replace.is_some() {
        steps.push(FlowStep::TakeOut);
    }
    steps.extend(
        index_rebuild::before_rows(flow)
            .into_iter()
            .map(FlowStep::Run),
    );
    steps.push(FlowStep::Units);
    steps.extend(
        index_rebuild::after_rows(flow)
            .into_iter()
            .map(FlowStep::Run),
    );
    if flow.replace.is_some() {
        steps.push(FlowStep::RemakeDefault);
    }
    steps.push(FlowStep::PostSql);
    steps
}

/// Passes the steps of the switch to `see` as the plan prints them.
pub fn each_step(plan: &Plan, see: &mut dyn FnMut(Shown)) {
    let ledger = |table: &str| qualified(&plan.settings.ledger_schema, table);
    for step in &STEPS {
        match step {
            Step::Begin => see(Shown::statement(match plan.is_one_transaction() {
                true => "SAVEPOINT inrush_switch; SET LOCAL search_path = pg_catalog",
                false => "BEGIN",
            })),
            Step::LockTimeout => see(Shown::statement(lock_timeout(plan))),
            Step::HoldFence => see(Shown::sketch(begin_steps::fence(plan, "FOR UPDATE"))),
            Step::HoldStaging => {
                if let Some(lock) = lock_staging(plan) {
                    see(lock);
                }
            }
            Step::AddMembers => each_step_of_members(plan, see),
            Step::Flows => {
                for flow in &plan.flows {
                    each_step_of_flow(plan, flow, see);
                }
            }
            Step::NameIndexes => {
                for flow in plan.flows.iter().filter(|flow| names_indexes(flow)) {
                    let rename = format!(
                        "ALTER INDEX {}.<each of its new partitions> RENAME TO <the name that the server would choose>",
                        identifier(&flow.schema)
                    );
                    see(Shown::sketch(rename).only_if("it has some"));
                }
            }
            Step::CheckConstraints => {
                if plan.flows.iter().any(FlowPlan::copies_rows) {
                    let of_targets = "SET CONSTRAINTS <those of the targets that rows were copied into> IMMEDIATE";
                    let steps = [
                        Shown::sketch(of_targets).only_if("there are several"),
                        Shown::statement("SET CONSTRAINTS ALL IMMEDIATE"),
                    ];
                    with_users_path(steps, see);
                }
            }
            Step::RecordTables => {
                let record = format!("INSERT INTO {} <the table>", ledger("switched_table"));
                see(Shown::sketch(record)
                    .repeated("for each table that was made, filled, attached or taken out"));
            }
            Step::MarkSwitched => see(Shown::sketch(format!(
                "UPDATE {} SET state = 'switched', <when, and which tables the targets are> WHERE run_id = <run>",
                ledger("run")
            ))),
            Step::LeaveMarks => {
                let marks = plan.flows.iter().filter(|flow| flow.leaves_mark()).count();
                if marks > 0 {
                    begin_steps::each_step_of_marks(marks, see);
                }
            }
            Step::Commit => see(Shown::statement("COMMIT")),
        }
    }
    for flow in &plan.flows {
        if let Some(statement) = statistics::of_target(plan, flow) {
            see(Shown::statement(statistics::lock_timeout(plan)));
            see(Shown::statement(statement));
        }
    }
}

/// Passes steps to `see` that are performed with the search path of the role.
fn with_users_path(steps: impl IntoIterator<Item = Shown>, see: &mut dyn FnMut(Shown)) {
    see(Shown::statement("SET LOCAL search_path = DEFAULT"));
    steps.into_iter().for_each(&mut *see);
    see(Shown::statement("SET LOCAL search_path = pg_catalog"));
}

fn each_step_of_members(plan: &Plan, see: &mut dyn FnMut(Shown)) {
    let reserved = qualified(&plan.settings.ledger_schema, "inferred_member");
    let references = members::of_switch(plan);
    if references.is_empty() {
        return;
    }
    let steps = references.iter().flat_map(|reference| {
        let mut steps = reference.mark(&reserved, "<run>");
        steps.push(reference.add(&reserved, "<run>"));
        steps.extend(reference.replace(&reserved, "<run>"));
        steps.push(reference.missing(&reserved, "<run>"));
        steps.into_iter().map(Shown::sketch)
    });
    with_users_path(steps, see);
    see(Shown::sketch(format!(
        "DELETE FROM {reserved} WHERE run_id = <run>"
    )));
}

/// True if the switch gives names to indexes of new partitions.
pub fn names_indexes(flow: &FlowPlan) -> bool {
    let has_partitions = match &flow.publish {
        Publish::CreatePartitioned { .. } | Publish::Attach => true,
        Publish::Route(route) => route.new_partitions().next().is_some(),
        _ => false,
    };
    let has_indexes = match &flow.facts {
        Some(facts) => !facts.indexes.is_empty(),
        None => !flow.new_indexes.is_empty(),
    };
    has_partitions && has_indexes
}

/// The statement that limits the wait for a lock.
pub fn lock_timeout(plan: &Plan) -> String {
    format!("SET LOCAL lock_timeout = {}", plan.settings.lock_timeout_ms)
}

/// The statement that locks the staging tables; `None` if there are no staging tables.
fn lock_staging(plan: &Plan) -> Option<Shown> {
    let staged = plan.flows.iter().filter(|flow| !flow.is_straight());
    let units: Vec<_> = staged.flat_map(|flow| &flow.units).collect();
    let name = |table: &str| qualified(&plan.settings.staging_schema, table);
    match units.len() {
        0 => None,
        1..=NAMES_SHOWN => {
            let names: Vec<String> = units.iter().map(|unit| name(&unit.staging_table)).collect();
            let names = names.join(", ");
            Some(Shown::statement(format!(
                "LOCK TABLE {names} IN SHARE MODE"
            )))
        }
        more => Some(Shown::sketch(format!(
            "LOCK TABLE <the {more} staging tables> IN SHARE MODE"
        ))),
    }
}

fn each_step_of_flow(plan: &Plan, flow: &FlowPlan, see: &mut dyn FnMut(Shown)) {
    let staging_schema = &plan.settings.staging_schema;
    let target = flow.target();
    for step in of_flow(flow) {
        match step {
            FlowStep::Run(statement) => see(Shown::statement(statement)),
            FlowStep::Lock => {
                if let Some(statement) = lock(flow) {
                    see(Shown::statement(statement));
                }
            }
            FlowStep::PreSql => each_of_users(&flow.pre_sql, see),
            FlowStep::PostSql => each_of_users(&flow.post_sql, see),
            FlowStep::TakeOut => {
                if let Some(replace) = &flow.replace {
                    take_out_steps::each_step(replace, &target, staging_schema, see);
                }
            }
            FlowStep::Units => {
                for (task, needs_rows) in tasks(flow) {
                    each_step_of_unit(flow, staging_schema, &task, needs_rows, see);
                }
            }
            FlowStep::RemakeDefault => {
                if flow.key.is_some() {
                    for statement in [
                        format!(
                            "CREATE TABLE <the default partition> PARTITION OF {target} DEFAULT"
                        ),
                        "ALTER TABLE <the default partition> OWNER TO <the target's owner>"
                            .to_owned(),
                    ] {
                        see(Shown::sketch(statement).only_if("the target had one with rows"));
                    }
                }
            }
        }
    }
}

fn each_step_of_unit(
    flow: &FlowPlan,
    staging_schema: &str,
    task: &UnitTask,
    needs_rows: bool,
    see: &mut dyn FnMut(Shown),
) {
    if flow.publish == Publish::Swap {
        // Its indexes get the names of the old indexes. In between, they have unique names.
        let table = qualified(staging_schema, &task.staging_table);
        let name = identifier(&task.staging_table);
        const HAS_INDEXES: &str = "it has indexes";
        let revoke = format!("REVOKE <what default privileges grant> ON {table} FROM <the role>");
        see(Shown::sketch(revoke).only_if("they grant something"));
        let rename = "ALTER INDEX <each of the table> RENAME TO <a name in between>";
        see(Shown::sketch(rename).only_if(HAS_INDEXES));
        see(Shown::sketch(format!(
            "ALTER TABLE {table} RENAME TO <a name in between>"
        )));
        see(Shown::sketch(format!(
            "ALTER TABLE <the table> RENAME TO {name}"
        )));
        let rename = "ALTER INDEX <each of the table> RENAME TO <the name of the old index>";
        see(Shown::sketch(rename).only_if(HAS_INDEXES));
    }
    if let Some(rows) = version_rows(flow, staging_schema, task, "<run>") {
        with_users_path(rows.all().planned(), see);
    }
    for step in publish_unit(flow, staging_schema, task) {
        match step {
            // Without rows there is no partition.
            SwitchStep::Metadata(statement) if needs_rows => see(Shown::sketch(statement)),
            SwitchStep::Metadata(statement) => see(Shown::statement(statement)),
            SwitchStep::CopyRows(copy) => {
                let count = updates(flow, staging_schema, task);
                count.into_iter().map(Shown::statement).for_each(&mut *see);
                with_users_path([Shown::statement(copy.all())], see);
            }
        }
    }
}

/// The query that counts the rows which an upsert will update; `None` in other modes.
pub fn updates(flow: &FlowPlan, staging_schema: &str, unit: &UnitTask) -> Option<String> {
    let Publish::Upsert { indexes, .. } = &flow.publish else {
        return None;
    };
    let staging = qualified(staging_schema, &unit.staging_table);
    Some(count_updates(&flow.target(), &staging, indexes))
}

fn each_of_users(statements: &[String], see: &mut dyn FnMut(Shown)) {
    if !statements.is_empty() {
        with_users_path(statements.iter().map(Shown::statement), see);
    }
}

/// The statement that locks the target of a flow, if it exists and nothing else locks it.
pub fn lock(flow: &FlowPlan) -> Option<String> {
    let only = match &flow.publish {
        Publish::CreatePartitioned { .. } | Publish::Rename { .. } | Publish::Straight(_) => {
            return None;
        }
        // The target is created.
        Publish::Route(route) if route.is_new => return None,
        Publish::Route(_) => "ONLY ",
        _ => "",
    };
    let (name, mode) = (flow.target(), lock_mode(flow));
    Some(format!("LOCK TABLE {only}{name} IN {mode} MODE"))
}

/// The units before they are loaded, and whether the partition that a unit becomes depends on its rows. Bounds that
/// depend on the rows are in angle brackets.
fn tasks(flow: &FlowPlan) -> impl Iterator<Item = (UnitTask, bool)> + '_ {
    let attaches = matches!(
        flow.publish,
        Publish::CreatePartitioned { .. } | Publish::Attach
    );
    flow.unit_plans().map(move |unit| {
        let bounds = unit.statements.bounds.as_ref().map(declared);
        let needs_rows = attaches && bounds.is_none();
        let task = UnitTask::of(unit).attached(bounds.unwrap_or_else(|| {
            (
                Some("<smallest key>".to_owned()),
                Some("<just above the largest key>".to_owned()),
            )
        }));
        (task, needs_rows)
    })
}
