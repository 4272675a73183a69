//! Plans the steps of a flow: reads their expressions, binds them to columns, and finds the types of their results.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_adbcclient::duckdb::connection::Link;
use inrush_rows::column_type::ColumnType;
use inrush_rows::sql_text::{identifier, in_parentheses};
use inrush_rows::suggest::suggestion;

use crate::engine_message::types_fault;
use crate::error::{StepError, StepErrorKind};
use crate::evaluator::Evaluator;
use crate::expression::{Expression, Fault, Named};
use crate::functions;
use crate::planned::{DerivedColumn, FiniteDates, Planned, PlannedOutput, PlannedStep, StepAction};
use crate::spec::{Derivation, InputColumn, StepSpec};
use crate::types::{Carried, carried, sql_type};

/// The prefix of names that the statements use themselves.
pub(crate) const RESERVED: &str = "inrush_step_";

/// True if a statement may need this name for itself.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with(RESERVED)
}

/// Words that SQL reads as functions without parentheses.
const CLOCK_WORDS: [&str; 5] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
];

/// Plans the steps of flows.
pub struct Steps<'a> {
    link: Arc<Link>,
    evaluator: &'a Evaluator,
}

/// A column that an expression can name.
struct Visible {
    name: String,
    column_type: ColumnType,
    /// Its index among the columns of the flow; `None` if it is derived.
    index: Option<usize>,
}

/// An expression that is bound to columns.
struct Bound {
    sql: String,
    found: String,
    named: Vec<usize>,
    finite: FiniteDates,
}

impl<'a> Steps<'a> {
    /// A planner for flows whose steps run in this evaluator.
    pub fn new(evaluator: &'a Evaluator) -> Result<Steps<'a>, StepErrorKind> {
        let link = evaluator.connect().map_err(engine)?;
        Ok(Steps { link, evaluator })
    }

    /// The evaluator of the steps.
    pub fn evaluator(&self) -> &'a Evaluator {
        self.evaluator
    }

    /// The names of columns that expressions use, in lower case. An expression that cannot be read uses none: planning refuses
    /// it.
    pub fn names(&self, specs: &[StepSpec]) -> BTreeSet<String> {
        let texts = specs.iter().flat_map(|spec| match spec {
            StepSpec::Derive(derivations) => {
                derivations.iter().map(|one| &one.expression).collect()
            }
            StepSpec::Where { condition } | StepSpec::Check { condition, .. } => vec![condition],
            StepSpec::Output(output) => output.conditions.iter().flatten().collect(),
        });
        let read = texts.filter_map(|text| self.read(text).ok());
        read.flat_map(|expression| expression.columns)
            .map(|column| column.name.to_ascii_lowercase())
            .collect()
    }

