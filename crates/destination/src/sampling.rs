//! Samples of a destination's server: an optional part of the contract, for destinations whose streams are sessions of a server.
//!
//! The engine samples all streams ten times a second. What a stream waits for while it sends rows is known only to the server.

use inrush_verdict::{SeenSession, ServerKind};

use crate::error::Result;

/// The sizes of a database's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileBytes {
    /// Bytes of the files of its log.
    pub log: u64,
    /// Bytes of its data files.
    pub data: u64,
}

/// Asks a server what the sessions of a run's streams do, over a session of its own. One thread at a time calls it, about ten
/// times a second, while others load.
pub trait SessionSampler: Send {
    /// The kind of the server.
    fn kind(&self) -> ServerKind;

    /// The states of the sessions with these [numbers](crate::UnitStream::session_number) now. A call takes no longer than some
    /// seconds. After an error it is not called again; the load goes on without samples, and the report says why.
    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>>;

    /// The sizes of the database's files now. Asked at the beginning and at the end of the load.
    fn file_bytes(&mut self) -> Result<FileBytes>;
}
