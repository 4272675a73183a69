//! Steps of a flow: `[[flow.step]]` with `derive`, `where`, `check`, `lookup`, `distinct_on` or `unpivot`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::lookup::{LookupSource, Unmatched, check_lookup};
use super::name::quoted_where_needed;
use super::{ColumnDetail, Flow, OneOrMany};

/// The default of `memory_bytes_max`.
pub const DISTINCT_BYTES_MAX: u64 = 256 << 20;

/// A step that each row passes before it is loaded: one of `derive`, `where`, `check`, `lookup`, `distinct_on` and `unpivot`.
/// Expressions are written in DuckDB's SQL. They use the columns of the flow and those that earlier steps have derived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Columns that are added, each with its expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derive: Option<BTreeMap<String, String>>,
    /// A condition: rows for which it is not true are filtered, and counted.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// A condition: rows for which it is false are handled as `else` says. NULL passes, as in a CHECK of SQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The name of the check in rejects and reports. Default: its condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The consequence for rows that fail the check. Default: `"reject"`.
    #[serde(rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<CheckElse>,
    /// `false`: the columns that the step adds are only for later steps, and are not columns of the target. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<bool>,
    /// A table in which the keys of rows are looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Box<LookupSource>>,
    /// The key of a lookup: columns of the flow, each with the column of the reference that it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<BTreeMap<String, String>>,
    /// Differences that a lookup ignores when it compares texts: `"case"`, `"accents"` or `"blanks"`, or a list of them. Default: none.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub fold: OneOrMany,
    /// The columns that a lookup adds, each with the column of the reference that it is taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub take: Option<BTreeMap<String, String>>,
    /// The consequence for rows whose key is not in the reference. Default: `"reject"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Unmatched>,
    /// Columns. Of all rows of the load with equal values in these columns, the first in the order of the source is kept. The
    /// others are filtered, and counted. NULL is equal to NULL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_on: Option<Vec<String>>,
    /// The most memory for the keys of `distinct_on`, in bytes. If they need more, the load fails before its first row. Default: 256
    /// MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<u64>,
    /// Columns that become rows: each row becomes one row for each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpivot: Option<Unpivot>,
}

/// Columns that become rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unpivot {
    /// The columns. All have one type. They are no columns of the rows that are loaded.
    pub columns: Vec<String>,
    /// The new column with the name of the column.
    pub name: String,
    /// The new column with its value.
    pub value: String,
}

/// The settings of which each step must have exactly one.
const KINDS: &str = "`derive`, `where`, `check`, `lookup`, `distinct_on` and `unpivot`";

impl Flow {
    /// True if a step adds a column of this name.
    pub fn derives(&self, column: &str) -> bool {
        let added = |step: &Step| [step.derive.clone(), step.take.clone()];
        let mut added = self.steps.iter().flat_map(added).flatten();
        let mut unpivots = self.steps.iter().flat_map(|step| &step.unpivot);
        added.any(|columns| columns.contains_key(column))
            || unpivots.any(|unpivot| unpivot.name == column || unpivot.value == column)
    }

    /// The columns that steps turn into rows, as they are named there.
    pub fn unpivoted(&self) -> impl Iterator<Item = &String> {
        let unpivots = self.steps.iter().flat_map(|step| &step.unpivot);
        unpivots.flat_map(|unpivot| &unpivot.columns)
    }
}

/// The consequence for a row that fails a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckElse {
    /// The row is rejected.
    #[default]
    Reject,
    /// The row is loaded, and counted.
    Warn,
    /// The load fails.
    Fail,
}

