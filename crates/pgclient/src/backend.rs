//! The process of the server that serves a session.

/// The process that serves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Its number.
    pub process_id: i32,
    /// When the session was made, in microseconds since 1970 by the server's clock: a process of this
    /// number that began later is another one.
    pub opened_at: i64,
    /// When the server was started, which distinguishes it from another server at the same address.
    pub server_started_at: i64,
}

impl Backend {
    /// The query of a session for its own facts, in the order of the fields.
    pub const QUESTION: &str = "SELECT pg_catalog.pg_backend_pid(), \
        (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::int8, \
        (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::int8";
}
