//! Days and the Gregorian calendar, extended backwards as in PostgreSQL. The year 0 is 1 BC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds of a day.
pub const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// PostgreSQL's first day, 4714-11-24 BC: day 0 of the Julian count.
pub const DAYS_MIN: i64 = -2_440_588;

/// PostgreSQL's last day, 5874897-12-31.
pub const DAYS_MAX: i64 = days_from_civil(5_874_897, 12, 31);

/// Days of 400 years, after which the calendar repeats, weekdays included.
pub const CYCLE_DAYS: i64 = 146_097;

/// True if a year has a 29th of February.
#[inline(always)]
pub const fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 1 to 12.
#[inline(always)]
pub const fn days_in_month(year: i64, month: u32) -> u32 {
    const DAYS: [u32; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if month == 2 && is_leap_year(year) {
        29
    } else {
        DAYS[month as usize]
    }
}

/// Days since 1970-01-01 of a date that exists.
#[inline(always)]
pub const fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    // If years begin in March, the leap day comes at the end.
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = ((month + 9) % 12) as i64;
    let day_of_year = (153 * month_from_march + 2) / 5 + day as i64 - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// Like [`days_from_civil`], for years 1 to 9999, in 32 bits and without signs.
#[inline(always)]
pub const fn days_of_four_digit_year(year: u32, month: u32, day: u32) -> i32 {
    /// Days before a month, in a year that begins with March.
    const DAYS_BEFORE: [u32; 13] = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    let year = year - (month <= 2) as u32;
    let century = year / 100;
    let days = 365 * year + year / 4 - century + century / 4 + DAYS_BEFORE[month as usize] + day;
    days as i32 - 719_469
}

/// Year, month and day of a count of days since 1970-01-01.
pub const fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let cycle = days.div_euclid(CYCLE_DAYS);
    let day_of_cycle = days.rem_euclid(CYCLE_DAYS);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524
        - day_of_cycle / 146_096)
        / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    // 1 to 31, and 1 to 12.
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    } as u32;
    let year = year_of_cycle + cycle * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

/// The current time, in microseconds since 1970.
pub fn now_microseconds() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::civil;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_day_of_jiff() {
        let epoch = civil::date(1970, 1, 1);
        let first = (civil::Date::MIN - epoch).get_days();
        let mut date = civil::Date::MIN;
        let mut days = i64::from(first);
        loop {
            let parts = (
                i64::from(date.year()),
                date.month() as u32,
                date.day() as u32,
            );
            assert_eq!(days_from_civil(parts.0, parts.1, parts.2), days, "{date}");
            assert_eq!(civil_from_days(days), parts, "{date}");
            if let (Ok(year @ 1..), month, day) = (u32::try_from(parts.0), parts.1, parts.2) {
                let quick = days_of_four_digit_year(year, month, day);
                assert_eq!(i64::from(quick), days, "{date}");
            }
            assert!(parts.2 <= days_in_month(parts.0, parts.1));
            match date.tomorrow() {
                Ok(next) => date = next,
                Err(_) => break,
            }
            days += 1;
        }
    }

    #[test]
    fn the_ends_of_postgresql() {
        assert_eq!(civil_from_days(DAYS_MIN), (-4713, 11, 24));
        assert_eq!(civil_from_days(DAYS_MAX), (5_874_897, 12, 31));
    }

    proptest! {
        #[test]
        fn there_and_back(days in DAYS_MIN..=DAYS_MAX) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    /// Walks through the calendar day by day, by its rules.
    #[test]
    fn eight_hundred_years_day_by_day() {
        let (mut year, mut month, mut day) = (-401i64, 1, 1);
        let start = (0..)
            .map(|days| -days)
            .find(|&days| civil_from_days(days) == (-401, 1, 1));
        let start: i64 = start.expect("the year has a first day");
        for days in start..start + 2 * 146_097 {
            assert_eq!(civil_from_days(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let month_days = match month {
                2 => 28 + u32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > month_days {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (399, 1, 1));
    }
}
