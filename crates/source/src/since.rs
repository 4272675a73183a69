//! The range of an incremental load: which values of a column a run has loaded.
//!
//! An input with such a range has it as its [mark](crate::Input::mark), so the ledger keeps it with the records of the rows.
//! The range of the newest run whose rows are in their target says where the next run begins.
//!
//! Each source finds the bound of a range by its own means; this module makes the range from the bound.

use std::path::Path;

use inrush_rows::sql_text::identifier;
use serde::{Deserialize, Serialize};

use crate::error::{SourceError, input_error, unsuitable};

/// The values of a column that a run loads: from `from` on, and below `below`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceRange {
    /// The table or query, and its server, in words. Only ranges with the same text are used.
    pub of: String,
    /// The column.
    pub column: String,
    /// The smallest value, in the source's own form; `None` if rows are loaded from the beginning.
    pub from: Option<String>,
    /// Every loaded value is smaller; the next run begins with this value.
    pub below: String,
    /// The text with which the command has set `from`; `None` if it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The transactions that the server's snapshot shows. If another run finds the same, nothing was written in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

impl SinceRange {
    /// The text with which the mark of an input with a range begins.
    pub const BEGINNING: &str = "since ";

    /// The range as the mark of an input.
    pub fn to_mark(&self) -> String {
        let text = serde_json::to_string(self).expect("texts can be written");
        format!("{}{text}", Self::BEGINNING)
    }

    /// The range of an input with this mark; `None` if it has none.
    pub fn from_mark(mark: &str) -> Option<SinceRange> {
        serde_json::from_str(mark.strip_prefix(Self::BEGINNING)?).ok()
    }
}

/// The condition, as in WHERE, for times from `from` on and before `below`. `compared` writes a comparison with an
/// operator and a mark.
pub fn range_condition(
    from: Option<&str>,
    below: &str,
    compared: impl Fn(&str, &str) -> String,
) -> String {
    let from = from.map(|from| compared(">=", from));
    let conditions = from.into_iter().chain([compared("<", below)]);
    conditions.collect::<Vec<_>>().join(" AND ")
}

/// The settings of an incremental load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The column.
    pub column: String,
    /// The smallest value that is loaded, as a person or an earlier run has written it; `None` to load from the first row.
    pub from: Option<String>,
    /// How the bound is found.
    pub bound_by: BoundBy,
    /// True if rows without a value are left out; otherwise they are refused.
    pub skips_nulls: bool,
    /// The table or query and its server, in words, for the range that the ledger keeps.
    pub of: String,
    /// The text of `from`, if the command gave it.
    pub given: Option<String>,
    /// The ranges from which a stopped run has loaded rows.
    pub stopped: Vec<SinceRange>,
}

/// The type of a column that has no times with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOfSince {
    /// A date, or a time without its zone.
    TimeWithoutZone,
    /// A number.
    Number,
    /// A type that has nothing to do with time.
    Other,
}

/// How the bound is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundBy {
    /// The database is asked up to which value all rows are committed.
    Committed,
    /// The longest time from a value to the commit of its row, as an interval in SQL.
    Lag(String),
}

/// The range that is loaded, and facts about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRange {
    /// The range.
    pub range: SinceRange,
    /// The condition on the rows, as in WHERE.
    pub condition: String,
    /// True if the range has at least one row.
    pub has_rows: bool,
    /// The number of tables whose new rows are found by an index: each of them is read by one stream.
    pub by_index: usize,
    /// Why the bound is safe, as words that follow the words about the range; `None` if there is nothing to say.
    pub is_safe_because: Option<String>,
    /// The reason why later rows are left to a later run, in words: such as the transaction whose start is the bound.
    pub held_by: Option<String>,
    /// A place, in words: after a write to it, a stopped run gets a new bound. `None` if a stopped run always gets a
    /// new bound.
    pub written_to: Option<&'static str>,
    /// True if it is the range of a stopped run and nothing was written since, so that the rows that the stopped run
    /// has loaded can be kept.
    pub is_resumed: bool,
}

