//! The answer of a server to one message.

use inrush_tds::RowMetadata;

use crate::error::ServerMessage;

/// A value of a rowset.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// `bit`, or an integer.
    Integer(i64),
    /// A text.
    Text(String),
    /// A value of a type that this client does not read: the name of the type. The query should convert such values.
    Unread(String),
}

impl Value {
    /// The value as text, as queries of catalogs and ledgers need it; `None` for NULL.
    pub fn into_text(self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Integer(number) => Some(number.to_string()),
            Value::Text(text) => Some(text),
            Value::Unread(type_name) => Some(format!("({type_name})")),
        }
    }
}

/// The rows of a query.
#[derive(Clone, Debug)]
pub struct Rowset {
    /// Its columns.
    pub columns: RowMetadata,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}

impl Rowset {
    fn into_texts(self) -> Vec<Vec<Option<String>>> {
        let rows = self.rows.into_iter();
        rows.map(|row| row.into_iter().map(Value::into_text).collect())
            .collect()
    }
}

/// An answer without an error.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The rowsets, in their order.
    pub rowsets: Vec<Rowset>,
    /// The counts of rows that statements reported, in their order.
    pub counts: Vec<u64>,
    /// What a procedure returned, if one was called.
    pub return_status: Option<i32>,
    /// Messages that are not errors.
    pub notes: Vec<ServerMessage>,
}

impl Answer {
    /// The rows of the first rowset, as texts.
    pub fn into_rows(self) -> Vec<Vec<Option<String>>> {
        let first = self.rowsets.into_iter().next();
        first.map(Rowset::into_texts).unwrap_or_default()
    }

    /// The rows of each rowset, as texts.
    pub fn into_rows_of_each(self) -> Vec<Vec<Vec<Option<String>>>> {
        self.rowsets.into_iter().map(Rowset::into_texts).collect()
    }

    /// The last count of rows.
    pub fn count(&self) -> Option<u64> {
        self.counts.last().copied()
    }
}
