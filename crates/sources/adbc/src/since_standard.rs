//! The range of an incremental load (`since`) from a database that Inrush knows only by its ADBC driver. The range ends
//! `lag` before the database's current time.
//!
//! Inrush does not know how such a database commits. So the user must say how much time may pass between the value of a
//! row and its commit: `lag`. The bound is the database's time minus `lag`. The database is asked for its time before
//! the transaction that reads the rows begins.
//!
//! # How a moment is written
//!
//! Databases write times in different ways, and the same literal can mean UTC in one and a local time in another. So
//! several forms of a literal are tried: a form is used if the driver returns exactly the same moment for it, as a time
//! with a zone. Then the condition is tried on the rows: by the values that the driver returns, all selected rows must
//! be inside the bounds, and all other rows outside. If they are not, the database is refused; nothing is guessed.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use inrush_rows::sql_text::identifier;
use inrush_source::{
    BoundBy, FoundRange, Since, SourceError, input_error, never_the_same, range_condition,
    unsuitable,
};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::columns::ROWS;
use crate::database::Database;
use crate::error::Refused;
use crate::session::Session;
use crate::since::unsuitable_type;

/// The forms of a literal for a moment of UTC, such as `2026-01-02 03:04:05.000000`. The form of the SQL standard comes
/// first.
const FORMS: [fn(&str) -> String; 4] = [
    |text| format!("TIMESTAMP WITH TIME ZONE '{text}+00:00'"),
    |text| format!("TIMESTAMP '{text}+00:00'"),
    |text| format!("CAST('{text}+00:00' AS TIMESTAMP WITH TIME ZONE)"),
    |text| format!("CAST('{text}+00:00' AS TIMESTAMP_TZ)"),
];

/// The years 1 to 9999, in microseconds since 1970.
const YEARS_US: std::ops::RangeInclusive<i128> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// The database's time, and the form of its literals for moments.
pub struct Clock {
    now: Timestamp,
    form: fn(&str) -> String,
}

/// A value of a column of times, in nanoseconds since 1970.
type Nanoseconds = i128;

/// The answer to a query for times.
enum Answered {
    /// The values of the only row; `None` is NULL.
    Times(Vec<Option<Nanoseconds>>),
    /// The type of a column that is not a time with a zone.
    Other(DataType),
}

impl Clock {
    /// Asks the database for its time, and finds a form of literal that it understands. Must be called before the
    /// transaction that reads the rows begins.
    pub fn ask(
        database: &Database,
        input: &Path,
        refused: Refused<'_>,
    ) -> Result<Clock, SourceError> {
        let doing = "asking for the time of the database";
        let mut session = database
            .connect()
            .map_err(|error| refused("connecting", &error))?;
        let answered = times(&mut session, "SELECT CURRENT_TIMESTAMP AS t");
        let now = match answered.map_err(|error| refused(doing, &error))? {
            Answered::Times(found) => found.first().copied().flatten().and_then(moment_of),
            Answered::Other(_) => None,
        };
        let Some(now) = now else {
            let what = format!(
                "`since` cannot be used: {} does not return its CURRENT_TIMESTAMP as a time with a zone",
                database.described
            );
            return Err(unsuitable(input, what, WHERE_INSTEAD));
        };
        for form in FORMS {
            // A literal that the database does not understand may abort the transaction of its session.
            let mut own = database
                .connect()
                .map_err(|error| refused("connecting", &error))?;
            if means_moments(&mut own, form, now) {
                return Ok(Clock { now, form });
            }
        }
        let what = format!(
            "`since` cannot be used: {} understands none of the timestamp literals that Inrush knows",
            database.described
        );
        Err(unsuitable(input, what, WHERE_INSTEAD))
    }

    /// The SQL literal of a moment.
    fn literal(&self, moment: Timestamp) -> String {
        (self.form)(&moment.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string())
    }
}

/// The hint for a database in which `since` cannot be used.
const WHERE_INSTEAD: &str = "write the condition as `where` of the source";

/// True if the database returns the right moments for literals of this form. Three moments are tried: the current time,
/// half a year before (when the session's zone may have another offset), and a fixed moment with microseconds.
fn means_moments(session: &mut Session, form: fn(&str) -> String, now: Timestamp) -> bool {
    let other = now.checked_sub(SignedDuration::from_hours(24 * 182));
    let moments = [
        Some(now),
        other.ok(),
        "2001-02-03T04:05:06.789012Z".parse().ok(),
    ];
    moments.into_iter().flatten().all(|moment| {
        let clock = Clock { now, form };
        let question = format!("SELECT {} AS t", clock.literal(moment));
        let expected = i128::from(moment.as_microsecond()) * 1_000;
        matches!(times(session, &question), Ok(Answered::Times(found)) if found == [Some(expected)])
    })
}