    /// Plans the steps of a flow with these columns. All faults are found, in the order of the steps. Later
    /// steps see all columns except derived ones with a fault.
    pub fn plan(
        &self,
        columns: &[InputColumn],
        specs: &[StepSpec],
    ) -> Result<Planned, Vec<StepError>> {
        let mut faults = Vec::new();
        let mut visible: Vec<Visible> = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            visible.push(Visible {
                name: column.name.clone(),
                column_type: column.column_type.clone(),
                index: Some(index),
            });
        }
        let mut planned = Planned {
            first: 0,
            columns: columns.to_vec(),
            travelling: Vec::new(),
            derived: Vec::new(),
            steps: Vec::new(),
        };
        for (index, spec) in specs.iter().enumerate() {
            let mut named = Vec::new();
            let mut finite = FiniteDates::default();
            let error = |setting: String, text: &str, (range, kind): Fault| StepError {
                step: index + 1,
                setting,
                expression: text.to_owned(),
                range,
                kind,
            };
            let action = match spec {
                StepSpec::Derive(derivations) => {
                    let mut made = Vec::new();
                    for one in derivations {
                        match self.derive(one, derivations, &visible, &made) {
                            Ok((column, columns)) => {
                                named.extend(columns);
                                made.push(column);
                            }
                            Err(fault) => faults.push(error(
                                format!("derive.{}", one.name),
                                &one.expression,
                                fault,
                            )),
                        }
                    }
                    StepAction::Derive(made)
                }
                StepSpec::Where { condition } => match self.condition(condition, &visible) {
                    Ok(bound) => {
                        named.extend(bound.named);
                        finite = bound.finite;
                        StepAction::Where {
                            text: condition.trim().to_owned(),
                            sql: bound.sql,
                        }
                    }
                    Err(fault) => {
                        faults.push(error("where".to_owned(), condition, fault));
                        continue;
                    }
                },
                StepSpec::Check {
                    name,
                    condition,
                    otherwise,
                } => match self.condition(condition, &visible) {
                    Ok(bound) => {
                        named.extend(bound.named);
                        finite = bound.finite;
                        StepAction::Check {
                            name: name.clone().unwrap_or_else(|| condition.trim().to_owned()),
                            text: condition.trim().to_owned(),
                            sql: bound.sql,
                            otherwise: *otherwise,
                        }
                    }
                    Err(fault) => {
                        faults.push(error("check".to_owned(), condition, fault));
                        continue;
                    }
                },
                StepSpec::Output(output) => {
                    let mut bound = Vec::new();
                    for (at, condition) in output.conditions.iter().enumerate() {
                        let Some(text) = condition else {
                            bound.push("true".to_owned());
                            continue;
                        };
                        match self.condition(text, &visible) {
                            Ok(one) => {
                                named.extend(one.named);
                                bound.push(one.sql);
                            }
                            Err(fault) => {
                                faults.push(error(format!("output[{at}].when"), text, fault));
                            }
                        }
                    }
                    StepAction::Output(PlannedOutput {
                        sql: outputs_of_row(&bound, output.each),
                        spec: output.clone(),
                    })
                }
            };
            named.sort_unstable();
            named.dedup();
            planned
                .travelling
                .extend(named.iter().filter_map(|at| visible[*at].index));
            let names = named.iter().map(|at| visible[*at].name.clone()).collect();
            if let StepAction::Derive(made) = &action {
                for column in made {
                    visible.push(Visible {
                        name: column.name.clone(),
                        column_type: column.column_type.clone(),
                        index: None,
                    });
                    planned.derived.push(InputColumn {
                        name: column.name.clone(),
                        column_type: column.column_type.clone(),
                    });
                }
            }
            planned.steps.push(PlannedStep {
                action,
                named: names,
                finite,
            });
        }
        planned.travelling.sort_unstable();
        planned.travelling.dedup();
        match faults.is_empty() {
            true => Ok(planned),
            false => Err(faults),
        }
    }

    /// A derived column, and the indexes of the columns that it uses. `made` has the earlier columns of the same step.
    fn derive(
        &self,
        one: &Derivation,
        all: &[Derivation],
        visible: &[Visible],
        made: &[DerivedColumn],
    ) -> Result<(DerivedColumn, Vec<usize>), Fault> {
        let name = one.name.clone();
        if name.is_empty() || name.contains('\0') || is_reserved(&name) {
            return Err((None, StepErrorKind::Name { name }));
        }
        let others = visible.iter().map(|column| &column.name);
        let mut others = others.chain(made.iter().map(|column| &column.name));
        if others.any(|other| other.eq_ignore_ascii_case(&name)) {
            return Err((None, StepErrorKind::HidesColumn { name }));
        }
        let bound = self.bound(&one.expression, visible, all)?;
        let Carried { column_type, cast } = carried(&bound.found).map_err(|kind| (None, kind))?;
        let sql = match cast {
            Some(cast) => format!("CAST({} AS {cast})", bound.sql),
            None => bound.sql,
        };
        let named = bound.named.iter().map(|at| &visible[*at]);
        let may_be_special = names_special_number(&one.expression);
        let column = DerivedColumn {
            name,
            column_type,
            found: bound.found,
            text: one.expression.trim().to_owned(),
            sql,
            named: named.map(|column| column.name.clone()).collect(),
            may_be_special,
            finite: bound.finite,
        };
        Ok((column, bound.named))
    }

    fn condition(&self, text: &str, visible: &[Visible]) -> Result<Bound, Fault> {
        let bound = self.bound(text, visible, &[])?;
        match bound.found.as_str() {
            "BOOLEAN" => Ok(bound),
            // The condition NULL is true for no row.
            "\"NULL\"" => Ok(Bound {
                sql: format!("CAST({} AS BOOLEAN)", bound.sql),
                ..bound
            }),
            _ => Err((None, StepErrorKind::NotBoolean { found: bound.found })),
        }
    }

    /// Reads an expression, finds its columns and functions, and asks for its type.
    fn bound(
        &self,
        text: &str,
        visible: &[Visible],
        siblings: &[Derivation],
    ) -> Result<Bound, Fault> {
        let expression = self.read(text)?;
        let mut named = Vec::with_capacity(expression.columns.len());
        for column in &expression.columns {
            named.push(self.column(column, visible, siblings)?);
        }
        named.sort_unstable();
        named.dedup();
        for function in &expression.functions {
            if !functions::is_allowed(&function.name) {
                let fault = functions::fault(&self.link, &function.name);
                let fault = fault.unwrap_or_else(engine);
                return Err((function.range.clone(), fault));
            }
        }
        let place_of = |name: &str| {
            let used = expression.columns.iter();
            let mut used = used.filter(|used| used.name.eq_ignore_ascii_case(name));
            used.next().and_then(|used| used.range.clone())
        };
        let mut values = Vec::with_capacity(named.len());
        for at in &named {
            let Visible {
                name, column_type, ..
            } = &visible[*at];
            if is_reserved(name) {
                let kind = StepErrorKind::ReservedColumn { name: name.clone() };
                return Err((place_of(name), kind));
            }
            let travels = sql_type(column_type);
            let sql = travels.map_err(|(type_name, instead)| {
                let kind = StepErrorKind::ColumnCannotTravel {
                    name: name.clone(),
                    type_name,
                    instead,
                };
                (place_of(name), kind)
            })?;
            values.push(format!("CAST(NULL AS {sql}) AS {}", identifier(name)));
        }
        let sql = in_parentheses(text);
        let from = match values.is_empty() {
            true => String::new(),
            false => format!(" FROM (SELECT {})", values.join(", ")),
        };
        let statement = format!("DESCRIBE SELECT {sql} AS x{from}");
        let types = &self.evaluator.answers.types;
        let found = types.of(&statement, || {
            let described = self.link.query(&statement);
            let rows = described.and_then(|mut answer| answer.rows());
            let rows = rows.map_err(|error| types_fault(&error.message, text))?;
            let first = rows.into_iter().next();
            let found = first.and_then(|row| row.into_iter().nth(1)?);
            found.ok_or_else(|| (None, engine_says("it gave no type")))
        })?;
        let mut functions = expression.functions.iter();
        let asks = functions.any(|function| functions::asks_for_infinity(&function.name));
        let finite = match asks || names_special_number(text) {
            true => FiniteDates::default(),
            false => FiniteDates {
                in_functions: dates_among(&expression.in_dates, &named, visible),
                in_differences: dates_among(&expression.in_differences, &named, visible),
            },
        };
        Ok(Bound {
            sql,
            found,
            named,
            finite,
        })
    }

    fn read(&self, text: &str) -> Result<Expression, Fault> {
        let expressions = &self.evaluator.answers.expressions;
        expressions.of(text, || Expression::read(&self.link, text))
    }

    /// The index of a column that an expression names.
    fn column(
        &self,
        used: &Named,
        visible: &[Visible],
        siblings: &[Derivation],
    ) -> Result<usize, Fault> {
        let is_it = |name: &str| name.eq_ignore_ascii_case(&used.name);
        let found: Vec<usize> = (0..visible.len())
            .filter(|at| is_it(&visible[*at].name))
            .collect();
        let name = used.name.clone();
        let kind = match found.as_slice() {
            [only] => return Ok(*only),
            [] if siblings.iter().any(|one| is_it(&one.name)) => StepErrorKind::SameStep { name },
            [] if CLOCK_WORDS.iter().any(|word| is_it(word)) => StepErrorKind::ForbiddenFunction {
                name,
                reason: "its value differs from run to run, so a run that is resumed would load other rows",
                instead: "use a column with source = \"load_time\", or a parameter of the package",
            },
            [] => {
                let known = visible.iter().map(|column| column.name.as_str());
                StepErrorKind::UnknownColumn {
                    suggestion: suggestion(&name, known.clone()),
                    known: known.map(str::to_owned).collect(),
                    name,
                }
            }
            several => StepErrorKind::AmbiguousColumn {
                name,
                columns: several.iter().map(|at| visible[*at].name.clone()).collect(),
                in_expression: true,
            },
        };
        Err((used.range.clone(), kind))
    }
}

