//! Errors of steps: what is wrong with an expression, where, and how to fix it.

use std::fmt;
use std::ops::Range;

use arrow_schema::ArrowError;
use inrush_rows::quantity::{bytes, count, counted};
use inrush_rows::suggest::listed;

use crate::unpivot::FAN_OUT_MAX;

/// An expression that cannot be used, and its place among the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError {
    /// The number of the step, counted from 1.
    pub step: usize,
    /// The setting in the step: `where`, `check` or `derive.NAME`. For an output, the setting in the flow:
    /// `output[1].when`.
    pub setting: String,
    /// The expression.
    pub expression: String,
    /// The bytes of the faulty part, if it is not the whole expression.
    pub range: Option<Range<usize>>,
    /// What is wrong.
    pub kind: StepErrorKind,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepErrorKind {
    /// It has no text.
    #[error("the expression is empty")]
    Empty,
    /// DuckDB cannot read it.
    #[error("the expression cannot be read: {message}")]
    Syntax {
        /// DuckDB's message.
        message: String,
    },
    /// A bracket, a quote or a comment is not closed, or a bracket closes nothing.
    #[error("the expression cannot be read: {what}")]
    Unclosed {
        /// The part that is open, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// It has clauses of a query: FROM, WHERE, ORDER BY, several results.
    #[error("this is more than one expression")]
    NotOneExpression,
    /// A word at its end is a name for the result. Often the word was meant as something else, such as an interval unit
    /// that SQL does not have.
    #[error(
        "`{name}` at the end is no part of the expression: SQL takes it as a name for the result"
    )]
    NamedResult {
        /// The word.
        name: String,
    },
    /// It has a part that steps do not allow.
    #[error("{what} cannot be used in a step")]
    NotAllowed {
        /// The part: `a subquery`.
        what: &'static str,
        /// How to do without it.
        instead: &'static str,
    },
    /// It is nested too deeply.
    #[error("the expression is nested too deeply")]
    TooDeep,
    /// A column that the flow does not have here.
    #[error("there is no column `{name}`")]
    UnknownColumn {
        /// The name as written.
        name: String,
        /// The column that was likely meant.
        suggestion: Option<String>,
        /// The columns that exist at this step.
        known: Vec<String>,
    },
    /// A column that the same step derives.
    #[error("`{name}` is derived in the same step")]
    SameStep {
        /// The column.
        name: String,
    },
    /// Two columns whose names differ only in upper and lower case.
    #[error("`{name}` is ambiguous: the flow has the columns {}", listed(columns.iter().map(String::as_str)))]
    AmbiguousColumn {
        /// The name as written.
        name: String,
        /// The columns.
        columns: Vec<String>,
        /// True if the name is in an expression. In a setting, a name that is spelled exactly like one of the columns
        /// is not ambiguous.
        in_expression: bool,
    },
    /// A list names the column twice.
    #[error("`{name}` is in the list twice")]
    NamedTwice {
        /// The name as written.
        name: String,
    },
    /// A column of a type that DuckDB does not have.
    #[error("`{name}` {}, which expressions cannot use", is_of(type_name))]
    ColumnCannotTravel {
        /// The column.
        name: String,
        /// Its type, in words.
        type_name: &'static str,
        /// How to use its values.
        instead: &'static str,
    },
    /// No function has that name.
    #[error("there is no function `{name}`")]
    UnknownFunction {
        /// The name as written.
        name: String,
        /// The function that was likely meant.
        suggestion: Option<String>,
    },
    /// A function of DuckDB that steps may not call.
    #[error("the function `{name}` cannot be used in a step: {reason}")]
    ForbiddenFunction {
        /// The name as written.
        name: String,
        /// Why not.
        reason: &'static str,
        /// How to do without it.
        instead: &'static str,
    },
    /// DuckDB cannot determine the type of the expression: the types of its parts do not fit together, or the
    /// expression names a type that DuckDB does not know.
    #[error("{message}")]
    Types {
        /// What is wrong.
        message: String,
        /// How to fix it.
        hint: String,
    },
    /// A condition whose result is not a boolean.
    #[error("a condition must be true or false, but this has the type {found}")]
    NotBoolean {
        /// Its type as DuckDB writes it.
        found: String,
    },
    /// A derived column of a type that batches do not carry.
    #[error("the result has the type {found}, which cannot be loaded")]
    ResultCannotTravel {
        /// Its type as DuckDB writes it.
        found: String,
        /// The cast that helps.
        instead: &'static str,
    },
    /// A derived column with the name of another column.
    #[error("the flow has a column `{name}` already")]
    HidesColumn {
        /// The name.
        name: String,
    },
    /// A column of the flow with a name that statements need for themselves.
    #[error(
        "the column `{name}` cannot be used in an expression, because Inrush has columns of its own with such names"
    )]
    ReservedColumn {
        /// The name.
        name: String,
    },
    /// A derived column without a name, or with a name that is reserved.
    #[error("a derived column cannot be called `{name}`")]
    Name {
        /// The name.
        name: String,
    },
    /// Columns of a lookup whose values cannot be equal.
    #[error(
        "`{column}` has the type {column_type}, and `{reference}` of the reference has the type {reference_type}: such values are never equal"
    )]
    KeyTypes {
        /// The column of the flow.
        column: String,
        /// Its type.
        column_type: String,
        /// The column of the reference.
        reference: String,
        /// Its type.
        reference_type: String,
    },
    /// A column by whose values rows cannot be compared.
    #[error("`{column}` has the type {column_type}, and rows cannot be compared by such values")]
    NoKey {
        /// The column.
        column: String,
        /// Its type.
        column_type: String,
    },
    /// The columns that should become rows have different types.
    #[error(
        "`{column}` has the type {column_type}, and `{first}` has the type {first_type}: the values of `unpivot` must have one type"
    )]
    UnpivotTypes {
        /// A column.
        column: String,
        /// Its type.
        column_type: String,
        /// The first column.
        first: String,
        /// Its type.
        first_type: String,
        /// A type of DuckDB that holds the values of all columns unchanged; `None` if expressions cannot use one of
        /// them.
        holds_all: Option<String>,
    },
    /// A record would become too many rows.
    #[error("a record would become {} rows, but at most {} are allowed", count(*rows), count(FAN_OUT_MAX))]
    UnpivotRows {
        /// The number of rows.
        rows: u64,
    },
    /// DuckDB itself failed.
    #[error("DuckDB cannot plan the step: {message}")]
    Engine {
        /// DuckDB's message.
        message: String,
    },
}

