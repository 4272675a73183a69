//! The steps of a run, in order. `inrush check` prints them, and the run performs them ([`run`](crate::run),
//! [`stream`](crate::stream), [`publish`](crate::publish)). Each statement has its text from one function. The order before and
//! after [`fill`] is written in those modules too: `tests/sqlserver/test_plan_is_run.py` compares both.
//!
//! The statements that fill a target depend on the target, its catalog and its rows ([`ways`](crate::ways)): the plan
//! uses the facts at the time of planning, and the run reads them again. If the target refuses a row, the transactions
//! of a careful load follow, which the plan does not print.

use inrush_destination::sql_ledger::changes::drop_kept_statement;
use inrush_destination::staging_name::PREFIX;
use inrush_destination::steps::RUN;
use inrush_destination::{
    MembersPlan, ReplacedRows, Result, RunSteps, StatementEnd, Step, StepsRequest, StepsTarget,
    WriteMode,
};
use inrush_rows::ids::RunKey;

use crate::added_partitions::AddedPartitions;
use crate::bulk_target;
use crate::columnstore;
use crate::connection::{
    self, BEGIN, COMMIT, POLITE_LOCK_MILLISECONDS, Purpose, RUN_LOCK_MILLISECONDS, SqlSession,
    lock_waits_statement,
};
use crate::copying;
use crate::emptying;
use crate::ledger::Ledger;
use crate::lock;
use crate::members::MemberTable;
use crate::merge::{self, SqlMerge};
use crate::moved_rows::{self, MovedRows};
use crate::options::Options;
use crate::partitions::NewPartitions;
use crate::run::BEGIN_LOCK_MILLISECONDS;
use crate::shape::TableShape;
use crate::staging::{self, Staging};
use crate::ways::{self, Way};

/// A step that fills a target that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillStep {
    /// Keeps the rows that are replaced. If the rows are switched, they leave the target.
    Keep,
    /// Removes all rows of the target.
    Empty,
    /// Removes the rows of the partitions that get new ones.
    EmptyPartitions,
    /// Switches the staged rows into the target. Staged rows for a partition that has rows are copied.
    Switch,
    /// Copies the staged rows.
    Copy,
    /// Keeps others away from the target.
    Lock,
    /// Merges the staged rows into the target by their key.
    Merge,
    /// Removes the staging table.
    DropStaging,
}

/// How replaced rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// They are switched into another table, so they leave the target.
    Switch,
    /// They are copied.
    Copy,
}

impl Keeping {
    /// How rows of a table with this shape are kept.
    pub fn of(shape: &TableShape, options: &Options) -> Keeping {
        match moved_rows::is_switched(shape, options) {
            true => Keeping::Switch,
            false => Keeping::Copy,
        }
    }
}

/// The steps that fill a target that exists. `keeping` is `None` if it has no rows that are replaced and kept.
pub fn fill(mode: WriteMode, switches: bool, keeping: Option<Keeping>) -> Vec<FillStep> {
    let keep = keeping.map(|_| FillStep::Keep);
    let before = match mode {
        WriteMode::Replace => Some(FillStep::Empty),
        WriteMode::ReplacePartitions => Some(FillStep::EmptyPartitions),
        WriteMode::Upsert => Some(FillStep::Lock),
        WriteMode::Create | WriteMode::Append => None,
    };
    let before = before.filter(|_| keeping != Some(Keeping::Switch));
    let rows = match (mode, switches) {
        (WriteMode::Upsert, _) => FillStep::Merge,
        (_, true) => FillStep::Switch,
        (_, false) => FillStep::Copy,
    };
    keep.into_iter()
        .chain(before)
        .chain([rows, FillStep::DropStaging])
        .collect()
}