impl Since {
    /// The range from `start` to `bound`, and true if it is the range of a stopped run whose rows can be kept. Both
    /// values are in the form of marks, which sorts by time. `snapshot` is a text that differs after the database was
    /// written to.
    pub fn range(
        &self,
        start: Option<String>,
        bound: &str,
        snapshot: &str,
        input: &Path,
    ) -> Result<(SinceRange, bool), SourceError> {
        // The next run begins at the bound, so rows between the mark and the bound would never be loaded.
        if let (Some(start), Some(given)) = (&start, &self.given)
            && start.as_str() > bound
        {
            return Err(unsuitable(
                input,
                format!("--from `{given}` is after {bound}, up to which this run may load"),
                "give an earlier time, or leave out --from to load from the mark on",
            ));
        }
        // A bound may be earlier than the last one, as with a longer `lag`. The mark never goes back, because rows
        // would then be loaded twice.
        let below = match &start {
            Some(start) if start.as_str() > bound => start.clone(),
            _ => bound.to_owned(),
        };
        // Nothing was written, so the rows below both bounds are the same, and each has the same place.
        let resumed = self.stopped.iter().find(|range| {
            range.of == self.of
                && range.column == self.column
                && range.from == start
                && range.given == self.given
                && range.snapshot.as_deref() == Some(snapshot)
                && range.below <= below
        });
        let range = SinceRange {
            of: self.of.clone(),
            column: self.column.clone(),
            from: start,
            below: resumed.map_or(below, |range| range.below.clone()),
            given: self.given.clone(),
            snapshot: Some(snapshot.to_owned()),
        };
        Ok((range, resumed.is_some()))
    }

    /// Refuses a `lag` without a unit.
    pub fn refuse_bare_number(lag: &str, input: &Path) -> Result<(), SourceError> {
        if lag.trim() != "0" && lag.trim().parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(unsuitable(
                input,
                format!("`lag = \"{lag}\"` of `since` has no unit"),
                format!("write seconds, minutes or hours, such as lag = \"{lag} minutes\""),
            ));
        }
        Ok(())
    }

    /// The seconds of a `lag`, for a database that cannot read an interval of PostgreSQL.
    pub fn lag_seconds(lag: &str, input: &Path) -> Result<u64, SourceError> {
        Since::refuse_bare_number(lag, input)?;
        seconds_of(lag).ok_or_else(|| {
            unsuitable(
                input,
                format!("`lag = \"{lag}\"` of `since` is not a length of time"),
                "write a time in seconds, minutes, hours or days, such as lag = \"5 minutes\"",
            )
        })
    }

    /// The refusal of rows without a value. `column` is written as in SQL, and `count` is their number.
    pub fn without_value(input: &Path, column: &str, count: &str) -> SourceError {
        input_error(
            input,
            format!(
                "{count} of its rows have no value in {column}, so no run with `since` would load them"
            ),
            "give them a value and make the column NOT NULL, or leave these rows out with nulls = \"skip\" in `since`",
        )
    }

    /// The refusal of a column whose values do not say when their rows are committed. `type_name` is its type in words, and
    /// `wanted` the type that the database needs.
    pub fn unsuitable_column(
        &self,
        input: &Path,
        type_name: &str,
        kind: ColumnOfSince,
        wanted: &str,
    ) -> SourceError {
        let column = identifier(&self.column);
        let (reason, fix) = match kind {
            ColumnOfSince::TimeWithoutZone => (
                "whose moment depends on the time zone of the session that wrote it",
                format!(
                    "read a query that has the zone in a column {column} AT TIME ZONE 'UTC' AS changed, and name that \
                     column"
                ),
            ),
            ColumnOfSince::Number => (
                "and numbers of a sequence are committed in any order: a smaller one may come later",
                "name a column with the time of the last change, filled by now()".to_owned(),
            ),
            ColumnOfSince::Other => (
                "which does not say when a row was written",
                "name a column with the time of the last change, filled by now()".to_owned(),
            ),
        };
        unsuitable(
            input,
            format!("{column} is of type {type_name}, {reason}"),
            format!("{fix}; `since` needs a column of type {wanted}"),
        )
    }

    /// The refusal of a value at which no range can begin.
    pub fn no_start(input: &Path, text: &str) -> SourceError {
        unsuitable(
            input,
            format!("`since` cannot begin at `{text}`"),
            "write a time of the years 1 to 9999, such as \"2026-01-01\", or leave `from` out to load all rows",
        )
    }
}

