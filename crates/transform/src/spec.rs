//! Steps as a package declares them.

use inrush_rows::column_type::ColumnType;
use inrush_rows::same_name::place_of;
use inrush_rows::suggest::suggestion;

use crate::error::StepErrorKind;

/// A column of the flow before the first step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputColumn {
    /// Its name, unquoted.
    pub name: String,
    /// Its type in batches.
    pub column_type: ColumnType,
}

/// The index of the column that a step names: the column with exactly this name, or else the only column whose name
/// differs from it only in case.
pub(crate) fn column_at(name: &str, visible: &[InputColumn]) -> Result<usize, StepErrorKind> {
    let names = || visible.iter().map(|column| column.name.as_str());
    place_of(name, names()).map_err(|several| match several.as_slice() {
        [] => StepErrorKind::UnknownColumn {
            name: name.to_owned(),
            suggestion: suggestion(name, names()),
            known: names().map(str::to_owned).collect(),
        },
        several => StepErrorKind::AmbiguousColumn {
            name: name.to_owned(),
            columns: several.iter().map(|at| visible[*at].name.clone()).collect(),
            in_expression: false,
        },
    })
}

/// A step. Steps are applied to each row in their order, until one of them drops the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSpec {
    /// Adds columns. Each expression uses the columns before this step.
    Derive(Vec<Derivation>),
    /// Keeps the rows for which the condition is true. All others, NULL included, are filtered, and counted.
    Where {
        /// A boolean expression.
        condition: String,
    },
    /// Checks each row. As with a CHECK constraint, a row fails if the condition is false; NULL passes.
    Check {
        /// The name of the check in messages and reports; its condition if it has none.
        name: Option<String>,
        /// A boolean expression.
        condition: String,
        /// The consequence for a row that fails.
        otherwise: Otherwise,
    },
    /// Keeps the rows that go to one of several outputs. It is the last step.
    Output(OutputSpec),
}

/// The outputs of a flow, and the one whose rows are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    /// The conditions of the outputs, at most 63; `None` takes all rows.
    pub conditions: Vec<Option<String>>,
    /// The index of the output whose rows are kept.
    pub kept: usize,
    /// Its target, for people.
    pub target: String,
    /// True if a row goes to every output whose condition is true; false if it goes only to the first of these outputs.
    pub each: bool,
    /// True if rows that no output takes are rejected; otherwise they are filtered.
    pub rejects: bool,
    /// The place in the package of the first condition, for people.
    pub place: String,
}

/// A derived column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// Its name, unquoted.
    pub name: String,
    /// Its values.
    pub expression: String,
}

/// The consequence for a row that fails a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// The row is rejected.
    #[default]
    Reject,
    /// The row is loaded, and counted.
    Warn,
    /// The load fails.
    Fail,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_names_that_differ_in_case_the_exact_one_counts() {
        let visible = ["day", "id", "ID"].map(|name| InputColumn {
            name: name.to_owned(),
            column_type: ColumnType::Int32,
        });
        for (name, at) in [("DAY", 0), ("id", 1), ("ID", 2)] {
            assert_eq!(column_at(name, &visible), Ok(at));
        }
        let ambiguous = column_at("Id", &visible).expect_err("two columns");
        assert_eq!(
            ambiguous.to_string(),
            "`Id` is ambiguous: the flow has the columns `id` and `ID`"
        );
        assert_eq!(ambiguous.hint(), "spell it exactly as one of them");
        let unknown = column_at("dai", &visible);
        assert!(matches!(
            unknown,
            Err(StepErrorKind::UnknownColumn { suggestion: Some(near), .. }) if near == "day"
        ));
    }
}