/// The steps of a planned run.
pub fn of_run(
    session: &mut SqlSession,
    options: &Options,
    ledger: &Ledger,
    request: &StepsRequest<'_>,
) -> Result<RunSteps> {
    let mut planned = PlannedSteps {
        session,
        options,
        ledger,
        resumes: request.resumes.is_some(),
        members: Vec::new(),
    };
    let targets = request.targets.iter().enumerate();
    let targets: Vec<(Staging, &StepsTarget<'_>)> = targets
        .map(|(place, target)| Ok((Staging::planned(place, target.plan)?, target)))
        .collect::<Result<_>>()?;
    let plans = targets.iter().map(|(staging, _)| &staging.plan);
    let named = |at, _: &MembersPlan| format!("members_<{}>", at + 1);
    planned.members = MemberTable::all(planned.session, plans, ledger.schema(), &named)?;
    let begin = planned.begin(request, &targets)?;
    let mut notes = Vec::new();
    let publish = planned.publish(request, &targets, &mut notes)?;
    Ok(RunSteps {
        session: vec![Step::statement(connection::settings(Purpose::Run))],
        begin,
        units: targets.iter().map(|(it, _)| planned.unit(it)).collect(),
        publish,
        analyze: match request.analyzes {
            true => targets
                .iter()
                .map(|(staging, _)| Step::statement(staging.analyze_statement()))
                .collect(),
            false => Vec::new(),
        },
        statement_end: StatementEnd::Batch,
        notes,
    })
}

/// The facts on which the text of a planned run's steps depends.
struct PlannedSteps<'a> {
    session: &'a mut SqlSession,
    options: &'a Options,
    ledger: &'a Ledger,
    resumes: bool,
    /// The references to which lookups add members.
    members: Vec<MemberTable>,
}

