//! Samples of a destination's server: an optional part of the contract, for destinations whose streams are sessions of
//! a server.
//!
//! The engine samples all streams ten times a second. Only the server knows what a stream waits for while it sends
//! rows.

use inrush_verdict::{SeenSession, ServerKind};

use crate::error::Result;

/// Figures of a server, as far as it has them. Counters count from a moment that does not change while a load runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// Bytes of the files of the database's log now.
    pub log_file_bytes: Option<u64>,
    /// Bytes of the database's data files now.
    pub data_file_bytes: Option<u64>,
    /// Bytes of WAL that the whole server has written.
    pub wal_bytes: Option<u64>,
    /// Checkpoints that were due by time.
    pub checkpoints_timed: Option<u64>,
    /// Checkpoints because of the amount of WAL, or on request.
    pub checkpoints_requested: Option<u64>,
}

/// Asks a server what the sessions of a run's streams do, over a session of its own. One thread at a time calls it,
/// about ten times a second, while others load. The calls block.
pub trait SessionSampler: Send {
    /// The kind of the server.
    fn kind(&self) -> ServerKind;

    /// The states of the sessions with these [numbers](crate::UnitStream::session_number) now. A call takes no longer
    /// than two seconds. After an error it is not called again; the load goes on without samples, and the report says
    /// why. A sampler that connects again later returns no states until then.
    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>>;

    /// The figures of the server now; `None` while it is not connected. Asked after a first look, and again at the end
    /// of the load.
    fn figures(&mut self) -> Result<Option<ServerFigures>>;

    /// True if the session is a process of this machine, and the session's number is the process id. Its use of the CPU
    /// is then part of the measurements. False for a server whose sessions are threads of one process.
    fn is_process_here(&self, _session: i32) -> bool {
        false
    }

    /// The number of its own session, if it is connected.
    fn own_session(&self) -> Option<i32> {
        None
    }

    /// Ends its session, after the last call.
    fn close(&mut self) {}
}
