//! The steps of a run, in order. `inrush check` prints them, and the run performs them ([`run`](crate::run),
//! [`stream`](crate::stream), [`publish`](crate::publish)): there is no second list, and each statement has its text from one
//! function.
//!
//! If the database refuses a row, the transactions of a careful load follow, which the plan does not print.

use inrush_destination::steps::RUN;
use inrush_destination::{
    GivenSteps, ReplacedRows, Result, RunSteps, StatementEnd, Step, StepsRequest, TargetPlan,
    WriteMode,
};
use inrush_rows::ids::RunKey;

use crate::given;
use crate::ledger::AdbcLedger;
use crate::lock;
use crate::members::MemberTable;
use crate::merge::AdbcMerge;
use crate::quirks::{Quirks, RunLock};
use crate::session::AdbcSession;
use crate::shared_database::SharedDatabase;
use crate::sql;
use crate::staging::{self, Staging};

/// A step that enters a run into the ledger and makes its staging tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginStep {
    /// Takes the lock of the run.
    LockRun,
    /// Creates the ledger, if it does not exist.
    CreateLedger,
    /// Begins the transaction.
    Begin,
    /// Waits for other transactions that take a run number.
    LockLedger,
    /// Finds the stopped run, or takes the next number.
    NumberRun,
    /// Drops staging tables that no target of the plan uses.
    DropLeftovers,
    /// Creates each staging table that lacks the rows that the ledger records, and removes its units from the ledger.
    CreateStaging,
    /// Enters the run into the ledger, or takes the stopped one over.
    EnterRun,
    /// Keeps the lineage.
    EnterLineage,
    /// Commits the transaction.
    Commit,
    /// Sets the number of threads of a statement to 1, because each stream has a thread of its own.
    OneThread,
}

/// The steps that begin a run.
pub fn begin(quirks: &Quirks) -> impl Iterator<Item = BeginStep> {
    let ddl = quirks.transactional_ddl;
    [
        (true, BeginStep::LockRun),
        (true, BeginStep::CreateLedger),
        (ddl, BeginStep::Begin),
        (quirks.lock_table.is_some(), BeginStep::LockLedger),
        (true, BeginStep::NumberRun),
        (true, BeginStep::DropLeftovers),
        (true, BeginStep::CreateStaging),
        (true, BeginStep::EnterRun),
        (true, BeginStep::EnterLineage),
        (ddl, BeginStep::Commit),
        (quirks.threads.is_some(), BeginStep::OneThread),
    ]
    .into_iter()
    .filter_map(|(is_needed, step)| is_needed.then_some(step))
}

/// A step of a transaction that commits rows of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitStep {
    /// Begins the transaction.
    Begin,
    /// Locks the run's row in the ledger, if the database can lock rows. Fails if another process has taken over the run.
    HoldFence,
    /// Gets the numbers of members ready. In SQLite this keeps other writers away.
    NumberMembers,
    /// Writes the members that the unit's rows may have.
    KeepMembers,
    /// Writes the unit into the ledger.
    RecordUnit,
    /// Commits the transaction.
    Commit,
}

/// The steps before the rows of a unit are sent.
pub fn unit_begin(adds_members: bool) -> impl Iterator<Item = UnitStep> {
    let members = adds_members.then_some(UnitStep::NumberMembers);
    [UnitStep::Begin, UnitStep::HoldFence]
        .into_iter()
        .chain(members)
}

/// The steps after the rows of a unit were sent.
pub fn unit_end(quirks: &Quirks, adds_members: bool) -> impl Iterator<Item = UnitStep> {
    // Without a lock that ends with its process, another process may have taken over the run meanwhile.
    let fence = (quirks.run_lock == RunLock::LedgerOnly).then_some(UnitStep::HoldFence);
    let members = adds_members.then_some(UnitStep::KeepMembers);
    fence
        .into_iter()
        .chain(members)
        .chain([UnitStep::RecordUnit, UnitStep::Commit])
}

/// A step of the publish that is not about one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchStep {
    /// Creates the targets that do not exist. Empty tables do no harm.
    CreateTargets,
    /// Begins the transaction.
    Begin,
    /// Locks the run's row in the ledger, and fails if another process has taken over the run.
    HoldFence,
    /// Adds the members of lookups to their references.
    AddMembers,
    /// Runs the `pre_sql` of all targets.
    PreSql,
    /// Fills the targets: the steps of [`fill`].
    FillTargets,
    /// Runs the `post_sql` of all targets.
    PostSql,
    /// Marks the run as switched.
    MarkSwitched,
    /// Removes the staging tables, if the transaction cannot.
    DropStaging,
    /// Notes that the run has no staging tables any more.
    ClearStaging,
    /// Commits the transaction.
    Commit,
}