impl PlannedSteps<'_> {
    fn begin(
        &mut self,
        request: &StepsRequest<'_>,
        targets: &[(Staging, &StepsTarget<'_>)],
    ) -> Result<Vec<Step>> {
        let ledger = self.ledger;
        let mut steps = vec![
            Step::statement(lock::run_statement(request.run_key)),
            Step::statement(lock_waits_statement(BEGIN_LOCK_MILLISECONDS)),
            Step::statement(BEGIN),
            Step::statement(lock::ledger_statement(ledger)),
        ];
        let create = ledger.create_statements(self.session)?;
        steps.extend(create.into_iter().map(Step::statement));
        let create = ledger.create_changes_statement(self.session)?;
        steps.extend(create.into_iter().map(Step::statement));
        if self.resumes {
            const LEFT: &str = "the stopped run has a staging table that is not used any more";
            let remove = staging::remove_statements("<schema>", &format!("{PREFIX}<its number>"));
            steps.extend(remove.into_iter().map(|it| Step::sketch(it).only_if(LEFT)));
        }
        let plans = targets.iter().map(|(staging, _)| &staging.plan);
        let added = AddedPartitions::of_plans(self.session, self.options, plans)?;
        let statements = added.iter().flat_map(AddedPartitions::statements);
        steps.extend(statements.map(Step::statement));
        for members in &self.members {
            steps.extend(members.begin_steps(self.resumes));
        }
        for (staging, _) in targets {
            self.staged(staging, &mut steps)?;
        }
        steps.push(Step::sketch(match self.resumes {
            true => ledger.take_over_statement(
                RUN,
                "epoch = <epoch>, holder = <this process>, package_hash = <package>, targets = <targets>, staging = <staging>",
            ),
            false => ledger.enter_statement("<the run>"),
        }));
        let create = ledger.create_lineage_statement(self.session)?;
        steps.extend(create.into_iter().map(Step::statement));
        let keep = ledger.lineage_statements(RUN, "<where its columns come from>");
        steps.extend(keep.into_iter().map(Step::sketch));
        steps.extend([
            Step::statement(COMMIT),
            Step::statement(lock_waits_statement(RUN_LOCK_MILLISECONDS)),
        ]);
        if self.resumes {
            const PREPARED: &str =
                "the stopped run has prepared it, and more rows follow or the target was changed";
            for (staging, _) in targets {
                steps.extend(
                    [
                        ways::drop_constraint_statement(staging, "<each of its constraints>"),
                        ways::drop_index_statement(staging, "<each of its indexes>"),
                    ]
                    .map(|it| Step::sketch(it).only_if(PREPARED)),
                );
            }
        }
        Ok(steps)
    }

    /// The steps that make a staging table.
    fn staged(&mut self, staging: &Staging, steps: &mut Vec<Step>) -> Result<()> {
        let create = staging.create_statements(self.session, self.options)?;
        let (create, remove) = (
            create.into_iter().map(Step::statement),
            staging.remove_statements().into_iter().map(Step::statement),
        );
        if !self.resumes {
            // If a table of this name exists, an earlier run has left it.
            steps.extend(remove.map(|it| it.only_if("such a table is left over")));
            steps.extend(create);
            return Ok(());
        }
        const DIFFERS: &str = "it does not have the rows that the ledger knows";
        let forget = self.ledger.forget_statement(RUN, &staging.plan.name.sql);
        let again = remove.chain(create).chain([Step::sketch(forget)]);
        steps.extend(again.map(|it| it.only_if(DIFFERS)));
        Ok(())
    }

    fn unit(&self, staging: &Staging) -> Vec<Step> {
        let bulk = bulk_target::statement(&staging.sql, "<its columns>", self.options);
        let take = self.members.iter().map(MemberTable::take_step);
        let mut steps: Vec<Step> = take.collect();
        steps.extend([
            Step::statement(BEGIN),
            Step::sketch(self.ledger.fence_statement(RUN)),
            Step::sketch(bulk),
        ]);
        let members = self.members.iter();
        steps.extend(members.map(|members| members.keep_step(self.options)));
        steps.extend([
            Step::sketch(self.ledger.enter_unit_statement("<the unit>")),
            Step::statement(COMMIT),
        ]);
        steps
    }

    fn publish(
        &mut self,
        request: &StepsRequest<'_>,
        targets: &[(Staging, &StepsTarget<'_>)],
        notes: &mut Vec<String>,
    ) -> Result<Vec<Step>> {
        let ledger = self.ledger;
        let mut steps = Vec::new();
        let mut ways = Vec::with_capacity(targets.len());
        for (staging, target) in targets {
            let has_rows = target.facts.is_some_and(|facts| facts.has_rows);
            let is_appended = staging.plan.mode == WriteMode::Append && has_rows;
            let way = ways::find(self.session, staging, self.options, |_, partitioning| {
                Ok(!is_appended || partitioning.is_some())
            })?;
            notes.extend(ways::note(self.session, staging, &way)?);
            prepare(staging, &way, is_appended, self.options, &mut steps)?;
            ways.push((way, is_appended));
        }
        steps.push(Step::statement(BEGIN));
        steps.push(Step::sketch(ledger.fence_statement(RUN)));
        let stagings: Vec<Staging> = targets.iter().map(|(it, _)| it.clone()).collect();
        let members = self.members.iter();
        steps.extend(members.flat_map(|it| it.publish_steps(&stagings)));
        let plans = targets.iter().map(|(staging, _)| &staging.plan);
        steps.extend(plans.clone().flat_map(|plan| of_user(&plan.pre_sql)));
        let mut copies_into_columnstore = false;
        for (place, ((staging, target), (way, is_appended))) in
            targets.iter().zip(&ways).enumerate()
        {
            if matches!(staging.plan.mode, WriteMode::Create | WriteMode::Replace) {
                let gone = ledger.loaded_statement("<earlier run>", "<rows of each target>");
                steps.push(Step::sketch(gone).only_if("the target had rows of an earlier run"));
            }
            let has_rows = target.facts.is_some_and(|facts| facts.has_rows);
            let keeps = has_rows && staging.plan.replaced != ReplacedRows::Removed;
            let keeps = keeps.then_some((request.run_key, place));
            copies_into_columnstore |=
                self.filled(staging, way, *is_appended, keeps, &mut steps)?;
            let change = ledger.enter_change_statement("<the change of the target>");
            steps.push(Step::sketch(change));
        }
        steps.extend(plans.flat_map(|plan| of_user(&plan.post_sql)));
        steps.push(Step::sketch(ledger.switched_statement(
            RUN,
            "<now>",
            "<rows of each target>",
        )));
        steps.push(Step::statement(COMMIT));
        if copies_into_columnstore {
            const COPIED: &str = "rows were copied into a columnstore";
            steps.extend(look_at_rowgroups().map(|it| it.only_if(COPIED)));
        }
        Ok(steps)
    }

    /// The steps that fill a target. `keeps` has the key of the run and the target's place, if it keeps replaced rows. Returns true
    /// if rows may be copied into a columnstore.
    fn filled(
        &mut self,
        staging: &Staging,
        way: &Way,
        is_appended: bool,
        keeps: Option<(&RunKey, usize)>,
        steps: &mut Vec<Step>,
    ) -> Result<bool> {
        if matches!(way, Way::Rename) {
            steps.push(Step::statement(staging.rename_statement()));
            return Ok(false);
        }
        let shape = TableShape::read(self.session, &staging.plan.name.sql)?;
        let partitioning = shape.partitioning.as_ref();
        let switches = matches!(way, Way::Switch(_));
        let keeping = keeps.map(|_| Keeping::of(&shape, self.options));
        for step in fill(staging.plan.mode, switches, keeping) {
            match (step, partitioning) {
                (FillStep::Keep, _) => {
                    if let Some((run_key, place)) = keeps {
                        let by_switch = keeping == Some(Keeping::Switch);
                        self.kept(staging, &shape, by_switch, (run_key, place), steps)?;
                    }
                }
                (FillStep::Empty, _) => {
                    let empty = emptying::statement(self.session, &staging.plan.name.sql)?;
                    steps.push(Step::statement(empty));
                }
                (FillStep::EmptyPartitions, Some(partitioning)) => {
                    let empty = emptying::partitions_statement(
                        self.session,
                        &staging.plan.name.sql,
                        &shape,
                        partitioning,
                        "<those that get rows>",
                    )?;
                    steps.push(Step::sketch(empty));
                }
                (FillStep::EmptyPartitions, None) => {}
                (FillStep::Switch, None) => {
                    let switch = moved_rows::switch_statement(&staging.sql, &staging.plan.name.sql);
                    steps.push(Step::statement(switch));
                }
                (FillStep::Switch, Some(partitioning)) => {
                    let (from, to) = (&staging.sql, &staging.plan.name.sql);
                    let switch = moved_rows::switch_partition_statement(from, to, NUMBER);
                    let switch = Step::sketch(switch);
                    if !is_appended {
                        steps.push(switch.repeated("for each partition that gets rows"));
                        continue;
                    }
                    steps.push(switch.only_if("rows fall into a partition without rows"));
                    let condition = copying::of_partition(partitioning, NUMBER);
                    const FILLED: &str = "rows fall into a partition with rows";
                    let insert = copying::insert(self.session, staging, &condition)?;
                    let insert = insert.statements().into_iter().map(Step::sketch);
                    steps.extend(insert.map(|step| step.only_if(FILLED)));
                }
                (FillStep::Copy, _) => {
                    let insert = copying::insert(self.session, staging, "")?;
                    steps.extend(insert.statements().into_iter().map(Step::statement));
                }
                (FillStep::Lock, _) => {
                    steps.push(Step::statement(merge::lock_statement(&staging.plan)));
                }
                (FillStep::Merge, _) => {
                    steps.extend(SqlMerge::of_staging(self.session, staging)?.planned());
                }
                (FillStep::DropStaging, _) => {
                    steps.extend(staging.remove_statements().into_iter().map(Step::statement));
                }
            }
        }
        Ok(shape.columnstore().is_some() && (is_appended || !switches))
    }

    /// The steps that keep the replaced rows of a target.
    fn kept(
        &mut self,
        staging: &Staging,
        shape: &TableShape,
        by_switch: bool,
        (run_key, place): (&RunKey, usize),
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let (ledger, target) = (self.ledger, &staging.plan.name.sql);
        let apart = match &staging.plan.replaced {
            ReplacedRows::Removed => return Ok(()),
            ReplacedRows::KeptUntilNext => {
                const KEPT: &str = "an earlier run of the package kept rows";
                let drop = drop_kept_statement("<the kept rows>");
                let forget = ledger.forget_kept_statement(run_key, target);
                steps.push(Step::sketch(drop).only_if(KEPT));
                steps.push(Step::statement(forget).only_if(KEPT));
                ledger.kept_table(RUN, place)
            }
            ReplacedRows::KeptAs(name) => staging.named_beside(name)?,
        };
        let rows = MovedRows {
            table: target,
            shape,
            apart: &apart,
            numbers: None,
        };
        // Only the partitions that have rows and get new ones are kept.
        let is_partial = staging.plan.mode == WriteMode::ReplacePartitions;
        const SOME: &str = "a partition that gets rows has some";
        let mut push = |step: Step| steps.push(if is_partial { step.only_if(SOME) } else { step });
        if !by_switch {
            let condition = match (&shape.partitioning, is_partial) {
                (Some(partitioning), true) => {
                    moved_rows::in_partitions(partitioning, "<those that get rows>")
                }
                _ => String::new(),
            };
            let copy = rows.copy_statement_of(&condition);
            push(match is_partial {
                true => Step::sketch(copy),
                false => Step::statement(copy),
            });
            return Ok(());
        }
        for statement in rows.create_statements() {
            push(Step::statement(statement));
        }
        match &shape.partitioning {
            None => push(Step::statement(moved_rows::switch_statement(
                target, &apart,
            ))),
            Some(_) => {
                let switch = moved_rows::switch_partition_statement(target, &apart, NUMBER);
                let switch = Step::sketch(switch);
                push(switch.repeated("for each partition"));
            }
        }
        Ok(())
    }
}

/// Stands for the number of a partition.
const NUMBER: &str = "<number>";

/// The steps that prepare a staging table for the switch.
fn prepare(
    staging: &Staging,
    way: &Way,
    is_appended: bool,
    options: &Options,
    steps: &mut Vec<Step>,
) -> Result<()> {
    let statements = match way {
        Way::Rename if options.columnstore => {
            let on = staging.new_partitions()?.as_ref().map(NewPartitions::on);
            vec![columnstore::statement(&staging.sql, on)]
        }
        Way::Rename | Way::Copy(_) => Vec::new(),
        Way::Switch(shape) => shape.complete_statements(&staging.sql, &staging.name, None),
    };
    let statements = statements.into_iter().map(Step::statement);
    let looks = way.builds_columnstore(options).then(look_at_rowgroups);
    let all = statements.chain(looks.into_iter().flatten());
    match is_appended {
        true => steps.extend(all.map(|it| it.only_if("rows fall into a partition without rows"))),
        false => steps.extend(all),
    }
    Ok(())
}

/// The statements before and after the query for the rowgroups of a columnstore: they keep its wait for a lock short.
fn look_at_rowgroups() -> impl Iterator<Item = Step> {
    [POLITE_LOCK_MILLISECONDS, RUN_LOCK_MILLISECONDS]
        .into_iter()
        .map(|milliseconds| Step::statement(lock_waits_statement(milliseconds)))
}

/// The user's batches.
fn of_user(batches: &[String]) -> impl Iterator<Item = Step> + '_ {
    batches.iter().map(Step::statement)
}
