//! The statements that evaluate the steps for the rows of a batch: the quick statement and the careful statement.
//!
//! Both return one row for each row of the batch, in the same order. This row has the value of each expression. A later
//! step is evaluated only for the rows that the steps before it have kept, so that `where = "b <> 0"` protects `a / b`
//! after it. For this the statements are nested, one SELECT for each step:
//!
//! ```sql
//! SELECT "revenue", inrush_step_value_1 FROM
//! (SELECT *, CASE WHEN ... THEN (b > 0) END AS inrush_step_value_1 FROM
//! (SELECT *, (price * (1 - discount)) AS "revenue" FROM (SELECT inrush_row.price AS price, ... FROM inrush_rows_7)))
//! ```
//!
//! In the careful statement each expression is inside `TRY([...])`: NULL means that it failed, and a list with one NULL
//! means that its value is NULL. The column after a value says whether its expression failed.

use arrow_schema::Schema;
use inrush_adbcclient::duckdb::row_view::ROW;
use inrush_rows::sql_text::identifier;

use crate::plan::RESERVED;
use crate::planned::{DerivedColumn, Planned, StepAction};
use crate::room;
use crate::spec::Otherwise;

/// The rows of a view as a part of a statement: fields of its struct, by the names of the columns.
pub fn rows_of_view(view: &str, columns: &Schema) -> String {
    let fields = columns.fields().iter().map(|field| {
        let name = identifier(field.name());
        format!("{ROW}.{name} AS {name}")
    });
    let fields: Vec<String> = fields.collect();
    format!("(SELECT {} FROM {view})", fields.join(", "))
}

/// The statement for all values, with one expression for each. It fails as a whole if an expression fails for a row.
pub fn quick(planned: &Planned, from: &str) -> String {
    Builder::new(from).all(planned, false)
}

/// The statement for all values, each followed by a column that says whether its expression failed.
pub fn careful(planned: &Planned, from: &str) -> String {
    Builder::new(from).all(planned, true)
}

/// The statement for the value of one expression alone, for a row that has passed the steps before it. It fails with
/// the reason of the expression.
pub fn only(planned: &Planned, from: &str, expression: usize) -> String {
    let (sql, column, rows) = alone(planned, from, expression);
    let sql = match column {
        Some(column) => room::counted(sql, &column.column_type),
        None => sql.to_owned(),
    };
    format!("SELECT {sql} FROM ({rows})")
}

/// The statement for NULL in the type of an expression.
pub fn null_of(planned: &Planned, from: &str, expression: usize) -> String {
    let (sql, _, rows) = alone(planned, from, expression);
    format!("SELECT CASE WHEN false THEN {sql} END FROM ({rows})")
}

/// The loaded columns of the rows that all steps keep, for a destination that evaluates the steps while it adds the
/// rows. The statement fails as a whole if there is a row that the runner would reject, or that the runner judges by
/// more than the value itself: a row that fails a check, or for which a condition in `odd` holds. The conditions in
/// `missing` apply only to rows that the steps keep.
pub fn kept(
    planned: &Planned,
    from: &str,
    loaded: &[&str],
    odd: &[String],
    missing: &[String],
) -> String {
    let mut builder = Builder::new(from);
    builder.nest(planned, false);
    let conditions = |which: fn(&StepAction) -> bool| {
        let mut next = 0;
        let mut names = Vec::new();
        for step in &planned.steps {
            match &step.action {
                StepAction::Derive(columns) => next += columns.len(),
                action => {
                    if which(action) {
                        names.push(format!("{RESERVED}value_{next}"));
                    }
                    next += 1;
                }
            }
        }
        names
    };
    let is_check = |action: &StepAction| matches!(action, StepAction::Check { .. });
    let is_where = |action: &StepAction| matches!(action, StepAction::Where { .. });
    let failed = conditions(is_check).into_iter();
    let failed = failed.map(|name| format!("{name} IS FALSE"));
    let bad: Vec<String> = failed.chain(odd.iter().cloned()).collect();
    let left_out = conditions(is_where).into_iter();
    let left_out: Vec<String> = left_out.map(|name| format!("{name} IS NOT TRUE")).collect();
    // DuckDB must call this function for each row, so DuckDB evaluates the condition after all expressions. Their
    // failures come first.
    const FAILS: &str = "THEN CAST(error('a row does not pass the steps') AS BOOLEAN)";
    let mut cases = [
        (bad, FAILS),
        (left_out, "THEN false"),
        (missing.to_vec(), FAILS),
    ];
    if cases
        .iter()
        .all(|(conditions, then)| conditions.is_empty() || *then != FAILS)
    {
        cases[0].0.push("random() < 0".to_owned());
    }
    let cases: Vec<String> = cases
        .iter()
        .filter(|(conditions, _)| !conditions.is_empty())
        .map(|(conditions, then)| format!(" WHEN {} {then}", conditions.join(" OR ")))
        .collect();
    let names: Vec<String> = loaded.iter().map(|name| identifier(name)).collect();
    let names = names.join(", ");
    format!(
        "SELECT {names} FROM ({}) WHERE CASE{} ELSE true END",
        builder.sql,
        cases.concat()
    )
}

