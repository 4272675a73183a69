//! Finds hazards for a preflight: what would stop or disturb a run while it reads from a server.
//!
//! Timeouts of the role are not hazards: every session sets them to 0 ([`inrush_pgclient::SETTINGS`]).

use std::path::Path;

use inrush_pgclient::connections_left::{CONNECTIONS_LEFT, ConnectionsLeft};
use inrush_pgclient::{BlockingSession, SessionError};
use inrush_rows::finding::{Finding, Weight};
use inrush_source::{ExpectedReading, SourceError};

use crate::database::Database;
use crate::error::of_session;
use crate::snapshot_age;

/// The settings of a server that limit how long a snapshot lasts: whether it is a standby that cancels reading
/// transactions, the delay of the cancellation in milliseconds, and the minutes after which old rows may be removed.
/// PostgreSQL 17 removed the last setting.
const LIMITS_OF_SNAPSHOTS: &str = "SELECT \
    pg_catalog.pg_is_in_recovery() AND NOT pg_catalog.current_setting('hot_standby_feedback')::pg_catalog.bool, \
    (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_standby_streaming_delay'), \
    (SELECT setting FROM pg_catalog.pg_settings \
     WHERE name = 'old_snapshot_threshold' AND NOT pg_catalog.pg_is_in_recovery()), \
    pg_catalog.pg_backend_pid()";

/// The hazards of reading from a database.
pub fn of_reading(
    database: &Database,
    expected: &ExpectedReading,
) -> Result<Vec<Finding>, SourceError> {
    let place = &*database.place;
    let of_pool = database.pool.open_count();
    let needed = expected.streams.min(database.pool.sessions_max()) + 1;
    database.look(Path::new(place), |keeper| {
        let asked = ask(keeper);
        let (left, limits) = asked.map_err(|error| of_session(Path::new(place), error))?;
        let mut found = Vec::new();
        if let Some(left) = left {
            // The session that keeps the snapshot is open, too.
            let own = of_pool as i64 + 1;
            for lack in left.lacks(needed as i64, own) {
                let fix = match lack.free {
                    2.. => format!(
                        "{}; or set `max_connections` of the source (--source-connections) to {}",
                        lack.raise, lack.free
                    ),
                    _ => lack.raise,
                };
                found.push(Finding::stops(format!("{place}: {}", lack.what), fix));
            }
        }
        found.extend(limits.of_standby(place, expected));
        found.extend(limits.of_old_rows(place, expected));
        if limits.backend != keeper.backend_process_id() {
            found.push(Finding::hurts(
                format!(
                    "{place}: a pooler (such as PgBouncer) answers for the server; it keeps sessions, and the run opens {needed} \
                     of them, so streams wait if the pooler has fewer"
                ),
                format!(
                    "let the pooler have {needed} connections for this user and database, or connect to the server itself"
                ),
            ));
        }
        Ok(found)
    })
}

/// How long a snapshot of a server lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limits {
    /// True if it is a standby that cancels reading transactions, unless `delay_ms` is negative.
    cancels: bool,
    /// `max_standby_streaming_delay`, in milliseconds; negative: no limit.
    delay_ms: i64,
    /// `old_snapshot_threshold`, in minutes; negative: no limit.
    threshold_minutes: i64,
    /// The process that serves the session.
    backend: i32,
}

fn ask(keeper: &mut BlockingSession) -> Result<(Option<ConnectionsLeft>, Limits), SessionError> {
    // Within a transaction, the server returns the activity that was read first, unless the statistics snapshot is
    // cleared.
    let sql = format!("SELECT pg_catalog.pg_stat_clear_snapshot(); {CONNECTIONS_LEFT}");
    let rows = keeper.query(&sql, "asking for the server's limits")?;
    let left = rows.rows.first().and_then(|row| ConnectionsLeft::read(row));
    let rows = keeper.query(LIMITS_OF_SNAPSHOTS, "asking how long a snapshot lasts")?;
    let row = rows.rows.into_iter().next().unwrap_or_default();
    Ok((left, Limits::read(&row)))
}

