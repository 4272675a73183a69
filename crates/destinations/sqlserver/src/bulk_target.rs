//! The description of a table that rows are sent into by INSERT BULK.

use inrush_destination::{Error, Result};
use inrush_tds::RowMetadata;

use crate::catalog;
use crate::connection::SqlSession;
use crate::options::Options;
use crate::sql;

/// How rows are sent into a table.
#[derive(Clone, Debug)]
pub struct BulkTarget {
    /// The columns as the server describes them, in the order of the table.
    pub columns: RowMetadata,
    /// The index of each of these columns in a batch.
    pub places: Vec<usize>,
    /// The INSERT BULK statement.
    pub statement: String,
}

impl BulkTarget {
    /// Asks the server how it describes the columns of a table. A bulk load repeats the description, so types, collations and
    /// nullability agree (errors 4815 and 4816 otherwise). `names` are the columns of batches; the table has no others.
    pub fn ask<'a>(
        session: &mut SqlSession,
        table: &str,
        names: impl Iterator<Item = &'a str> + Clone,
        options: &Options,
    ) -> Result<BulkTarget> {
        let doing = format!("cannot read the columns of {table}");
        let own = catalog::catalog_columns(session, table)?;
        let question = format!("SELECT TOP (0) * FROM {table}");
        let described = session.run(&doing, &question)?.rowsets.into_iter().next();
        let columns = described
            .map(|rowset| rowset.columns)
            .ok_or_else(|| Error::Refused {
                doing: doing.clone(),
                message: "the server described no columns".to_owned(),
                hint: None,
            })?;
        // The catalog of Babelfish has names in lower case; results have them as they were written.
        let places = columns.columns().iter().map(|column| {
            let place = names.clone().position(|name| name == column.name);
            place.ok_or_else(|| Error::Refused {
                doing: doing.clone(),
                message: format!("it has a column {} that the plan does not have", column.name),
                hint: Some(
                    "somebody changed the staging table: run `inrush cleanup`, then the same command"
                        .to_owned(),
                ),
            })
        });
        let places = places.collect::<Result<Vec<usize>>>()?;
        let is_word = |text: &&String| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let described = columns.columns().iter().zip(&own);
        let described = described.map(|(column, own)| {
            let name = sql::identifier(&column.name);
            match own.catalog_type.collation.as_ref().filter(is_word) {
                Some(collation) => format!("{name} {} COLLATE {collation}", column.type_info),
                None => format!("{name} {}", column.type_info),
            }
        });
        let described: Vec<String> = described.collect();
        Ok(BulkTarget {
            statement: statement(table, &described.join(", "), options),
            columns,
            places,
        })
    }
}

/// The statement that begins a bulk load, with the described columns.
pub fn statement(table: &str, columns: &str, options: &Options) -> String {
    let mut hints = vec!["KEEP_NULLS".to_owned()];
    if options.table_lock {
        hints.push("TABLOCK".to_owned());
    }
    if let Some(rows) = options.rows_per_batch {
        hints.push(format!("ROWS_PER_BATCH = {rows}"));
    }
    format!(
        "INSERT BULK {table} ({columns}) WITH ({})",
        hints.join(", ")
    )
}
