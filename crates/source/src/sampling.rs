//! Samples of a source's server: an optional part of the contract, for sources whose rows come from the sessions of a server.
//!
//! The engine samples all streams ten times a second. Only the server knows what a stream waits for while it reads: the
//! backend that sends the rows may compute, read from disk, or wait until the network takes them.

use std::fmt;
use std::sync::Arc;

use inrush_verdict::SeenSession;

use crate::error::SourceError;

/// The session of a server that sends the rows of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingSession {
    /// The server, as [`SessionSampler::server`] names it.
    pub server: Arc<str>,
    /// The server's process that serves the session.
    pub process_id: i32,
    /// True if the server is on another machine.
    pub is_remote: bool,
    /// The shortest round trip so far, in microseconds; `None` without TCP.
    pub round_trip_us: Option<u32>,
}

/// Asks a server what sessions do. One thread calls it, about ten times a second, while others read.
pub trait SessionSampler: fmt::Debug + Send + Sync {
    /// The server and database, without a secret. Sources with the same name have the same server.
    fn server(&self) -> &Arc<str>;

    /// The present states of the sessions with these process ids, without sessions that have ended. A call takes no
    /// longer than a few seconds. After an error it is not called again, and the load goes on without samples.
    fn look(&self, process_ids: &[i32]) -> Result<Vec<SeenSession>, SourceError>;

    /// True if a session's process runs on this machine, so that the system's figures of the process are known.
    fn is_on_this_machine(&self, process_id: i32) -> bool;
}
