//! The target as it is: whether it can be loaded, and how units become part of it.

use inrush_package::{Flow, IndexPolicy, Mode, ReplaceBy, TriggerPolicy};

use super::{Commit, Publish};
use crate::catalog::TableFacts;
use crate::engine::plan::error::PlanError;
use crate::quote::{identifier, qualified};
use crate::staging::NewColumn;

/// What a flow asks of its target.
pub struct Asked<'a> {
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
    /// What becomes of it.
    pub mode: Mode,
    /// Rows go straight into it, and are committed so; else they wait in staging tables.
    pub straight: Option<Commit>,
    /// The column to partition by.
    pub partition_by: Option<&'a str>,
    /// Rows are routed to their partitions, whatever the key is.
    pub routed: bool,
    /// It is partitioned, and the rows are copied into it all the same: the server routes them.
    pub copied_into_partitions: bool,
    /// Whether its triggers must fire.
    pub triggers: TriggerPolicy,
    /// What becomes of its indexes.
    pub indexes: IndexPolicy,
}

/// Refuses a target that cannot be loaded, and tells what should be known of one that can.
pub fn check(asked: &Asked<'_>, facts: Option<&TableFacts>) -> Result<Vec<String>, PlanError> {
    let target = qualified(asked.schema, asked.table);
    let refuse = |what: String, hint: String| {
        Err(PlanError::Target {
            target: target.clone(),
            what,
            hint,
        })
    };
    let Some(facts) = facts else {
        if let Some(commit) = asked.straight {
            let setting = commit.setting();
            return refuse(
                format!("does not exist, and {setting} puts rows straight into a table that does"),
                format!("check the name, or leave {setting} out"),
            );
        }
        if asked.mode == Mode::Upsert {
            return refuse(
                "does not exist, and mode = \"upsert\" merges into a table that does".to_owned(),
                "check the name, or use mode = \"create\" the first time".to_owned(),
            );
        }
        if asked.mode == Mode::Append {
            return refuse(
                "does not exist, and mode = \"append\" adds to a table that does".to_owned(),
                "check the name, or use mode = \"create\"".to_owned(),
            );
        }
        return Ok(Vec::new());
    };
    match facts.kind {
        'r' | 'p' => {}
        'v' | 'm' => return refuse("is a view".to_owned(), "load into its table".to_owned()),
        'f' => {
            return refuse(
                "is a foreign table".to_owned(),
                "load into the server that holds it".to_owned(),
            );
        }
        other => {
            return refuse(
                format!("is not a table (relkind {other})"),
                "name a table".to_owned(),
            );
        }
    }
    if facts.row_security {
        return refuse(
            match asked.straight {
                None => "has row security, whose policies a switched load would go around",
                Some(_) => "has row security, under which the server takes no COPY",
            }
            .to_owned(),
            format!("ALTER TABLE {target} DISABLE ROW LEVEL SECURITY; for the load"),
        );
    }
    if facts.unlogged {
        return refuse(
            "is UNLOGGED: a crash of the server would empty it after the load".to_owned(),
            format!("ALTER TABLE {target} SET LOGGED;"),
        );
    }
    if let Some(commit) = asked.straight {
        return Ok(straight_notes(commit, facts, &target));
    }
    if let Some(publication) = facts.publications.first() {
        return refuse(
            format!(
                "is published by {}: subscribers never see rows that were loaded before they \
                 were attached",
                identifier(publication)
            ),
            format!(
                "take it out of the publication for the load, or load into the subscribers as \
                 well (publications: {})",
                facts.publications.join(", ")
            ),
        );
    }
    if let Some(rule) = facts.insert_rules.first() {
        return refuse(
            format!(
                "has the rule {} on INSERT, which writes something else than the rows",
                identifier(rule)
            ),
            format!(
                "ALTER TABLE {target} DISABLE RULE {}; for the load, or load into the table that \
                 the rule writes to",
                identifier(rule)
            ),
        );
    }
    if !asked.routed && asked.mode != Mode::Upsert {
        check_partitioning(asked, facts, &target)?;
    }
    if asked.mode == Mode::Replace && facts.partitioning.is_some() {
        check_replaceable(facts, &target)?;
    }
    if facts.partitioning.is_some() && asked.indexes == IndexPolicy::Rebuild {
        return refuse(
            "is partitioned, and the flow says indexes = \"rebuild\"".to_owned(),
            "leave it out: the indexes of a partition are built after its rows anyway".to_owned(),
        );
    }
    if asked.routed {
        return Ok(Vec::new());
    }
    check_triggers(asked, facts, &target)?;
    Ok(notes(asked, facts, &target))
}

/// Refuses a target whose rows cannot be taken out.
fn check_replaceable(facts: &TableFacts, target: &str) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| {
        Err(PlanError::Target {
            target: target.to_owned(),
            what,
            hint,
        })
    };
    if !facts.referring.is_empty() {
        let labels: Vec<&str> = facts
            .referring
            .iter()
            .map(|key| key.label.as_str())
            .collect();
        return refuse(
            format!(
                "is referred to by foreign keys ({}), which do not let its rows go",
                labels.join(", ")
            ),
            "drop them for the load, and add them again after it".to_owned(),
        );
    }
    Ok(())
}

/// Refuses a target with rows where one is to be filled for the first time. A run that is
/// loaded already has rows in its target, so this is asked after the ledger has spoken.
pub fn check_empty(target: &str, mode: Mode, facts: Option<&TableFacts>) -> Result<(), PlanError> {
    let Some(facts) = facts.filter(|facts| facts.has_rows && mode == Mode::Create) else {
        return Ok(());
    };
    if !facts.readable {
        return Err(PlanError::Target {
            target: target.to_owned(),
            what: "may not be read by this role, so nobody knows whether it is empty, as mode = \"create\" wants it"
                .to_owned(),
            hint: format!("GRANT SELECT ON {target} to the role"),
        });
    }
    Err(PlanError::Target {
        target: target.to_owned(),
        what: "has rows already, and mode = \"create\" wants a target that is new or empty"
            .to_owned(),
        hint: "use mode = \"append\" to add to them, or empty the table yourself".to_owned(),
    })
}

