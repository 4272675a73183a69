//! `inrush undo`.

use inrush::ids::RunName;
use inrush::printable::{line, one_line};
use inrush::undo::{UndoOptions, Undone};
use inrush::{Ability, ExitStatus};
use serde_json::{Value, json};

use super::destination::find;
use crate::arguments::UndoArguments;
use crate::errors::CommandError;
use crate::names::readable;
use crate::{Surroundings, output, running, signals};

/// Undoes a run.
pub fn undo(
    arguments: &UndoArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let fault = running::fault()?;
    let _guard = signals::end_at_once(None);
    let destination = find(&arguments.ledger, surroundings)?;
    let run = RunName::new(arguments.run.as_str());
    let undone = destination.runs.undo(&UndoOptions {
        run: &run,
        drop: arguments.drop,
        lock_timeout_ms: arguments.lock_timeout_ms,
        fault,
    })?;
    let Some(undone) = undone else {
        return Err(CommandError::Usage {
            what: Ability::Undo.refusal(),
            hint: Ability::Undo.text().fix.to_owned(),
        });
    };
    match arguments.ledger.json {
        true => drop(output::json(&json(&undone))),
        false => output::say(&words(&undone)),
    }
    output::notes(destination.stop_after_commit());
    Ok(ExitStatus::Clean)
}

fn words(undone: &Undone) -> String {
    if undone.before {
        return line(&format!("run {} was undone before", undone.run.name));
    }
    let mut text = String::new();
    for target in &undone.targets {
        text.push_str(&format!("{}\n", readable(&target.target)));
        for (table, place) in &target.taken_out {
            match place {
                Some(place) => {
                    text.push_str(&format!(
                        "  {} removed, kept as {}\n",
                        readable(table),
                        match place.contains('/') {
                            // A place with a slash is the path of a folder.
                            true => one_line(place).into_owned(),
                            false => readable(place),
                        }
                    ));
                }
                None => text.push_str(&format!("  {} removed and dropped\n", readable(table))),
            }
        }
        for table in &target.put_back {
            text.push_str(&format!("  {} put back\n", readable(table)));
        }
    }
    text.push_str(&line(&format!("\nundone: run {}", undone.run.name)));
    if !undone.drop_statements.is_empty() {
        text.push_str(&line(&format!(
            "when nobody needs what was removed: {}",
            undone.drop_statements.join(" ")
        )));
    }
    text
}

fn json(undone: &Undone) -> Value {
    let targets: Vec<Value> = undone
        .targets
        .iter()
        .map(|target| {
            let taken_out: Vec<Value> = target
                .taken_out
                .iter()
                .map(|(table, kept)| json!({ "table": table, "kept_as": kept }))
                .collect();
            json!({
                "target": target.target,
                "taken_out": taken_out,
                "put_back": target.put_back,
            })
        })
        .collect();
    json!({ "run": undone.run.name, "undone_before": undone.before, "targets": targets })
}
