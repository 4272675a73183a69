//! The plan in words: what `inrush check` prints.

use std::fmt;

use inrush_destination::{
    Action, OwnMemory, PublishedTogether, PublishesInto, RunSteps, Step, Streams, WriteMode,
};
use inrush_rows::plural::counted;
use inrush_rows::quantity::bytes;
use inrush_rows::told;

use super::{ContractFlow, ContractPlan, ContractWork};
use crate::Reading;
use crate::plan_text::{
    TARGET_LOADED, fmt_earlier, fmt_memory, fmt_notes, fmt_order, fmt_package, fmt_reading,
    fmt_type_changes, inputs_words, reject_limit, size_words, split_words,
};
use crate::script::{self, ScriptPart};
use crate::units::load_unit::LoadUnit;

/// The number of units of a flow that are printed; the others are only counted.
const UNITS_SHOWN: usize = 3;
/// Partitions whose bounds are printed one by one.
const BOUNDS_SHOWN: usize = 8;
/// The number of splits of a unit that are printed; the others are only counted.
const SPLITS_SHOWN: usize = 3;

impl ContractPlan {
    /// Everything that decides what the run does, one line each. The plan's hash is the digest of these lines.
    pub fn outline(&self) -> Vec<String> {
        let mut steps = Vec::new();
        if self.settings.asks_to_analyze() {
            steps.push("analyze".to_owned());
        }
        for flow in &self.flows {
            let target = &flow.reading.target;
            for column in &flow.target.columns {
                let not_null = if column.nullable { "" } else { " not null" };
                steps.push(format!(
                    "{target}: column {:?} {}{not_null}",
                    column.name, column.sql
                ));
            }
            steps.push(format!(
                "{target}: {} by {:?}",
                becomes(flow),
                flow.target.partition_by
            ));
            if !flow.target.bounds.is_empty() {
                steps.push(format!("{target}: bounds {:?}", flow.target.bounds));
            }
            for unit in &flow.units {
                let into = into_words(unit);
                steps.push(format!("{target}: unit {} {}{into}", unit.number, unit.key));
            }
            steps.extend(flow.target.pre_sql.iter().cloned());
            steps.extend(flow.target.post_sql.iter().cloned());
        }
        steps
    }
}

impl fmt::Display for ContractPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_package(f, &self.facts, &self.abilities)?;
        told!(
            f,
            "Streams      {}{}",
            self.streams,
            match self.abilities.streams {
                Streams::One => ": the destination has one writer at a time",
                Streams::Many => "",
            }
        )?;
        fmt_order(f, self.settings.order)?;
        let more = match &self.abilities.own_memory {
            OwnMemory::None => String::new(),
            OwnMemory::Unknown => ", in addition to what the driver itself takes".to_owned(),
            OwnMemory::Limited {
                buffers_bytes_max,
                setting,
                ..
            } => format!(
                ", and up to {} for the destination's own buffers, which its option `{setting}` limits",
                bytes(*buffers_bytes_max)
            ),
        };
        fmt_memory(f, &self.memory, &more)?;
        fmt_earlier(f, &self.facts, &self.earlier.map(ContractWork::count))?;
        fmt_steps(f, "\nEach session, when it is opened", &self.steps.session)?;
        fmt_steps(f, "\nBegin of the run", &self.steps.begin)?;
        let is_loaded = self.earlier.is_loaded();
        for (place, flow) in self.flows.iter().enumerate() {
            fmt_flow(f, flow, is_loaded)?;
            if let Some(steps) = self.steps.units.get(place)
                && let Some(times) = transactions_words(self, place)
            {
                fmt_steps(f, &format!("  -- {times}"), steps)?;
            }
        }
        told!(f, "\nPublish")?;
        told!(
            f,
            "  {}",
            match self.abilities.published_together {
                PublishedTogether::Run => "all targets in one step: readers see all rows or none",
                PublishedTogether::Target if self.flows.len() == 1 =>
                    "in one step: readers see all rows or none",
                PublishedTogether::Target => "each target in one step, one target after the other",
            }
        )?;
        for step in &self.steps.publish {
            fmt_step(f, step)?;
        }
        fmt_steps(f, "\nAfter the publish", &self.steps.analyze)?;
        if !self.abilities.not_promised.is_empty() {
            told!(f, "\nNot promised here")?;
            for sentence in &self.abilities.not_promised {
                told!(f, "  - {sentence}")?;
            }
        }
        fmt_notes(f, &self.facts)
    }
}

