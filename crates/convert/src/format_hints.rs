//! Hints for a text that is not an ISO 8601 date, time or timestamp: the format that would read it,
//! if its shape shows one.

use super::error::ValueError;
use super::number::is_any_word;

/// The type that a text was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Date,
    Time,
    Timestamp,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Date => "a date (YYYY-MM-DD)",
            Wanted::Time => "a time (HH:MM:SS)",
            Wanted::Timestamp => "a timestamp (YYYY-MM-DD HH:MM:SS)",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Wanted::Date => "%d.%m.%Y",
            Wanted::Time => "%H.%M",
            Wanted::Timestamp => "%d.%m.%Y %H:%M:%S",
        }
    }
}

/// The error for a text that does not have the wanted form.
pub(super) fn not_written_as(wanted: Wanted, text: &[u8]) -> ValueError {
    let expected = wanted.name();
    if text.is_empty() {
        return ValueError::syntax(format!(
            "not {expected}; the field is empty: if that means NULL, set null = \"\" in the format"
        ));
    }
    if is_any_word(
        text,
        &["now", "today", "tomorrow", "yesterday", "epoch", "allballs"],
    ) {
        return ValueError::syntax(format!(
            "not {expected}; words for a time are not read: write it in digits"
        ));
    }
    let hint = match wanted {
        Wanted::Date | Wanted::Timestamp => suggest(text),
        Wanted::Time => suggest_time_alone(text),
    };
    match hint {
        Some(hint) => ValueError::syntax(format!("not {expected}; {hint}")),
        None => ValueError::syntax(format!(
            "not {expected}; if the file has another form, declare it, for example format = {:?}. \
             Otherwise, likely the columns are not in the file's order",
            wanted.example()
        )),
    }
}

/// The format of a time on its own, as a sentence.
fn suggest_time_alone(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    if matches!(text.len(), 4 | 6) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let format = if text.len() == 4 { "%H%M" } else { "%H%M%S" };
        return Some(format!("declare format = \"{format}\" for the column"));
    }
    if matches!(text.len(), 3 | 5) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(
            "likely a leading zero was lost, as in spreadsheets and integer columns: export four \
             digits and declare format = \"%H%M\", or six and \"%H%M%S\""
                .to_owned(),
        );
    }
    let format = suggest_time(&format!(" {text}"))?;
    Some(format!(
        "declare format = \"{}\" for the column",
        format.trim_start()
    ))
}

