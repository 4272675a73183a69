//! Limits that protect a database while it is read.

use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;

/// The limits of reading a database. All sources that read it share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The most connections that are open at a time.
    pub connections_max: usize,
    /// The most bytes that are read in a second; `None`: no limit.
    pub rate_bytes_max: Option<u64>,
    /// The longest wait for a lock of another session on a table, in milliseconds.
    pub lock_wait_ms: u32,
}

/// The pace of one reader. After it has received bytes, it waits as long as the rate requires before it receives more.
#[derive(Debug)]
pub struct ReadPace {
    pace: Arc<Pace>,
    received: usize,
}

impl ReadPace {
    /// A reader at the pace of its database.
    pub fn new(pace: &Arc<Pace>) -> ReadPace {
        ReadPace {
            pace: Arc::clone(pace),
            received: 0,
        }
    }

    /// Counts bytes that were received.
    pub fn add(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Waits until more may be received, or until a stop is requested.
    pub fn keep(&mut self, stop: &Stop) {
        let received = std::mem::take(&mut self.received);
        if received > 0 && self.pace.is_limited() {
            self.pace.pass_on_thread(received, stop);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn readers_of_one_database_share_its_rate() {
        let pace = Arc::new(Pace::new(Some(1_000_000)));
        let stop = Stop::default();
        let mut readers = [ReadPace::new(&pace), ReadPace::new(&pace)];
        let begun = Instant::now();
        for reader in &mut readers {
            reader.add(10_000);
            reader.add(10_000);
            reader.keep(&stop);
            // Nothing was received since the last wait.
            reader.keep(&stop);
        }
        let both = begun.elapsed();
        assert!(both >= Duration::from_millis(20), "{both:?}");
        readers[0].add(1);
        readers[0].keep(&stop);
        assert!(begun.elapsed() >= Duration::from_millis(40));
    }
}