/// The steps up to the commit.
pub fn switch(quirks: &Quirks) -> impl Iterator<Item = SwitchStep> {
    let ddl = quirks.transactional_ddl;
    [
        (!ddl, SwitchStep::CreateTargets),
        (true, SwitchStep::Begin),
        (true, SwitchStep::HoldFence),
        (true, SwitchStep::AddMembers),
        (true, SwitchStep::PreSql),
        (true, SwitchStep::FillTargets),
        (true, SwitchStep::PostSql),
        (true, SwitchStep::MarkSwitched),
        (ddl, SwitchStep::ClearStaging),
        (true, SwitchStep::Commit),
    ]
    .into_iter()
    .filter_map(|(is_needed, step)| is_needed.then_some(step))
}

/// The steps after the commit.
pub fn after_switch(quirks: &Quirks) -> &'static [SwitchStep] {
    match quirks.transactional_ddl {
        true => &[],
        false => &[SwitchStep::DropStaging, SwitchStep::ClearStaging],
    }
}

/// A target at the moment at which it is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// It does not exist.
    Missing,
    /// It has no rows.
    Empty,
    /// It has rows.
    HasRows,
}

/// A step that fills a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillStep {
    /// Notes that rows of earlier runs are gone from the target.
    MarkGone,
    /// Makes the staging table the target.
    Rename,
    /// Creates the target.
    CreateTarget,
    /// Allows statements to use all threads again.
    AllThreads,
    /// Counts the rows that are replaced, and keeps them if the package asks for it.
    KeepReplaced,
    /// Removes all rows of the target.
    Empty,
    /// Copies the staged rows into the target.
    Copy,
    /// Keeps other writers away from the target until the transaction ends.
    LockTarget,
    /// Merges the staged rows into the target by their key.
    Merge,
    /// Drops the staging table.
    DropStaging,
    /// Records what an undo must put back.
    RecordChange,
}

/// The steps that fill a target.
pub fn fill(quirks: &Quirks, staging: &Staging, state: TargetState) -> Vec<FillStep> {
    let mode = staging.plan.mode;
    let is_missing = state == TargetState::Missing;
    let is_renamed = is_missing && !staging.casts();
    let is_merged = mode == WriteMode::Upsert;
    let is_copied = !is_renamed && !is_merged;
    let replaces = !is_missing && mode == WriteMode::Replace;
    let undoes = quirks.undoes;
    [
        (
            !matches!(mode, WriteMode::Append | WriteMode::Upsert),
            FillStep::MarkGone,
        ),
        (is_renamed, FillStep::Rename),
        (is_missing && is_copied, FillStep::CreateTarget),
        (is_copied || is_merged, FillStep::AllThreads),
        (
            undoes && replaces && state == TargetState::HasRows,
            FillStep::KeepReplaced,
        ),
        (replaces, FillStep::Empty),
        (is_copied, FillStep::Copy),
        (
            is_merged && quirks.lock_table.is_some(),
            FillStep::LockTarget,
        ),
        (is_merged, FillStep::Merge),
        (
            !is_renamed && quirks.transactional_ddl,
            FillStep::DropStaging,
        ),
        (undoes, FillStep::RecordChange),
    ]
    .into_iter()
    .filter_map(|(is_needed, step)| is_needed.then_some(step))
    .collect()
}

