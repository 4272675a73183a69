//! The values of a row of the ledger, each checked when it is read.

use inrush_destination::{Error, Result};

/// Reads the values of a row, one after the other.
pub struct Row<'a> {
    table: &'a str,
    values: std::vec::IntoIter<Option<String>>,
}

impl<'a> Row<'a> {
    /// The values of a row of a table.
    pub fn new(table: &'a str, values: Vec<Option<String>>) -> Row<'a> {
        Row {
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
        match self.values.next().flatten() {
            Some(value) => Ok(value),
            None => Err(self.odd(column, "NULL")),
        }
    }

    /// A number.
    pub fn number<T: std::str::FromStr>(&mut self, column: &str) -> Result<T> {
        let value = self.text(column)?;
        value.parse().map_err(|_| self.odd(column, &value))
    }

    /// A number, or NULL.
    pub fn number_or_null(&mut self, column: &str) -> Result<Option<i64>> {
        match self.values.next().flatten() {
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
}
