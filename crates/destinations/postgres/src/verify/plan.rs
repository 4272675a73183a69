//! The comparisons that are made for each unit. The plan chooses them once.

use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::Difference;
use inrush_destination::sums::{ColumnForm, ExactSum};
use inrush_package::Verify;
use inrush_plan::verify::{BatchSums, ColumnSums, DestinationSums, VerifyPlan};
use inrush_rows::column::Column;

use super::hash::of_row_hash;
use super::rows;

/// The comparison of each unit before its COMMIT.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The level of verification.
    pub level: Verify,
    /// The loaded columns, in the order of the batches.
    pub columns: Vec<ComparedColumn>,
    /// The database stores texts in UTF-8, as we send them; a database in another encoding converts them to UTF-8 for
    /// the comparison.
    pub is_utf8: bool,
}

/// A column that is compared.
#[derive(Clone, Debug)]
pub struct ComparedColumn {
    /// Its name.
    pub name: String,
    /// How it is summed up and hashed.
    pub form: ColumnForm,
    /// Its type as the server writes it.
    pub type_sql: String,
}

impl Comparison {
    /// The sums that must be made while rows are sent; `None` if rows are only counted.
    pub fn sums(self: &Arc<Comparison>) -> Option<Arc<dyn DestinationSums>> {
        match self.level {
            Verify::Count => None,
            Verify::Sums | Verify::Rows => Some(Arc::clone(self) as Arc<dyn DestinationSums>),
        }
    }

    /// The plan of a tally that is made for nothing but this comparison.
    pub fn alone(self: &Arc<Comparison>) -> VerifyPlan {
        VerifyPlan {
            columns: Vec::new(),
            summed: Vec::new(),
            destination: self.sums(),
        }
    }

    /// The comparison of the same columns by the hash of each row, whatever the level of this comparison is. The values
    /// of columns that hold a file's name or line are not compared, because a file can be named in several ways.
    pub fn of_rows(&self, columns: &[Column]) -> Comparison {
        let mut rows = Comparison {
            level: Verify::Rows,
            ..self.clone()
        };
        for (own, column) in rows.columns.iter_mut().zip(columns) {
            if column.source.field_index().is_none() {
                own.form = ColumnForm::Opaque;
            }
        }
        rows
    }

    fn forms(&self) -> impl Iterator<Item = ColumnForm> {
        self.columns.iter().map(|column| column.form)
    }

    /// The items of the comparison: the column of each, and a name in words. The server's first answers are about these
    /// items. It is asked for the hashes of single columns only if the hashes of rows differ.
    fn items(&self) -> Vec<(Option<usize>, &'static str)> {
        let mut items = vec![(None, "rows")];
        match self.level {
            Verify::Count => {}
            Verify::Sums => {
                let measures = ColumnSums::measures(self.forms());
                items.extend(measures.map(|(index, measure)| (Some(index), measure)));
            }
            Verify::Rows => {
                items.push((None, "hash of all rows"));
                let columns = 0..self.columns.len();
                items.extend(columns.map(|index| (Some(index), "hash of all values")));
            }
        }
        items
    }

    /// The items in which the database's answer differs from the sums of the sent rows.
    pub fn differences(&self, sent: &[ExactSum], answer: &[String]) -> Vec<Difference> {
        self.compare(sent, answer, 0)
    }

    /// The columns in which the database's hashes differ.
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

    /// The comparison in words for the plan, one line each.
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
        let is_counted_only = |column: &&ComparedColumn| match self.level {
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
                "only the NULLs of these columns are verified, because only the server reads their \
                 values: {}",
                counted.join(", ")
            ));
        }
        lines
    }
}

impl DestinationSums for Comparison {
    fn count(&self) -> usize {
        // The engine counts rows in any case.
        self.items().len() - 1
    }

    fn begin(self: Arc<Self>) -> Box<dyn BatchSums> {
        Box::new(OurSide {
            comparison: self,
            row_hashes: Vec::new(),
            scratch: Vec::new(),
        })
    }
}

/// Creates the sums of our side.
#[derive(Debug)]
struct OurSide {
    comparison: Arc<Comparison>,
    /// The hashes of a batch's rows. The memory of this field is used again for each batch.
    row_hashes: Vec<u64>,
    scratch: Vec<u8>,
}

impl BatchSums for OurSide {
    fn add(&mut self, batch: &RecordBatch, items: &mut [ExactSum]) {
        match self.comparison.level {
            Verify::Count => {}
            Verify::Sums => ColumnSums::add(self.comparison.forms(), batch, items),
            Verify::Rows => {
                let columns = self.comparison.columns.iter().zip(batch.columns());
                self.row_hashes.clear();
                self.row_hashes.resize(batch.num_rows(), 0);
                let (all, by_column) = items.split_first_mut().expect("rows are hashed");
                for ((column, array), item) in columns.zip(by_column) {
                    let hashes = &mut self.row_hashes;
                    item.add(rows::add(column.form, array, hashes, &mut self.scratch));
                }
                let hashes = self.row_hashes.iter();
                all.add(
                    hashes
                        .map(|hash| i128::from(of_row_hash(*hash) as i64))
                        .sum(),
                );
            }
        }
    }
}
