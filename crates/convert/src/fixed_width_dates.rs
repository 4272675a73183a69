//! Reads a declared format without the library if all of its parts have a fixed position, as in most formats.

use inrush_rows::calendar::{self, DAY_MICROSECONDS};

use super::digits;
use super::format_use::FormatUse;
use super::kernel::{WINDOW_BYTES, Window};

/// A format in which every part has a fixed position: `%Y`, `%m`, `%d`, `%H`, `%M`, `%S` at most once each, and
/// characters between them.
pub(super) struct FixedWidth {
    /// The literal characters, one for each position; zero at the position of a digit.
    literals: Vec<u8>,
    /// The positions of year, month, day, hour, minute and second.
    year: Option<usize>,
    parts: [Option<usize>; 5],
}

impl FixedWidth {
    /// The format, prepared for quick reading; `None` if one of its parts has no fixed position.
    pub fn of(format: &str, format_use: FormatUse) -> Option<FixedWidth> {
        let mut fixed = FixedWidth {
            literals: Vec::new(),
            year: None,
            parts: [None; 5],
        };
        let mut bytes = format.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                // Digits next to digits would not have a fixed position, and a sign is part of the number that follows
                // it.
                if byte.is_ascii_digit() || byte == 0 {
                    return None;
                }
                fixed.literals.push(byte);
                continue;
            }
            let at = fixed.literals.len();
            let (place, width) = match bytes.next()? {
                b'Y' => (&mut fixed.year, 4),
                b'm' => (&mut fixed.parts[0], 2),
                b'd' => (&mut fixed.parts[1], 2),
                b'H' => (&mut fixed.parts[2], 2),
                b'M' => (&mut fixed.parts[3], 2),
                b'S' => (&mut fixed.parts[4], 2),
                _ => return None,
            };
            if place.replace(at).is_some() {
                return None;
            }
            fixed.literals.extend(std::iter::repeat_n(0, width));
        }
        let is_dated = format_use != FormatUse::Time;
        let has_date = fixed.year.is_some() && fixed.parts[0].is_some() && fixed.parts[1].is_some();
        let is_known = is_dated == has_date
            && !matches!(format_use, FormatUse::TimestampTz { .. })
            && fixed.literals.len() <= WINDOW_BYTES - 8;
        is_known.then_some(fixed)
    }

    #[inline]
    /// Microseconds since 1970-01-01 (or midnight, for times) of a value that fits.
    pub fn quick(&self, window: &Window, length: usize) -> Option<i64> {
        if length != self.literals.len() {
            return None;
        }
        let is_match = self
            .literals
            .iter()
            .zip(window)
            .all(|(literal, byte)| *literal == 0 || literal == byte);
        if !is_match {
            return None;
        }
        let two = |place: Option<usize>| match place {
            Some(at) => digits::block(digits::load(window, at), 2),
            None => Some(0),
        };
        let [month, day, hour, minute, second] = self.parts;
        let (hour, minute, second) = (two(hour)?, two(minute)?, two(second)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let time = ((hour * 60 + minute) * 60 + second) as i64 * 1_000_000;
        let Some(year) = self.year else {
            return Some(time);
        };
        let year = digits::block(digits::load(window, year), 4)? as i64;
        let (month, day) = (two(month)? as u32, two(day)? as u32);
        if year == 0
            || !(1..=12).contains(&month)
            || day == 0
            || day > calendar::days_in_month(year, month)
        {
            return None;
        }
        Some(calendar::days_from_civil(year, month, day) * DAY_MICROSECONDS + time)
    }
}
