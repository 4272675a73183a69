//! `inrush lineage`.

use inrush::ExitStatus;
use inrush::ledger::{moment_rfc3339, moment_text};
use inrush::lineage::{ColumnOrigin, FlowLineage, ReadColumn, Traced, TracedFrom, traced};
use inrush::package::dotted_names;
use inrush::printable::{line, one_line};
use inrush::suggest::{listed, suggestion};
use inrush::upkeep::RunOfTarget;
use serde_json::{Value, json};

use super::destination::find;
use crate::arguments::LineageArguments;
use crate::errors::CommandError;
use crate::names::readable;
use crate::numbers::count;
use crate::run_summary::columns;
use crate::{Surroundings, output, signals};

/// Shows where a table or a column comes from.
pub fn lineage(
    arguments: &LineageArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let _guard = signals::end_at_once(None);
    let asked = dotted_names(&arguments.name).map_err(|fault| CommandError::Usage {
        what: format!("{:?} is not a name of a table or column", arguments.name),
        hint: fault.to_string(),
    })?;
    let destination = find(&arguments.ledger, surroundings)?;
    let is_asked = |target: &str| {
        is_table(&asked, target)
            || asked
                .split_last()
                .is_some_and(|(_, it)| is_table(it, target))
    };
    let runs = destination
        .runs
        .runs_of_targets(&destination.which, &is_asked)?;
    destination.stop()?;
    let found = Found::of(&asked, runs);
    found.refuse_unknown(&arguments.name)?;
    match arguments.ledger.json {
        true => drop(output::json(&found.json())),
        false => output::say(&found.text()),
    }
    Ok(ExitStatus::Clean)
}

/// True if the name of a target ends with these parts.
fn is_table(parts: &[String], target: &str) -> bool {
    let Ok(own) = dotted_names(target) else {
        return false;
    };
    let is_same = |(one, other): (&String, &String)| one.eq_ignore_ascii_case(other);
    !parts.is_empty()
        && parts.len() <= own.len()
        && parts.iter().rev().zip(own.iter().rev()).all(is_same)
}

/// The runs of a table, and the column that was asked for.
struct Found {
    /// `None`: all columns of the table.
    column: Option<String>,
    /// The newest first.
    runs: Vec<RunOfTarget>,
}

impl Found {
    /// The whole name may be that of a table; if no table has it, the last part is a column.
    fn of(asked: &[String], mut runs: Vec<RunOfTarget>) -> Found {
        let is_whole = runs.iter().any(|run| is_table(asked, &run.target));
        let column = match (is_whole, asked) {
            (false, [.., last]) => Some(last.clone()),
            _ => None,
        };
        if is_whole {
            runs.retain(|run| is_table(asked, &run.target));
        }
        Found { column, runs }
    }

    fn refuse_unknown(&self, name: &str) -> Result<(), CommandError> {
        if self.runs.is_empty() {
            return Err(CommandError::Usage {
                what: format!("no run of the ledger has loaded a table or column {name}"),
                hint: "write TABLE, SCHEMA.TABLE, TABLE.COLUMN or SCHEMA.TABLE.COLUMN; give \
                       --ledger-schema if the ledger is not in the default schema"
                    .to_owned(),
            });
        }
        let Some(column) = &self.column else {
            return Ok(());
        };
        let flows = || self.runs.iter().flat_map(|run| &run.flows);
        // If no run has kept its lineage, the columns are unknown, so no name is refused.
        if flows().next().is_none() || flows().any(|flow| traced(flow, column).is_some()) {
            return Ok(());
        }
        let names = || flows().flat_map(|flow| flow.columns.iter().map(|it| it.name.as_str()));
        let target = readable(&self.runs[0].target);
        Err(CommandError::Usage {
            what: format!("no run has loaded a column {column} of {target}"),
            hint: match suggestion(column, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let newest = self.runs.iter().flat_map(|run| &run.flows).next();
                    let own = newest.into_iter().flat_map(|flow| &flow.columns);
                    format!("its columns are {}", listed(own.map(|it| it.name.as_str())))
                }
            },
        })
    }

    /// The lineages, each with the runs that have it, the newest first.
    fn text(&self) -> String {
        let mut groups: Vec<(String, Vec<&RunOfTarget>)> = Vec::new();
        for run in &self.runs {
            let told = self.told(run);
            match groups.iter_mut().find(|(known, _)| *known == told) {
                Some((_, runs)) => runs.push(run),
                None => groups.push((told, vec![run])),
            }
        }
        let texts = groups.into_iter().map(|(told, runs)| {
            let rows: Vec<[String; 5]> = runs.into_iter().map(row).collect();
            let head = ["run", "package", "state", "when", "rows"];
            format!("{told}\n{}", columns(&head, &rows))
        });
        texts.collect::<Vec<String>>().join("\n")
    }

    /// The lineage of a run, in lines.
    fn told(&self, run: &RunOfTarget) -> String {
        let target = readable(&run.target);
        if run.flows.is_empty() {
            return line(&format!(
                "{target}: the ledger has no lineage of these runs: an older version of Inrush \
                 began them, or their role could not write it"
            ));
        }
        let mut text = String::new();
        for flow in &run.flows {
            let wanted = |name: &&str| match &self.column {
                None => true,
                Some(column) => name.eq_ignore_ascii_case(column),
            };
            let names = flow.columns.iter().map(|column| column.name.as_str());
            let before = text.len();
            for name in names.filter(wanted) {
                if let Some(column) = traced(flow, name) {
                    let shown = format!("{target}.{} {}", column.name, column.data_type);
                    text.push_str(&line(shown.trim_end()));
                    tell(flow, &column, 1, &mut text);
                }
            }
            if text.len() > before {
                text.push_str(&conditions(flow));
            }
        }
        match text.is_empty() {
            true => line(&format!("{target}: these runs have not loaded this column")),
            false => text,
        }
    }

    fn json(&self) -> Value {
        let runs = self.runs.iter().map(|found| {
            let run = &found.run;
            let columns = found.flows.iter().flat_map(|flow| {
                let names = flow.columns.iter().map(|column| column.name.as_str());
                let wanted = names.filter(|name| {
                    let column = self.column.as_ref();
                    column.is_none_or(|column| name.eq_ignore_ascii_case(column))
                });
                wanted.filter_map(|name| {
                    let column = traced(flow, name)?;
                    let fields = column.fields();
                    Some(json!({
                        "flow": flow.flow,
                        "column": column.name,
                        "type": column.data_type,
                        "from": fields.iter().map(|field| &field.name).collect::<Vec<_>>(),
                    }))
                })
            });
            json!({
                "run": run.name,
                "package": run.package,
                "state": run.state.word(),
                "started_at": moment_rfc3339(run.started_at_microseconds),
                "switched_at": run.switched_at_microseconds.map(moment_text),
                "target": found.target,
                "rows_loaded": found.rows_loaded,
                "columns": columns.collect::<Vec<_>>(),
                "lineage": found.flows,
            })
        });
        runs.collect()
    }
}

