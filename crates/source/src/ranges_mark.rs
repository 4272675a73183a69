//! The ranges of a key that a run has loaded, for a source that finds unchanged ranges by count and sum of hashes.
//!
//! Each range is a separate input, and all have the same [mark](crate::Input::mark): the borders of all ranges. So the
//! ledger keeps the borders with the records of the rows, and a resumed run uses the same ranges even if the
//! statistics of the key have changed. The last range has no end, so rows that are added later belong to it.

use serde::{Deserialize, Serialize};

/// The ranges of a table or query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangesMark {
    /// The table or query, its server and its condition, in words. Only ranges with the same text are used again.
    pub of: String,
    /// The column of the key.
    pub column: String,
    /// The borders in ascending order, as the database writes them.
    pub borders: Vec<String>,
    /// The size of all ranges in bytes. It is kept, because an input of another size would count as another input.
    pub size_bytes: u64,
    /// The server's snapshot, as text. If another run finds the same, nothing was written in between.
    pub snapshot: String,
}

/// The settings of ranges that are compared by count and sum of hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvenRanges {
    /// [`RangesMark::of`].
    pub of: String,
    /// The ranges of earlier runs. The first ones that still fit are used again.
    pub known: Vec<RangesMark>,
}

impl RangesMark {
    /// The beginning of the mark of an input that is a range.
    pub const BEGINNING: &str = "ranges ";

    /// The ranges as the mark of an input.
    pub fn to_mark(&self) -> String {
        let text = serde_json::to_string(self).expect("texts can be written");
        format!("{}{text}", Self::BEGINNING)
    }

    /// The ranges of an input with this mark; `None` if it has none.
    pub fn from_mark(mark: &str) -> Option<RangesMark> {
        serde_json::from_str(mark.strip_prefix(Self::BEGINNING)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Existing ledgers have marks in this form.
    #[test]
    fn marks_stay_as_they_are() {
        let ranges = RangesMark {
            of: "sales.orders of h:5432 database crm".to_owned(),
            column: "id".to_owned(),
            borders: vec!["5".to_owned(), "9".to_owned()],
            size_bytes: 300,
            snapshot: "7:7:".to_owned(),
        };
        let mark = "ranges {\"of\":\"sales.orders of h:5432 database crm\",\"column\":\"id\",\
                    \"borders\":[\"5\",\"9\"],\"size_bytes\":300,\"snapshot\":\"7:7:\"}";
        assert_eq!(ranges.to_mark(), mark);
        assert_eq!(RangesMark::from_mark(mark), Some(ranges));
        assert_eq!(RangesMark::from_mark("7:7: xxh3:00"), None);
    }
}
