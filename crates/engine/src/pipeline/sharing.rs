//! The progress of a shared unit over all of its streams: which stream loads which piece, and whether the server
//! refused a row. After a refusal one stream loads the whole unit carefully.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::reject_count::RowTally;

/// A shared unit, as its streams see it.
#[derive(Debug)]
pub struct Sharing {
    /// Splits that are still to be loaded.
    pub splits_left: AtomicUsize,
    /// Rows that were read from the unit; the flow's count includes them.
    tally: Mutex<RowTally>,
    /// Committed bytes of its files that were reported as progress.
    pub committed_bytes: AtomicU64,
    streams: Mutex<Streams>,
    refused: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Streams {
    /// The number of streams that load a part of it now.
    count: usize,
    /// A stream loads the whole unit carefully, or has done so.
    is_taken: bool,
}

impl Sharing {
    /// A unit with this number of splits left; the others are committed.
    pub fn new(splits_left: usize, committed: RowTally) -> Sharing {
        Sharing {
            splits_left: AtomicUsize::new(splits_left),
            tally: Mutex::new(committed),
            committed_bytes: AtomicU64::new(0),
            streams: Mutex::default(),
            refused: watch::Sender::new(false),
        }
    }

    /// Counts rows that were read or rejected.
    pub fn note(&self, more: RowTally) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.add(more);
    }

    /// Returns the count of its rows, and resets it.
    pub fn take_back(&self) -> RowTally {
        std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Called before a stream loads a piece. Returns false if the server has refused a row.
    pub fn enter(&self) -> bool {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let may = !*self.refused.borrow();
        streams.count += usize::from(may);
        may
    }

    /// Called when a stream has loaded its piece, or rolled it back. Returns true if this stream must now load the
    /// whole unit carefully: the last one to leave after a refusal.
    pub fn leave(&self) -> bool {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.count -= 1;
        let takes = *self.refused.borrow() && streams.count == 0 && !streams.is_taken;
        streams.is_taken |= takes;
        takes
    }

    /// Notes that the server refused a row. Returns true for the first refusal.
    pub fn refuse(&self) -> bool {
        let _streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        !self.refused.send_replace(true)
    }

    /// Waits until the server refuses a row of it.
    pub async fn refused(&self) {
        let mut receiver = self.refused.subscribe();
        let _ = receiver
            .wait_for(|refused| *refused)
            .await
            .expect("the sender lives as long as self");
    }

    /// Notes that one stream has loaded the whole unit in one transaction.
    pub fn all_done(&self) {
        self.splits_left.store(0, Ordering::Release);
    }

    /// True if all of it is committed.
    pub fn is_done(&self) -> bool {
        self.splits_left.load(Ordering::Acquire) == 0
    }

    /// Notes that a split is committed. Returns true for the last split.
    pub fn split_done(&self) -> bool {
        self.splits_left.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_to_leave_after_a_refusal_loads_it_all() {
        let sharing = Sharing::new(3, RowTally::default());
        assert!(sharing.enter() && sharing.enter());
        assert!(!sharing.leave(), "nothing was refused");
        assert!(sharing.enter());
        assert!(sharing.refuse());
        assert!(!sharing.refuse(), "no news");
        assert!(!sharing.enter());
        assert!(!sharing.leave(), "another one is in it");
        assert!(sharing.leave());
        assert!(!sharing.is_done());
        sharing.all_done();
        assert!(sharing.is_done());
    }

    #[test]
    fn one_that_nobody_refused_is_loaded_carefully_by_none() {
        let sharing = Sharing::new(1, RowTally::default());
        assert!(sharing.enter());
        assert!(!sharing.leave());
        assert!(!sharing.is_done());
        assert!(sharing.split_done() && sharing.is_done());
    }
}
