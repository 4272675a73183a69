//! The range of an incremental load: which values of a column a run has loaded.
//!
//! An input with such a range has it as its [mark](crate::Input::mark), so the ledger keeps it with the records of the rows.
//! The range of the newest run whose rows are in their target says where the next run begins.

use serde::{Deserialize, Serialize};

/// The text with which the mark of an input with a range begins.
const BEGINNING: &str = "since ";

/// The values of a column that a run loads: from one, and below another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceRange {
    /// The table or query, and its server, in words. Ranges of another one say nothing about this one.
    pub of: String,
    /// The column.
    pub column: String,
    /// The smallest value, in the source's own form; `None` if rows are loaded from the beginning.
    pub from: Option<String>,
    /// Every loaded value is smaller; the next run begins with it.
    pub below: String,
    /// The text with which the command has set `from`, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The transactions that the server's snapshot shows. If another run finds the same, nothing was written in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

impl SinceRange {
    /// The range as the mark of an input.
    pub fn to_mark(&self) -> String {
        let text = serde_json::to_string(self).expect("texts can be written");
        format!("{BEGINNING}{text}")
    }

    /// The range of an input with this mark; `None` if it has none.
    pub fn from_mark(mark: &str) -> Option<SinceRange> {
        serde_json::from_str(mark.strip_prefix(BEGINNING)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ledgers have this form.
    #[test]
    fn marks_stay_as_they_are() {
        let range = SinceRange {
            of: "sales.orders of h:5432 database crm".to_owned(),
            column: "updated_at".to_owned(),
            from: None,
            below: "2026-01-02T00:00:00.000000Z".to_owned(),
            given: None,
            snapshot: None,
        };
        let mark = "since {\"of\":\"sales.orders of h:5432 database crm\",\"column\":\"updated_at\",\
                    \"from\":null,\"below\":\"2026-01-02T00:00:00.000000Z\"}";
        assert_eq!(range.to_mark(), mark);
        assert_eq!(SinceRange::from_mark(mark), Some(range));
        assert_eq!(SinceRange::from_mark("123:124:"), None);
        assert_eq!(SinceRange::from_mark("since yesterday"), None);
    }
}
