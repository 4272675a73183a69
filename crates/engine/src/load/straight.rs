//! Loads pieces of work directly into the target (`atomic = false`). Each piece is one transaction. If
//! the destination refuses a row of a piece, that piece alone is loaded again, carefully; committed pieces
//! stay.
//!
//! Two pieces may have rows with the same key. Then one transaction waits for the other, and the wait
//! may end in a deadlock or a lock timeout. The piece whose transaction fails is loaded again while no
//! other piece of the run is being loaded, so it does not have to wait.

use inrush_destination::LoadMethod;
use inrush_plan::destination_error::Retry;
use inrush_plan::units::part::Part;
use inrush_source::{SharedPart, SharedSplit, Split};

use super::loader::Loader;
use super::transaction::TransactionEnd;
use crate::error::Error;
use crate::pipeline::feeding::{FedFile, TakenRanges};
use crate::pipeline::results::StreamResult;
use crate::pipeline::work::{FedWork, Work};

/// Work that can be loaded more than once.
pub enum RepeatableWork<'a> {
    /// Splits.
    Splits(&'a [Split]),
    /// Ranges of a file that is fed.
    Fed {
        /// The file.
        file: &'a FedFile,
        /// Its feed.
        feed: &'a dyn SharedSplit,
        /// All of the file.
        split: &'a Split,
        /// A transaction is committed once it has this many bytes of text.
        wanted_bytes: u64,
        /// The first range, until it is loaded.
        first: Option<SharedPart>,
        /// The ranges that were taken from the feed.
        taken: TakenRanges,
    },
}

impl RepeatableWork<'_> {
    /// The work of the next transaction.
    pub fn work(&mut self) -> Work<'_> {
        match self {
            RepeatableWork::Splits(splits) => Work::Splits(splits),
            RepeatableWork::Fed {
                file,
                feed,
                split,
                wanted_bytes,
                first,
                taken,
            } => match first.take() {
                Some(first) => Work::Fed(FedWork {
                    file,
                    feed: *feed,
                    split,
                    first: Some(first),
                    wanted_bytes: *wanted_bytes,
                    taken,
                }),
                None => Work::FedAgain { file, split, taken },
            },
        }
    }

    /// True if rows of the file were refused before: the next ones are loaded carefully at once, so that the file is
    /// not read from its beginning for each of its pieces.
    fn is_suspect(&self) -> bool {
        matches!(self, RepeatableWork::Fed { file, .. } if file.is_suspect())
    }

    fn suspect(&self) {
        if let RepeatableWork::Fed { file, .. } = self {
            file.suspect();
        }
    }
}

/// How one attempt loads a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Attempt {
    is_careful: bool,
    is_alone: bool,
}

impl Loader<'_, '_> {
    /// Loads a piece of work and commits it.
    pub(super) async fn straight(
        &self,
        work: &mut RepeatableWork<'_>,
        part: Part,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        let mut attempt = Attempt {
            is_careful: work.is_suspect(),
            is_alone: false,
        };
        loop {
            let _guard = self.run.straight_lock.take(attempt.is_alone).await;
            let method = match attempt.is_careful {
                true => LoadMethod::Careful,
                false => LoadMethod::Quick,
            };
            let tried = self.transaction(work.work(), part, None, method, None, result);
            let error = match tried.await {
                Ok(ended) => return Ok(ended),
                Err(error) => error,
            };
            attempt = self.next_attempt(attempt, error)?;
            work.suspect();
        }
    }

    /// The method of the next attempt after a failed one; the error if no other method can succeed.
    fn next_attempt(&self, tried: Attempt, error: Error) -> Result<Attempt, Error> {
        let next = Attempt {
            is_careful: true,
            is_alone: tried.is_alone || self.retry(&error) == Retry::Alone,
        };
        if next == tried {
            return Err(error);
        }
        let refused = self.refusal(error)?;
        self.events().refused(refused.to_string());
        Ok(next)
    }
}
