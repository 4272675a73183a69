//! The range of an incremental load (`since`) of DuckDB and SQLite: which bound is safe, and the condition on the rows.
//!
//! # Why no row is lost
//!
//! A row counts as loaded once the mark is above its value, so a row with a smaller value must not be committed later. The values
//! must be times that are taken in the transaction that writes them. Then it is enough to know which transactions are open:
//!
//! - DuckDB: none. Its lock keeps writers out while the file is read, so every later transaction begins after all rows
//!   that this run reads were committed. The bound is one microsecond after the greatest value. The clock of this
//!   machine is not used for it, because another machine may have written the file.
//! - SQLite: at most one, which began to write after the last commit. It may still write rows with the greatest value
//!   that this run sees, because `CURRENT_TIMESTAMP` has only seconds. So the bound is the greatest value, and rows
//!   with this value are loaded by a run that finds later values.
//! - Other databases: nothing is known about their transactions. `since_standard` asks for the database's time, and
//!   `lag` is needed.
//!
//! Rows with values in the future are left to a later run. Otherwise a wrong value, such as the year 2999, would move
//! the mark there, and later runs would find no rows.

use std::path::Path;

use arrow_schema::{DataType, TimeUnit};
use inrush_rows::plural::counted;
use inrush_rows::sql_text::identifier;
use inrush_source::{
    BoundBy, ColumnOfSince, FoundRange, Since, SourceError, input_error, range_condition,
    unsuitable,
};

use crate::columns::{Column, ROWS, literal};
use crate::database::Vendor;
use crate::error::Refused;
use crate::session::Session;

/// The format of marks for DuckDB's `strftime`.
const DUCKDB_FORM: &str = "'%Y-%m-%dT%H:%M:%S.%fZ'";
/// The format of marks for SQLite's `strftime`.
const SQLITE_FORM: &str = "'%Y-%m-%dT%H:%M:%fZ'";
/// The years 1 to 9999 in microseconds from 1970 on: texts of other years do not sort by time.
const DUCKDB_YEARS: &str = "-62135596800000000 AND 253402300799999999";

/// The rows of an incremental flow, before a range is chosen.
pub struct Read<'a> {
    /// The kind of the database.
    pub vendor: Vendor,
    /// The text after FROM.
    pub from: &'a str,
    /// The name in messages.
    pub input: &'a Path,
    /// True if no transaction that writes is open, and none begins while the source is open.
    pub keeps_writers_out: bool,
    /// A text that differs after the database was written to.
    pub snapshot: &'a str,
}

/// The SQL of a kind of database. A moment is a number or a text that sorts by time.
struct Words {
    /// The moment in a column; NULL if its value is not a time of the years 1 to 9999.
    time: fn(column: &str) -> String,
    /// The current moment.
    now: &'static str,
    /// The current moment minus a length of time that a user has written; NULL if the length is invalid or negative.
    before_now: fn(lag: &str) -> String,
    /// The mark of a moment.
    mark: fn(time: &str) -> String,
    /// The condition that compares a column with a mark.
    compared: fn(column: &str, operator: &str, mark: &str) -> String,
    /// The moment in a value that a user has written. A value without a zone is in UTC.
    written: fn(text: &str) -> String,
}

const DUCKDB: Words = Words {
    time: |column| {
        format!("CASE WHEN epoch_us({column}) BETWEEN {DUCKDB_YEARS} THEN epoch_us({column}) END")
    },
    now: "epoch_us(now())",
    before_now: |lag| {
        let lag = format!("CAST({} AS INTERVAL)", literal(lag));
        format!(
            "CASE WHEN {lag} >= INTERVAL 0 SECOND THEN epoch_us(make_timestamp(epoch_us(now())) - {lag}) END"
        )
    },
    mark: |time| format!("strftime(make_timestamp({time}), {DUCKDB_FORM})"),
    compared: |column, operator, mark| {
        format!("{column} {operator} CAST({} AS TIMESTAMPTZ)", literal(mark))
    },
    written: |text| {
        let time = format!("epoch_us(CAST({} AS TIMESTAMPTZ))", literal(text));
        format!("CASE WHEN {time} BETWEEN {DUCKDB_YEARS} THEN {time} END")
    },
};

