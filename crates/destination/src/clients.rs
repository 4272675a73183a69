//! The contract of a server that many clients call, for load generators. It is an ability of its own: a destination that is
//! no server has none of it.
//!
//! A server has a place of its own for the tables of a measurement, under names that nobody else has, so no table that it did
//! not make is ever touched. What a killed measurement has left is removed by the next one, which says so.

use std::os::fd::BorrowedFd;

use inrush_verdict::BackendState;

use crate::error::Result;

/// What clients are to do, and how they send it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientWork {
    /// What is done in a call.
    pub work: Work,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Addresses of the server that are dealt to the clients in turn (`HOST:PORT`); the one of the URL where there are none.
    pub endpoints: Vec<String>,
}

/// What is done in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Rows are inserted into one table.
    Insert(InsertWork),
    /// A function that draws one random number, does one more arithmetic step and returns the session's process id.
    Noop,
    /// The same, and it finds one row by its key in a table that is in memory.
    Seek,
    /// A statement of the user's.
    Sql(String),
}

/// How rows are inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertWork {
    /// Rows in a statement.
    pub batch: u32,
    /// Whether COMMIT waits until the WAL is flushed.
    pub is_synchronous: bool,
    /// The key of the table.
    pub key: Key,
    /// Whether the table has no WAL.
    pub is_unlogged: bool,
    /// Statements that make another table, with `{table}` in the place of its name.
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
    /// As text in one message.
    Simple,
    /// Parsed, bound and executed, each time.
    Extended,
    /// Parsed once, then bound and executed.
    Prepared,
}

/// One question to the server, which it answers as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Rows that it inserts; 1 where it inserts none. 0 is a call that only ends a transaction, and is not counted.
    pub rows: u32,
    /// Whether it begins a transaction of several calls.
    pub begins: bool,
    /// Whether it commits one.
    pub commits: bool,
}

/// Why a client cannot continue, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure(pub String);

/// A connection of one client. Its socket does not block.
pub trait ClientConnection: Send {
    /// The socket, to be waited for.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Puts a call behind those that are not sent yet.
    fn queue(&mut self, call: Call);

    /// Sends what is queued, and says whether all of it is sent.
    fn send(&mut self) -> std::result::Result<bool, CallFailure>;

    /// Receives what is there, and returns how many calls were answered.
    fn receive(&mut self) -> std::result::Result<u32, CallFailure>;

    /// The server's process or session that answers.
    fn process_id(&self) -> i32;

    /// What is known of the network below; nothing where there is none.
    fn network(&self) -> Option<NetworkFacts>;

    /// Ends the session.
    fn close(self: Box<Self>);
}

/// What is known of the network below a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Packets in both directions, acknowledgements included.
    pub packets: u64,
    /// The smoothed round trip, microseconds.
    pub round_trip_us: u32,
    /// The least round trip, microseconds.
    pub round_trip_least_us: u32,
}

/// A server that clients call, with a place of its own for the tables of a measurement.
pub trait ClientServer: Sync {
    /// What a report says of it.
    fn facts(&self) -> Result<ClientServerFacts>;

    /// Refuses more clients than the server has room for.
    fn require_room(&self, clients: u16) -> Result<()>;

    /// Makes what the work needs anew, and brings the server into the same state before each run. Returns notes for the
    /// reader.
    fn make_ready(&self) -> Result<Vec<String>>;

    /// Bytes that a row takes in the table and its indexes, where the work has a table. It inserts and removes rows, and
    /// belongs before a run.
    fn row_bytes(&self) -> Result<Option<f64>>;

    /// Connects a client, numbered from 1, and prepares its statements. Called by several threads at once.
    fn connect(&self, client: usize) -> Result<Box<dyn ClientConnection>>;

    /// Begins to look at the server, for a thread that looks ten times a second.
    fn watch(&self) -> Result<Box<dyn ServerLook + '_>>;

    /// What the server has counted since it was started.
    fn totals(&self) -> Result<ServerTotals>;

    /// Rows in the table; nothing where the work has none.
    fn rows_stored(&self) -> Result<Option<u64>>;

    /// Removes all that was made. Returns in words what could not be removed.
    fn clean(&self) -> Vec<String>;
}

/// What a report says of a server.
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
    /// What was found of earlier measurements and removed, in words.
    pub removed: Vec<String>,
}

/// Looks at a server while clients call it.
pub trait ServerLook {
    /// What the clients' sessions do now; nothing where the server does not answer in time.
    fn look(&mut self) -> Option<Seen>;

    /// The server's processes that are on this machine, found by that of one client's session; none where it is elsewhere.
    fn processes(&mut self, client_process: i32) -> Vec<i32>;

    /// The process that answers the looks.
    fn own_process(&self) -> i32;
}

/// What a look saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What clients' sessions do, their wait event (`CLASS:EVENT`, or empty) and how many they are.
    pub sessions: Vec<(BackendState, String, u32)>,
    /// Workers that clean tables up by themselves.
    pub vacuum_workers: u32,
    /// Bytes of WAL since the server was made.
    pub wal_inserted: u64,
    /// Of these, flushed to disk.
    pub wal_flushed: u64,
    /// Bytes of a segment of the WAL.
    pub wal_segment_bytes: u64,
    /// Checkpoints since the server was started.
    pub checkpoints: u64,
    /// Bytes of the table that is inserted into; 0 where there is none.
    pub table_bytes: u64,
}

/// What a server has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerTotals {
    /// Bytes of WAL.
    pub wal_bytes: u64,
    /// Whole pages in the WAL.
    pub wal_full_pages: u64,
    /// Flushes of the WAL, where the server counts them.
    pub wal_flushes: Option<u64>,
    /// Checkpoints.
    pub checkpoints: u64,
}
