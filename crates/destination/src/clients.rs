//! The contract of a server that many clients call, for load generators. It is separate from the contract of a
//! destination, because destinations without a server cannot implement it.
//!
//! The tables of a measurement are in a schema or folder with a unique name, so only tables of measurements are ever
//! changed. Leftovers of a killed measurement are removed by the next one, which reports it.

use std::os::fd::BorrowedFd;

use inrush_verdict::BackendState;

use crate::error::Result;

/// The work of clients, and how they send it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientWork {
    /// What is done in a call.
    pub work: Work,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Addresses of the server, which the clients use in turn (`HOST:PORT`); if empty, the address in the URL.
    pub endpoints: Vec<String>,
}

/// The work of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Rows are inserted into one table.
    Insert(InsertWork),
    /// A function that draws one random number, does one more arithmetic step and returns the session's process id.
    Noop,
    /// Like `Noop`, and it also finds one row by its key in a table that is in memory.
    Seek,
    /// A statement of the user's.
    Sql(String),
}

/// How rows are inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertWork {
    /// Rows in a statement.
    pub batch: u32,
    /// True if COMMIT waits until the WAL is flushed.
    pub is_synchronous: bool,
    /// The key of the table.
    pub key: Key,
    /// True if the table is unlogged.
    pub is_unlogged: bool,
    /// Statements that create another table, with `{table}` in place of its name.
    pub table_sql: Option<String>,
}

/// The key of the table that is inserted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A random UUID.
    Random,
    /// A number that counts up.
    Sequence,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The statement is sent as text, in one message.
    Simple,
    /// Parsed, bound and executed, each time.
    Extended,
    /// Parsed once, then bound and executed.
    Prepared,
}

/// One request to the server, with one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Rows that it inserts; 1 if it inserts none. 0 means a call that only ends a transaction, and is not counted.
    pub rows: u32,
    /// True if it begins a transaction of several calls.
    pub begins: bool,
    /// True if it commits a transaction.
    pub commits: bool,
}

/// Why a client cannot continue, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure(pub String);

/// The connection of one client. Its socket does not block.
pub trait ClientConnection: Send {
    /// The socket, for waiting.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Adds a call to those that are not sent yet.
    fn queue(&mut self, call: Call);

    /// Sends the queued calls. Returns true if all are sent.
    fn send(&mut self) -> std::result::Result<bool, CallFailure>;

    /// Receives without waiting. Returns the number of calls that were answered.
    fn receive(&mut self) -> std::result::Result<u32, CallFailure>;

    /// The server's process or session that answers.
    fn process_id(&self) -> i32;

    /// Figures of the network connection; `None` if there is none.
    fn network(&self) -> Option<NetworkFacts>;

    /// Ends the session.
    fn close(self: Box<Self>);
}

/// Figures of a network connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Packets in both directions, acknowledgements included.
    pub packets: u64,
    /// The smoothed round trip, microseconds.
    pub round_trip_us: u32,
    /// The least round trip, microseconds.
    pub round_trip_least_us: u32,
}

/// A server that clients call.
pub trait ClientServer: Sync {
    /// The facts for the report.
    fn facts(&self) -> Result<ClientServerFacts>;

    /// Fails if the server has no room for this number of clients.
    fn require_room(&self, clients: u16) -> Result<()>;

    /// Creates everything that the work needs, and brings the server into the same state before each run. Returns notes
    /// for the reader.
    fn make_ready(&self) -> Result<Vec<String>>;

    /// Bytes of a row in the table and its indexes; `None` if the work has no table. It inserts and removes rows, so
    /// call it before a run.
    fn row_bytes(&self) -> Result<Option<f64>>;

    /// Connects a client, numbered from 1, and prepares its statements. Called by several threads at once.
    fn connect(&self, client: usize) -> Result<Box<dyn ClientConnection>>;

    /// Prepares sampling the server, for a thread that samples ten times a second.
    fn watch(&self) -> Result<Box<dyn ServerLook + '_>>;

    /// The server's counters since its start.
    fn totals(&self) -> Result<ServerTotals>;

    /// The number of rows in the table; `None` if the work has none.
    fn rows_stored(&self) -> Result<Option<u64>>;

    /// Removes everything that was created. Returns texts about things that could not be removed.
    fn clean(&self) -> Vec<String>;
}

/// The report's facts about a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientServerFacts {
    /// Its name and version.
    pub version: String,
    /// Server, database and user, without a password.
    pub destination: String,
    /// How it is reached: `unix socket`, `TCP` or `TLS`.
    pub way: String,
    /// The statement of a call.
    pub statement: String,
    /// Settings that matter.
    pub settings: Vec<(String, String)>,
    /// The leftovers of earlier measurements that were removed, in words.
    pub removed: Vec<String>,
}

/// Samples a server while clients call it.
pub trait ServerLook {
    /// A sample; `None` if the server does not answer in time.
    fn look(&mut self) -> Option<Seen>;

    /// The server's processes on this machine, found by the process of a client's session; empty if the server is
    /// elsewhere.
    fn processes(&mut self, client_process: i32) -> Vec<i32>;

    /// The process that answers the sampling queries.
    fn own_process(&self) -> i32;
}

/// A sample of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The sessions of clients: state, wait event (`CLASS:EVENT`, or empty), and number.
    pub sessions: Vec<(BackendState, String, u32)>,
    /// Autovacuum workers.
    pub vacuum_workers: u32,
    /// Bytes of WAL since the server was created.
    pub wal_inserted: u64,
    /// Bytes of WAL that are flushed to the disk.
    pub wal_flushed: u64,
    /// Bytes of a segment of the WAL.
    pub wal_segment_bytes: u64,
    /// Checkpoints since the server was started.
    pub checkpoints: u64,
    /// Bytes of the table that is inserted into; 0 if there is none.
    pub table_bytes: u64,
}

/// The counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerTotals {
    /// Bytes of WAL.
    pub wal_bytes: u64,
    /// Whole pages in the WAL.
    pub wal_full_pages: u64,
    /// Flushes of the WAL, if the server counts them.
    pub wal_flushes: Option<u64>,
    /// Checkpoints.
    pub checkpoints: u64,
}