/// Finds the range. `from` is the text that follows FROM in a query of the rows.
pub fn find_range(
    session: &mut Session,
    since: &Since,
    clock: &Clock,
    input: &Path,
    from: &str,
    refused: Refused<'_>,
) -> Result<FoundRange, SourceError> {
    let doing = "looking for rows that are new";
    let bound = bound(since, clock, input)?;
    let start = match &since.from {
        Some(text) => Some(moment_of_text(text).ok_or_else(|| Since::no_start(input, text))?),
        None => None,
    };
    let from = format!("{from} AS {ROWS}");
    let column = format!("{ROWS}.{}", identifier(&since.column));
    let mut asked = Asked {
        session,
        input,
        doing,
        refused,
        column: &column,
        from: &from,
    };
    asked.refuse_values(since)?;
    // The database cannot tell whether rows have changed, so a resumed run keeps none.
    let (range, is_resumed) =
        since.range(start.map(mark), &mark(bound), &never_the_same(), input)?;
    let moment = |mark: &str| moment_of_text(mark).expect("a mark is a moment");
    let condition_on = |column: &str| {
        range_condition(range.from.as_deref(), &range.below, |operator, mark| {
            format!("{column} {operator} {}", clock.literal(moment(mark)))
        })
    };
    let nanoseconds = |mark: &str| moment(mark).as_nanosecond();
    let below = nanoseconds(&range.below);
    let first = range.from.as_deref().map(nanoseconds);
    let is_new = |value: &Nanoseconds| *value < below && first.is_none_or(|first| first <= *value);
    let new = asked.ends(&condition_on(&column))?;
    asked.refuse_unless(new.iter().all(is_new))?;
    let bound_words = clock.literal(moment(&range.below));
    let later = asked.ends(&format!("{column} >= {bound_words}"))?;
    asked.refuse_unless(later.iter().all(|value| *value >= below))?;
    if let (Some(first), Some(mark)) = (first, &range.from) {
        let start_words = clock.literal(moment(mark));
        let before = asked.ends(&format!("{column} < {start_words}"))?;
        asked.refuse_unless(before.iter().all(|value| *value < first))?;
    }
    Ok(FoundRange {
        condition: condition_on(&identifier(&since.column)),
        has_rows: !new.is_empty(),
        by_index: 0,
        is_safe_because: None,
        held_by: None,
        written_to: None,
        range,
        is_resumed,
    })
}

/// The bound: the database's time minus `lag`.
fn bound(since: &Since, clock: &Clock, input: &Path) -> Result<Timestamp, SourceError> {
    let BoundBy::Lag(lag) = &since.bound_by else {
        return Err(unsuitable(
            input,
            "Inrush cannot find out until which time all rows of this database are committed, so `since` needs `lag`",
            "write the longest time from a row's value to its commit, such as lag = \"5 minutes\"",
        ));
    };
    let seconds = Since::lag_seconds(lag, input)?;
    let lag_time = SignedDuration::try_from(std::time::Duration::from_secs(seconds)).ok();
    let bound = lag_time.and_then(|lag| clock.now.checked_sub(lag).ok());
    bound.ok_or_else(|| {
        unsuitable(
            input,
            format!("`lag = \"{lag}\"` of `since` is too long: the database's time minus `lag` is not a valid time"),
            "write a time such as lag = \"5 minutes\"",
        )
    })
}

/// Queries about the rows of an incremental flow.
struct Asked<'a> {
    session: &'a mut Session,
    input: &'a Path,
    doing: &'a str,
    refused: Refused<'a>,
    /// The column in SQL.
    column: &'a str,
    /// The text that follows FROM.
    from: &'a str,
}

impl Asked<'_> {
    /// The smallest and the greatest value of the rows that meet a condition; empty if there are none.
    fn ends(&mut self, condition: &str) -> Result<Vec<Nanoseconds>, SourceError> {
        let Asked { column, from, .. } = *self;
        let question =
            format!("SELECT MIN({column}) AS a, MAX({column}) AS b FROM {from} WHERE {condition}");
        match self.times(&question)? {
            Answered::Times(found) => Ok(found.into_iter().flatten().collect()),
            Answered::Other(_) => {
                self.refuse_unless(false)?;
                Ok(Vec::new())
            }
        }
    }

    /// Refuses a column whose type is not a time with a zone, and rows that would never be loaded: with NULL, infinity,
    /// or a time outside of the years 1 to 9999.
    fn refuse_values(&mut self, since: &Since) -> Result<(), SourceError> {
        let Asked { column, from, .. } = *self;
        let name = identifier(&since.column);
        let of_type = format!("SELECT {column} AS a FROM {from} WHERE 1 = 0");
        if let Answered::Other(kind) = self.times(&of_type)? {
            return Err(unsuitable_type(since, self.input, Some(&kind)));
        }
        let is_of_years = |value: &Nanoseconds| YEARS_US.contains(&value.div_euclid(1_000));
        if !self.ends("1 = 1")?.iter().all(is_of_years) {
            return Err(input_error(
                self.input,
                format!(
                    "some of its rows have infinity, or a time outside of the years 1 to 9999, in {name}, so they would never be loaded"
                ),
                format!(
                    "change these values to a time, or exclude the rows with a condition on {name} in `where`"
                ),
            ));
        }
        if !since.skips_nulls {
            let question = format!("SELECT COUNT(*) AS n FROM {from} WHERE {column} IS NULL");
            let found = self.session.rows(&question);
            let found = found.map_err(|error| (self.refused)(self.doing, &error))?;
            let count = found.into_iter().flatten().flatten().next();
            if let Some(count) = count.filter(|count| count != "0") {
                return Err(Since::without_value(self.input, &name, &count));
            }
        }
        Ok(())
    }

    fn times(&mut self, question: &str) -> Result<Answered, SourceError> {
        times(self.session, question).map_err(|error| (self.refused)(self.doing, &error))
    }

    /// Refuses the database unless `is_right`: its conditions must select the rows by the values that its driver
    /// returns.
    fn refuse_unless(&self, is_right: bool) -> Result<(), SourceError> {
        match is_right {
            true => Ok(()),
            false => Err(unsuitable(
                self.input,
                format!(
                    "`since` cannot be used: the rows that conditions on {} select do not match the values that the \
                     driver returns",
                    self.column
                ),
                WHERE_INSTEAD,
            )),
        }
    }
}