/// A verb and the words for a column's type: `is an interval`, `has a type that only the destination has`.
fn is_of(type_name: &str) -> String {
    match type_name.chars().next() {
        Some('t') => format!("has a {type_name}"),
        Some('i') => format!("is an {type_name}"),
        _ => format!("is a {type_name}"),
    }
}

impl StepErrorKind {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            StepErrorKind::Empty => {
                "write an expression of SQL, such as \"l_quantity > 0\"".to_owned()
            }
            StepErrorKind::Syntax { .. } => {
                "write it as in the SQL of DuckDB; names with blanks or capital letters in double quotes".to_owned()
            }
            StepErrorKind::NotOneExpression => {
                "write one expression over the columns of a row, without SELECT, FROM, WHERE, AS or `;`".to_owned()
            }
            StepErrorKind::NotAllowed { instead, .. }
            | StepErrorKind::ForbiddenFunction { instead, .. }
            | StepErrorKind::ColumnCannotTravel { instead, .. }
            | StepErrorKind::ResultCannotTravel { instead, .. } => (*instead).to_owned(),
            StepErrorKind::NamedResult { .. } => {
                "remove it; the units of an interval are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE and SECOND".to_owned()
            }
            StepErrorKind::TooDeep => {
                "derive a part of it in an earlier step, and use that column here".to_owned()
            }
            StepErrorKind::UnknownColumn {
                suggestion: Some(near),
                ..
            }
            | StepErrorKind::UnknownFunction {
                suggestion: Some(near),
                ..
            } => format!("did you mean `{near}`?"),
            StepErrorKind::UnknownColumn { known, .. } => format!(
                "the columns here are {}",
                listed(known.iter().map(String::as_str))
            ),
            StepErrorKind::UnknownFunction { .. } => {
                "use a function of DuckDB that the documentation of steps lists".to_owned()
            }
            StepErrorKind::SameStep { name } => {
                format!("derive `{name}` in a step of its own before this one")
            }
            StepErrorKind::NamedTwice { .. } => "name it once".to_owned(),
            StepErrorKind::AmbiguousColumn {
                in_expression: true,
                ..
            } => "rename one of the columns: expressions do not distinguish upper and lower case in names".to_owned(),
            StepErrorKind::AmbiguousColumn {
                in_expression: false,
                ..
            } => "spell it exactly as one of them".to_owned(),
            StepErrorKind::Types { hint, .. } | StepErrorKind::Unclosed { hint, .. } => hint.clone(),
            StepErrorKind::KeyTypes { reference_type, .. } => format!(
                "derive the key in an earlier step, as in CAST(a AS {reference_type}), and name that column"
            ),
            StepErrorKind::NoKey { column, .. } => format!(
                "derive the key in an earlier step, as in CAST({column} AS DECIMAL(18,3)) or CAST({column} AS VARCHAR), \
                 and name that column"
            ),
            StepErrorKind::UnpivotTypes {
                column,
                column_type,
                first,
                holds_all,
                ..
            } => match holds_all {
                Some(all) => {
                    let cast = match all == column_type {
                        true => first,
                        false => column,
                    };
                    format!(
                        "{all} holds all values: derive columns of that type in an earlier step, as in CAST({cast} AS {all}), and \
                         name them here"
                    )
                }
                None => "read the columns as text, which holds all values".to_owned(),
            },
            StepErrorKind::UnpivotRows { .. } => {
                "name fewer columns, or load them by several flows".to_owned()
            }
            StepErrorKind::NotBoolean { .. } => "compare it, as in `a > 0` or `a = 'x'`".to_owned(),
            StepErrorKind::HidesColumn { .. } => "give the new column another name".to_owned(),
            StepErrorKind::ReservedColumn { .. } => {
                "give it a name that does not begin with inrush_step_, in `columns` or in the `query` of the source".to_owned()
            }
            StepErrorKind::Name { .. } => {
                "a name has at least one character, and does not begin with inrush_step_".to_owned()
            }
            StepErrorKind::Engine { .. } => {
                "run the same command again; if it fails again, report it with this message".to_owned()
            }
        }
    }
}

