//! The report of a run.

use std::collections::BTreeMap;

use inrush_plan::UnitPlace;
use inrush_plan::ledger::Account;
use inrush_plan::load_plan::PlanFacts;
use inrush_rows::exit_status::ExitStatus;
use inrush_rows::quantity::counted;

use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::gathering::{Done, Gathering};
use super::prepare::AlreadyLoaded;
use super::publish::SwitchedTarget;
use super::unit_reports::{self, UnitEnd};
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::report::{RunReport, StepReport, TableReport};

/// The report of a run that has loaded something or was stopped. `committed` has its rows.
pub fn of_run(
    context: &RunContext<'_>,
    committed: &CommittedUnits,
    mut switched: BTreeMap<usize, SwitchedTarget>,
    gathering: &mut Gathering,
    options: &RunOptions<'_>,
    error: Option<&Error>,
) -> RunReport {
    let run = context.run;
    let flows = &run.plan.flows;
    // The units that this attempt has loaded, and whether carefully.
    let mut loaded: BTreeMap<UnitPlace, bool> = BTreeMap::new();
    for piece in &gathering.loaded {
        *loaded.entry((piece.flow, piece.unit)).or_default() |= piece.is_careful;
    }
    let mut accounts = vec![Account::default(); flows.len()];
    let units = unit_reports::of_units(gathering, flows, |unit| {
        let is_careful = loaded.get(&unit);
        let end = committed.unit(run, unit, is_careful.is_some());
        accounts[unit.0].add(&end.account);
        UnitEnd {
            is_careful: end.is_careful || is_careful.is_some_and(|is_careful| *is_careful),
            ..end
        }
    });
    let tables = flows.iter().zip(accounts).enumerate();
    let tables = tables.map(|(index, (flow, account))| {
        let switched = switched.remove(&index).unwrap_or_default();
        TableReport {
            partitions: switched.partitions,
            rows_updated: switched.rows_updated,
            versions: switched.versions,
            members: switched.members,
            changes: gathering.changes(index),
            steps: gathering.steps(index, &flow.reading),
            ..unit_reports::of_target(flow, account)
        }
    });
    let tables: Vec<TableReport> = tables.collect();
    for note in tables.iter().filter_map(versions_note).collect::<Vec<_>>() {
        gathering.note(note);
    }
    for note in tables.iter().flat_map(member_notes).collect::<Vec<_>>() {
        gathering.note(note);
    }
    for flow in flows {
        if flow.reading.given_steps().is_some() {
            gathering.note(format!(
                "flow {}: its steps are a part of the destination's statement, so the destination's time includes theirs, except \
                 for units in which the statement failed for a row (see the log)",
                flow.reading.name
            ));
        }
    }
    for note in tables.iter().flat_map(step_notes).collect::<Vec<_>>() {
        gathering.note(note);
    }
    let facts: &PlanFacts = &run.plan;
    let done = Done {
        run: run.name.clone(),
        run_key: &facts.run_key,
        streams: facts.streams,
        resumed: run.resumed,
        tables,
        units,
        error,
    };
    gathering.report(facts, run.plan.server_report.clone(), options, done)
}

/// A note about the rows that a target with versions got.
fn versions_note(table: &TableReport) -> Option<String> {
    let rows = table.versions?;
    Some(format!(
        "flow {}: of {}: {} new, {} with a new version, {} overwritten in the current version, {} unchanged",
        table.flow,
        counted(table.account.rows_loaded, "row"),
        rows.new,
        rows.changed,
        rows.overwritten,
        rows.unchanged
    ))
}

/// Members that lookups have added to their references.
fn member_notes(table: &TableReport) -> impl Iterator<Item = String> {
    let added = table.members.iter().filter(|members| members.added > 0);
    added.map(|members| {
        format!(
            "flow {}: {} added to {}, for keys that it lacked",
            table.flow,
            match members.added {
                1 => "1 member was".to_owned(),
                more => format!("{} were", counted(more, "member")),
            },
            members.reference
        )
    })
}

/// Notes about the steps of a flow: rows that are loaded although a check fails, and a condition that is true for no row.
fn step_notes(table: &TableReport) -> Vec<String> {
    let mut notes = Vec::new();
    for (step, number) in table.steps.iter().zip(1..) {
        let StepReport { what, .. } = step;
        let of_step = format!("flow {}, step {number}", table.flow);
        if step.warned > 0 {
            notes.push(format!(
                "{of_step}: the check `{what}` fails for {}, and else = \"warn\" loads them",
                counted(step.warned, "row")
            ));
        }
        if step.filtered > 0 && step.filtered == step.rows_in {
            let rows = counted(step.filtered, "row");
            let found = match (step.step.as_str(), step.filtered) {
                ("output", 1) => {
                    format!("the output `{what}` does not take its only row, so it is filtered")
                }
                ("output", _) => {
                    format!("the output `{what}` takes none of its {rows}, so all are filtered")
                }
                (_, 1) => format!("`{what}` is not true for its only row, so it is filtered"),
                _ => format!("`{what}` is true for none of its {rows}, so all are filtered"),
            };
            notes.push(format!(
                "{of_step}: {found}: look at the condition, and at the rows with `inrush peek`"
            ));
        }
    }
    notes
}

/// The report of a run that had nothing left to do.
pub fn of_loaded(
    loaded: &AlreadyLoaded,
    gathering: &Gathering,
    options: &RunOptions<'_>,
) -> RunReport {
    let flows = loaded.plan.flows.iter().zip(&loaded.accounts);
    let tables = flows.map(|(flow, account)| unit_reports::of_target(flow, *account));
    let mut report = gathering.already_loaded(
        &loaded.plan,
        loaded.plan.server_report.clone(),
        options,
        loaded.run.clone(),
        tables.collect(),
    );
    let notes = loaded.plan.loaded_notes.iter();
    report.notes.extend(notes.cloned());
    report
}

/// Turns the report of the run that set the mark into a report that says that nothing is new. The rejects of that run
/// do not count for this command.
pub fn say_nothing_new(report: &mut RunReport, loaded: &AlreadyLoaded) {
    let sentences = &loaded.plan.nothing_new;
    if !sentences.is_empty() {
        report.nothing_new = Some(sentences.join("; "));
        report.exit_status = ExitStatus::Clean;
    }
}
