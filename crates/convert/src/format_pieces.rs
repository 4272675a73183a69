//! The pieces of a declared format, and how many digits of a value each of them reads.
//!
//! The library reads as many digits as it finds, up to a directive's width. If something else ends a number, that is
//! right: `%d.%m.%Y` reads `1.2.2024`. If another number follows directly, nothing ends the first one, and one lost
//! zero shifts all digits after it: with `%H%M%S`, the value `12345` would be 12:34:05 although 01:23:45 was meant. So
//! these are the rules:
//!
//! - Two numbers touch if nothing is between them in the format. A blank in the format also matches no blank at all, so
//!   it separates numbers only if the value has a blank. A digit in the format itself (`%Y0%m`) counts as a number,
//!   too.
//! - A number that touches another one must have all the digits of its width, and only the first of the touching
//!   numbers may have a blank or sign before it. A value with fewer digits is rejected.
//! - A year (`%Y`, `%G`) always has four digits. Other numbers that touch no number may omit leading zeros, which
//!   changes nothing: `1.1.5` with `%d.%m.%y` is `01.01.05`.
//! - A fraction with a declared width (`%3f`) must have that many digits, unless a point or comma is before it: only
//!   then do fewer digits mean the same.
//! - A number with an open width (`%-d`, `%_d`, `%f` without a width, `%z`, `%.f`) must not touch a number after it,
//!   and `%-d`, `%_d` and `%f` must not touch one before them: such a format is refused when the plan is made.
//!
//! The walk over a value reads exactly the digits that the library reads; a test compares them.
//!
//! If a format has a part twice (`%m` and `%b`, `%j` beside `%d`), the library uses one and ignores the other. Each is
//! compared with the value that was read: a contradiction is rejected.

use jiff::fmt::strtime::BrokenDownTime;

use super::error::ValueError;
use super::format_cut::{cut, refuse_open, says_twice};
use super::format_piece::{FRACTION_DIGITS_MAX, Piece, PieceKind, digits};

/// A declared format, cut up.
pub(super) struct Pieces {
    format: String,
    pieces: Vec<Piece>,
    says_twice: bool,
}

/// The result of the walk over a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// The value has the format's shape.
    Fits {
        /// The second is written as 60.
        is_leap_second: bool,
    },
    /// It has another shape; the library words the error.
    Differs,
}

impl Pieces {
    /// The pieces of a format, or why no value can be read with them.
    pub fn of(format: &str) -> Result<Pieces, String> {
        let mut pieces = Vec::new();
        cut(format, &mut pieces);
        for at in 0..pieces.len() {
            let before = at.checked_sub(1).map(|before| pieces[before].kind);
            if let PieceKind::Fraction { width, is_exact } = &mut pieces[at].kind {
                let is_decimal = matches!(before, Some(PieceKind::Literal(b'.' | b',')));
                *is_exact = width.is_some() && !is_decimal;
            }
        }
        for pair in pieces.windows(2) {
            refuse_open(&pair[0], &pair[1])?;
        }
        Ok(Pieces {
            format: format.to_owned(),
            says_twice: says_twice(&pieces),
            pieces,
        })
    }