impl StepError {
    /// The line of the expression with the fault, with carets below the faulty part.
    pub fn excerpt(&self) -> String {
        excerpt(&self.expression, self.range.clone())
    }
}

impl fmt::Display for StepError {
    /// The message, the expression with carets below the faulty part, and the fix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "step {}, `{}`: {}", self.step, self.setting, self.kind)?;
        f.write_str(&self.excerpt())?;
        write!(f, "hint: {}", self.kind.hint())
    }
}

impl std::error::Error for StepError {}

/// The line of an expression in which a range begins, with carets below the range; the first line if there is no range.
fn excerpt(expression: &str, range: Option<Range<usize>>) -> String {
    let expression = expression.trim_end();
    let start = range
        .as_ref()
        .map_or(0, |range| range.start.min(expression.len()));
    let line_start = expression
        .as_bytes()
        .get(..start)
        .and_then(|before| before.iter().rposition(|byte| *byte == b'\n'))
        .map_or(0, |at| at + 1);
    let line_end = expression[line_start..]
        .find('\n')
        .map_or(expression.len(), |at| line_start + at);
    // The width of a tab depends on the terminal.
    let line = expression[line_start..line_end].replace(['\t', '\r'], " ");
    let mut excerpt = format!("  {line}\n");
    if let Some(range) = range {
        let count = |from: usize, to: usize| {
            let part = expression.get(from..to.min(line_end)).unwrap_or_default();
            part.chars().count()
        };
        let width = count(start, range.end).max(1);
        excerpt.push_str(&format!(
            "  {}{}\n",
            " ".repeat(count(line_start, start)),
            "^".repeat(width)
        ));
    }
    excerpt
}