/// Writes the steps of a plan as a script.
pub fn fmt_script(plan: &ContractPlan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let RunSteps {
        session,
        begin,
        units,
        publish,
        analyze,
        statement_end,
        // These are among the notes of the plan.
        notes: _,
    } = &plan.steps;
    let all = [session, begin, publish, analyze];
    let is_statement = |step: &Step| !matches!(step.action, Action::Other(_));
    let has_sql = all.into_iter().chain(units).flatten().any(is_statement);
    let is_loaded = plan.earlier.is_loaded();
    let unit_part = |(place, (flow, steps)): (usize, (&ContractFlow, &Vec<Step>))| {
        let times = transactions_words(plan, place)?;
        let Reading { name, target, .. } = &flow.reading;
        let heading = format!("Flow {name} -> {target}, {times}");
        Some(ScriptPart::new(heading, steps.clone()))
    };
    let parts = (!is_loaded).then(|| {
        let before = [
            ScriptPart::new("Each session, when it is opened", session.clone()),
            ScriptPart::new("Begin of the run", begin.clone()),
        ];
        let units = plan.flows.iter().zip(units).enumerate();
        let after = [
            ScriptPart::new("Publish", publish.clone()),
            ScriptPart::new("After the publish", analyze.clone()),
        ];
        let parts = before.into_iter().chain(units.filter_map(unit_part));
        parts.chain(after)
    });
    script::fmt_script(f, &plan.facts, has_sql || is_loaded, *statement_end, parts)
}

/// Steps under their heading, if there are any.
fn fmt_steps(f: &mut fmt::Formatter<'_>, heading: &str, steps: &[Step]) -> fmt::Result {
    if steps.is_empty() {
        return Ok(());
    }
    told!(f, "{heading}")?;
    steps.iter().try_for_each(|step| fmt_step(f, step))
}

fn fmt_step(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    told!(f, "  {step}")
}

/// How many transactions commit the rows of a flow, in words. `None` if all rows are kept from a stopped run.
fn transactions_words(plan: &ContractPlan, place: usize) -> Option<String> {
    let flow = &plan.flows[place];
    let work = plan.earlier.work();
    let is_kept = |unit| work.is_some_and(|work| work.kept.get((place, unit)).is_some());
    let has_parts = work.is_some_and(|work| work.in_parts.iter().any(|(flow, _)| *flow == place));
    // Each stream takes parts of a fed file, and commits them in one transaction.
    if has_parts || flow.splits().any(|split| split.is_shared) {
        return Some("for each transaction:".to_owned());
    }
    let units = flow.units.iter().enumerate();
    let left = units.filter(|(number, _)| !is_kept(*number));
    let count: usize = left
        .map(|(_, unit)| match unit.is_shared {
            true => unit.splits.len(),
            false => 1,
        })
        .sum();
    match count {
        0 => None,
        1 => Some("in one transaction:".to_owned()),
        count => Some(format!("for each of {count} transactions:")),
    }
}

