//! Reject replay: rejects of runs that are over, found in their folders, shown, and loaded once they were fixed.

mod error;
mod kept;
mod replay;

pub use error::ReplayError;
pub use kept::{RejectCause, causes, count, find_folder};
pub use replay::{Replay, replay, to_save};
