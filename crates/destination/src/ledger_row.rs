//! The values of a row of a ledger that is stored in tables. Each value is checked when it is read.

use inrush_rows::ids::{RunKey, RunName};

use crate::ledger_records::RunRecord;
use crate::{Error, Result};

/// Reads the values of a row, one after the other.
#[derive(Debug)]
pub struct LedgerRow<'a> {
    table: &'a str,
    values: std::vec::IntoIter<Option<String>>,
}

impl<'a> LedgerRow<'a> {
    /// The values of a row of a table.
    pub fn new(table: &'a str, values: Vec<Option<String>>) -> LedgerRow<'a> {
        LedgerRow {
            table,
            values: values.into_iter(),
        }
    }

    fn odd(&self, column: &str, value: &str) -> Error {
        Error::Ledger {
            what: format!("{column} of a row of {} is {value:?}", self.table),
            hint: "somebody or something changed the ledger: drop that row, or the whole ledger if no run in it has to be \
                   resumed"
                .to_owned(),
        }
    }

    /// A text.
    pub fn text(&mut self, column: &str) -> Result<String> {
        match self.text_or_null() {
            Some(value) => Ok(value),
            None => Err(self.odd(column, "NULL")),
        }
    }

    /// The next value, if it is not NULL.
    pub fn text_or_null(&mut self) -> Option<String> {
        self.values.next().flatten()
    }

    /// A number.
    pub fn number<T: std::str::FromStr>(&mut self, column: &str) -> Result<T> {
        let value = self.text(column)?;
        value.parse().map_err(|_| self.odd(column, &value))
    }

    /// A number, or NULL.
    pub fn number_or_null(&mut self, column: &str) -> Result<Option<i64>> {
        match self.text_or_null() {
            Some(value) => value
                .parse()
                .map(Some)
                .map_err(|_| self.odd(column, &value)),
            None => Ok(None),
        }
    }

    /// A value written as JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self, column: &str) -> Result<T> {
        let value = self.text(column)?;
        serde_json::from_str(&value).map_err(|_| self.odd(column, &value))
    }

    /// A value whose JSON is one text, written without its quotes.
    pub fn json_word<T: serde::de::DeserializeOwned>(&mut self, column: &str) -> Result<T> {
        let value = self.text(column)?;
        serde_json::from_value(serde_json::Value::String(value.clone()))
            .map_err(|_| self.odd(column, &value))
    }

    /// The run of a row that begins with `run_id`, `version`, and the fields of a [`RunRecord`] in its order.
    ///
    /// # Errors
    ///
    /// If the row has another version of the ledger than this one, or a value that no version has written.
    pub fn run_record(&mut self, ledger_version: u64) -> Result<RunRecord> {
        let run_id = self.number("run_id")?;
        let version: u64 = self.number("version")?;
        if version != ledger_version {
            return Err(Error::Ledger {
                what: format!(
                    "{} was written by another version of Inrush (version {version} of the ledger)",
                    self.table
                ),
                hint: "use that version, or name another schema for the ledger".to_owned(),
            });
        }
        Ok(RunRecord {
            run_id,
            name: RunName::new(self.text("name")?),
            run_key: RunKey::new(self.text("run_key")?),
            package: self.text("package")?,
            package_hash: self.text("package_hash")?,
            holder: self.text("holder")?,
            epoch: self.number("epoch")?,
            state: self.json_word("state")?,
            started_at_microseconds: self.number("started_at")?,
            switched_at_microseconds: self.number_or_null("switched_at")?,
            targets: self.json("targets")?,
        })
    }
}