/// A run as a row of a table.
fn row(found: &RunOfTarget) -> [String; 5] {
    let run = &found.run;
    let switched_at = run.switched_at_microseconds.map(moment_text);
    let (state, when) = match run.state.word() {
        "switched" => ("loaded", switched_at),
        "loading" => ("not switched", None),
        word => (word, switched_at),
    };
    [
        run.name.to_string(),
        run.package.clone(),
        state.to_owned(),
        when.unwrap_or_else(|| moment_text(run.started_at_microseconds)),
        count(found.rows_loaded),
    ]
}

/// The inputs of a column, one indented line for each.
fn tell(flow: &FlowLineage, column: &Traced<'_>, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let mut say = |words: String| {
        text.push_str(&indent);
        text.push_str(&line(&words));
    };
    match &column.from {
        TracedFrom::Unknown => say("from a column that its run did not record".to_owned()),
        TracedFrom::Read(read) => say(read_words(flow, read)),
        TracedFrom::Step { index, step, of } => {
            let added = step.adds.iter().find(|added| added.name == column.name);
            let number = index + 1;
            let expression = added.and_then(|added| added.expression.as_ref());
            let taken = added.and_then(|added| added.taken_from.as_ref());
            say(match (expression, taken, &step.reference) {
                (Some(expression), _, _) => {
                    format!("step {number}, {}: {}", step.step, words(expression))
                }
                (None, Some(taken), Some(reference)) => {
                    let on = step.on.iter().map(|(name, own)| format!("{own} = {name}"));
                    format!(
                        "step {number}, {}: {taken} of {}, where {}",
                        step.step,
                        reference.words(),
                        on.collect::<Vec<_>>().join(" and ")
                    )
                }
                _ => format!("step {number}, {}", step.step),
            });
            for part in of {
                text.push_str(&"  ".repeat(depth + 1));
                let shown = format!("{} {}", part.name, part.data_type);
                text.push_str(&line(shown.trim_end()));
                tell(flow, part, depth + 2, text);
            }
        }
    }
}

/// Where a column that is read comes from.
fn read_words(flow: &FlowLineage, read: &ReadColumn) -> String {
    let source = flow.source.words();
    match &read.origin {
        ColumnOrigin::Field {
            name: Some(name), ..
        } => format!("{name} of {source}"),
        ColumnOrigin::Field {
            position,
            name: None,
        } => format!("field {position} of {source}"),
        ColumnOrigin::Provenance { what } => match what.as_str() {
            "file" => format!("the name of the row's file in {source}"),
            "line" => format!("the number of the row's line in {source}"),
            "byte_offset" => format!("the byte position of the row in {source}"),
            "load_time" => "the time of the load".to_owned(),
            "run" => "the number of the run".to_owned(),
            what => what.to_owned(),
        },
        ColumnOrigin::Constant { value } => format!("the constant {value:?} of the package"),
    }
}

/// The conditions that rows of a flow had to fulfil.
fn conditions(flow: &FlowLineage) -> String {
    let mut text = String::new();
    for (step, number) in flow.steps.iter().zip(1..) {
        let text_of_step = match &step.condition {
            Some(condition) if step.only_warns => format!(
                "rows that fail step {number}, {}, are counted, but still loaded: {}",
                step.step,
                words(condition)
            ),
            Some(condition) => format!(
                "only rows that pass step {number}, {}: {}",
                step.step,
                words(condition)
            ),
            None if step.step == "distinct_on" => format!(
                "of rows with equal {} only the first one (step {number}, distinct_on)",
                step.names.join(", ")
            ),
            None => continue,
        };
        text.push_str(&line(&text_of_step));
    }
    text
}

/// An expression in one line.
fn words(expression: &str) -> String {
    one_line(&expression.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str) -> Vec<String> {
        dotted_names(name).expect("a name")
    }

    #[test]
    fn tables_are_known_by_the_end_of_their_names() {
        for (name, is_it) in [
            ("orders", true),
            ("public.orders", true),
            ("PUBLIC.Orders", true),
            ("sales.orders", false),
            ("x.public.orders", false),
            ("public", false),
        ] {
            assert_eq!(
                is_table(&parts(name), "\"public\".\"orders\""),
                is_it,
                "{name}"
            );
        }
        assert!(is_table(&parts("\"Odd name\""), "\"Odd name\""));
        assert!(!is_table(&[], "\"orders\""));
    }
}