/// An expression, the column that it derives, and the statement of the rows with the columns that it may name.
fn alone<'a>(
    planned: &'a Planned,
    from: &str,
    expression: usize,
) -> (&'a str, Option<&'a DerivedColumn>, String) {
    let mut builder = Builder::new(from);
    let mut first = 0;
    for step in &planned.steps {
        let count = match &step.action {
            StepAction::Derive(columns) => columns.len(),
            StepAction::Where { .. } | StepAction::Check { .. } | StepAction::Output(_) => 1,
        };
        if expression < first + count {
            let (sql, column) = match &step.action {
                StepAction::Derive(columns) => {
                    let column = &columns[expression - first];
                    (&column.sql, Some(column))
                }
                StepAction::Where { sql, .. } | StepAction::Check { sql, .. } => (sql, None),
                StepAction::Output(output) => (&output.sql, None),
            };
            return (sql, column, builder.sql);
        }
        // Conditions of these steps hold, so only their columns are needed.
        if let StepAction::Derive(columns) = &step.action {
            let made = columns.iter().map(|one| {
                format!(
                    "{} AS {}",
                    room::counted(&one.sql, &one.column_type),
                    identifier(&one.name)
                )
            });
            builder.add(made.collect());
        }
        first += count;
    }
    unreachable!("the expression is one of the plan")
}

/// An expression of a step.
struct Part<'a> {
    /// The name of its value.
    name: String,
    sql: &'a str,
    /// The column that it derives.
    column: Option<&'a DerivedColumn>,
}

impl Part<'_> {
    /// Its value as a part of a statement, with the bytes of its texts counted.
    fn counted(&self, value: &str) -> String {
        match self.column {
            Some(column) => room::counted(value, &column.column_type),
            None => value.to_owned(),
        }
    }
}

struct Builder {
    /// The statement with all steps that were added so far.
    sql: String,
    /// Conditions for a row that all steps so far have kept.
    alive: Vec<String>,
    /// The results.
    results: Vec<String>,
    /// The number of the next expression.
    next: usize,
}

impl Builder {
    fn new(from: &str) -> Builder {
        Builder {
            sql: format!("SELECT * FROM {from}"),
            alive: Vec::new(),
            results: Vec::new(),
            next: 0,
        }
    }

    fn all(mut self, planned: &Planned, is_careful: bool) -> String {
        self.nest(planned, is_careful);
        match self.results.is_empty() {
            // A statement has at least one result.
            true => format!("SELECT NULL FROM ({})", self.sql),
            false => format!("SELECT {} FROM ({})", self.results.join(", "), self.sql),
        }
    }

    /// Nests a SELECT for each step.
    fn nest(&mut self, planned: &Planned, is_careful: bool) {
        for step in &planned.steps {
            let of_condition = |sql| {
                vec![Part {
                    name: format!("{RESERVED}value_{}", self.next),
                    sql,
                    column: None,
                }]
            };
            let parts: Vec<Part<'_>> = match &step.action {
                StepAction::Derive(columns) => columns
                    .iter()
                    .map(|one| Part {
                        name: identifier(&one.name),
                        sql: &one.sql,
                        column: Some(one),
                    })
                    .collect(),
                StepAction::Where { sql, .. } | StepAction::Check { sql, .. } => of_condition(sql),
                // No step follows, so no condition for rows that are left is needed.
                StepAction::Output(output) => of_condition(&output.sql),
            };
            let values = self.values(&parts, is_careful);
            match (&step.action, values.first()) {
                (StepAction::Where { .. }, Some(value)) => {
                    self.alive.push(format!("{value} IS TRUE"));
                }
                (StepAction::Check { otherwise, .. }, Some(value))
                    if *otherwise != Otherwise::Warn =>
                {
                    self.alive.push(format!("{value} IS NOT FALSE"));
                }
                _ => {}
            }
        }
    }

    /// Adds the expressions of a step, and returns the names of their values.
    fn values(&mut self, parts: &[Part<'_>], is_careful: bool) -> Vec<String> {
        let alive = self.alive.join(" AND ");
        let gated = |sql: &str| match alive.is_empty() {
            true => sql.to_owned(),
            false => format!("CASE WHEN {alive} THEN {sql} END"),
        };
        let first = self.next;
        self.next += parts.len();
        if !is_careful {
            let made = parts.iter().map(|part| {
                let value = part.counted(&gated(part.sql));
                format!("{value} AS {}", part.name)
            });
            self.add(made.collect());
        } else {
            let tried = |at: usize| format!("{RESERVED}tried_{}", first + at);
            let failed = |at: usize| format!("{RESERVED}failed_{}", first + at);
            let made = parts.iter().enumerate().map(|(at, part)| {
                let sql = gated(&format!("TRY(list_value({}))", part.sql));
                format!("{sql} AS {}", tried(at))
            });
            self.add(made.collect());
            let mut taken = Vec::with_capacity(2 * parts.len());
            for (at, part) in parts.iter().enumerate() {
                let own = tried(at);
                let is_failed = match alive.is_empty() {
                    true => format!("{own} IS NULL"),
                    false => format!("({alive}) AND {own} IS NULL"),
                };
                // TRY allows no function that is called for each row.
                let value = part.counted(&format!("list_extract({own}, 1)"));
                taken.push(format!("{value} AS {}", part.name));
                taken.push(format!("{is_failed} AS {}", failed(at)));
            }
            self.add(taken);
            self.alive
                .extend((0..parts.len()).map(|at| format!("NOT {}", failed(at))));
        }
        for (at, part) in parts.iter().enumerate() {
            self.results.push(part.name.clone());
            if is_careful {
                self.results
                    .push(format!("{RESERVED}failed_{}", first + at));
            }
        }
        parts.iter().map(|part| part.name.clone()).collect()
    }

    fn add(&mut self, values: Vec<String>) {
        if !values.is_empty() {
            self.sql = format!("SELECT *, {} FROM ({})", values.join(", "), self.sql);
        }
    }
}
