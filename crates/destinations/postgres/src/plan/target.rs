//! Checks whether a target can be loaded as it is, and collects notes about it.

use inrush_package::{Flow, IndexPolicy, Mode, TriggerPolicy};
use inrush_plan::PlanError;

use super::Commit;
use super::flow_target::{Arrival, FlowTarget};
use crate::catalog::TableFacts;
use crate::quote::identifier;

/// Refuses a target that cannot be loaded, and returns notes about one that can.
pub fn check(flow: &Flow, target: &FlowTarget<'_>) -> Result<Vec<String>, PlanError> {
    let Some(facts) = &target.facts else {
        check_new(flow, target)?;
        return Ok(Vec::new());
    };
    check_kind(target, facts)?;
    check_storage(target, facts)?;
    if let Arrival::Straight(commit) = target.arrival {
        return Ok(straight_notes(commit, facts, &target.sql));
    }
    check_published(target, facts)?;
    check_rules(target, facts)?;
    if !target.is_routed() && flow.mode != Mode::Upsert {
        check_partitioning(target, facts)?;
    }
    if flow.mode == Mode::Replace && facts.partitioning.is_some() {
        check_replaceable(target, facts)?;
    }
    check_indexes(flow, target, facts)?;
    if target.is_routed() {
        return Ok(Vec::new());
    }
    check_triggers(flow, target, facts)?;
    Ok(notes(flow, target, facts))
}

/// Refuses a missing target if it must exist.
fn check_new(flow: &Flow, target: &FlowTarget<'_>) -> Result<(), PlanError> {
    if let Arrival::Straight(commit) = target.arrival {
        let setting = commit.setting();
        return Err(target.refusal(
            format!("does not exist, but {setting} writes rows directly to an existing table"),
            format!("check the name, or leave {setting} out"),
        ));
    }
    match flow.mode {
        Mode::Upsert => Err(target.refusal(
            "does not exist, but mode = \"upsert\" merges into an existing table",
            "check the name, or make the table with a unique index on its key",
        )),
        Mode::Append => Err(target.refusal(
            "does not exist, but mode = \"append\" needs an existing table",
            "check the name, or use mode = \"create\" (--mode create); with `since`, make the table first",
        )),
        Mode::Create | Mode::Replace => Ok(()),
    }
}

fn check_kind(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    match facts.kind {
        'r' | 'p' => Ok(()),
        'v' | 'm' => Err(target.refusal("is a view", "load into its table")),
        'f' => Err(target.refusal("is a foreign table", "load into the server that holds it")),
        other => Err(target.refusal(format!("is not a table (relkind {other})"), "name a table")),
    }
}

/// Refuses a target with row security, or one whose rows would not survive a crash.
fn check_storage(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    if facts.row_security {
        return Err(target.refusal(
            match target.arrival {
                Arrival::Straight(_) => {
                    "has row security, and the server refuses COPY into such a table"
                }
                Arrival::Routed | Arrival::Staged => {
                    "has row security, and a switched load would bypass its policies"
                }
            },
            format!(
                "ALTER TABLE {} DISABLE ROW LEVEL SECURITY; for the load",
                target.sql
            ),
        ));
    }
    if facts.unlogged {
        return Err(target.refusal(
            "is UNLOGGED: a crash of the server would empty it after the load",
            format!("ALTER TABLE {} SET LOGGED;", target.sql),
        ));
    }
    Ok(())
}

fn check_published(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    let Some(publication) = facts.publications.first() else {
        return Ok(());
    };
    Err(target.refusal(
        format!(
            "is published by {}: subscribers never see rows that a table got before it was \
             attached",
            identifier(publication)
        ),
        format!(
            "remove it from the publication for the load, or load into the subscribers as \
             well (publications: {})",
            facts.publications.join(", ")
        ),
    ))
}

fn check_rules(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    let Some(rule) = facts.insert_rules.first() else {
        return Ok(());
    };
    Err(target.refusal(
        format!(
            "has the rule {} on INSERT, which may write other rows than the loaded ones",
            identifier(rule)
        ),
        format!(
            "ALTER TABLE {} DISABLE RULE {}; for the load, or load into the table that \
             the rule writes to",
            target.sql,
            identifier(rule)
        ),
    ))
}

