//! The possible formats of a date or timestamp that is not ISO 8601. The shape of one value gives the formats; all
//! values of the column decide whether the day or the month comes first.

use super::kinds::TypeGuess;

/// The types with formats that a value may have; the load's converters decide.
pub(super) fn formats_of(value: &[u8]) -> Vec<TypeGuess> {
    let Ok(text) = std::str::from_utf8(value) else {
        return Vec::new();
    };
    let Some((orders, rest)) = date_orders(text.trim()) else {
        return Vec::new();
    };
    let is_iso = orders.iter().any(|order| order == "%Y-%m-%d");
    if rest.is_empty() {
        return orders
            .into_iter()
            // The converter reads it without a format.
            .filter(|_| !is_iso)
            .map(|order| TypeGuess::Date {
                format: Some(order),
            })
            .collect();
    }
    let Some((time, has_offset)) = time_format(rest) else {
        return Vec::new();
    };
    // A 12-hour clock is not ISO 8601, even after an ISO date.
    if is_iso && !time.contains("%p") {
        return Vec::new();
    }
    orders
        .into_iter()
        .map(|order| {
            let format = Some(format!("{order}{time}"));
            match has_offset {
                true => TypeGuess::TimestampTz { format },
                false => TypeGuess::Timestamp { format },
            }
        })
        .collect()
}

/// The possible orders of the date at the start of a text, and the rest of the text.
fn date_orders(text: &str) -> Option<(Vec<String>, &str)> {
    let (first, rest) = take_part(text)?;
    let separator = rest.chars().next()?;
    if !matches!(separator, '/' | '.' | '-' | ' ') {
        return None;
    }
    let (second, rest) = take_part(&rest[1..])?;
    let rest = rest.strip_prefix(separator)?;
    let (third, rest) = take_part(rest)?;
    let written = |parts: [&str; 3]| {
        let separator = separator.to_string();
        parts.join(&separator)
    };
    let is_number = |part: &str, least: usize, most: usize| {
        (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let month = match second.len() {
        _ if is_number(second, 1, 2) => None,
        3 if second.bytes().all(|byte| byte.is_ascii_alphabetic()) => Some("%b"),
        4.. if second.bytes().all(|byte| byte.is_ascii_alphabetic()) => Some("%B"),
        _ => return None,
    };
    let orders = match month {
        Some(month) if is_number(first, 1, 2) && is_number(third, 4, 4) => {
            vec![written(["%d", month, "%Y"])]
        }
        Some(_) => return None,
        None if is_number(first, 4, 4) && is_number(third, 1, 2) => {
            vec![written(["%Y", "%m", "%d"]), written(["%Y", "%d", "%m"])]
        }
        None if is_number(first, 1, 2) && is_number(third, 4, 4) => {
            vec![written(["%d", "%m", "%Y"]), written(["%m", "%d", "%Y"])]
        }
        None => return None,
    };
    Some((orders, rest))
}

/// The letters or digits at the start of a text.
fn take_part(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    // The `T` between date and time is not part of the year.
    let end = match text[..end].find('T') {
        Some(at) if at > 0 && text.as_bytes()[at - 1].is_ascii_digit() => at,
        _ => end,
    };
    (end > 0).then(|| text.split_at(end))
}

/// The format of the text after a date, and whether it has an offset from UTC.
fn time_format(rest: &str) -> Option<(String, bool)> {
    let separator = rest.chars().next()?;
    if !matches!(separator, ' ' | 'T') {
        return None;
    }
    let time = &rest[1..];
    let end = time
        .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
        .unwrap_or(time.len());
    let (clock, tail) = time.split_at(end);
    let (whole, fraction) = match clock.split_once('.') {
        Some((whole, _)) => (whole, "%.f"),
        None => (clock, ""),
    };
    let minutes = match whole.matches(':').count() {
        1 => ":%M",
        2 => ":%M:%S",
        _ => return None,
    };
    let tail_trimmed = tail.trim_start();
    let blank = if tail_trimmed.len() < tail.len() {
        " "
    } else {
        ""
    };
    if ["am", "pm"]
        .iter()
        .any(|half| tail_trimmed.eq_ignore_ascii_case(half))
    {
        return Some((format!("{separator}%I{minutes}{fraction}{blank}%p"), false));
    }
    let offset = match tail_trimmed.as_bytes() {
        [] => return Some((format!("{separator}%H{minutes}{fraction}"), false)),
        [b'+' | b'-', rest @ ..] if rest.contains(&b':') => "%:z",
        [b'+' | b'-', ..] => "%z",
        _ => return None,
    };
    Some((
        format!("{separator}%H{minutes}{fraction}{blank}{offset}"),
        true,
    ))
}

/// The format with day and month exchanged, if both are numbers.
pub(super) fn other_order(format: &str) -> Option<String> {
    (format.contains("%d") && format.contains("%m")).then(|| {
        format
            .replace("%d", "%\0")
            .replace("%m", "%d")
            .replace("%\0", "%m")
    })
}

/// True if all values are eight digits that can be read as a date after 1900.
pub(super) fn is_eight_digit_date(text: &[u8]) -> bool {
    let number = |range: std::ops::Range<usize>| {
        std::str::from_utf8(&text[range])
            .ok()
            .and_then(|digits| digits.parse::<u32>().ok())
            .unwrap_or(0)
    };
    text.len() == 8
        && text.iter().all(u8::is_ascii_digit)
        && (1900..2100).contains(&number(0..4))
        && (1..=12).contains(&number(4..6))
        && (1..=31).contains(&number(6..8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_give_formats() {
        for (text, expected) in [
            ("13/01/2024", "%d/%m/%Y %m/%d/%Y"),
            ("1.2.2024", "%d.%m.%Y %m.%d.%Y"),
            ("2024/01/13", "%Y/%m/%d %Y/%d/%m"),
            ("2024-01-13", ""),
            ("13-Jan-2024", "%d-%b-%Y"),
            ("13 January 2024", "%d %B %Y"),
            ("01.02.2024T10:11", "%d.%m.%YT%H:%M %m.%d.%YT%H:%M"),
            (
                "2024-01-13 01:02:03 PM",
                "%Y-%m-%d %I:%M:%S %p %Y-%d-%m %I:%M:%S %p",
            ),
            ("01/02/24", ""),
            ("12", ""),
            ("a/b/c", ""),
            ("1/2/2024 x", ""),
            ("", ""),
        ] {
            let formats: Vec<String> = formats_of(text.as_bytes())
                .iter()
                .filter_map(|guess| guess.format().map(str::to_owned))
                .collect();
            assert_eq!(formats.join(" "), expected, "{text}");
        }
        assert_eq!(other_order("%d/%m/%Y").as_deref(), Some("%m/%d/%Y"));
        assert_eq!(other_order("%d-%b-%Y"), None);
    }
}