const SQLITE: Words = Words {
    time: sqlite_time,
    now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    before_now: |lag| {
        let lag = match lag.trim() {
            "0" => "0 seconds",
            lag => lag,
        };
        format!(
            "strftime({SQLITE_FORM}, 'now', {})",
            literal(&format!("-{lag}"))
        )
    },
    mark: str::to_owned,
    compared: |column, operator, mark| {
        format!("{} {operator} {}", sqlite_time(column), literal(mark))
    },
    written: |text| sqlite_time(&literal(text)),
};

/// A text such as `2026-01-02 03:04:05`. SQLite's functions also take numbers, times without a date and `now`.
fn sqlite_time(value: &str) -> String {
    format!(
        "CASE WHEN typeof({value}) = 'text' AND {value} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' \
         THEN strftime({SQLITE_FORM}, {value}) END"
    )
}

/// The answer to a query about all rows, with the time at which the database gave it.
struct Seen {
    nulls: u64,
    not_times: u64,
    to_come: u64,
    now: String,
    bound: Option<String>,
}

/// Finds the range in the transaction in which the rows are read.
pub fn find_range(
    session: &mut Session,
    since: &Since,
    read: &Read<'_>,
    refused: Refused<'_>,
) -> Result<FoundRange, SourceError> {
    let Read { from, input, .. } = *read;
    let words = match read.vendor {
        Vendor::DuckDb => DUCKDB,
        Vendor::Sqlite => SQLITE,
        // Its range is found by `since_standard`.
        Vendor::Other => unreachable!("nothing is known about its transactions"),
    };
    // SQLite reads an unknown name in quotes as a text, but not after the alias of the rows.
    let column = format!("{ROWS}.{}", identifier(&since.column));
    let from = format!("{from} AS {ROWS}");
    refuse_type(session, since, &column, &from, read, refused)?;
    let start = match &since.from {
        Some(text) => Some(start(session, &words, text, input, refused)?),
        None => None,
    };
    let seen = look(session, since, &words, &column, &from, read, refused)?;
    refuse_values(since, read, &seen)?;
    let bound = match (&seen.bound, &start) {
        (Some(bound), _) => bound.clone(),
        // If there are no rows, the next run begins at the same value as this run.
        (None, Some(start)) => start.clone(),
        (None, None) => "0001-01-01T00:00:00.000Z".to_owned(),
    };
    let held_by = held_by(since, read, &seen, start.as_deref());
    let (range, is_resumed) = since.range(start, &bound, read.snapshot, input)?;
    let own = identifier(&since.column);
    let condition_on = |column: &str| {
        range_condition(range.from.as_deref(), &range.below, |operator, mark| {
            (words.compared)(column, operator, mark)
        })
    };
    let exists = format!(
        "SELECT count(*) FROM (SELECT 1 FROM {from} WHERE {} LIMIT 1) AS q",
        condition_on(&column)
    );
    let doing = "looking for rows that are new";
    let found = session.rows(&exists);
    let found = found.map_err(|error| refused(doing, &error))?;
    let condition = match read.vendor {
        Vendor::Sqlite => condition_on(&column),
        _ => condition_on(&own),
    };
    Ok(FoundRange {
        has_rows: found.into_iter().flatten().flatten().next().as_deref() == Some("1"),
        condition,
        by_index: 0,
        is_safe_because: safe_because(since, read),
        held_by,
        written_to: Some("the file of the source"),
        range,
        is_resumed,
    })
}

