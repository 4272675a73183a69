//! Time zones: names of the IANA database, and offsets from UTC as texts write them.

use jiff::tz::{Offset, TimeZone};

use crate::cursor::Cursor;

/// The reason why a text is not an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetFault {
    /// It does not have the form of an offset.
    Syntax,
    /// 16 hours or more, or minutes or seconds past 59.
    OutOfRange,
}

/// A zone of the IANA database, or an offset from UTC such as `+05:30`.
pub fn time_zone(name: &str) -> Option<TimeZone> {
    if !name.starts_with(['+', '-']) {
        return TimeZone::get(name).ok();
    }
    let seconds = offset_seconds(name.as_bytes()).ok()?;
    Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
}

/// `GMT+3` or `UTC-05:30` as an offset, with the usual sign, not that of POSIX: `Etc/GMT+3` is 3 hours behind UTC.
pub fn offset_after_name(name: &str) -> Option<String> {
    let prefix = name.get(..3)?;
    let is_utc = ["gmt", "utc"]
        .iter()
        .any(|word| prefix.eq_ignore_ascii_case(word));
    let seconds = offset_seconds(name.get(3..)?.trim().as_bytes()).ok()?;
    let is_offset = is_utc && name[3..].trim().starts_with(['+', '-']);
    is_offset.then(|| {
        let sign = if seconds < 0 { '-' } else { '+' };
        let minutes = seconds.abs() / 60;
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    })
}

/// Seconds ahead of UTC of `Z`, `UTC`, `GMT`, or `+H[H][[:]MM[[:]SS]]`.
pub fn offset_seconds(zone: &[u8]) -> Result<i32, OffsetFault> {
    let is_utc = [b"z".as_slice(), b"utc", b"gmt"];
    if is_utc.iter().any(|word| word.eq_ignore_ascii_case(zone)) {
        return Ok(0);
    }
    let mut cursor = Cursor::new(zone);
    let sign = if cursor.eat(b'+') {
        1
    } else if cursor.eat(b'-') {
        -1
    } else {
        return Err(OffsetFault::Syntax);
    };
    let hours = cursor.number_of_one_or_two().ok_or(OffsetFault::Syntax)?;
    let mut minutes = 0;
    let mut seconds = 0;
    if !cursor.is_at_end() {
        let has_colon = cursor.eat(b':');
        minutes = cursor.number_of(2).ok_or(OffsetFault::Syntax)?;
        if has_colon && cursor.eat(b':') {
            seconds = cursor.number_of(2).ok_or(OffsetFault::Syntax)?;
        }
    }
    if !cursor.is_at_end() {
        return Err(OffsetFault::Syntax);
    }
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(OffsetFault::OutOfRange);
    }
    // Less than a day.
    Ok(sign * ((hours * 60 + minutes) * 60 + seconds) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_after_utc_or_gmt_is_read_as_it_is_meant() {
        for (name, offset) in [
            ("GMT+3", Some("+03:00")),
            ("UTC-5", Some("-05:00")),
            ("utc +05:30", Some("+05:30")),
            ("GMT-0130", Some("-01:30")),
            ("GMT", None),
            ("UTCZ", None),
            ("Etc/GMT+3", None),
            ("GMT+99", None),
            ("é", None),
        ] {
            assert_eq!(offset_after_name(name).as_deref(), offset, "{name}");
        }
    }

    #[test]
    fn offsets_from_utc() {
        for (text, seconds) in [
            ("Z", Ok(0)),
            ("utc", Ok(0)),
            ("+1", Ok(3_600)),
            ("-0130", Ok(-5_400)),
            ("+05:30", Ok(19_800)),
            ("+05:30:15", Ok(19_815)),
            ("+0530:15", Err(OffsetFault::Syntax)),
            ("+05:3", Err(OffsetFault::Syntax)),
            ("CET", Err(OffsetFault::Syntax)),
            ("", Err(OffsetFault::Syntax)),
            ("+16", Err(OffsetFault::OutOfRange)),
            ("+05:60", Err(OffsetFault::OutOfRange)),
        ] {
            assert_eq!(offset_seconds(text.as_bytes()), seconds, "{text}");
        }
        assert!(time_zone("Europe/Berlin").is_some());
        assert!(time_zone("+05:30").is_some());
        assert!(time_zone("Europe/Nowhere").is_none());
    }
}