/// The format of digits only, as a sentence.
fn suggest_digits(text: &str) -> Option<String> {
    let (digits, rest) = text.split_at(
        text.find(|byte: char| !byte.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let is_time =
        |digits: &str| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match (digits.len(), rest) {
        (8, rest) if rest.starts_with(['T', ' ']) && is_time(&rest[1..]) => Some(format!(
            "declare format = \"%Y%m%d{}%H%M%S\" for the column",
            &rest[..1]
        )),
        (14, "") => Some("declare format = \"%Y%m%d%H%M%S\" for the column".to_owned()),
        (7, "") => Some(
            "likely a leading zero was lost, as in spreadsheets and integer columns: a date in \
             digits has eight (20240102)"
                .to_owned(),
        ),
        (10, "") => Some(
            "likely seconds since 1970: make the column timestamptz with format = \"%s\""
                .to_owned(),
        ),
        (13, "") => Some(
            "likely milliseconds since 1970: make the export write seconds (format = \"%s\") or \
             timestamps"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The format that would read a text which is not ISO 8601, as a sentence.
fn suggest(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(hint) = suggest_digits(text) {
        return Some(hint);
    }
    let (date, time) = match text.find([' ', 'T']) {
        Some(at) if text[..at].bytes().any(|byte| byte.is_ascii_digit()) => text.split_at(at),
        _ => (text, ""),
    };
    let time = suggest_time(time)?;
    let separator = date.bytes().find(|byte| !byte.is_ascii_alphanumeric())?;
    if !matches!(separator, b'/' | b'.' | b'-') {
        return None;
    }
    let separator = char::from(separator);
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, second, third] = parts[..] else {
        return None;
    };
    let is_number = |part: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_word =
        |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let declare = |parts: [&str; 3]| {
        let pivot = match parts[2] {
            "%y" => " and year_pivot = 1970 (the first year that two digits can mean)",
            _ => "",
        };
        format!(
            "format = \"{}{separator}{}{separator}{}{time}\"{pivot}",
            parts[0], parts[1], parts[2]
        )
    };
    if is_number(first, 4..=4) && is_number(second, 1..=2) && is_number(third, 1..=2) {
        return Some(format!(
            "declare {} for the column",
            declare(["%Y", "%m", "%d"])
        ));
    }
    if !is_number(first, 1..=2) {
        return None;
    }
    let year = if is_number(third, 4..=4) {
        "%Y"
    } else if is_number(third, 2..=2) {
        "%y"
    } else {
        return None;
    };
    if is_word(second) {
        let month = if second.len() == 3 { "%b" } else { "%B" };
        return Some(format!(
            "declare {} for the column",
            declare(["%d", month, year])
        ));
    }
    if !is_number(second, 1..=2) {
        return None;
    }
    let (first, second): (u32, u32) = (first.parse().ok()?, second.parse().ok()?);
    Some(match (first > 12, second > 12) {
        (true, _) => format!("declare {} for the column", declare(["%d", "%m", year])),
        (false, true) => format!("declare {} for the column", declare(["%m", "%d", year])),
        (false, false) => format!(
            "day and month cannot be told apart: declare {} if the day is first, or {} if the \
             month is first",
            declare(["%d", "%m", year]),
            declare(["%m", "%d", year])
        ),
    })
}

/// The format of a time with the blank or letter before it.
fn suggest_time(time: &str) -> Option<String> {
    let Some(separator) = time.chars().next() else {
        return Some(String::new());
    };
    let clock = &time[1..];
    let upper = clock.to_ascii_uppercase();
    let (clock, half) = match upper
        .strip_suffix("AM")
        .or_else(|| upper.strip_suffix("PM"))
    {
        Some(clock) if clock.ends_with(' ') => (clock.trim_end(), " %p"),
        Some(clock) => (clock, "%p"),
        None => (upper.as_str(), ""),
    };
    let hour = if half.is_empty() { "%H" } else { "%I" };
    let shape: String = clock
        .chars()
        .map(|character| {
            if character.is_ascii_digit() {
                '9'
            } else {
                character
            }
        })
        .collect();
    let minutes = match shape.trim_start_matches('9') {
        ":99" => ":%M",
        ":99:99" => ":%M:%S",
        rest if rest.starts_with(":99:99.") => ":%M:%S%.f",
        _ => return None,
    };
    Some(format!("{separator}{hour}{minutes}{half}"))
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::{Column, ColumnType};

    use super::super::format_use::FormatUse;
    use super::super::formats::Format;
    use super::super::second_digits::SecondDigits;
    use super::*;

    #[test]
    fn suggestions() {
        let suggested = |text: &str| suggest(text.as_bytes()).unwrap_or_default();
        assert_eq!(
            suggested("31/12/2024"),
            "declare format = \"%d/%m/%Y\" for the column"
        );
        assert_eq!(
            suggested("12/31/2024 11:59 PM"),
            "declare format = \"%m/%d/%Y %I:%M %p\" for the column"
        );
        assert_eq!(
            suggested("2024/01/05 10:00:00.5"),
            "declare format = \"%Y/%m/%d %H:%M:%S%.f\" for the column"
        );
        assert_eq!(
            suggested("05-Jan-24"),
            "declare format = \"%d-%b-%y\" and year_pivot = 1970 (the first year that two digits \
             can mean) for the column"
        );
        assert!(suggested("20240105T101112").contains("\"%Y%m%dT%H%M%S\""));
        assert!(suggested("20240105101112").contains("\"%Y%m%d%H%M%S\""));
        assert!(suggested("1704067200").contains("%s"));
        assert!(suggested("1704067200000").contains("milliseconds"));
        let ambiguous = suggested("01/02/2024");
        assert!(ambiguous.contains("\"%d/%m/%Y\"") && ambiguous.contains("\"%m/%d/%Y\""));
        for text in [
            "", "abc", "1.5", "/", "2024", "a b", "12:00", "ä/ö/ü", "T", " ",
        ] {
            assert_eq!(suggest(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn suggestions_for_times() {
        let suggested = |text: &str| suggest_time_alone(text.as_bytes()).unwrap_or_default();
        assert!(suggested("12:00 PM").contains("\"%I:%M %p\""));
        assert!(suggested("1200").contains("\"%H%M\""));
        assert!(suggested("120000").contains("\"%H%M%S\""));
        assert!(suggested("12345").contains("leading zero was lost"));
        assert_eq!(suggested("noon"), "");
    }

    #[test]
    fn what_is_suggested_can_be_used() {
        for text in [
            "31/12/2024",
            "12/31/2024 11:59 PM",
            "2024/01/05 10:00:00.5",
            "5-Jan-24",
            "20240105T101112",
            "20240105101112",
        ] {
            let hint = suggest(text.as_bytes()).expect("a suggestion");
            let format = hint.split('"').nth(1).expect("a format");
            let mut column = Column::new("t", ColumnType::Date, 0);
            column.policies.year_pivot = format.contains("%y").then_some(1970);
            let format = Format::new(&column, format, FormatUse::Timestamp).expect("a format");
            let value = format.timestamp(text.as_bytes(), &SecondDigits::exact(6));
            value.expect("the text matches");
        }
    }
}