    /// The letters at the end of the format that mean UTC, if nothing else is there.
    pub fn utc_at_end(&self) -> Option<&'static str> {
        let pieces = self.pieces.iter().rev();
        let behind_blanks = pieces.skip_while(|piece| piece.kind == PieceKind::Blank);
        let mut letters: Vec<u8> = behind_blanks
            .map_while(|piece| match piece.kind {
                PieceKind::Literal(byte) if byte.is_ascii_alphabetic() => {
                    Some(byte.to_ascii_uppercase())
                }
                _ => None,
            })
            .collect();
        letters.reverse();
        ["Z", "UTC", "GMT"]
            .into_iter()
            .find(|word| word.as_bytes() == letters)
    }

    /// Walks over a value as the library does. Returns an error if required digits are missing.
    pub fn walk(&self, text: &[u8]) -> Result<Walk, ValueError> {
        self.walk_by(text, |_, _| {})
    }

    /// The part of a value that contradicts the date and time that were read from it.
    pub fn contradiction(&self, text: &[u8], parts: &BrokenDownTime) -> Option<ValueError> {
        if !self.says_twice {
            return None;
        }
        let made = match (parts.to_datetime(), parts.to_time()) {
            (Ok(moment), _) => BrokenDownTime::from(moment),
            (_, Ok(time)) => BrokenDownTime::from(time),
            _ => return None,
        };
        let mut found = None;
        let visit = |piece: &Piece, taken: &[u8]| {
            let Ok(expected) = made.to_string(&piece.text) else {
                return;
            };
            let taken = String::from_utf8_lossy(taken);
            let number = |text: &str| text.trim().trim_start_matches('+').parse::<i64>();
            let is_same = match piece.kind {
                PieceKind::Number { .. } => number(&taken) == number(&expected),
                PieceKind::Word => taken.eq_ignore_ascii_case(&expected),
                _ => true,
            };
            if !is_same && found.is_none() {
                found = Some(ValueError::syntax(format!(
                    "contradicts itself: {} of the column's format {:?} is {:?} here, but {:?} by \
                     the other parts; fix the row",
                    piece.text,
                    self.format,
                    taken.trim(),
                    expected.trim()
                )));
            }
        };
        self.walk_by(text, visit).ok()?;
        found
    }

    /// The walk; `visit` gets the text of each piece.
    #[inline]
    fn walk_by(
        &self,
        text: &[u8],
        mut visit: impl FnMut(&Piece, &[u8]),
    ) -> Result<Walk, ValueError> {
        let mut at = 0;
        // True if a number ends here and has all of its digits.
        let mut before: Option<bool> = None;
        // The start of the current run of touching numbers: the offset in the value, and the index of its first piece.
        let (mut row, mut row_place) = (0, 0);
        let mut is_leap_second = false;
        for (place, piece) in self.pieces.iter().enumerate() {
            let rest = &text[at..];
            if before.is_none() {
                (row, row_place) = (at, place);
            }
            match piece.kind {
                PieceKind::Literal(byte) => {
                    if rest.first() != Some(&byte) {
                        return Ok(Walk::Differs);
                    }
                    if byte.is_ascii_digit() && before == Some(false) {
                        return Err(self.digits_missing(self.run(row_place, place), &text[row..]));
                    }
                    before = byte.is_ascii_digit().then_some(true);
                    at += 1;
                }
                PieceKind::Blank => {
                    let count = blanks(rest);
                    if count > 0 {
                        before = None;
                    }
                    at += count;
                }
                PieceKind::Number {
                    letter,
                    width,
                    least,
                    ..
                } => {
                    let sign = match rest.first() {
                        Some(b'+' | b'-') if matches!(letter, b'Y' | b'G' | b'C' | b's') => 1,
                        _ => 0,
                    };
                    let start = sign + blanks(&rest[sign..]);
                    let count = digits(&rest[start..], width);
                    let is_full = count == width;
                    let touches = before.is_some();
                    if count == 0 && !(touches && start == rest.len()) {
                        return Ok(Walk::Differs);
                    }
                    if touches && (start > 0 || !is_full || before == Some(false)) {
                        return Err(self.digits_missing(self.run(row_place, place), &text[row..]));
                    }
                    if count < least {
                        return Err(match self.run(row_place, place).len() {
                            1 => self.year_short(),
                            _ => self.digits_missing(self.run(row_place, place), &text[row..]),
                        });
                    }
                    let is_sixty = letter == b'S' && rest[start..start + count].ends_with(b"60");
                    is_leap_second |= is_sixty;
                    at += start + count;
                    before = Some(is_full);
                }
                PieceKind::Fraction { width, is_exact } => {
                    let count = digits(rest, FRACTION_DIGITS_MAX);
                    let touches = before.is_some();
                    if count == 0 && !(touches && rest.is_empty()) {
                        return Ok(Walk::Differs);
                    }
                    let is_full = Some(count) == width;
                    if (touches || is_exact) && (!is_full || before == Some(false)) {
                        return Err(self.digits_missing(self.run(row_place, place), &text[row..]));
                    }
                    at += count;
                    before = Some(is_full);
                }
                PieceKind::PointAndFraction => {
                    if rest.first() == Some(&b'.') {
                        let count = digits(&rest[1..], FRACTION_DIGITS_MAX);
                        if count == 0 {
                            return Ok(Walk::Differs);
                        }
                        at += 1 + count;
                        before = Some(false);
                    }
                }
                PieceKind::Offset | PieceKind::Word => {
                    let Ok((_, count)) = BrokenDownTime::parse_prefix(&piece.text, rest) else {
                        return Ok(Walk::Differs);
                    };
                    at += count;
                    before = (piece.kind == PieceKind::Offset).then_some(false);
                }
            }
            visit(piece, &rest[..at - (text.len() - rest.len())]);
        }
        Ok(match at == text.len() {
            true => Walk::Fits { is_leap_second },
            false => Walk::Differs,
        })
    }

    /// The numbers that touch each other. The first one is at `start`, and the number at `place` is one of them.
    fn run(&self, start: usize, place: usize) -> &[Piece] {
        let behind = &self.pieces[place + 1..];
        let more = behind.iter().take_while(|piece| piece.kind.is_numeric());
        &self.pieces[start..place + 1 + more.count()]
    }

    /// The error of a value that has too few digits for a run of numbers. `text` is the value from the start of that run.
    #[cold]
    fn digits_missing(&self, run: &[Piece], text: &[u8]) -> ValueError {
        let names: String = run.iter().map(|piece| piece.text.as_str()).collect();
        let widths = run.iter().map(|piece| match piece.kind {
            PieceKind::Number { width, .. } => width,
            PieceKind::Fraction { width, .. } => width.unwrap_or(FRACTION_DIGITS_MAX),
            kind => usize::from(kind.is_numeric()),
        });
        let needed: usize = widths.sum();
        let start = text.iter().position(u8::is_ascii_digit).unwrap_or_default();
        let has = digits(&text[start..], text.len());
        ValueError::syntax(format!(
            "does not fill the column's format {:?}: {names} takes {needed} digits in a row, \
             because no separator ends each number, but the value has {has}; likely a leading zero \
             was lost, as in spreadsheets and integer columns. Write the zeros (1:02:03 is \
             010203), or export with a separator between the numbers, and declare it",
            self.format
        ))
    }

    #[cold]
    fn year_short(&self) -> ValueError {
        ValueError::syntax(format!(
            "the year has fewer than the four digits of the column's format {:?}; if years have \
             two digits, declare %y and year_pivot",
            self.format
        ))
    }
}

