//! Loads pieces of work directly into the target (`atomic = false`). Each piece is one transaction. If
//! the server refuses a row of a piece, that piece alone is loaded again, carefully; committed pieces
//! stay.
//!
//! Two pieces may have rows with the same key. Then one transaction waits for the other, and the wait
//! may end in a deadlock or a lock timeout. The piece whose transaction fails is loaded again while no
//! other piece of the run is being loaded, so it does not have to wait.

use inrush_files::{Feed, FeedRange, Split};

use super::loader::{Loader, TransactionEnd};
use super::piece::SendMethod;
use crate::engine::error::Error;
use crate::engine::pipeline::feeding::{FedFile, TakenRanges};
use crate::engine::pipeline::results::StreamResult;
use crate::engine::pipeline::work::{FedWork, Work};
use crate::failures::of_server;
use crate::plan::additions::Additions;

/// Text that a stream loads from a feed in one transaction: what a stop throws away.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// A piece of work that can be loaded more than once.
pub enum StraightPart<'a> {
    /// File ranges.
    Splits(&'a [Split]),
    /// Ranges of a file that is fed.
    Fed {
        file: &'a FedFile,
        feed: &'a Feed,
        split: &'a Split,
        /// The first one, until it is loaded.
        first: Option<Box<FeedRange>>,
        /// Those that were taken from the feed.
        taken: TakenRanges,
    },
}

impl StraightPart<'_> {
    /// What is loaded in a transaction.
    pub fn work(&mut self) -> Work<'_> {
        match self {
            StraightPart::Splits(splits) => Work::Splits(splits),
            StraightPart::Fed {
                file,
                feed,
                split,
                first,
                taken,
            } => match first.take() {
                Some(first) => Work::Fed(FedWork {
                    file,
                    feed,
                    split,
                    first: Some(first),
                    wanted_bytes: FED_TRANSACTION_BYTES,
                    taken,
                }),
                None => Work::FedAgain { file, split, taken },
            },
        }
    }

    /// Whether rows of the file were refused before: the next ones are loaded carefully at once, so
    /// that the file is not read from its beginning for each of its pieces.
    fn is_suspect(&self) -> bool {
        matches!(self, StraightPart::Fed { file, .. } if file.is_suspect())
    }

    fn suspect(&self) {
        if let StraightPart::Fed { file, .. } = self {
            file.suspect();
        }
    }
}

/// How a piece is tried.
#[derive(Clone, Copy)]
struct Attempt {
    is_careful: bool,
    is_alone: bool,
}

impl Loader<'_> {
    /// Loads a piece of work and commits it.
    pub(super) async fn straight(
        &self,
        part: &mut StraightPart<'_>,
        name: &str,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        let mut attempt = Attempt {
            is_careful: part.is_suspect(),
            is_alone: false,
        };
        loop {
            let _guard = self.context.run.straight_lock.take(attempt.is_alone).await;
            let way = match attempt.is_careful {
                true => SendMethod::Careful(Additions::NONE),
                false => SendMethod::Quick,
            };
            let tried = self.transaction(part.work(), name, None, way, result).await;
            let error = match tried {
                Ok(ended) => return Ok(ended),
                Err(error) => error,
            };
            attempt = self.next_attempt(attempt, error)?;
            part.suspect();
        }
    }

    /// How a piece is tried next that failed; errors that no other way would fix come back.
    fn next_attempt(&self, tried: Attempt, error: Error) -> Result<Attempt, Error> {
        let next = match of_server(&error) {
            Some(refused) if refused.is_blocked() => Attempt {
                is_careful: true,
                is_alone: true,
            },
            _ => Attempt {
                is_careful: true,
                is_alone: tried.is_alone,
            },
        };
        let is_new = (next.is_careful, next.is_alone) != (tried.is_careful, tried.is_alone);
        if !is_new {
            return Err(error);
        }
        let refused = self.refusal(error)?;
        self.tell_refusal(&refused);
        Ok(next)
    }
}
