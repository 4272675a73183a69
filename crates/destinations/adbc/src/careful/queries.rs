//! The queries that find rows of a trial which the target's constraints refuse.

use inrush_destination::{ColumnPlan, Finds, RefusalCause, TrialTest, WriteMode};
use inrush_rows::reject::RejectCode;

use crate::constraints::{Check, UniqueKey, term};
use crate::sql;
use crate::staging::Staging;

/// The rows of a trial, which the queries read.
pub struct TrialRows<'a> {
    /// The staging table for them.
    pub staging: &'a Staging,
    /// The trial's table, as statements name it.
    pub table: &'a str,
    /// The column that numbers the rows of a batch.
    pub number: &'a str,
}

impl TrialRows<'_> {
    /// The rows of the trial as the target would hold them. They have the target's name as alias, because a CHECK may
    /// use it.
    fn rows(&self) -> String {
        format!(
            "(SELECT {}, {} FROM {}) AS {}",
            sql::identifier(self.number),
            self.staging.named_values().join(", "),
            self.table,
            sql::identifier(&self.staging.plan.name.name)
        )
    }

    /// Finds the rows that break a CHECK.
    pub fn of_check(&self, check: &Check) -> TrialTest {
        let plan = &self.staging.plan;
        let name = check.name.as_ref().map(|name| format!(" {name}"));
        TrialTest {
            query: format!(
                "SELECT {} FROM {} WHERE NOT ({})",
                sql::identifier(self.number),
                self.rows(),
                check.expression
            ),
            finds: Finds::Refused,
            cause: RefusalCause {
                column: check
                    .column
                    .as_deref()
                    .and_then(|name| place_of(&plan.columns, name)),
                code: RejectCode::CheckViolated,
                reason: format!(
                    "it breaks the constraint{} of {}, CHECK ({}): fix the row, or change the constraint",
                    name.unwrap_or_default(),
                    plan.name.sql,
                    check.expression
                ),
            },
        }
    }

    /// Finds the rows whose key another row has: a row of the target, of a unit that was staged before, or of the
    /// batch.
    pub fn of_key(&self, key: &UniqueKey) -> Vec<TrialTest> {
        let staging = self.staging;
        let number = sql::identifier(self.number);
        let rows = self.rows();
        let own = sql::identifier(&staging.plan.name.name);
        let equal: Vec<String> = key
            .columns
            .iter()
            .map(|column| format!("{} = {}", term("other", column), term(&own, column)))
            .collect();
        let equal = equal.join(" AND ");
        let terms: Vec<String> = key
            .columns
            .iter()
            .map(|column| term(&own, column))
            .collect();
        let terms = terms.join(", ");
        let known: Vec<String> = key
            .columns
            .iter()
            .map(|column| format!("{own}.{} IS NOT NULL", sql::identifier(&column.name)))
            .collect();
        let names: Vec<&str> = key
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let cause = RefusalCause {
            column: match key.columns.as_slice() {
                [column] => place_of(&staging.plan.columns, &column.name),
                _ => None,
            },
            code: RejectCode::DuplicateKey,
            reason: match staging.plan.merge {
                Some(_) => format!(
                    "an earlier row of the files has the same key ({}), by which rows are merged into {}; the first row is \
                     loaded. Remove this row, or fix its key",
                    names.join(", "),
                    staging.plan.name.sql
                ),
                None => format!(
                    "an earlier row of the files has the same key, or {} had it before (unique key of {}{}); the first row \
                     is loaded. Remove this row, or fix its key",
                    staging.plan.name.sql,
                    names.join(", "),
                    key.name
                        .as_ref()
                        .map_or(String::new(), |name| format!(", {name}"))
                ),
            },
        };
        let among = |others: &str| TrialTest {
            query: format!(
                "SELECT {own}.{number} FROM {rows} WHERE EXISTS (SELECT 1 FROM {others} AS other WHERE {equal})"
            ),
            finds: Finds::Refused,
            cause: cause.clone(),
        };
        let mut tests = Vec::new();
        if staging.plan.mode == WriteMode::Append {
            tests.push(among(&staging.plan.name.sql));
        }
        tests.push(among(&match staging.casts() {
            true => format!(
                "(SELECT {} FROM {})",
                staging.named_values().join(", "),
                staging.sql
            ),
            false => staging.sql.clone(),
        }));
        tests.push(TrialTest {
            query: format!(
                "SELECT row_number_of, key_number FROM (SELECT {own}.{number} AS row_number_of, \
                 dense_rank() OVER (ORDER BY {terms}) AS key_number, \
                 count(*) OVER (PARTITION BY {terms}) AS sharing FROM {rows} WHERE {}) AS keyed \
                 WHERE sharing > 1 ORDER BY row_number_of",
                known.join(" AND ")
            ),
            finds: Finds::Sharing,
            cause,
        });
        tests
    }
}

/// The index of a filled column. The databases here ignore the case of names, and no two columns differ only in case.
pub fn place_of(columns: &[ColumnPlan], name: &str) -> Option<usize> {
    let exact = columns.iter().position(|column| column.name == name);
    exact.or_else(|| {
        columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    })
}
