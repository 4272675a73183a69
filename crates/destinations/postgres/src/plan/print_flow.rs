//! One flow of a plan in words.

use std::fmt::{self, Write};
use std::sync::Arc;

use inrush_plan::plan_text::{
    TARGET_LOADED, fmt_reading, fmt_type_changes, inputs_words, reject_limit, size_words,
    split_words,
};
use inrush_rows::plural::counted;
use inrush_rows::told;
use inrush_source::Input;

use super::{
    Commit, FlowCopy, FlowPlan, Plan, Publish, UnitPlan, WireForm, replace_mode, unit_steps,
};
use crate::quote::identifier;

/// The number of units of a flow that are printed in full; the others are only counted.
const UNITS_SHOWN: usize = 3;

/// Prints a flow of a plan.
pub(super) fn fmt_flow(f: &mut fmt::Formatter<'_>, plan: &Plan, flow: &FlowPlan) -> fmt::Result {
    let files = files_of(flow);
    fmt_files(f, flow, &files)?;
    fmt_target(f, plan, flow)?;
    fmt_rows(f, flow)?;
    fmt_columns(f, flow)?;
    for unit in flow.unit_plans().take(UNITS_SHOWN) {
        fmt_unit(f, plan, flow, unit)?;
    }
    if flow.units.len() > UNITS_SHOWN {
        told!(
            f,
            "  ... and {} more of the same form",
            counted((flow.units.len() - UNITS_SHOWN) as u64, "unit")
        )?;
    }
    Ok(())
}

fn files_of(flow: &FlowPlan) -> Vec<&Arc<dyn Input>> {
    let splits = flow.units.iter().flat_map(|unit| &unit.splits);
    // The ranges of a file follow each other.
    let mut files: Vec<_> = splits.map(|split| &split.input).collect();
    files.dedup_by(|file, before| Arc::ptr_eq(file, before));
    files
}

fn fmt_files(
    f: &mut fmt::Formatter<'_>,
    flow: &FlowPlan,
    files: &[&Arc<dyn Input>],
) -> fmt::Result {
    let total: u64 = flow.units.iter().map(|unit| unit.bytes_count).sum();
    told!(f, "\nFlow {} -> {}", flow.name, flow.target())?;
    told!(
        f,
        "  {}",
        inputs_words(
            flow,
            &flow.input_kind().counted(files.len()),
            total,
            files.iter().any(|file| file.is_read_once())
        )
    )
}

/// What happens to the target, and its partition key.
fn fmt_target(f: &mut fmt::Formatter<'_>, plan: &Plan, flow: &FlowPlan) -> fmt::Result {
    told!(f, "  {}", target_becomes(plan, flow))?;
    if let Some(replace) = &flow.replace {
        for line in replace_mode::words(replace, &flow.target(), &plan.settings.staging_schema) {
            told!(f, "  {line}")?;
        }
    }
    if let Some(key) = &flow.key {
        told!(
            f,
            "  partitioned by {} ({}): {}",
            identifier(&key.column),
            key.type_sql,
            key.rule
        )?;
    }
    if let Publish::Route(route) = &flow.publish {
        told!(f, "  {}", route.words())?;
    }
    if !flow.new_indexes.is_empty() {
        let names = flow.new_indexes.iter().map(|index| identifier(&index.name));
        told!(
            f,
            "  it gets these indexes of the source: {}",
            names.collect::<Vec<_>>().join(", ")
        )?;
    }
    Ok(())
}

fn target_becomes(plan: &Plan, flow: &FlowPlan) -> &'static str {
    match &flow.publish {
        _ if plan.earlier.is_loaded() => TARGET_LOADED,
        Publish::Attach if flow.replace.is_some() => "the target exists; partitions replace others",
        Publish::CreatePartitioned { .. } => "the target is created, partitioned by range",
        Publish::Attach => "the target exists; its partitions are attached",
        Publish::Swap => "the target exists; a new table replaces it",
        Publish::Upsert {
            versions: Some(_), ..
        } => "the target exists; rows are merged into it by the key, as versions",
        Publish::Upsert { .. } => "the target exists; rows are merged into it by the key",
        Publish::Insert if flow.replace.is_some() => {
            "the target exists; new rows replace all its rows"
        }
        Publish::Straight(Commit::EachSplit) => {
            "the target exists; rows are written directly to it and are visible as soon as their \
                 transaction commits (atomic = false)"
        }
        Publish::Straight(Commit::AtSwitch) => {
            "the target exists; rows are written directly to it, in one transaction (staging = \
                 false)"
        }
        Publish::Rename { .. } => "the target is created: a staging table becomes the target",
        Publish::Insert => "the target exists and is plain; rows are copied into it",
        Publish::Route(route) if route.is_new => {
            "the target is created: a staging table with its partitions becomes the target"
        }
        Publish::Route(_) => {
            "the target exists; the switch copies rows into existing partitions, and attaches new \
                 partitions"
        }
    }
}