/// The condition, as in WHERE, of times from a value (given by the user or by an earlier run) up to a mark, which is not included.
/// `None` if nothing is known about the times of the database.
pub fn times_in_range(
    vendor: Vendor,
    column: &str,
    from: Option<&str>,
    below: &str,
) -> Option<String> {
    let column = identifier(column);
    match vendor {
        Vendor::DuckDb => Some(range_condition(from, below, |operator, mark| {
            (DUCKDB.compared)(&column, operator, mark)
        })),
        Vendor::Sqlite => Some(range_condition(from, below, |operator, time| {
            format!(
                "{} {operator} {}",
                sqlite_time(&column),
                (SQLITE.written)(time)
            )
        })),
        Vendor::Other => None,
    }
}

/// Queries all rows once, so that all figures are of the same moment.
fn look(
    session: &mut Session,
    since: &Since,
    words: &Words,
    column: &str,
    from: &str,
    read: &Read<'_>,
    refused: Refused<'_>,
) -> Result<Seen, SourceError> {
    let Words { now, .. } = words;
    let greatest = format!("max(t) FILTER (WHERE t <= {now})");
    let bound = match (&since.bound_by, read.vendor) {
        (BoundBy::Lag(lag), _) => {
            Since::refuse_bare_number(lag, read.input)?;
            (words.before_now)(lag)
        }
        (BoundBy::Committed, Vendor::DuckDb) => format!("{greatest} + 1"),
        (BoundBy::Committed, _) => greatest,
    };
    if since.bound_by == BoundBy::Committed && !may_ask_for_the_bound(read) {
        return Err(unsuitable(
            read.input,
            "this load also writes to its file, so Inrush cannot tell which rows will be committed later",
            "load into another file, or set `lag` in `since`, such as lag = \"5 minutes\"",
        ));
    }
    let sql = format!(
        "SELECT count(*) - count(v), count(v) - count(t), count(*) FILTER (WHERE t > {now}), {}, {} \
         FROM (SELECT {column} AS v, {} AS t FROM {from}) AS q",
        (words.mark)(now),
        (words.mark)(&bound),
        (words.time)(column),
    );
    let found = session.rows(&sql);
    let found = found.map_err(|error| refused("looking for rows that are new", &error))?;
    let mut found = found.into_iter().flatten();
    let mut next = || found.next().flatten();
    let mut number = || next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (nulls, not_times, to_come) = (number(), number(), number());
    let (now, bound) = (next().unwrap_or_default(), next());
    if let (None, BoundBy::Lag(lag)) = (&bound, &since.bound_by) {
        return Err(unsuitable(
            read.input,
            format!("`lag = \"{lag}\"` of `since` gives no bound"),
            "write a time such as lag = \"5 minutes\"",
        ));
    }
    Ok(Seen {
        nulls,
        not_times,
        to_come,
        now,
        bound,
    })
}

/// True if, from the way in which the database commits, it is known up to which value all rows are committed.
fn may_ask_for_the_bound(read: &Read<'_>) -> bool {
    match read.vendor {
        Vendor::DuckDb => read.keeps_writers_out,
        Vendor::Sqlite => true,
        Vendor::Other => false,
    }
}

