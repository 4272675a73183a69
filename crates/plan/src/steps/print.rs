//! The steps of a flow as `inrush check` prints them: each expression with the types of the columns that it uses, and of its
//! result.

use inrush_rows::plural::counted;
use inrush_rows::quantity::bytes;
use inrush_transform::distinct::PlannedDistinct;
use inrush_transform::fold::Folds;
use inrush_transform::lookup_step::PlannedLookup;
use inrush_transform::planned::StepAction;
use inrush_transform::spec::{Otherwise, OutputSpec};
use inrush_transform::stages::StagedStep;
use inrush_transform::types::sql_name;
use inrush_transform::unpivot::PlannedUnpivot;

use super::StepPlan;

/// A line for each step, and for each derived column.
pub fn lines(steps: &StepPlan) -> Vec<String> {
    let planned = &steps.planned;
    let typed = |names: &[String]| {
        let all = || planned.columns.iter().chain(&planned.derived);
        let named = names.iter().filter_map(|name| {
            let column = all().find(|column| column.name == *name)?;
            Some(format!("{name} {}", sql_name(&column.column_type)))
        });
        let named: Vec<String> = named.collect();
        match named.is_empty() {
            true => String::new(),
            false => format!("  [{}]", named.join(", ")),
        }
    };
    let mut lines = Vec::new();
    for (step, number) in planned.steps.iter().zip(1..) {
        let step = match step {
            StagedStep::Expressions(step) => step,
            StagedStep::Lookup(lookup) => {
                lines.push(format!("step {number}: {}", lookup_words(lookup)));
                continue;
            }
            StagedStep::Unpivot(unpivot) => {
                lines.push(format!("step {number}: {}", unpivot_words(unpivot)));
                continue;
            }
            StagedStep::Distinct(distinct) => {
                let typed = typed(&distinct.spec.columns);
                lines.push(format!(
                    "step {number}: {}",
                    distinct_words(distinct, &typed)
                ));
                continue;
            }
        };
        match &step.action {
            StepAction::Derive(columns) => {
                for column in columns {
                    lines.push(format!(
                        "step {number}: derive {} {} = {}{}",
                        column.name,
                        column.found,
                        one_line(&column.text),
                        typed(&column.named)
                    ));
                }
            }
            StepAction::Where { text, .. } => lines.push(format!(
                "step {number}: where {}{}: other rows are filtered",
                one_line(text),
                typed(&step.named)
            )),
            StepAction::Check {
                name,
                text,
                otherwise,
                ..
            } => {
                let called = match name == text {
                    true => String::new(),
                    false => format!("{name}: "),
                };
                lines.push(format!(
                    "step {number}: check {called}{}{}: {}",
                    one_line(text),
                    typed(&step.named),
                    match otherwise {
                        Otherwise::Reject => "rows for which it is false are rejected",
                        Otherwise::Warn => "rows for which it is false are counted and loaded",
                        Otherwise::Fail => "a row for which it is false fails the load",
                    }
                ));
            }
            StepAction::Output(output) => lines.push(format!(
                "step {number}: output {} of {} {}{}: {}",
                output.spec.kept + 1,
                output.spec.conditions.len(),
                taken(&output.spec),
                typed(&step.named),
                untaken(&output.spec, steps.reports())
            )),
        }
    }
    lines
}

/// The rows that the output gets.
fn taken(outputs: &OutputSpec) -> String {
    let when = outputs.conditions.get(outputs.kept).cloned().flatten();
    let when = when.map(|text| one_line(&text));
    match (when, outputs.each || outputs.kept == 0) {
        (None, true) => "takes all rows".to_owned(),
        (None, false) => "takes the remaining rows".to_owned(),
        (Some(when), true) => format!("takes rows with {when}"),
        (Some(when), false) => format!("takes remaining rows with {when}"),
    }
}

/// Words for what happens to rows that the output does not take.
fn untaken(outputs: &OutputSpec, reports: bool) -> &'static str {
    let takes_all = outputs.conditions.contains(&None);
    match (takes_all || !outputs.rejects, reports) {
        (true, _) => "other rows are filtered",
        (false, true) => {
            "rows of other outputs are filtered, those that no output takes are rejected"
        }
        (false, false) => {
            "other rows are filtered; those that no output takes are rejected by the flow of the first output"
        }
    }
}

fn lookup_words(lookup: &PlannedLookup) -> String {
    let spec = &lookup.spec;
    let on = spec
        .on
        .iter()
        .map(|(name, own)| format!("{name} = {} {}", own.name, sql_name(&own.column_type)));
    let take = spec
        .take
        .iter()
        .map(|column| format!("{} {}", column.name, sql_name(&column.column_type)));
    format!(
        "lookup {} on {}{}: take {}; {}; {} in {}{}",
        spec.name,
        on.collect::<Vec<_>>().join(", "),
        ignored(spec.folds),
        take.collect::<Vec<_>>().join(", "),
        spec.unmatched.words(),
        counted(spec.reference.key_count() as u64, "key"),
        bytes(spec.reference.bytes()),
        match spec.reference.disk_bytes() {
            None => String::new(),
            Some(on_disk) => format!(
                " of memory, and {} in the folder for temporary files: `memory_bytes_max` of the lookup can make it faster",
                bytes(on_disk)
            ),
        }
    )
}

fn unpivot_words(unpivot: &PlannedUnpivot) -> String {
    let [name, value] = unpivot.added();
    format!(
        "unpivot {}: each row becomes {}, with the name of the column in {} and its value in {} {}",
        unpivot.what(),
        counted(unpivot.fan_out(), "row"),
        name.name,
        value.name,
        sql_name(&value.column_type)
    )
}

fn distinct_words(distinct: &PlannedDistinct, typed: &str) -> String {
    format!(
        "distinct_on {}{typed}: of rows with equal values the first in the order of the source is kept, others are filtered; \
         for this, all rows are read once before the load, and their keys take at most {} of memory",
        distinct.spec.columns.join(", "),
        bytes(distinct.spec.bytes_max)
    )
}

/// The differences that a lookup ignores, in words.
fn ignored(folds: Folds) -> String {
    let words = [
        (folds.case, "case"),
        (folds.accents, "accents"),
        (folds.blanks, "blanks"),
    ];
    let words: Vec<&str> = words
        .iter()
        .filter(|(is_ignored, _)| *is_ignored)
        .map(|(_, word)| *word)
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(", without regard to {}", words.join(", ")),
    }
}

/// An expression without its line ends.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
