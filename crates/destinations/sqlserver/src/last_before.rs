//! The largest value below another one, for types whose values have gaps between them.

use inrush_rows::calendar::{DAY_MICROSECONDS, civil_from_days, days_from_civil};
use inrush_rows::column_type::ColumnType;

const SECOND_MICROSECONDS: i64 = 1_000_000;
/// The first day of SQL Server.
const FIRST_DAY: i64 = days_from_civil(1, 1, 1);

/// The largest value of a column before a bound of a plan, written in the same form as the bound. `None` if no value is
/// smaller, or if the type has no largest smaller value. `type_sql` is the type as the server names it: the distance
/// between two moments depends on it.
pub fn last_before(bound: &str, column_type: &ColumnType, type_sql: &str) -> Option<String> {
    match column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => {
            let smallest = match type_sql {
                "tinyint" => 0,
                "smallint" => i64::from(i16::MIN),
                "int" => i64::from(i32::MIN),
                _ => i64::MIN,
            };
            let before = bound.parse::<i64>().ok()?.checked_sub(1)?;
            (before >= smallest).then(|| before.to_string())
        }
        ColumnType::Date => {
            let before = days(bound)? - 1;
            (before >= FIRST_DAY).then(|| date_text(before))
        }
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
            let (date, time) = bound.split_once(' ').unwrap_or((bound, "00:00:00"));
            let moment = days(date)? * DAY_MICROSECONDS + time_microseconds(time)?;
            (moment > FIRST_DAY * DAY_MICROSECONDS).then(|| moment_before(moment, type_sql))
        }
        _ => None,
    }
}

/// The moment before another one, in microseconds since 1970, of this type.
fn moment_before(moment: i64, type_sql: &str) -> String {
    let digits = match type_sql {
        "smalldatetime" => return moment_text(moment - 60 * SECOND_MICROSECONDS, 0),
        // Its values end with 0, 3 and 7 milliseconds: the server rounds to them.
        "datetime" => return moment_text(moment - 3_000, 3),
        _ => type_sql
            .split_once('(')
            .and_then(|(_, digits)| digits.strip_suffix(')')?.parse::<u32>().ok())
            .unwrap_or(7),
    };
    match digits {
        // The last value before the bound is a tenth of a microsecond earlier.
        7.. => format!("{}9", moment_text(moment - 1, 6)),
        digits => moment_text(moment - 10_i64.pow(6 - digits), digits),
    }
}

/// Days since 1970-01-01 of a text `2024-01-31`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let year = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    Some(days_from_civil(year, month, day))
}

/// Microseconds since midnight of a text `06:00:00` or `06:00:00.25`.
fn time_microseconds(time: &str) -> Option<i64> {
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut seconds = 0;
    for part in time.split(':') {
        seconds = seconds * 60 + part.parse::<i64>().ok()?;
    }
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(seconds * SECOND_MICROSECONDS + micros)
}

fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn moment_text(moment: i64, digits: u32) -> String {
    let date = date_text(moment.div_euclid(DAY_MICROSECONDS));
    let micros = moment.rem_euclid(DAY_MICROSECONDS);
    let seconds = micros / SECOND_MICROSECONDS;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let text = format!("{date} {hour:02}:{minute:02}:{second:02}");
    match digits {
        0 => text,
        digits => {
            let fraction = format!("{:06}", micros % SECOND_MICROSECONDS);
            format!("{text}.{}", &fraction[..digits as usize])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_before_a_bound() {
        let moment = ColumnType::Timestamp { fraction_digits: 6 };
        let zoned = ColumnType::TimestampTz { fraction_digits: 6 };
        for (bound, column_type, type_sql, before) in [
            ("1000", &ColumnType::Int32, "int", Some("999")),
            ("0", &ColumnType::Int64, "bigint", Some("-1")),
            ("0", &ColumnType::Int16, "tinyint", None),
            ("-32768", &ColumnType::Int16, "smallint", None),
            ("-9223372036854775808", &ColumnType::Int64, "bigint", None),
            ("2024-03-01", &ColumnType::Date, "date", Some("2024-02-29")),
            ("2024-01-01", &ColumnType::Date, "date", Some("2023-12-31")),
            ("0001-01-01", &ColumnType::Date, "date", None),
            ("0001-01-01 00:00:00", &moment, "datetime2(6)", None),
            (
                "2024-05-01 00:00:00",
                &moment,
                "datetime",
                Some("2024-04-30 23:59:59.997"),
            ),
            (
                "2024-05-01",
                &moment,
                "smalldatetime",
                Some("2024-04-30 23:59:00"),
            ),
            (
                "2024-05-01 06:00:00.25",
                &moment,
                "datetime2(3)",
                Some("2024-05-01 06:00:00.249"),
            ),
            (
                "2024-05-01 00:00:00",
                &moment,
                "datetime2(7)",
                Some("2024-04-30 23:59:59.9999999"),
            ),
            (
                "1969-01-01 00:00:00",
                &moment,
                "datetime2",
                Some("1968-12-31 23:59:59.9999999"),
            ),
            (
                "2024-05-01 00:00:00",
                &zoned,
                "datetimeoffset(0)",
                Some("2024-04-30 23:59:59"),
            ),
            (
                "2024-05-01 00:00:00",
                &zoned,
                "datetimeoffset(6)",
                Some("2024-04-30 23:59:59.999999"),
            ),
            (
                "b",
                &ColumnType::Text {
                    characters_max: Some(9),
                    blank_padded: false,
                },
                "varchar(9)",
                None,
            ),
        ] {
            let found = last_before(bound, column_type, type_sql);
            assert_eq!(found.as_deref(), before, "{bound} of {type_sql}");
        }
    }
}