fn check_indexes(
    flow: &Flow,
    target: &FlowTarget<'_>,
    facts: &TableFacts,
) -> Result<(), PlanError> {
    if facts.partitioning.is_some() && flow.indexes == IndexPolicy::Rebuild {
        return Err(target.refusal(
            "is partitioned, but the flow has indexes = \"rebuild\"",
            "leave it out: the indexes of a partition are built after its rows anyway",
        ));
    }
    Ok(())
}

/// Refuses a target whose rows cannot be taken out.
fn check_replaceable(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| Err(target.refusal(what, hint));
    if !facts.referring.is_empty() {
        let labels: Vec<&str> = facts
            .referring
            .iter()
            .map(|key| key.label.as_str())
            .collect();
        return refuse(
            format!(
                "is referenced by foreign keys ({}), which do not allow deleting its rows",
                labels.join(", ")
            ),
            "drop the foreign keys for the load, and add them again after it".to_owned(),
        );
    }
    Ok(())
}

/// Refuses a target with rows if the mode needs an empty one. After a completed run the target has rows, so call this
/// only if the ledger has no such run.
pub fn check_empty(target: &str, mode: Mode, facts: Option<&TableFacts>) -> Result<(), PlanError> {
    let Some(facts) = facts.filter(|facts| facts.has_rows && mode == Mode::Create) else {
        return Ok(());
    };
    if !facts.readable {
        return Err(PlanError::Target {
            target: target.to_owned(),
            what: "cannot be read by this role, so Inrush cannot tell whether it is empty; mode = \"create\" needs an empty target"
                .to_owned(),
            hint: format!("GRANT SELECT ON {target} to the role"),
        });
    }
    Err(PlanError::Target {
        target: target.to_owned(),
        what: "has rows already, but mode = \"create\" needs a new or empty target".to_owned(),
        hint: "use mode = \"append\" to add to them, or mode = \"replace\" (--mode append, --mode replace)".to_owned(),
    })
}

/// Refuses INSERT triggers if the load cannot follow the flow's setting `triggers`. Attaching fires no trigger, so the
/// effects of a trigger would be silently missing; inserted rows fire every trigger.
fn check_triggers(
    flow: &Flow,
    target: &FlowTarget<'_>,
    facts: &TableFacts,
) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| Err(target.refusal(what, hint));
    // Merged rows are inserted, and fire the triggers of any partition.
    let is_attached = facts.partitioning.is_some() && flow.mode != Mode::Upsert;
    match (flow.triggers, is_attached) {
        (TriggerPolicy::Fire, true) if !facts.insert_triggers.is_empty() => refuse(
            format!(
                "has INSERT triggers ({}), but attached rows do not fire them",
                facts.insert_triggers.join(", ")
            ),
            "set triggers = \"skip\" in the flow, if the triggers need not fire".to_owned(),
        ),
        (TriggerPolicy::Skip, false) if !facts.insert_triggers.is_empty() => refuse(
            format!(
                "is a plain table, where INSERT triggers fire ({}), but the flow has triggers = \
                 \"skip\"",
                facts.insert_triggers.join(", ")
            ),
            format!(
                "ALTER TABLE {} DISABLE TRIGGER {}; for the load, or leave `triggers` out",
                target.sql,
                identifier(&facts.insert_triggers[0])
            ),
        ),
        _ => Ok(()),
    }
}