/// The values of the only row of an answer, if all are times with a zone.
fn times(session: &mut Session, question: &str) -> Result<Answered, adbc_core::error::Error> {
    let mut answer = session.read(question)?;
    let schema = answer.batches.schema();
    let mut found = Vec::new();
    for field in schema.fields() {
        let DataType::Timestamp(_, Some(_)) = field.data_type() else {
            return Ok(Answered::Other(field.data_type().clone()));
        };
    }
    for batch in answer.batches.by_ref() {
        let batch = batch.map_err(of_arrow)?;
        if found.is_empty() && batch.num_rows() > 0 {
            found = batch.columns().iter().map(nanoseconds).collect();
        }
    }
    Ok(Answered::Times(found))
}

fn of_arrow(error: ArrowError) -> adbc_core::error::Error {
    let status = adbc_core::error::Status::IO;
    adbc_core::error::Error::with_message_and_status(error.to_string(), status)
}

/// The first value of an array of times; `None` is NULL.
fn nanoseconds(array: &ArrayRef) -> Option<Nanoseconds> {
    if array.is_null(0) {
        return None;
    }
    let (value, unit) = match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => (
            array.as_primitive::<TimestampSecondType>().value(0),
            1_000_000_000,
        ),
        DataType::Timestamp(TimeUnit::Millisecond, _) => (
            array.as_primitive::<TimestampMillisecondType>().value(0),
            1_000_000,
        ),
        DataType::Timestamp(TimeUnit::Microsecond, _) => (
            array.as_primitive::<TimestampMicrosecondType>().value(0),
            1_000,
        ),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (array.as_primitive::<TimestampNanosecondType>().value(0), 1)
        }
        _ => return None,
    };
    Some(i128::from(value) * unit)
}

/// A value rounded down to a microsecond; `None` outside of the years 1 to 9999.
fn moment_of(value: Nanoseconds) -> Option<Timestamp> {
    let microseconds = i64::try_from(value.div_euclid(1_000)).ok()?;
    let moment = Timestamp::from_microsecond(microseconds).ok()?;
    YEARS_US.contains(&microseconds.into()).then_some(moment)
}

/// The moment in a text that a user wrote or that is a mark. Without a zone it is a time in UTC.
fn moment_of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let of_utc = |time: DateTime| {
        time.to_zoned(TimeZone::UTC)
            .ok()
            .map(|zoned| zoned.timestamp())
    };
    let moment = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| text.parse::<DateTime>().ok().and_then(of_utc))
        .or_else(|| {
            let day = text.parse::<Date>().ok()?;
            of_utc(day.to_datetime(jiff::civil::Time::midnight()))
        })?;
    moment_of(moment.as_nanosecond())
}

/// A moment as a mark: the texts of marks sort by time.
fn mark(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_zone_is_a_time_of_utc() {
        for (text, expected) in [
            ("2026-01-02", Some("2026-01-02T00:00:00.000000Z")),
            ("2026-01-02 03:04:05", Some("2026-01-02T03:04:05.000000Z")),
            (
                "2026-01-02T03:04:05.123456789+02:00",
                Some("2026-01-02T01:04:05.123456Z"),
            ),
            ("0001-01-01", Some("0001-01-01T00:00:00.000000Z")),
            ("9999-12-31 23:59:59.999999", None),
            ("-000001-01-01", None),
            ("yesterday", None),
            ("", None),
        ] {
            let found = moment_of_text(text).map(mark);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn each_form_has_the_zone_of_utc() {
        let now: Timestamp = "2026-07-02T03:04:05.000006Z".parse().expect("a moment");
        for form in FORMS {
            let words = Clock { now, form }.literal(now);
            assert!(
                words.contains("'2026-07-02 03:04:05.000006+00:00'"),
                "{words}"
            );
        }
    }
}