impl Limits {
    /// Reads the row of [`LIMITS_OF_SNAPSHOTS`].
    fn read(row: &[Option<String>]) -> Limits {
        let text = |index: usize| row.get(index).and_then(Option::as_deref);
        let number = |index| text(index).and_then(|text| text.parse().ok());
        Limits {
            cancels: text(0) == Some("t"),
            delay_ms: number(1).unwrap_or(-1),
            threshold_minutes: number(2).unwrap_or(-1),
            backend: text(3).and_then(|text| text.parse().ok()).unwrap_or(0),
        }
    }

    fn of_standby(&self, place: &str, expected: &ExpectedReading) -> Option<Finding> {
        let delay_s = self.delay_ms as f64 / 1e3;
        let is_hazard = self.cancels && self.delay_ms >= 0 && expected.may_exceed(delay_s);
        is_hazard.then(|| {
            Finding::hurts(
                format!(
                    "{place} is a standby: it cancels a reading transaction that has delayed the changes of the \
                     primary for {delay_s} s (max_standby_streaming_delay), and {}",
                    expected.words()
                ),
                "set hot_standby_feedback = on or max_standby_streaming_delay = -1 there, or read from the primary",
            )
        })
    }

    fn of_old_rows(&self, place: &str, expected: &ExpectedReading) -> Option<Finding> {
        let minutes = u64::try_from(self.threshold_minutes).ok()?;
        let lasts_s = snapshot_age::lasts(minutes).as_secs();
        let is_hazard = expected.may_exceed(lasts_s as f64);
        is_hazard.then(|| Finding {
            weight: match expected.seconds {
                Some(_) => Weight::Stops,
                None => Weight::Hurts,
            },
            what: format!(
                "{place}: the server removes rows that only snapshots older than {minutes} min see (old_snapshot_threshold), so a \
                 snapshot may be read for {lasts_s} s, and {}",
                expected.words()
            ),
            hint: Some(snapshot_age::FIX.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(seconds: f64) -> ExpectedReading {
        ExpectedReading {
            streams: 2,
            seconds: Some(seconds),
        }
    }

    fn limits(row: [Option<&str>; 4]) -> Limits {
        Limits::read(&row.map(|text| text.map(str::to_owned)))
    }

    #[test]
    fn a_standby_that_cancels_is_told_if_reading_takes_longer() {
        let standby = limits([Some("t"), Some("30000"), None, Some("7")]);
        let told = standby
            .of_standby("crm", &expected(31.0))
            .expect("a hazard");
        assert!(
            told.what.contains("for 30 s") && told.what.contains("take 31.0 s"),
            "{told:?}"
        );
        assert_eq!(told.weight, Weight::Hurts);
        assert_eq!(standby.of_standby("crm", &expected(29.0)), None);
        assert!(
            standby
                .of_standby("crm", &ExpectedReading::default())
                .is_some()
        );
        for row in [
            [Some("t"), Some("-1"), None, None],
            [Some("f"), Some("30000"), None, None],
        ] {
            assert_eq!(
                limits(row).of_standby("crm", &expected(1e9)),
                None,
                "{row:?}"
            );
        }
        assert_eq!(standby.backend, 7);
    }

    #[test]
    fn rows_that_are_removed_early_are_told() {
        let old = limits([Some("f"), Some("30000"), Some("2"), None]);
        assert_eq!(old.of_old_rows("crm", &expected(59.0)), None);
        let told = old.of_old_rows("crm", &expected(61.0)).expect("a hazard");
        assert!(told.what.contains("older than 2 min"), "{told:?}");
        assert!(
            told.weight == Weight::Stops && told.what.contains("read for 60 s"),
            "{told:?}"
        );
        let unknown = old.of_old_rows("crm", &ExpectedReading::default());
        assert!(unknown.is_some_and(|told| told.weight == Weight::Hurts));
        for threshold in [Some("-1"), None] {
            let newer = limits([Some("f"), Some("30000"), threshold, None]);
            assert_eq!(newer.of_old_rows("crm", &expected(1e9)), None);
        }
    }
}
