//! What a flow verifies: chosen by the plan, once.

use super::error::Difference;
use super::exact::ExactSum;
use super::form::ColumnForm;
use super::statements;
use crate::column::Column;
use crate::package::Verify;

/// What a flow verifies of each unit before its COMMIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyPlan {
    /// How much.
    pub level: Verify,
    /// The loaded columns, in the order of the batches.
    pub columns: Vec<VerifyColumn>,
    /// The database keeps texts in UTF-8, as we send them; in any other encoding it is asked for what
    /// they are in UTF-8.
    pub is_utf8: bool,
    /// Columns of numbers whose sums are held against what somebody promised of the files.
    pub summed: Vec<usize>,
}

/// A column that is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyColumn {
    /// Its name.
    pub name: String,
    /// How it is summed up and hashed.
    pub form: ColumnForm,
    /// Its type as the server writes it.
    pub type_sql: String,
}

impl VerifyPlan {
    /// The query that gives the server's side of a table; none where rows are only counted.
    pub fn statement(&self, table: &str) -> Option<String> {
        statements::compared(self, table)
    }

    /// The same columns by the hash of each row, whatever is verified of the whole. What the columns
    /// of `columns` have of a file's name or of its lines is left out: a file can be named in
    /// several ways.
    pub fn of_rows(&self, columns: &[Column]) -> VerifyPlan {
        let mut plan = VerifyPlan {
            level: Verify::Rows,
            is_utf8: self.is_utf8,
            columns: self.columns.clone(),
            summed: Vec::new(),
        };
        for (own, column) in plan.columns.iter_mut().zip(columns) {
            if column.source.field_index().is_none() {
                own.form = ColumnForm::Opaque;
            }
        }
        plan
    }

    /// The query for the hashes of each column, asked where rows differ.
    pub fn column_statement(&self, table: &str) -> String {
        statements::by_column(self, table)
    }

    /// What is summed up, by its column and in words. The server's answers are the first of them:
    /// of rows it is asked for the hashes of single columns only where they differ.
    pub(super) fn items(&self) -> Vec<(Option<usize>, &'static str)> {
        let mut items = vec![(None, "rows")];
        match self.level {
            Verify::Count => {}
            Verify::Sums => {
                for (index, column) in self.columns.iter().enumerate() {
                    items.push((Some(index), "values"));
                    let measures = column.form.measures().iter();
                    items.extend(measures.map(|measure| (Some(index), *measure)));
                }
            }
            Verify::Rows => {
                items.push((None, "hash of all rows"));
                let columns = 0..self.columns.len();
                items.extend(columns.map(|index| (Some(index), "hash of all values")));
            }
        }
        for index in &self.summed {
            items.push((Some(*index), "values"));
            let measures = self.columns[*index].form.measures().iter();
            items.extend(measures.map(|measure| (Some(*index), *measure)));
        }
        items
    }

    /// The sum of a column that is one of `summed`.
    pub fn sum_of(&self, items: &[ExactSum], name: &str) -> Option<ExactSum> {
        let wanted = self.columns.iter().position(|column| column.name == name)?;
        let lengths = |index: &usize| 1 + self.columns[*index].form.measures().len();
        let place = self.summed.iter().position(|index| *index == wanted)?;
        let from_end: usize = self.summed[place..].iter().map(lengths).sum();
        // The count stands before the sum.
        items.get(items.len().checked_sub(from_end)? + 1).cloned()
    }

    /// The sums of several tallies; none where one of them is not of this plan.
    pub fn total<'a>(
        &self,
        tallies: impl Iterator<Item = Option<&'a [String]>>,
    ) -> Option<Vec<ExactSum>> {
        let mut sums = vec![ExactSum::default(); self.items().len()];
        for tally in tallies {
            let tally = tally.filter(|tally| tally.len() == sums.len())?;
            for (sum, text) in sums.iter_mut().zip(tally) {
                if !sum.add_text(text) {
                    return None;
                }
            }
        }
        Some(sums)
    }

    /// Where the server's answer to [`VerifyPlan::statement`] differs from what was sent.
    pub fn differences(&self, sent: &[ExactSum], answer: &[String]) -> Vec<Difference> {
        self.compare(sent, answer, 0)
    }

    /// The same of [`VerifyPlan::column_statement`].
    pub fn column_differences(&self, sent: &[ExactSum], answer: &[String]) -> Vec<Difference> {
        self.compare(sent, answer, 2)
    }

    fn compare(&self, sent: &[ExactSum], answer: &[String], from: usize) -> Vec<Difference> {
        let items = self.items();
        let mut found = Vec::new();
        for ((sent, (column, measure)), stored) in sent.iter().zip(items).skip(from).zip(answer) {
            let mut number = ExactSum::default();
            if !number.add_text(stored) || number != *sent {
                found.push(Difference {
                    column: column.map(|index| self.columns[index].name.clone()),
                    measure,
                    stored: stored.clone(),
                    sent: sent.to_string(),
                });
            }
        }
        found
    }

    /// What a person who reads the plan should know of it, a line each.
    pub fn words(&self) -> Vec<String> {
        let mut lines = vec![
            match self.level {
                Verify::Count => "verified: the rows of each unit are counted (`count`)",
                Verify::Sums => {
                    "verified: counts and sums of each column (`sums`); the server reads each unit \
                     once more"
                }
                Verify::Rows => {
                    "verified: a hash of every value of every row (`rows`); the server reads and \
                     hashes each unit once more"
                }
            }
            .to_owned(),
        ];
        let is_counted_only = |column: &&VerifyColumn| match self.level {
            Verify::Count => false,
            Verify::Sums => column.form.measures().is_empty(),
            Verify::Rows => column.form == ColumnForm::Opaque,
        };
        let counted: Vec<String> = self
            .columns
            .iter()
            .filter(is_counted_only)
            .map(|column| format!("{} {}", column.name, column.type_sql))
            .collect();
        if !counted.is_empty() {
            lines.push(format!(
                "of these it is verified only which are NULL, since the server alone makes their \
                 values: {}",
                counted.join(", ")
            ));
        }
        lines
    }
}