fn blanks(text: &[u8]) -> usize {
    text.iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

#[cfg(test)]
mod tests {
    use jiff::fmt::strtime;
    use proptest::prelude::*;

    use super::*;

    fn pieces(format: &str) -> Pieces {
        Pieces::of(format).expect("a format that can be used")
    }

    fn has_digits(format: &str, text: &str) -> bool {
        pieces(format).walk(text.as_bytes()).is_ok()
    }

    #[test]
    fn numbers_that_touch_take_all_their_digits() {
        for (format, full, short) in [
            (
                "%H%M%S",
                "012345",
                &["12345", "2345", "1 2345", "12345 6", "12 34 5"][..],
            ),
            (
                "%H%M",
                "0100",
                &["100", "123", "1", "1 00", "01 0", "01 00"],
            ),
            ("%y%m%d", "040102", &["40102", "102", "4 0102", "24 1 2"]),
            ("%d%m%y", "011024", &["11024", "1 1024"]),
            (
                "%Y%m%d",
                "20240102",
                &[
                    "0240102",
                    "2024112",
                    "202411",
                    "2024 102",
                    "2024 1 2",
                    "2024 0102",
                    "+2024102",
                ],
            ),
            (
                "%Y%m%d%H%M%S",
                "20240102030405",
                &["2024010230405", "2024102030405"],
            ),
            (
                "%d%m%Y %H%M",
                "01022024 0930",
                &["1022024 0930", "01022024 930", "0102202493"],
            ),
            (
                "%d%m%Y%n%H%M",
                "010220240930",
                &["0102202493", "01022024 93"],
            ),
            ("%Y%j", "2024001", &["20241", "202401"]),
            ("%G%V%u", "2024011", &["202411"]),
            ("%y%U%w", "24010", &["2410"]),
            ("%I%M%p", "0930am", &["930am"]),
            ("%l%M %p", "0930 am", &["930 am", "1 30 am"]),
            ("%k%M", "0930", &["930", "9 30"]),
            ("%Y%m%e", "20240105", &["202401 5", "2024015"]),
            ("%Y0%m", "2024001", &["202401", "20240 1"]),
            ("20%y-%m-%d", "2024-01-02", &["204-01-02"]),
            (
                "%H%M%S%3f",
                "010203004",
                &["10203004", "0102030", "010203", "01020304"],
            ),
            (
                "%F%H%M",
                "2024-01-020304",
                &["2024-01-02304", "2024-01-20304"],
            ),
            (
                "%Y%m%dT%H%M%S%z",
                "20240102T030405+0100",
                &["20240102T30405+0100"],
            ),
            ("%Y%m%dT%T", "20240102T030405", &["2024012T03:04:05"]),
            ("%03d%m%Y", "001022024", &["01022024"]),
            ("%-d.%m%Y", "1.022024", &["1.22024"]),
            ("%d.%m.%Y%H:%M", "1.2.202403:04", &["1.2.20243:04"]),
            (
                "%H:%M:%S:%3f",
                "1:2:3:004",
                &["01:02:03:4", "01:02:03:0040"],
            ),
        ] {
            let shape = pieces(format).walk(full.as_bytes());
            assert!(
                matches!(shape, Ok(Walk::Fits { .. }) | Ok(Walk::Differs)),
                "{format} {full}"
            );
            for text in short {
                assert!(!has_digits(format, text), "{format} {text}");
            }
        }
    }

    #[test]
    fn numbers_apart_may_lack_zeros() {
        for (format, texts) in [
            ("%d.%m.%Y", &["1.2.2024", "01.02.2024", " 1. 2.2024"][..]),
            ("%d.%m.%y", &["1.1.5", "01.01.05"]),
            ("%d.%m.%Y %H:%M", &["1.2.2024 9:30", "1.2.2024  9:30"]),
            ("%d %m %y", &["1 2 24", "010224"]),
            ("%Y-%j", &["2024-5"]),
            ("%d%b%Y", &["5Jan2024"]),
            ("%H:%M:%S.%3f", &["1:2:3.4", "1:2:3.123456"]),
            ("%H:%M:%S%.f", &["1:2:3", "1:2:3.5"]),
            (
                "%d%m%Y %H%M",
                &["010220240930", "01022024   0930", "+10220240930"],
            ),
        ] {
            for text in texts {
                assert!(has_digits(format, text), "{format} {text}");
            }
        }
    }

    #[test]
    fn years_have_four_digits() {
        for (format, text) in [
            ("%d.%m.%Y", "1.2.24"),
            ("%H%M %j %Y", "0024 001 24"),
            ("%G-W%V-%u", "24-W01-1"),
            ("%F", "024-01-02"),
            ("%5Y-%m-%d", "24-01-02"),
        ] {
            assert!(!has_digits(format, text), "{format} {text}");
        }
        assert!(has_digits("%5Y-%m-%d", "2024-01-02"));
        assert!(has_digits("%d.%m.%Y", "1.2.0024"));
    }

    #[test]
    fn formats_that_nothing_could_tell_apart() {
        for format in [
            "%Y%-m%d", "%d%-m", "%_d%m", "%H%M%S%f", "%f%H", "%3f%H", "%S%.f%d", "%z%d", "%-d0%m",
            "%T%f", "%-d%Y",
        ] {
            assert!(Pieces::of(format).is_err(), "{format}");
        }
        for format in [
            "%-d.%-m.%Y",
            "%d%b%-Y",
            "%N%H",
            "%9f%H",
            "%S%.f%z",
            "%H%M%S%.f",
            "%S.%f",
            "%S%N",
            "%-H%p",
        ] {
            assert!(Pieces::of(format).is_ok(), "{format}");
        }
    }

    #[test]
    fn the_error_says_what_is_missing() {
        let reason = |format: &str, text: &str| {
            let error = pieces(format)
                .walk(text.as_bytes())
                .expect_err("it lacks digits");
            error.reason
        };
        let text = reason("%H%M%S", "12345");
        assert!(text.contains("%H%M%S takes 6 digits in a row"), "{text}");
        assert!(text.contains("has 5; likely a leading zero"), "{text}");
        let text = reason("%d%m%Y %H%M", "01022024 930");
        assert!(
            text.contains("%H%M takes 4 digits") && text.contains("has 3"),
            "{text}"
        );
        let text = reason("%Y%m%d", "2024 1 5");
        assert!(text.contains("has 4"), "{text}");
    }

    #[test]
    fn parts_that_contradict_each_other() {
        let contradicts = |format: &str, text: &str| {
            let parts = strtime::parse(format, text).expect(text);
            pieces(format)
                .contradiction(text.as_bytes(), &parts)
                .is_some()
        };
        for (format, same, other) in [
            ("%Y-%m-%d (%b)", "2024-02-01 (Feb)", "2024-02-01 (Mar)"),
            ("%Y-%m-%d %j", "2024-02-01 32", "2024-02-01 33"),
            ("%F %d", "2024-02-01 1", "2024-02-02 01"),
            ("%F W%V", "2024-02-01 W05", "2024-02-01 W06"),
            ("%F %G", "2024-12-30 2025", "2024-12-30 2024"),
            ("%Y %G-W%V-%u", "2024 2025-W01-1", "2025 2025-W01-1"),
            ("%H:%M %I %p", "13:05 1 PM", "13:05 2 PM"),
            ("%H:%M:%S %M", "13:05:01 5", "13:05:01 6"),
            ("%Y-%m %j", "2024-02 32", "2024-03 32"),
        ] {
            assert!(!contradicts(format, same), "{format} {same}");
            assert!(contradicts(format, other), "{format} {other}");
        }
        for format in [
            "%Y-%m-%d %H:%M:%S",
            "%a, %d %b %Y %T %z",
            "%I:%M %p",
            "%G-W%V-%u",
            "%Y-%j",
        ] {
            assert!(!pieces(format).says_twice, "{format}");
        }
    }

    #[test]
    fn a_sixtieth_second() {
        let is_leap = |format: &str, text: &str| {
            pieces(format).walk(text.as_bytes())
                == Ok(Walk::Fits {
                    is_leap_second: true,
                })
        };
        assert!(is_leap("%H%M%S", "235960"));
        assert!(is_leap("%T", "23:59:60"));
        assert!(is_leap("%H:%M:%03S", "23:59:060"));
        assert!(!is_leap("%H:%M:%S%.f", "23:00:59.60"));
        assert!(!is_leap("%S:%M:%H", "59:59:20"));
    }

    proptest! {
        /// The walk reads what the library reads, or reports missing digits.
        #[test]
        fn the_walk_takes_what_the_library_takes(
            format in "(%[_0-]?[2-5]?[YmdHMSyjefuwUVWGIkl]|%[bBpaA.TDFRnt%]f?|%:?z|[-/ :.0T]){1,7}",
            text in "[-+0-9:. T/janAMondyFeb%]{0,24}",
        ) {
            let Ok(pieces) = Pieces::of(&format) else { return Ok(()) };
            let now = jiff::civil::date(2024, 2, 9).at(3, 4, 5, 60_000_000);
            let now = now.to_zoned(jiff::tz::TimeZone::UTC).expect("UTC has every time");
            let written = strtime::format(&format, &now).ok();
            for text in written.iter().chain([&text]) {
                let walked = pieces.walk(text.as_bytes());
                if strtime::parse(&format, text).is_ok() {
                    prop_assert_ne!(walked, Ok(Walk::Differs), "{} {}", format, text);
                }
            }
        }
    }
}
