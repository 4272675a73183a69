//! The shares that a run still waits for, and how long it waits.
//!
//! A process that loads a share gives a sign of life every [`SHOW_LIFE_EVERY`]. A run does not wait for a share forever: if
//! no process gives one for [`Shares::silence_max`](super::Shares::silence_max) and no result arrives, the run fails and
//! names the shares and their processes. Clocks of hosts differ, so any change of the time counts as a sign of life.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use super::error::ShareError;

/// The time between two signs of life of a process that loads a share.
pub const SHOW_LIFE_EVERY: Duration = Duration::from_secs(1);

/// After this time without a sign of life, a note names the share.
const TELL_AFTER: Duration = Duration::from_secs(15);

/// The last sign of life of a process that loads a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// The process, in words.
    pub process: String,
    /// The time of the sign, by the clock of its host or of the file system.
    pub at: SystemTime,
}

/// The shares without a result.
#[derive(Debug)]
pub struct Waiting {
    shares: BTreeMap<usize, Watched>,
    silence_max: Duration,
    /// The last sign of life of any process, or the beginning of the wait.
    last_life: Instant,
}

/// A share without a result.
#[derive(Debug)]
struct Watched {
    /// The last sign of life; none if no process has begun to load the share.
    life: Option<Life>,
    /// When this sign of life was first seen.
    seen: Instant,
    /// A note about the silence of its process was written.
    is_told: bool,
}

impl Waiting {
    /// Begins to wait for shares.
    pub fn new(
        shares: impl IntoIterator<Item = usize>,
        silence_max: Duration,
        now: Instant,
    ) -> Waiting {
        let watched = |share| {
            let watched = Watched {
                life: None,
                seen: now,
                is_told: false,
            };
            (share, watched)
        };
        Waiting {
            shares: shares.into_iter().map(watched).collect(),
            silence_max,
            last_life: now,
        }
    }

    /// The shares without a result.
    pub fn shares(&self) -> Vec<usize> {
        self.shares.keys().copied().collect()
    }

    /// The result of a share is here.
    pub fn ended(&mut self, share: usize, now: Instant) {
        self.shares.remove(&share);
        self.last_life = now;
    }

    /// Compares the last sign of life of a share's process with the one before. Returns a note for the user if the
    /// process has become silent.
    pub fn look(&mut self, share: usize, life: Option<Life>, now: Instant) -> Option<String> {
        let watched = self.shares.get_mut(&share)?;
        if life != watched.life {
            self.last_life = now;
            *watched = Watched {
                life,
                seen: now,
                is_told: false,
            };
            return None;
        }
        let life = watched.life.as_ref()?;
        if watched.is_told || now.duration_since(watched.seen) < TELL_AFTER {
            return None;
        }
        watched.is_told = true;
        Some(format!(
            "share {share}: {} has given no sign of life for {} s; if it has ended, `inrush join ... --share {share}` \
             loads the rest",
            life.process,
            TELL_AFTER.as_secs()
        ))
    }

    /// Fails if no process has given a sign of life for too long.
    pub fn require_life(&self, now: Instant) -> Result<(), ShareError> {
        if self.shares.is_empty() || now.duration_since(self.last_life) < self.silence_max {
            return Ok(());
        }
        let shares = self.shares.iter();
        let words = shares.map(|(share, watched)| match &watched.life {
            Some(life) => format!(
                "share {share} ({} has stopped or was suspended)",
                life.process
            ),
            None => format!("share {share} (no process has begun to load it)"),
        });
        Err(ShareError::Silent {
            silence_s: self.silence_max.as_secs(),
            shares: words.collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(100);

    fn life(second: u64) -> Option<Life> {
        Some(Life {
            process: "host b, process 7".to_owned(),
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
        })
    }

    fn silent(waiting: &Waiting, now: Instant) -> Option<String> {
        waiting
            .require_life(now)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn a_share_that_nobody_loads_is_waited_for_up_to_the_limit() {
        let begun = Instant::now();
        let mut waiting = Waiting::new([1, 3], LIMIT, begun);
        assert_eq!(waiting.shares(), [1, 3]);
        assert_eq!(waiting.look(1, None, begun + TELL_AFTER * 2), None);
        let almost = begun + LIMIT - Duration::from_millis(1);
        assert_eq!(silent(&waiting, almost), None);
        let error = silent(&waiting, begun + LIMIT).expect("too long");
        assert!(error.contains("share 1 (no process has begun"), "{error}");
        assert!(error.contains("share 3 (no process has begun"), "{error}");
        assert!(error.contains("for 100 s"), "{error}");
    }

    #[test]
    fn a_process_that_shows_life_is_waited_for_as_long_as_it_does() {
        let begun = Instant::now();
        let mut waiting = Waiting::new([1, 2], LIMIT, begun);
        let mut now = begun;
        for second in 0..1_000 {
            now = begun + Duration::from_secs(second);
            // Its clock runs backwards.
            assert_eq!(waiting.look(1, life(10_000 - second), now), None);
            assert_eq!(silent(&waiting, now), None);
        }
        let told = waiting.look(1, life(10_000 - 999), now + TELL_AFTER);
        let told = told.expect("the process is silent");
        assert!(
            told.starts_with("share 1: host b, process 7 has given no sign of life for 15 s"),
            "{told}"
        );
        assert_eq!(
            waiting.look(1, life(10_000 - 999), now + TELL_AFTER * 2),
            None,
            "told once"
        );
        let error = silent(&waiting, now + LIMIT).expect("too long");
        assert!(
            error.contains("share 1 (host b, process 7 has stopped"),
            "{error}"
        );
        // It continues, and may become silent again.
        assert_eq!(waiting.look(1, life(1), now + LIMIT), None);
        assert_eq!(silent(&waiting, now + LIMIT), None);
        assert!(waiting.look(1, life(1), now + LIMIT + TELL_AFTER).is_some());
    }

    #[test]
    fn a_result_is_a_sign_of_life_too() {
        let begun = Instant::now();
        let mut waiting = Waiting::new([1, 2], LIMIT, begun);
        waiting.ended(2, begun + LIMIT);
        assert_eq!(silent(&waiting, begun + LIMIT), None);
        assert!(silent(&waiting, begun + LIMIT * 2).is_some());
        waiting.ended(1, begun + LIMIT * 2);
        assert_eq!(waiting.shares(), Vec::<usize>::new());
        assert_eq!(silent(&waiting, begun + LIMIT * 9), None);
    }
}