/// An error of a batch, after which a stream cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The run was asked to stop while DuckDB evaluated a batch.
    #[error("the steps were interrupted")]
    Interrupted,
    /// DuckDB failed, and no row is the reason.
    #[error("DuckDB cannot evaluate the steps: {message}")]
    Engine {
        /// DuckDB's message.
        message: String,
    },
    /// DuckDB returned another number of rows than it was given. No row of the batch is used.
    #[error("DuckDB returned {returned} rows for {given} rows")]
    RowCount {
        /// The number of rows of the batch.
        given: usize,
        /// The number of rows of the result.
        returned: usize,
    },
    /// The texts that steps make for these rows need more memory than one batch may use. No row of the batch is used:
    /// the caller must pass smaller batches.
    #[error("the texts that steps make for {rows} rows need too much memory")]
    TooManyRows {
        /// The number of rows of the batch, at least two.
        rows: usize,
    },
    /// The destination could not number the members that a lookup adds to its reference.
    #[error("members cannot be added to the reference of a lookup: {message}")]
    Members {
        /// The destination's message.
        message: String,
    },
    /// The keys of distinct rows need more memory than they may have.
    #[error(
        "step {step}, `distinct_on`: {} need more than {} of memory",
        counted(*keys, "different key"), bytes(*limit)
    )]
    KeysTooLarge {
        /// The number of the step, counted from 1.
        step: usize,
        /// The number of keys that were found so far.
        keys: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A row has a key that the earlier pass over all rows did not find, or that it found only in later rows.
    #[error(
        "step {step}, `distinct_on`: a row has the key {key}, which it did not have when the keys were read: the source has \
         changed since"
    )]
    KeyChanged {
        /// The number of the step, counted from 1.
        step: usize,
        /// The values of the key.
        key: String,
    },
}

impl RunError {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            RunError::KeysTooLarge { limit, .. } => format!(
                "raise `memory_bytes_max` of the step (it is {limit} now), or name fewer or shorter columns"
            ),
            RunError::KeyChanged { .. } => {
                "load files only after they are written completely, then run the same command again".to_owned()
            }
            RunError::Members { .. } => {
                "correct what the message names, and run the same command again: loaded units are kept"
                    .to_owned()
            }
            RunError::Interrupted
            | RunError::Engine { .. }
            | RunError::RowCount { .. }
            | RunError::TooManyRows { .. } => {
                "run the same command again; if it fails again, remove the steps one by one to find the one that \
                 fails, and report it"
                    .to_owned()
            }
        }
    }
}

/// Converts an error of Arrow.
pub(crate) fn arrow_error(error: ArrowError) -> RunError {
    RunError::Engine {
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::sql_type;

    #[test]
    fn columns_that_expressions_cannot_use_are_named_by_what_they_are() {
        use inrush_rows::column_type::ColumnType;
        for (column_type, words) in [
            (
                ColumnType::DecimalText { limit: None },
                "is a number without a limit of its digits,",
            ),
            (
                ColumnType::DecimalText {
                    limit: Some((3, -2)),
                },
                "is a number with a negative scale,",
            ),
            (
                ColumnType::DecimalText {
                    limit: Some((2, 5)),
                },
                "is a number with more digits after the point than in total,",
            ),
            (
                ColumnType::DecimalText {
                    limit: Some((40, 2)),
                },
                "is a number with more than 38 digits,",
            ),
            (ColumnType::Uuid, "is a uuid,"),
            (
                ColumnType::Opaque,
                "has a type that only the destination reads,",
            ),
        ] {
            let (type_name, instead) = sql_type(&column_type).expect_err("DuckDB lacks it");
            let kind = StepErrorKind::ColumnCannotTravel {
                name: "x".to_owned(),
                type_name,
                instead,
            };
            assert!(kind.to_string().contains(words), "{kind}");
        }
        let kind = StepErrorKind::ColumnCannotTravel {
            name: "x".to_owned(),
            type_name: "interval",
            instead: "",
        };
        assert_eq!(
            kind.to_string(),
            "`x` is an interval, which expressions cannot use"
        );
    }

    #[test]
    fn carets_stand_under_what_is_meant() {
        for (expression, range, expected) in [
            ("a + nope", Some(4..8), "  a + nope\n      ^^^^\n"),
            (
                "'\u{e4}' || nope",
                Some(8..12),
                "  '\u{e4}' || nope\n         ^^^^\n",
            ),
            ("a\n+ nope\n+ b", Some(4..8), "  + nope\n    ^^^^\n"),
            ("a +", Some(3..3), "  a +\n     ^\n"),
            ("a + b", None, "  a + b\n"),
            ("", Some(3..9), "  \n  ^\n"),
        ] {
            assert_eq!(excerpt(expression, range), expected, "{expression}");
        }
    }

    #[test]
    fn any_range_of_any_text_has_an_excerpt() {
        let text = "a\n\u{20ac}\r\n\n";
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                excerpt(text, Some(start..end));
            }
        }
    }
}
