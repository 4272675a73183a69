//! Finds the limit on the time for which an imported snapshot shows all of its rows.
//!
//! With `old_snapshot_threshold` (PostgreSQL 14 to 16; off by default) a server removes rows that only older snapshots
//! see. If it has removed rows of a page since a session took its snapshot, reading the page is an error. If a session
//! imports a snapshot, the server counts from the import, so it does not notice rows that it removed before: it sends
//! the remaining rows without an error. Therefore the time is measured here, and rows that were read too late are
//! refused.

use std::time::{Duration, Instant};

use inrush_pgclient::{BlockingSession, ClientError, SessionError};

/// The threshold in minutes; no row if it is off, or if the server is a standby, which removes nothing by itself.
const THRESHOLD: &str = "SELECT setting FROM pg_catalog.pg_settings \
    WHERE name = 'old_snapshot_threshold' AND setting <> '-1' AND NOT pg_catalog.pg_is_in_recovery()";

/// The fix.
pub const FIX: &str = "set old_snapshot_threshold = -1 and restart the server, read from a standby, or read less at a time";

/// The age of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotAge {
    /// A moment before the snapshot was taken.
    begun: Instant,
    /// The threshold in minutes, if it is on.
    threshold_minutes: Option<u64>,
}

impl SnapshotAge {
    /// Must be called before the snapshot is taken. Refuses a server whose threshold allows no reading at all.
    pub fn begin(keeper: &mut BlockingSession) -> Result<SnapshotAge, SessionError> {
        let begun = Instant::now();
        let found = keeper.query(THRESHOLD, "asking how long a snapshot lasts")?;
        let age = SnapshotAge {
            begun,
            threshold_minutes: found.first().and_then(|minutes| minutes.parse().ok()),
        };
        age.check()?;
        Ok(age)
    }

    /// Refuses rows that were read up to now, if some of them may have been removed before.
    pub fn check(&self) -> Result<(), SessionError> {
        self.check_after(self.begun.elapsed())
    }

    fn check_after(&self, age: Duration) -> Result<(), SessionError> {
        let Some(minutes) = self.threshold_minutes else {
            return Ok(());
        };
        let lasts = lasts(minutes);
        match age < lasts {
            true => Ok(()),
            false => Err(SessionError::Client(ClientError::Gone {
                what: format!(
                    "the server removes rows that only snapshots older than {minutes} min see (old_snapshot_threshold). Sessions \
                     that share a snapshot would miss these rows without an error, so this snapshot may be read for {} s",
                    lasts.as_secs()
                ),
                hint: FIX.to_owned(),
            })),
        }
    }
}

/// How long a snapshot shows all rows with a threshold: the server counts whole minutes, and a minute that has only
/// begun counts as a whole one.
pub fn lasts(threshold_minutes: u64) -> Duration {
    Duration::from_secs(60 * threshold_minutes.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_lasts_a_minute_less_than_the_server_says() {
        let after = |threshold_minutes, seconds| {
            let age = SnapshotAge {
                begun: Instant::now(),
                threshold_minutes,
            };
            age.check_after(Duration::from_secs(seconds)).is_ok()
        };
        assert!(after(None, 1_000_000));
        assert!(after(Some(3), 119) && !after(Some(3), 120));
        assert!(!after(Some(1), 0) && !after(Some(0), 0));
    }
}
