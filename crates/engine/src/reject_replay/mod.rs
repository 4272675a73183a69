//! Reject replay: finds the rejects of past runs in their folders, shows them, and loads them once they are fixed.

mod error;
mod kept;
mod outputs;
mod replay;

pub use error::ReplayError;
pub use kept::{RejectCause, causes, count, find_folder};
pub use replay::{Replay, first_package, replay, to_save};