/// Why no row with a smaller value is committed later, for the plan.
fn safe_because(since: &Since, read: &Read<'_>) -> Option<String> {
    let words = match (&since.bound_by, read.vendor) {
        (BoundBy::Committed, Vendor::DuckDb) => {
            "no other program can write to the file while it is read, so rows that are committed later have later times"
        }
        (BoundBy::Committed, Vendor::Sqlite) => {
            "a file of SQLite has one writer at a time, so rows that are committed later have no earlier times than those of the \
             last commit"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// Which rows a later run loads, and why.
fn held_by(since: &Since, read: &Read<'_>, seen: &Seen, start: Option<&str>) -> Option<String> {
    let mut reasons = Vec::new();
    if let (BoundBy::Committed, Vendor::Sqlite, Some(bound)) =
        (&since.bound_by, read.vendor, &seen.bound)
        && start.is_none_or(|start| start <= bound.as_str())
    {
        reasons.push(format!(
            "a commit after {bound}, because a transaction that is open may still write rows of that time (`lag` in `since` loads \
             them without it)"
        ));
    }
    if seen.to_come > 0 {
        reasons.push(format!(
            "the time in their column, which is after the present ({}) in {}",
            seen.now,
            counted(seen.to_come, "row")
        ));
    }
    (!reasons.is_empty()).then(|| reasons.join("; and for "))
}

/// Refuses rows that would never be loaded.
fn refuse_values(since: &Since, read: &Read<'_>, seen: &Seen) -> Result<(), SourceError> {
    let Read { input, vendor, .. } = *read;
    let column = identifier(&since.column);
    if seen.nulls > 0 && !since.skips_nulls {
        return Err(Since::without_value(
            input,
            &column,
            &seen.nulls.to_string(),
        ));
    }
    let count = seen.not_times;
    match (count, vendor) {
        (0, _) => Ok(()),
        (_, Vendor::Sqlite) => Err(input_error(
            input,
            format!(
                "{count} of its rows have a value in {column} that is not a time as text, such as '2026-01-02 03:04:05' (UTC)"
            ),
            format!(
                "read a query that makes such texts: SELECT *, datetime({column}, 'unixepoch') AS changed FROM ..., and name that \
                 column; or leave these rows out by `where`"
            ),
        )),
        _ => Err(input_error(
            input,
            format!(
                "{count} of its rows have infinity, or a time outside of the years 1 to 9999, in {column}, so they would never \
                 be loaded"
            ),
            format!("give them a time, or leave them out by where = 'isfinite({column})'"),
        )),
    }
}

/// The value at which a range begins, in the form of marks.
fn start(
    session: &mut Session,
    words: &Words,
    text: &str,
    input: &Path,
    refused: Refused<'_>,
) -> Result<String, SourceError> {
    let doing = format!("reading the value `{text}` of `since`");
    let sql = format!("SELECT {}", (words.mark)(&(words.written)(text)));
    // A text without a zone would be a time of the session's zone. Without its extension for zones, DuckDB knows only
    // UTC.
    let has_zones = session.run("SET TimeZone = 'UTC'").is_ok();
    let found = session.rows(&sql);
    if has_zones {
        session
            .run("RESET TimeZone")
            .map_err(|error| refused(&doing, &error))?;
    }
    match found {
        Ok(found) => {
            let start = found.into_iter().flatten().flatten().next();
            start.ok_or_else(|| Since::no_start(input, text))
        }
        Err(_) => Err(Since::no_start(input, text)),
    }
}

/// Refuses columns whose values do not say when their rows are committed. A column of SQLite has no type, so its values
/// are checked instead.
fn refuse_type(
    session: &mut Session,
    since: &Since,
    column: &str,
    from: &str,
    read: &Read<'_>,
    refused: Refused<'_>,
) -> Result<(), SourceError> {
    let described = session.schema(&format!("SELECT {column} FROM {from} LIMIT 0"));
    let described = described
        .map_err(|error| refused("asking for the type of the column of `since`", &error))?;
    let found = described.fields().first();
    let found = found.map(|field| Column::of_field(field).data_type);
    match (read.vendor, found) {
        (Vendor::Sqlite, _) | (_, Some(DataType::Timestamp(TimeUnit::Microsecond, Some(_)))) => {
            Ok(())
        }
        (_, found) => Err(unsuitable_type(since, read.input, found.as_ref())),
    }
}

/// The refusal of a column of this type.
pub fn unsuitable_type(since: &Since, input: &Path, found: Option<&DataType>) -> SourceError {
    let kind = match found {
        Some(DataType::Timestamp(_, None) | DataType::Date32) => ColumnOfSince::TimeWithoutZone,
        Some(kind) if kind.is_numeric() => ColumnOfSince::Number,
        _ => ColumnOfSince::Other,
    };
    let name = found.map_or_else(String::new, ToString::to_string);
    since.unsuitable_column(input, &name, kind, "timestamptz")
}