/// Rows that are attached fire no trigger: what one would have changed or written down elsewhere
/// must not be left out without a word.
fn check_triggers(asked: &Asked<'_>, facts: &TableFacts, target: &str) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| {
        Err(PlanError::Target {
            target: target.to_owned(),
            what,
            hint,
        })
    };
    // What is merged is inserted, into whatever partition, and fires them.
    let is_attached = facts.partitioning.is_some() && asked.mode != Mode::Upsert;
    match (asked.triggers, is_attached) {
        (TriggerPolicy::Fire, true) if !facts.insert_triggers.is_empty() => refuse(
            format!(
                "has INSERT triggers ({}), which rows that are attached do not fire",
                facts.insert_triggers.join(", ")
            ),
            "triggers = \"skip\" in the flow, if the load may do without them".to_owned(),
        ),
        (TriggerPolicy::Skip, false) if !facts.insert_triggers.is_empty() => refuse(
            format!(
                "is a plain table, where INSERT triggers fire ({}), and the flow says \
                 triggers = \"skip\"",
                facts.insert_triggers.join(", ")
            ),
            format!(
                "ALTER TABLE {target} DISABLE TRIGGER {}; for the load, or leave `triggers` out",
                identifier(&facts.insert_triggers[0])
            ),
        ),
        _ => Ok(()),
    }
}

fn check_partitioning(
    asked: &Asked<'_>,
    facts: &TableFacts,
    target: &str,
) -> Result<(), PlanError> {
    let refuse = |what: String, hint: String| {
        Err(PlanError::Target {
            target: target.to_owned(),
            what,
            hint,
        })
    };
    let Some(partitioning) = &facts.partitioning else {
        if let Some(column) = asked.partition_by {
            return refuse(
                format!("is not partitioned, and the flow says partition_by = \"{column}\""),
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
                "parts of files can be attached to tables partitioned by one column".to_owned(),
            );
        }
        ('r', _) => {
            return refuse(
                format!("is partitioned by {} columns", partitioning.key.len()),
                "parts of files can be attached to tables partitioned by one column".to_owned(),
            );
        }
        (strategy, _) => {
            let word = if strategy == 'h' { "hash" } else { "list" };
            return refuse(
                format!("is partitioned by {word}"),
                "parts of files can be attached to tables partitioned by range".to_owned(),
            );
        }
    };
    match asked.partition_by {
        Some(column) if column != key => refuse(
            format!("is partitioned by \"{key}\", and the flow says partition_by = \"{column}\""),
            format!("partition_by = \"{key}\", or leave it out"),
        ),
        _ => Ok(()),
    }
}

fn straight_notes(commit: Commit, facts: &TableFacts, target: &str) -> Vec<String> {
    let mut notes = vec![match commit {
        Commit::EachSplit => format!(
            "{target} takes rows as they come (atomic = false): readers see a part of them until \
             the run ends, a run that is given up leaves what it has loaded, each row is written \
             once and into every index, and none is frozen. What is loaded is known split by \
             split: the same command after a stop loads the rest and nothing twice"
        ),
        Commit::AtSwitch => format!(
            "{target} takes rows as they come, in one transaction by one stream (staging = false): \
             readers see none of them until it is committed, each row is written once and into \
             every index, and none is frozen. Of a run that is stopped nothing is kept: the same \
             command after a stop loads all of it"
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

fn notes(asked: &Asked<'_>, facts: &TableFacts, target: &str) -> Vec<String> {
    let mode = asked.mode;
    let mut notes = Vec::new();
    if mode == Mode::Upsert {
        notes.push(format!(
            "{target} is merged into: the switch inserts or updates each row from staging in one \
             statement, so it takes time, writes each row twice, and keeps other writers out \
             meanwhile; rows whose key is NULL are always new"
        ));
        return notes;
    }
    let partitioned = facts.partitioning.as_ref();
    if !facts.insert_triggers.is_empty() && partitioned.is_some() {
        notes.push(format!(
            "{target} has INSERT triggers ({}): rows that are attached do not fire them",
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
            "{target} has foreign keys ({}): attaching checks every row against them, under a \
             lock of the tables that they refer to",
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
            match asked.copied_into_partitions {
                true => "partitioned, and the server routes each row into its partition",
                false => "a plain table that exists",
            },
            match mode == Mode::Append {
                true =>
                    "; with `staging = false` in [run] each would be written once, and a stopped \
                         load would begin anew",
                false => "",
            }
        ));
    }
    notes
}

/// How the units become part of the target.
pub fn publish(
    facts: Option<&TableFacts>,
    flow: &Flow,
    straight: Option<Commit>,
    partition_by: Option<&str>,
    columns: Vec<NewColumn>,
) -> Publish {
    if let Some(commit) = straight {
        return Publish::Straight(commit);
    }
    match (facts, partition_by) {
        (None, Some(_)) => Publish::CreatePartitioned { columns },
        (None, None) => Publish::Rename,
        (Some(facts), _) if facts.partitioning.is_some() => Publish::Attach,
        (Some(_), _) if flow.mode == Mode::Replace && flow.replace.by == ReplaceBy::Swap => {
            Publish::Swap { dress: Vec::new() }
        }
        (Some(_), _) => Publish::Insert,
    }
}