/// The seconds of a time such as `5 minutes` or `1 hour 30 minutes`; `None` if the text is not such a time.
fn seconds_of(lag: &str) -> Option<u64> {
    if lag.trim() == "0" {
        return Some(0);
    }
    let words: Vec<&str> = lag.split_whitespace().collect();
    let pairs = words.chunks(2).map(|pair| {
        let [number, unit] = pair else { return None };
        let unit = match unit.to_lowercase().trim_end_matches('s') {
            "second" | "sec" => 1,
            "minute" | "min" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit)
    });
    let all: Vec<u64> = pairs.collect::<Option<_>>()?;
    let sum = all.iter().try_fold(0u64, |sum, one| sum.checked_add(*one));
    sum.filter(|_| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_has_numbers_with_units() {
        for (lag, seconds) in [
            ("5 minutes", Some(300)),
            (" 1 Hour  30 min ", Some(5_400)),
            ("2 days", Some(172_800)),
            ("0", Some(0)),
            ("0 seconds", Some(0)),
            ("", None),
            ("5", None),
            ("-5 minutes", None),
            ("5 minutes 3", None),
            ("a month", None),
            ("99999999999999999999 days", None),
            ("18446744073709551615 days", None),
        ] {
            assert_eq!(seconds_of(lag), seconds, "{lag}");
        }
    }

    /// Existing ledgers have marks in this form.
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

    fn since(from: &str, given: Option<&str>, stopped: &[SinceRange]) -> Since {
        Since {
            column: "at".to_owned(),
            from: Some(from.to_owned()),
            bound_by: BoundBy::Committed,
            skips_nulls: false,
            of: "t".to_owned(),
            given: given.map(str::to_owned),
            stopped: stopped.to_vec(),
        }
    }

    #[test]
    fn a_mark_never_goes_back_and_a_given_value_is_not_after_the_bound() {
        let input = Path::new("t");
        let asked = since("2026-02", None, &[]);
        let (range, is_resumed) = asked
            .range(Some("2026-02".to_owned()), "2026-01", "s", input)
            .expect("nothing to load");
        assert_eq!(
            (range.below.as_str(), is_resumed),
            ("2026-02", false),
            "{range:?}"
        );
        let asked = since("2026-02", Some("2026-02"), &[]);
        let error = asked.range(Some("2026-02".to_owned()), "2026-01", "s", input);
        let error = error.expect_err("after the bound").to_string();
        assert!(
            error.contains("--from `2026-02` is after 2026-01"),
            "{error}"
        );
    }

    #[test]
    fn a_stopped_range_is_taken_again_if_nothing_was_written() {
        let input = Path::new("t");
        let start = || Some("2026-01".to_owned());
        let first = since("2026-01", None, &[]);
        let (stopped, _) = first
            .range(start(), "2026-03", "s", input)
            .expect("a range");
        for (bound, snapshot, expected) in [
            ("2026-04", "s", ("2026-03", true)),
            ("2026-04", "t", ("2026-04", false)),
            ("2026-02", "s", ("2026-02", false)),
        ] {
            let again = since("2026-01", None, std::slice::from_ref(&stopped));
            let (range, is_resumed) = again
                .range(start(), bound, snapshot, input)
                .expect("a range");
            assert_eq!((range.below.as_str(), is_resumed), expected);
        }
    }
}
