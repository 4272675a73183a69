//! The intended starts of a client's calls in an open loop: random times with a mean rate, like calls of users who are
//! independent of each other.

use std::time::Duration;

/// A generator of 64-bit numbers (SplitMix64): the same seed gives the same times on every machine.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number above 0 and at most 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// The times of one client's calls, counted from the start of the run.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
    gap_mean_s: f64,
    next_s: f64,
}

impl Schedule {
    /// The schedule of a client with this rate. Gaps between calls are exponential (a Poisson process).
    pub fn new(calls_per_s: f64, seed: u64) -> Schedule {
        let mut schedule = Schedule {
            random: Random(seed),
            gap_mean_s: 1.0 / calls_per_s,
            next_s: 0.0,
        };
        schedule.advance();
        schedule
    }

    /// The intended start of the next call.
    pub fn next(&self) -> Duration {
        Duration::try_from_secs_f64(self.next_s).unwrap_or(Duration::MAX)
    }

    /// Advances to the call after the next one.
    pub fn advance(&mut self) {
        self.next_s -= self.random.share().ln() * self.gap_mean_s;
    }

    /// The number of calls, from the next one on, that are intended to begin before that time.
    pub fn count_until(mut self, end: Duration) -> u64 {
        let mut count = 0;
        while self.next() < end {
            count += 1;
            self.advance();
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_rate() {
        for (rate, seed) in [(1.0, 1), (250.0, 2), (40_000.0, 3)] {
            let second = Duration::from_secs(1);
            let end = second.mul_f64(40_000.0 / rate);
            let calls = Schedule::new(rate, seed).count_until(end);
            // 40,000 arrivals vary by 200.
            assert!((39_000..41_000).contains(&calls), "{rate}: {calls}");
        }
    }

    #[test]
    fn a_seed_tells_the_moments() {
        let moments = |seed| {
            let mut schedule = Schedule::new(10.0, seed);
            let mut next = || {
                schedule.advance();
                schedule.next()
            };
            [next(), next(), next()]
        };
        assert_eq!(moments(7), moments(7));
        assert_ne!(moments(7), moments(8));
        assert!(moments(7).is_sorted());
    }
}