/// The steps of a planned run, as a plan prints them.
pub fn of_run(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    request: &StepsRequest<'_>,
) -> Result<RunSteps> {
    let quirks = shared.quirks;
    let targets = request.targets.iter().enumerate();
    let stagings: Vec<Staging> = targets
        .map(|(place, target)| Staging::planned(quirks, shared.product, place, target.plan))
        .collect::<Result<_>>()?;
    let mut merges = Vec::with_capacity(stagings.len());
    for staging in &stagings {
        merges.push(match staging.plan.mode {
            WriteMode::Upsert => Some(AdbcMerge::of_staging(session, quirks, staging)?),
            _ => None,
        });
    }
    let ledger = &shared.ledger;
    let plans: Vec<&TargetPlan> = request.targets.iter().map(|target| target.plan).collect();
    let members = MemberTable::all(session, quirks, &plans, &|at, _| {
        let name = format!("members_<{}>", at + 1);
        (None, ledger.name_of(&name).1, ledger.table(&name))
    })?;
    let planned = PlannedSteps {
        shared,
        run_key: request.run_key,
        stagings: &stagings,
        merges: &merges,
        members: &members,
        resumes: request.resumes.is_some(),
        ledger_exists: ledger.exists(session, quirks)?,
        schema_exists: ledger.schema_exists(session)?,
        lineage_exists: ledger.lineage_exists(session, quirks)?,
    };
    let states = request.targets.iter().map(|target| match target.facts {
        None => TargetState::Missing,
        Some(facts) if facts.has_rows => TargetState::HasRows,
        Some(_) => TargetState::Empty,
    });
    let states: Vec<TargetState> = states.collect();
    Ok(RunSteps {
        session: quirks
            .on_connect
            .iter()
            .map(|&sql| Step::statement(sql))
            .collect(),
        begin: begin(quirks)
            .flat_map(|step| planned.of_begin(step))
            .collect(),
        units: stagings
            .iter()
            .zip(&request.targets)
            .map(|(staging, target)| planned.of_unit(staging, target.steps))
            .collect(),
        publish: switch(quirks)
            .chain(after_switch(quirks).iter().copied())
            .flat_map(|step| planned.of_switch(step, &states))
            .collect(),
        analyze: match request.analyzes {
            true => stagings
                .iter()
                .flat_map(|staging| {
                    let [limit, reset] = quirks.analyze_wait.map_or([None; 2], |it| it.map(Some));
                    let analyze = staging.analyze_statement();
                    let limit = limit.map(Step::statement).into_iter();
                    limit
                        .chain([Step::statement(analyze)])
                        .chain(reset.map(Step::statement))
                })
                .collect(),
            false => Vec::new(),
        },
        statement_end: StatementEnd::Semicolon,
        notes: Vec::new(),
    })
}

/// The facts on which the text of a planned run's steps depends.
struct PlannedSteps<'a> {
    shared: &'a SharedDatabase,
    run_key: &'a RunKey,
    stagings: &'a [Staging],
    /// The merge of each target into which rows are merged.
    merges: &'a [Option<AdbcMerge<'a>>],
    /// The references to which lookups add members.
    members: &'a [MemberTable],
    resumes: bool,
    ledger_exists: bool,
    schema_exists: bool,
    lineage_exists: bool,
}

