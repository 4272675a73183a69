//! Outputs of a flow: `[[flow.output]]`, for rows that go to several tables.
//!
//! A flow with outputs is read as one flow for each of them, all with the same source and steps. Each of these flows finds the
//! outputs of a row, and loads the rows of its own output. So all other code knows only flows with one target. The
//! source is read once for each output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::{Bounds, Flow, Mode, OneOrMany, Package, PackageError, Replace, Scd, TableName};

/// The most outputs of a flow: each is one bit of a signed 64-bit number.
const OUTPUTS_MAX: usize = 63;

/// A table to which a part of the rows goes. Settings that it lacks are those of the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// A condition in DuckDB's SQL over the columns after the steps: the output takes the rows for which it is true. Default: all
    /// rows or, without `each`, all rows that no output before it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The target, `table` or `schema.table`; unusual names in double quotes.
    pub table: String,
    /// The column by whose ranges this target is partitioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<String>,
    /// The bounds of its partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// How rows are added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// For `mode = "upsert"`: the column or columns of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<OneOrMany>,
    /// For `mode = "upsert"`: the target keeps the versions of each row, as a slowly changing dimension of type 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scd: Option<Scd>,
    /// For `mode = "replace"`: the rows that are replaced, and whether they are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<Replace>,
}

/// The consequence for a row that no output takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputElse {
    /// The row is rejected.
    #[default]
    Reject,
    /// The row is filtered, and counted.
    Filter,
}

impl Flow {
    /// True if rows pass steps before they are loaded, or are given to one of several outputs.
    pub fn has_steps(&self) -> bool {
        !self.steps.is_empty() || self.output_number.is_some()
    }
}

impl Package {
    /// The index of a flow.
    pub fn index_of(&self, flow: &Flow) -> usize {
        let mut flows = self.flows.iter();
        // Each table is the target of one flow, so no other flow is equal to it.
        flows.position(|own| own == flow).unwrap_or(0)
    }

    /// The flows that load outputs of the same flow of the package, this one included.
    pub fn beside(&self, flow: usize) -> Vec<usize> {
        let own = &self.flows[flow];
        let is_beside = |other: &usize| {
            let other_flow = &self.flows[*other];
            *other == flow
                || own.output_number.is_some()
                    && other_flow.output_number.is_some()
                    && own.outputs == other_flow.outputs
        };
        (0..self.flows.len()).filter(is_beside).collect()
    }

    /// True if two flows read the same rows.
    pub fn reads_same(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.flows[one], &self.flows[other]);
        one.files == other.files && one.source == other.source
    }

    /// Makes one flow for each output. The outputs are checked first, while the index of each flow is still its index
    /// in the file.
    pub(super) fn expand_outputs(&mut self) -> Result<(), PackageError> {
        let mut faults = Faults::of(self);
        for (index, flow) in self.flows.iter().enumerate() {
            check_outputs(
                flow,
                &|setting| format!("flow[{index}].{setting}"),
                &mut faults,
            );
        }
        faults.into_result()?;
        let mut flows = Vec::new();
        let mut origins = Vec::new();
        for (index, flow) in std::mem::take(&mut self.flows).into_iter().enumerate() {
            match flow.outputs.is_empty() || flow.output_number.is_some() {
                true => {
                    flows.push(flow);
                    origins.push((index, None));
                }
                false => {
                    let outputs = 0..flow.outputs.len();
                    origins.extend(outputs.clone().map(|output| (index, Some(output))));
                    flows.extend(outputs.map(|output| of_output(&flow, output)));
                }
            }
        }
        self.flows = flows;
        self.origin = self.origin.with_outputs(&origins);
        Ok(())
    }
}

/// The flow that loads an output.
fn of_output(flow: &Flow, index: usize) -> Flow {
    let output = &flow.outputs[index];
    let is_last = index + 1 == flow.outputs.len();
    let bare = |output: &Output| TableName::parse(&output.table).ok().map(|table| table.name);
    let others = flow
        .outputs
        .iter()
        .filter(|other| bare(other) == bare(output));
    let name = match &flow.name {
        Some(name) => Some(format!("{name}: {}", output.table)),
        // With `None`, a flow is called by its table without the schema, which these outputs share.
        None if others.count() > 1 => Some(output.table.clone()),
        None => None,
    };
    Flow {
        name,
        table: output.table.clone(),
        partition_by: output.partition_by.clone().or(flow.partition_by.clone()),
        bounds: output.bounds.clone().unwrap_or(flow.bounds.clone()),
        mode: output.mode.unwrap_or(flow.mode),
        key: output.key.clone().or(flow.key.clone()),
        scd: output.scd.clone().or(flow.scd.clone()),
        replace: output.replace.clone().unwrap_or(flow.replace.clone()),
        // These statements run once: before the first target is changed, and after the last one.
        pre_sql: flow.pre_sql.clone().filter(|_| index == 0),
        post_sql: flow.post_sql.clone().filter(|_| is_last),
        output_number: Some(index as u32 + 1),
        ..flow.clone()
    }
}

/// Checks the outputs of a flow as they are written in the package.
fn check_outputs(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    let conflict = |conflict: &str, mend: &str| PackageFaultKind::Conflict {
        conflict: conflict.to_owned(),
        mend: mend.to_owned(),
    };
    if flow.outputs.is_empty() {
        let settings = [
            ("each", flow.each),
            ("else", flow.otherwise.is_some()),
            ("output_number", flow.output_number.is_some()),
        ];
        for (setting, _) in settings.iter().filter(|(_, is_there)| *is_there) {
            let what = format!("`{setting}` is about outputs, but this flow has none");
            let mend = format!("remove `{setting}`, or write a [[flow.output]] for each table");
            faults.add(&at(setting), conflict(&what, &mend));
        }
        return;
    }
    let count = flow.outputs.len();
    if let Some(number) = flow.output_number {
        if !(1..=count).contains(&(number as usize)) {
            let mend = format!("write a number from 1 to {count}, or remove it");
            faults.value(
                &at("output_number"),
                &number.to_string(),
                "there is no such output",
                &mend,
            );
        }
    } else if !flow.table.is_empty() {
        let mend = "remove `table`, or the outputs";
        faults.add(
            &at("table"),
            conflict("each output of this flow has its own `table`", mend),
        );
    }
    if count > OUTPUTS_MAX {
        let what = format!("a flow has at most {OUTPUTS_MAX} outputs, but this one has {count}");
        let mend =
            "route the rows by a partitioned target, or load some of the tables in a separate flow";
        faults.add(&at("output"), conflict(&what, mend));
    }
    for (index, output) in flow.outputs.iter().enumerate() {
        let path = |setting: &str| at(&format!("output[{index}].{setting}"));
        match &output.when {
            Some(when) if when.trim().is_empty() => faults.value(
                &path("when"),
                when,
                "it is empty",
                "write a condition over the columns of the flow, or remove `when` from the last output",
            ),
            None if !flow.each && index + 1 < count => faults.add(
                &at(&format!("output[{index}]")),
                conflict(
                    "this output has no `when`, so it takes all rows, and the outputs after it get none",
                    "give it a `when`, put it last, or write `each = true` in the flow",
                ),
            ),
            None if flow.otherwise.is_some() => faults.add(
                &at("else"),
                conflict(
                    "an output without `when` takes all rows that are left, so `else` is never used",
                    "remove `else`, or give each output a `when`",
                ),
            ),
            _ => {}
        }
    }
}