fn check_partitioning(target: &FlowTarget<'_>, facts: &TableFacts) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| Err(target.refusal(what, hint));
    let Some(partitioning) = &facts.partitioning else {
        if let Some(column) = &target.partition_by {
            return refuse(
                format!("is not partitioned, but the flow has partition_by = \"{column}\""),
                "leave partition_by out, or name a target that is new or partitioned".to_owned(),
            );
        }
        return Ok(());
    };
    let key = match (partitioning.strategy, partitioning.key.as_slice()) {
        ('r', [Some(key)]) => key,
        ('r', [None]) => {
            return refuse(
                "is partitioned by an expression".to_owned(),
                "files can become partitions only of a table partitioned by one column".to_owned(),
            );
        }
        ('r', _) => {
            return refuse(
                format!("is partitioned by {} columns", partitioning.key.len()),
                "files can become partitions only of a table partitioned by one column".to_owned(),
            );
        }
        (strategy, _) => {
            let word = if strategy == 'h' { "hash" } else { "list" };
            return refuse(
                format!("is partitioned by {word}"),
                "files can become partitions only of a table partitioned by range".to_owned(),
            );
        }
    };
    match &target.partition_by {
        Some(column) if column != key => refuse(
            format!("is partitioned by \"{key}\", but the flow has partition_by = \"{column}\""),
            format!("partition_by = \"{key}\", or leave it out"),
        ),
        _ => Ok(()),
    }
}

fn straight_notes(commit: Commit, facts: &TableFacts, target: &str) -> Vec<String> {
    let mut notes = vec![match commit {
        Commit::EachSplit => format!(
            "rows are written directly to {target} and are visible as soon as their transaction \
             commits (atomic = false): readers see a part of the rows until the run ends, and a \
             run that is given up leaves its rows there. Each row is written once and into every \
             index, and is not frozen. The ledger knows the loaded splits: after a stop, the same \
             command loads the rest and nothing twice"
        ),
        Commit::AtSwitch => format!(
            "rows are written directly to {target}, by one stream in one transaction (staging = \
             false): readers see no row until it commits. Each row is written once and into every \
             index, and is not frozen. A stopped run keeps nothing: after a stop, the same command \
             loads all rows"
        ),
    }];
    if !facts.insert_triggers.is_empty() {
        notes.push(format!(
            "{target} has INSERT triggers ({}): they fire for each row",
            facts.insert_triggers.join(", ")
        ));
    }
    notes
}

fn notes(flow: &Flow, flow_target: &FlowTarget<'_>, facts: &TableFacts) -> Vec<String> {
    let mode = flow.mode;
    let target = &flow_target.sql;
    let mut notes = Vec::new();
    if flow.scd.is_some() {
        notes.push(format!(
            "rows are merged into {target} as versions: the switch compares each row from staging with the current version of \
             its key, and blocks other writers meanwhile"
        ));
        return notes;
    }
    if mode == Mode::Upsert {
        notes.push(format!(
            "rows are merged into {target}: the switch inserts or updates each row from staging in \
             one statement, so it takes time, writes each row twice, and blocks other writers \
             meanwhile; rows whose key is NULL are always new"
        ));
        return notes;
    }
    let partitioned = facts.partitioning.as_ref();
    if !facts.insert_triggers.is_empty() && partitioned.is_some() {
        notes.push(format!(
            "{target} has INSERT triggers ({}): attached rows do not fire them",
            facts.insert_triggers.join(", ")
        ));
    }
    if partitioned.is_some() && facts.replica_identity == 'i' {
        notes.push(format!(
            "{target} has an index as REPLICA IDENTITY: new partitions have their primary key"
        ));
    }
    if partitioned.is_some() && !facts.foreign_keys.is_empty() {
        notes.push(format!(
            "{target} has foreign keys ({}): attaching checks every row against them, under a lock \
             on the referenced tables",
            facts.foreign_keys.join(", ")
        ));
    }
    let has_default = partitioned.is_some_and(|partitioning| {
        partitioning
            .partitions
            .iter()
            .any(|partition| partition.bound == "DEFAULT")
    });
    if has_default {
        notes.push(format!(
            "{target} has a default partition: attaching scans it, under a lock, for rows that \
             belong to the new partitions"
        ));
    }
    if partitioned.is_none() && mode != Mode::Replace {
        notes.push(format!(
            "{target} is {}: the switch copies the rows from staging in one statement, so it takes \
             time and writes each row twice{}",
            match flow_target.copied_into_partitions {
                true => "partitioned, and the server routes each row into its partition",
                false => "a plain table that exists",
            },
            match mode == Mode::Append {
                true =>
                    "; with `staging = false` in [run] each row would be written once, but a \
                         stopped load would start again from the beginning",
                false => "",
            }
        ));
    }
    notes
}