/// The form in which rows are sent, and the comparisons.
fn fmt_rows(f: &mut fmt::Formatter<'_>, flow: &FlowPlan) -> fmt::Result {
    match &flow.wire {
        WireForm::Binary(_) => fmt_server_copy(f, &flow.server_copy)?,
        WireForm::Text { reason } => {
            told!(f, "  rows go by COPY in text form: {reason}")?;
        }
    }
    if flow.rows_pass {
        told!(
            f,
            "  rows are sent on in the source's binary form, without decoding: all columns have the same types there"
        )?;
    }
    told!(f, "  rejects: {}", reject_limit(&flow.reject_limit))?;
    if flow.has_pipes() {
        told!(f, "  pipes: {}", kept_pipes(flow))?;
    }
    for line in flow
        .comparison
        .words()
        .into_iter()
        .chain(flow.expect.words())
    {
        told!(f, "  {line}")?;
    }
    Ok(())
}

/// How the server stores rows that are sent in COPY's binary form.
fn fmt_server_copy(f: &mut fmt::Formatter<'_>, server_copy: &FlowCopy) -> fmt::Result {
    match server_copy {
        FlowCopy::Plain { reason, .. } => told!(f, "  rows go by binary COPY: {reason}"),
        FlowCopy::Extension {
            version,
            way,
            by_pages,
        } => told!(
            f,
            "  rows go by the extension inrush_fastcopy {version}, way {way}{}; by binary COPY if it refuses a table, and \
             where a unit is loaded again",
            if *by_pages {
                ", and pages for units that one COPY fills"
            } else {
                ""
            }
        ),
    }
}

fn fmt_columns(f: &mut fmt::Formatter<'_>, flow: &FlowPlan) -> fmt::Result {
    let mut columns = String::new();
    for (column, type_sql) in flow.columns.iter().zip(&flow.column_types) {
        let not_null = if column.nullable { "" } else { " not null" };
        write!(columns, "{}{type_sql}{not_null}", separator(&columns))?;
        let at = columns.len() - type_sql.len() - not_null.len();
        columns.insert_str(at, &format!("{} ", identifier(&column.name)));
    }
    told!(f, "  columns: {columns}")?;
    fmt_reading(f, flow)?;
    fmt_type_changes(f, flow, flow.column_types.iter())
}

fn fmt_unit(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
) -> fmt::Result {
    told!(
        f,
        "  unit {} ({}), {}",
        unit.number,
        size_words(
            unit.bytes_count,
            unit.splits.iter().any(|split| split.input.is_read_once())
        ),
        unit_kind(plan, flow, unit)
    )?;
    for split in unit.splits.iter().take(UNITS_SHOWN) {
        told!(f, "    from {}", split_words(split))?;
    }
    if unit.splits.len() > UNITS_SHOWN {
        told!(f, "    ... and {} more", unit.splits.len() - UNITS_SHOWN)?;
    }
    for transaction in unit_steps::transactions(plan, flow, unit) {
        let mut steps = Vec::new();
        transaction.each_step(plan, flow, unit, &mut |step| steps.push(step));
        for step in steps {
            told!(f, "    {step}")?;
        }
    }
    Ok(())
}

fn unit_kind(plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'_>) -> &'static str {
    if flow.commits_at_publish() {
        "straight: filled by one stream in the transaction of the switch, without FREEZE"
    } else if flow.is_straight() {
        "straight: each split in its own transaction with its ledger row, without FREEZE"
    } else if unit.is_shared {
        "shared by streams: its table is committed first, then each split in its own transaction, \
             without FREEZE"
    } else if matches!(flow.publish, Publish::Route(_)) {
        "private: created, filled and committed by one stream in one transaction; COPY into a \
             partitioned table has no FREEZE"
    } else if plan.settings.freeze {
        "private: created, filled and committed by one stream in one transaction, with FREEZE"
    } else {
        "private: created, filled and committed by one stream in one transaction"
    }
}

fn separator(before: &str) -> &'static str {
    if before.is_empty() { "" } else { ", " }
}

/// What happens to data that is read from a pipe.
fn kept_pipes(flow: &FlowPlan) -> &'static str {
    match flow.keeps_pipes {
        true => {
            "the data of pipes is kept in the run's folder until the load is done, as long as its \
             disk has 1 GiB free, so that rows that the server refuses become rejects"
        }
        false => "pipes are read once: the first row that the server refuses ends the load",
    }
}