impl PlannedSteps<'_> {
    fn ledger(&self) -> &AdbcLedger {
        &self.shared.ledger
    }

    fn of_begin(&self, step: BeginStep) -> Vec<Step> {
        let ledger = self.ledger();
        match step {
            BeginStep::LockRun => match self.shared.quirks.run_lock {
                RunLock::Advisory => vec![Step::sketch(lock::advisory_statement("<the run>"))],
                RunLock::LockFile => vec![Step::other("lock a file beside the database's")],
                RunLock::DatabaseFile | RunLock::LedgerOnly => Vec::new(),
            },
            BeginStep::CreateLedger if self.ledger_exists => Vec::new(),
            BeginStep::CreateLedger => {
                let schema = ledger.create_schema().filter(|_| !self.schema_exists);
                let statements = schema.into_iter().chain(ledger.create_tables());
                statements.map(Step::statement).collect()
            }
            BeginStep::Begin => vec![Step::statement("BEGIN")],
            BeginStep::LockLedger => ledger
                .lock_statement(self.shared.quirks)
                .map(Step::statement)
                .into_iter()
                .collect(),
            BeginStep::NumberRun => Vec::new(),
            BeginStep::DropLeftovers => {
                const LEFT: &str = "an earlier run has left staging tables";
                vec![
                    Step::sketch(ledger.clear_statement("<earlier run>")).only_if(LEFT),
                    Step::sketch(staging::drop_statement("<its staging>")).only_if(LEFT),
                ]
            }
            BeginStep::CreateStaging => {
                let members = self.members.iter().flat_map(|it| self.of_members_table(it));
                let stagings = self.stagings.iter();
                members
                    .chain(stagings.flat_map(|it| self.staged(it)))
                    .collect()
            }
            BeginStep::EnterRun if self.resumes => {
                vec![Step::sketch(ledger.take_over_statement(
                    RUN,
                    "epoch = <epoch>, holder = <this process>, package_hash = <package>, targets = <targets>, \
                     staging = <staging>",
                ))]
            }
            BeginStep::EnterRun => vec![Step::sketch(ledger.enter_statement("<the run>"))],
            BeginStep::EnterLineage => {
                let create = (!self.lineage_exists).then(|| ledger.create_lineage());
                let keep = ledger.lineage_statements(RUN, "<where its columns come from>");
                let create = create.into_iter().map(Step::statement);
                create.chain(keep.into_iter().map(Step::sketch)).collect()
            }
            BeginStep::Commit => vec![Step::statement("COMMIT")],
            BeginStep::OneThread => self
                .shared
                .one_thread_statement()
                .map(Step::statement)
                .into_iter()
                .collect(),
        }
    }

    /// The table that keeps the members of a reference until the publish.
    fn of_members_table(&self, members: &MemberTable) -> Vec<Step> {
        let create = Step::statement(members.create_statement());
        let drop = Step::statement(members.remove_statement());
        match self.resumes {
            false => vec![drop.only_if("such a table is left over"), create],
            true => vec![create.only_if("it does not exist")],
        }
    }

    fn staged(&self, staging: &Staging) -> Vec<Step> {
        let create = Step::statement(staging.create_staging_statement());
        let drop = Step::statement(staging.remove_statement());
        match self.resumes {
            // If a table of this name exists, an earlier run has left it.
            false => vec![drop.only_if("such a table is left over"), create],
            true => {
                const DIFFERS: &str = "it does not have the rows that the ledger knows";
                let forget = self.ledger().forget_statement(RUN, &staging.plan.name.sql);
                vec![
                    drop.only_if(DIFFERS),
                    create.only_if(DIFFERS),
                    Step::sketch(forget).only_if(DIFFERS),
                ]
            }
        }
    }

    fn of_unit(&self, staging: &Staging, given: Option<&GivenSteps>) -> Vec<Step> {
        let ledger = self.ledger();
        let step = |step| match step {
            UnitStep::Begin => vec![Step::statement("BEGIN")],
            UnitStep::HoldFence => {
                vec![Step::sketch(ledger.fence_statement(RUN))]
            }
            UnitStep::NumberMembers => {
                let locks = self.members.iter();
                let locks = locks.filter_map(MemberTable::lock_writers_statement);
                locks.map(Step::statement).collect()
            }
            UnitStep::KeepMembers => self.members.iter().flat_map(kept_members).collect(),
            UnitStep::RecordUnit => vec![Step::sketch(ledger.enter_unit_statement("<the unit>"))],
            UnitStep::Commit => vec![Step::statement("COMMIT")],
        };
        let adds_members = !self.members.is_empty();
        let rows = match given {
            None => vec![Step::other(format!(
                "send the rows to {}",
                staging.name.table
            ))],
            Some(given) => {
                const NEW: &str = "it is the session's first";
                let insert = given::insert_statement(staging, given, "<rows>");
                let session = given.session.iter();
                let session = session.map(|sql| Step::statement(sql.clone()).only_if(NEW));
                let insert = Step::sketch(insert).repeated("for each split");
                session.chain([insert]).collect()
            }
        };
        let begin = unit_begin(adds_members).flat_map(step).chain(rows);
        begin
            .chain(unit_end(self.shared.quirks, adds_members).flat_map(step))
            .collect()
    }

    fn of_switch(&self, step: SwitchStep, states: &[TargetState]) -> Vec<Step> {
        let (quirks, ledger) = (self.shared.quirks, self.ledger());
        let stagings = self.stagings.iter();
        match step {
            SwitchStep::CreateTargets => stagings
                .zip(states)
                .filter(|(_, state)| **state == TargetState::Missing)
                .map(|(staging, _)| Step::statement(staging.create_target_statement()))
                .collect(),
            SwitchStep::Begin => vec![Step::statement("BEGIN")],
            SwitchStep::HoldFence => vec![Step::sketch(ledger.fence_statement(RUN))],
            SwitchStep::AddMembers => {
                let members = self.members.iter();
                members.flat_map(|it| self.of_added(it)).collect()
            }
            SwitchStep::PreSql => stagings
                .flat_map(|staging| self.of_user(&staging.plan.pre_sql))
                .collect(),
            SwitchStep::FillTargets => {
                let mut steps = Vec::new();
                for (place, (staging, state)) in stagings.zip(states).enumerate() {
                    // An earlier step has created the target, which is empty.
                    let state = match *state {
                        TargetState::Missing if !quirks.transactional_ddl => TargetState::Empty,
                        state => state,
                    };
                    for step in fill(quirks, staging, state) {
                        steps.extend(self.of_fill(step, place, staging));
                    }
                }
                steps
            }
            SwitchStep::PostSql => stagings
                .flat_map(|staging| self.of_user(&staging.plan.post_sql))
                .collect(),
            SwitchStep::MarkSwitched => vec![Step::sketch(ledger.switched_statement(
                RUN,
                "<now>",
                "<rows of each target>",
            ))],
            SwitchStep::DropStaging => stagings
                .map(|staging| Step::statement(staging.remove_statement()))
                .collect(),
            SwitchStep::ClearStaging => vec![Step::sketch(ledger.clear_statement(RUN))],
            SwitchStep::Commit => vec![Step::statement("COMMIT")],
        }
    }

    fn of_added(&self, members: &MemberTable) -> Vec<Step> {
        const OTHERS: &str = "others have added a member with the same key";
        let add = members.add_statement(self.stagings);
        let replace = members.replace_statements(self.stagings).into_iter();
        let replace = replace.map(|sql| Step::statement(sql).only_if(OTHERS));
        let add = add.into_iter().map(Step::statement);
        add.chain(replace)
            .chain([Step::statement(members.remove_statement())])
            .collect()
    }

    fn of_user(&self, texts: &[String]) -> Vec<Step> {
        if texts.is_empty() {
            return Vec::new();
        }
        let threads = self.shared.all_threads_statement();
        let statements = texts.iter().flat_map(|text| sql::statements(text));
        threads
            .into_iter()
            .chain(statements.map(str::to_owned))
            .map(Step::statement)
            .collect()
    }

    fn of_fill(&self, step: FillStep, place: usize, staging: &Staging) -> Vec<Step> {
        let ledger = self.ledger();
        let one = |sql: String| vec![Step::statement(sql)];
        match step {
            FillStep::MarkGone => {
                let gone = ledger.loaded_statement("<earlier run>", "<rows of each target>");
                vec![Step::sketch(gone).only_if("the target had rows of an earlier run")]
            }
            FillStep::Rename => one(staging.rename_statement()),
            FillStep::CreateTarget => one(staging.create_target_statement()),
            FillStep::AllThreads => self
                .shared
                .all_threads_statement()
                .map(Step::statement)
                .into_iter()
                .collect(),
            FillStep::KeepReplaced => self.of_keep(place, staging),
            FillStep::Empty => one(staging.empty_target_statement()),
            FillStep::Copy => one(staging.copy_statement()),
            FillStep::LockTarget => staging
                .lock_statement(self.shared.quirks)
                .map(Step::statement)
                .into_iter()
                .collect(),
            FillStep::Merge => {
                let merges = self.merges[place].iter();
                merges.flat_map(AdbcMerge::planned).collect()
            }
            FillStep::DropStaging => one(staging.remove_statement()),
            FillStep::RecordChange => vec![
                Step::statement(ledger.create_changes()),
                Step::sketch(ledger.enter_change_statement("<the change of the target>")),
            ],
        }
    }

    fn of_keep(&self, place: usize, staging: &Staging) -> Vec<Step> {
        let ledger = self.ledger();
        match &staging.plan.replaced {
            ReplacedRows::Removed => Vec::new(),
            ReplacedRows::KeptUntilNext => {
                const KEPT: &str = "an earlier run of the package kept rows";
                let forget = ledger.forget_kept_statement(self.run_key, &staging.plan.name.sql);
                let kept = ledger.kept_table(RUN, place);
                vec![
                    Step::sketch(staging::drop_statement("<the kept rows>")).only_if(KEPT),
                    Step::statement(forget).only_if(KEPT),
                    Step::statement(staging.keep_statement(&kept)),
                ]
            }
            ReplacedRows::KeptAs(name) => {
                let kept = staging.named_beside(name);
                vec![Step::statement(staging.keep_statement(&kept))]
            }
        }
    }
}

/// The steps that keep the members of a reference in the transaction of a unit.
fn kept_members(members: &MemberTable) -> Vec<Step> {
    const NEW: &str = "its rows have new members";
    let raise = members.raise_sequence_statements("<the highest number>");
    let raise = raise.into_iter().map(|sql| Step::sketch(sql).only_if(NEW));
    let send = Step::other(format!("send the rows to {}", members.stored.1)).only_if(NEW);
    raise.chain([send]).collect()
}