/// Checks the form of a flow's steps. Their expressions are checked by the plan, which knows the columns.
pub(super) fn check_steps(
    flow: &Flow,
    columns: &[ColumnDetail],
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) {
    check_unused(flow, columns, at, faults);
    for (index, step) in flow.steps.iter().enumerate() {
        let path = at(&format!("step[{index}]"));
        let mut conflict = |path: &str, conflict: &str, mend: &str| {
            let kind = PackageFaultKind::Conflict {
                conflict: conflict.to_owned(),
                mend: mend.to_owned(),
            };
            faults.add(path, kind);
        };
        let kinds = [
            step.derive.is_some(),
            step.filter.is_some(),
            step.check.is_some(),
            step.lookup.is_some(),
            step.distinct_on.is_some(),
            step.unpivot.is_some(),
        ];
        match kinds.iter().filter(|is_there| **is_there).count() {
            0 => conflict(
                &path,
                "the step does nothing",
                &format!("write one of {KINDS}, as in where = \"l_quantity > 0\""),
            ),
            1 => {}
            _ => conflict(
                &path,
                &format!("a step does one thing, but this one has several of {KINDS}"),
                "write a [[flow.step]] for each of them, in the order in which rows pass them",
            ),
        }
        for (setting, is_there) in [
            ("name", step.name.is_some()),
            ("else", step.otherwise.is_some()),
        ] {
            if is_there && step.check.is_none() {
                conflict(
                    &format!("{path}.{setting}"),
                    &format!("`{setting}` belongs to a `check`, but this step has none"),
                    &format!("remove `{setting}`, or write the condition as `check`"),
                );
            }
        }
        let adds_columns = step.derive.is_some() || step.lookup.is_some() || step.unpivot.is_some();
        if step.load.is_some() && !adds_columns {
            conflict(
                &format!("{path}.load"),
                "`load` is about columns that a step adds, but this step adds none",
                "remove `load`",
            );
        }
        if step.memory_bytes_max.is_some() && step.distinct_on.is_none() {
            conflict(
                &format!("{path}.memory_bytes_max"),
                "`memory_bytes_max` belongs to `distinct_on`, but this step has none",
                "remove it; a lookup has its own, inside `lookup`: lookup = { ..., memory_bytes_max = 1000000 }",
            );
        }
        check_lookup(step, &path, faults);
        if let Some(columns) = &step.distinct_on {
            let mend = "name the columns that are compared: distinct_on = [\"customer\", \"day\"]";
            check_names(columns, &format!("{path}.distinct_on"), mend, faults);
        }
        if let Some(unpivot) = &step.unpivot {
            check_unpivot(unpivot, &format!("{path}.unpivot"), faults);
        }
        check_texts(step, &path, faults);
    }
}

fn check_unpivot(unpivot: &Unpivot, path: &str, faults: &mut Faults<'_>) {
    const MEND: &str = "name the columns and two new ones: unpivot = { columns = [\"q1\", \"q2\"], name = \"quarter\", value = \"amount\" }";
    let Unpivot {
        columns,
        name,
        value,
    } = unpivot;
    let missing = [("name", name), ("value", value)];
    let missing = missing.iter().filter(|(_, own)| own.trim().is_empty());
    for (setting, own) in missing {
        faults.value(&format!("{path}.{setting}"), own, "it is empty", MEND);
    }
    if name.eq_ignore_ascii_case(value) && !name.is_empty() {
        let wrong = "`name` is the same column";
        faults.value(&format!("{path}.value"), value, wrong, MEND);
    }
    check_names(columns, &format!("{path}.columns"), MEND, faults);
}

/// A list of columns, each once.
fn check_names(columns: &[String], setting: &str, mend: &str, faults: &mut Faults<'_>) {
    if columns.is_empty() {
        faults.value(setting, "[]", "it names no column", mend);
    }
    for (at, column) in columns.iter().enumerate() {
        let wrong = match column.trim().is_empty() {
            true => "a name is empty",
            false if columns[..at].contains(column) => "it is named twice",
            false => continue,
        };
        faults.value(&format!("{setting}[{at}]"), column, wrong, mend);
    }
}

/// Refuses columns that are read only for steps, in a flow without steps.
fn check_unused(
    flow: &Flow,
    columns: &[ColumnDetail],
    at: &dyn Fn(&str) -> String,
    faults: &mut Faults<'_>,
) {
    if flow.has_steps() {
        return;
    }
    for (item, detail) in columns.iter().enumerate() {
        if !detail.load && !detail.skip {
            let kind = PackageFaultKind::Conflict {
                conflict: "`load = false` reads a field for steps, but the flow has no steps"
                    .to_owned(),
                mend: format!(
                    "write \"{} skip\", or add a step",
                    quoted_where_needed(&detail.name)
                ),
            };
            faults.add(&at(&format!("columns[{item}].load")), kind);
        }
    }
}

/// Refuses expressions and names that are empty.
fn check_texts(step: &Step, path: &str, faults: &mut Faults<'_>) {
    let conditions = [("where", &step.filter), ("check", &step.check)];
    let derived = step.derive.iter().flatten();
    let derived = derived.map(|(name, text)| (format!("derive.{name}"), text));
    let conditions = conditions.iter().filter_map(|(setting, text)| {
        let text = text.as_ref()?;
        Some(((*setting).to_owned(), text))
    });
    for (setting, text) in derived.chain(conditions) {
        if text.trim().is_empty() {
            faults.value(
                &format!("{path}.{setting}"),
                text,
                "it is empty",
                "write an expression of SQL over the columns of the flow",
            );
        }
    }
    if step.derive.as_ref().is_some_and(BTreeMap::is_empty) {
        faults.value(
            &format!("{path}.derive"),
            "{}",
            "it names no column",
            "write a name and an expression: derive = { total = \"price * quantity\" }",
        );
    }
    if step
        .name
        .as_ref()
        .is_some_and(|name| name.trim().is_empty())
    {
        faults.value(
            &format!("{path}.name"),
            "",
            "it is empty",
            "write what the check expects, or remove `name`",
        );
    }
}
