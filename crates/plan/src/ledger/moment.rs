//! Moments of a ledger as texts. A ledger has them in microseconds since 1970-01-01T00:00:00Z.

use jiff::Timestamp;

/// A moment as messages and tables show it, to the second: `2026-11-24 07:10:14 UTC`.
pub fn moment_text(microseconds: i64) -> String {
    moment(microseconds)
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// A moment for programs (RFC 3339): `2026-11-24T07:10:14.957737Z`.
pub fn moment_rfc3339(microseconds: i64) -> String {
    moment(microseconds).to_string()
}

/// The moment as a timestamp. If it is outside the range of timestamps, the first or the last timestamp.
fn moment(microseconds: i64) -> Timestamp {
    let beyond = match microseconds < 0 {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    };
    Timestamp::from_microsecond(microseconds).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_to_the_second() {
        assert_eq!(
            moment_text(1_795_533_014_957_737),
            "2026-11-24 15:10:14 UTC"
        );
        assert_eq!(
            moment_rfc3339(1_795_533_014_957_737),
            "2026-11-24T15:10:14.957737Z"
        );
        assert_eq!(moment_text(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!(moment_text(i64::MAX), moment_text(i64::MAX - 1));
    }
}