fn fmt_flow(f: &mut fmt::Formatter<'_>, flow: &ContractFlow, is_loaded: bool) -> fmt::Result {
    let reading = &flow.reading;
    let total: u64 = flow.splits().map(|split| split.size_bytes).sum();
    let has_pipe = flow.splits().any(|split| split.input.is_read_once());
    told!(f, "\nFlow {} -> {}", reading.name, reading.target)?;
    told!(
        f,
        "  {}",
        inputs_words(
            reading,
            &counted(flow.units.len() as u64, "unit"),
            total,
            has_pipe
        )
    )?;
    match is_loaded {
        true => told!(f, "  {TARGET_LOADED}")?,
        false => told!(f, "  {}", becomes(flow))?,
    }
    if !flow.target.partition_by.is_empty() {
        told!(
            f,
            "  partitioned by {}{}",
            flow.target.partition_by.join(", "),
            bounds_words(&flow.target.bounds)
        )?;
    }
    told!(f, "  rejects: {}", reject_limit(&reading.reject_limit))?;
    for line in reading.expect.words() {
        told!(f, "  {line}")?;
    }
    if let Some(sums) = &flow.sums {
        let types = flow.target.columns.iter().map(|column| &column.sql);
        for line in sums.words(types) {
            told!(f, "  {line}")?;
        }
    }
    let columns: Vec<String> = flow
        .target
        .columns
        .iter()
        .map(|column| {
            let not_null = if column.nullable { "" } else { " not null" };
            format!("{} {}{not_null}", column.name, column.sql)
        })
        .collect();
    told!(f, "  columns: {}", columns.join(", "))?;
    fmt_reading(f, reading)?;
    let types = flow.target.columns.iter().map(|column| &column.sql);
    fmt_type_changes(f, reading, types)?;
    for unit in flow.units.iter().take(UNITS_SHOWN) {
        fmt_unit(f, unit)?;
    }
    if flow.units.len() > UNITS_SHOWN {
        let more = (flow.units.len() - UNITS_SHOWN) as u64;
        told!(
            f,
            "  ... and {} more of the same form",
            counted(more, "unit")
        )?;
    }
    Ok(())
}

fn fmt_unit(f: &mut fmt::Formatter<'_>, unit: &LoadUnit) -> fmt::Result {
    let number = unit.number;
    let size = size_words(unit.stored_bytes(), unit.has_pipe());
    let into = into_words(unit);
    if let [split] = &unit.splits[..] {
        return told!(
            f,
            "  unit {number} ({size}){into} from {}",
            split_words(split)
        );
    }
    let filling = match unit.is_shared {
        true => "loaded by several streams, each split in its own transaction",
        false => "loaded by one stream, in one transaction",
    };
    told!(f, "  unit {number} ({size}){into}, {filling}")?;
    for split in unit.splits.iter().take(SPLITS_SHOWN) {
        told!(f, "    from {}", split_words(split))?;
    }
    match unit.splits.len().saturating_sub(SPLITS_SHOWN) {
        0 => Ok(()),
        more => told!(f, "    ... and {more} more"),
    }
}

/// The bounds of new partitions in words: all of them, or the first and the last ones.
fn bounds_words(bounds: &[String]) -> String {
    match bounds {
        [] => String::new(),
        [one] => format!(": 2 partitions, divided at {one}"),
        _ => {
            let count = bounds.len() + 1;
            let shown = match bounds {
                [first, second, .., last] if count > BOUNDS_SHOWN => {
                    format!("{first}, {second}, ..., {last}")
                }
                all => all.join(", "),
            };
            format!(": {count} partitions, divided at {shown}")
        }
    }
}

/// The partition that a unit becomes, in words.
fn into_words(unit: &LoadUnit) -> String {
    match &unit.publishes_into {
        PublishesInto::Target => String::new(),
        PublishesInto::Partition(name) => format!(" into partition {name:?}"),
    }
}

fn becomes(flow: &ContractFlow) -> &'static str {
    match (&flow.facts, flow.target.mode) {
        (None, _) => "the target is created from the staged rows",
        (Some(_), WriteMode::Create) => "the target exists and is empty; rows are added to it",
        (Some(_), WriteMode::Append) => "the target exists; rows are added to it",
        (Some(_), WriteMode::Replace) => "the target exists; new rows replace all its rows",
        (Some(_), WriteMode::ReplacePartitions) => {
            "the target exists; new rows replace the partitions that they belong to"
        }
        (Some(_), WriteMode::Upsert) => {
            let versions = flow
                .target
                .merge
                .as_ref()
                .and_then(|it| it.versions.as_ref());
            match versions {
                Some(_) => "the target exists; rows are merged into it by the key, as versions",
                None => "the target exists; rows are merged into it by the key",
            }
        }
    }
}
