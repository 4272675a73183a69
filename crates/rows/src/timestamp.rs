//! Timestamps in batches: the whole range of PostgreSQL, in Arrow's 64 bits.
//!
//! PostgreSQL counts microseconds from 2000-01-01, Arrow from 1970-01-01. Counted from 1970, the last thirty years of
//! PostgreSQL's range, from 294247-01-10 04:00:54.775808 on, do not fit into 64 bits. PostgreSQL's infinities are the
//! smallest and the largest number of its own 64 bits; counted from 1970, they would be two ordinary moments. So the
//! numbers wrap around: the number in a batch is PostgreSQL's own, infinities included, plus the microseconds between
//! both epochs, modulo 2^64.
//!
//! ```text
//! i64::MIN    MAX  INFINITY  MINUS_INFINITY          MIN            0     i64::MAX
//!    |---------|------|------------|------------------|-------------|---------|
//!     294247 to    both infinities,     nothing         4714 BC to 294247, as
//!     294276       side by side                         Arrow counts them
//! ```
//!
//! PostgreSQL has no dates before 4714 BC, so there is room for the wrapped numbers: each number means one value, and
//! all but the wrapped ones mean the same as in Arrow. Each conversion is one addition ([`from_postgres`],
//! [`to_postgres`]) for every value.
//!
//! The numbers of a batch are not in the order of time: the wrapped ones are below all others. The numbers that
//! [`to_postgres`] returns are in the order of time. Before a batch is passed to a reader of plain Arrow, check it with
//! [`is_plain`].

/// Microseconds from 1970-01-01 to PostgreSQL's own epoch, 2000-01-01.
pub const POSTGRES_EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;

/// PostgreSQL's number of the first timestamp, 4714-11-24 00:00:00 BC.
pub const POSTGRES_MIN: i64 = -211_813_488_000_000_000;

/// PostgreSQL's number of the last timestamp, 294276-12-31 23:59:59.999999.
pub const POSTGRES_MAX: i64 = 9_223_371_331_199_999_999;

/// The first timestamp in a batch, 4714-11-24 00:00:00 BC.
pub const MIN: i64 = from_postgres(POSTGRES_MIN);

/// The last timestamp in a batch, 294276-12-31 23:59:59.999999. As a number it is below
/// [`MIN`].
pub const MAX: i64 = from_postgres(POSTGRES_MAX);

/// `infinity` in a batch.
pub const INFINITY: i64 = from_postgres(i64::MAX);

/// `-infinity` in a batch.
pub const MINUS_INFINITY: i64 = from_postgres(i64::MIN);

// There is room for the wrapped numbers, as described at the head of the file.
const _: () = assert!(MAX < INFINITY && INFINITY < MINUS_INFINITY && MINUS_INFINITY < MIN);

/// The number in a batch for PostgreSQL's number.
#[inline(always)]
pub const fn from_postgres(number: i64) -> i64 {
    number.wrapping_add(POSTGRES_EPOCH_MICROSECONDS)
}

/// PostgreSQL's number for a number in a batch. These numbers sort like in the server, `-infinity` first and `infinity`
/// last.
#[inline(always)]
pub const fn to_postgres(number: i64) -> i64 {
    number.wrapping_sub(POSTGRES_EPOCH_MICROSECONDS)
}

/// True if a number in a batch means the same in Arrow: microseconds since 1970, neither an infinity nor a wrapped number.
#[inline(always)]
pub const fn is_plain(number: i64) -> bool {
    number >= MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in the order of the server, and whether they are plain.
    const ASCENDING: [(i64, bool); 9] = [
        (MINUS_INFINITY, false),
        (MIN, true),
        (-1, true),
        (0, true),
        (POSTGRES_EPOCH_MICROSECONDS, true),
        (i64::MAX, true),
        (i64::MIN, false),
        (MAX, false),
        (INFINITY, false),
    ];

    #[test]
    fn postgres_numbers_sort_and_come_back() {
        for pair in ASCENDING.windows(2) {
            assert!(to_postgres(pair[0].0) < to_postgres(pair[1].0), "{pair:?}");
        }
        for (number, _) in ASCENDING {
            assert_eq!(from_postgres(to_postgres(number)), number);
        }
    }

    #[test]
    fn what_arrow_cannot_mean_is_not_plain() {
        for (number, plain) in ASCENDING {
            assert_eq!(is_plain(number), plain, "{number}");
        }
    }
}