/// The columns of dates and timestamps among these names, which are in lower case.
fn dates_among(names: &BTreeSet<String>, named: &[usize], visible: &[Visible]) -> Vec<String> {
    use ColumnType::{Date, Timestamp, TimestampTz};
    let columns = named.iter().map(|at| &visible[*at]);
    let dates = columns.filter(|column| {
        let is_date = matches!(
            column.column_type,
            Date | Timestamp { .. } | TimestampTz { .. }
        );
        is_date && names.contains(&column.name.to_ascii_lowercase())
    });
    dates.map(|column| column.name.clone()).collect()
}

/// The outputs that take a row, as a number with a bit for each. A condition is evaluated only for rows that no output
/// before it takes, unless `each` is true.
fn outputs_of_row(conditions: &[String], each: bool) -> String {
    let bits = conditions.iter().enumerate();
    let whens = bits.map(|(at, condition)| format!("WHEN {condition} THEN {}", 1_u64 << at));
    let whens: Vec<String> = whens.collect();
    let cases = match each {
        true => whens
            .iter()
            .map(|when| format!("CASE {when} ELSE 0 END"))
            .collect(),
        false => vec![format!("CASE {} ELSE 0 END", whens.join(" "))],
    };
    format!("CAST({} AS BIGINT)", cases.join(" + "))
}

fn engine(error: adbc_core::error::Error) -> StepErrorKind {
    engine_says(&error.message)
}

fn engine_says(message: &str) -> StepErrorKind {
    StepErrorKind::Engine {
        message: message.to_owned(),
    }
}

/// True if a text has a word that a cast turns into an infinite number or into NaN.
pub(crate) fn names_special_number(text: &str) -> bool {
    let mut words = text.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
    let special = ["inf", "infinity", "nan"];
    words.any(|word| special.iter().any(|own| word.eq_ignore_ascii_case(own)))
}
