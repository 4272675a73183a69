//! Connections to PostgreSQL 14 to 18, with libpq's meaning of URLs, variables, service files, passwords and TLS.
//!
//! [`address`] reads a URL and completes it from [`connection_defaults`]. [`connection`] logs in, makes the settings of
//! a session and runs statements; a statement can be cancelled, and a backend that is gone is detected. The rows of a
//! COPY may be written without the driver ([`block_socket`]). [`quote`] writes names and texts into SQL, and [`types`]
//! maps the types of the catalog to columns; [`native_types`] tells whether values pass between two columns unchanged.
//! [`table_identity`] recognises a table behind another address; [`foreign_sql`] checks SQL of another server, such as
//! an [`index_definition`]; [`connections_left`] counts the connections that a role may still open; [`activity`] asks
//! what sessions do, and [`local_backend`] whether their processes run on this machine. An [`error`] keeps the server's
//! message, with its SQLSTATE.
//!
//! A [`RawConnection`] continues without the driver after the login, for a load generator, with the messages of
//! [`frontend`] and [`replies`].
//!
//! A [`BlockingSession`] runs statements on such a connection and reads the rows of a `COPY ... TO STDOUT` from it, on a
//! thread that waits for the server: a source has one for each stream.
//!
//! Before the login the peer may be anybody, so `socket` reads the header of each message before the driver does, and
//! `message_limits` has the limits.
//!
//! Nothing here knows of loads: staging tables, the ledger, plans, and advice for users of a load are in
//! `crates/destinations/postgres`.

pub mod activity;
pub mod address;
mod backend;
pub mod block_socket;
mod blocking_session;
mod connecting;
pub mod connection;
pub mod connection_defaults;
pub mod connections_left;
pub mod error;
mod error_response;
pub mod foreign_sql;
pub mod frontend;
pub mod index_definition;
mod keepalive;
mod liveness;
pub mod local_backend;
mod message_limits;
pub mod native_types;
mod password_file;
pub mod quote;
mod raw_connection;
mod refusal;
pub mod replies;
mod required_auth;
mod row_messages;
mod server_address;
mod server_certificate;
mod service_file;
mod settings;
mod socket;
pub mod table_identity;
mod tls;
mod tls_settings;
mod tls_stream;
pub mod types;

pub use address::{DatabaseAddress, is_meant};
pub use blocking_session::{
    BlockingSession, ENDING_LOOK, ENDING_MAX, ROW_BYTES_MAX, ResultRows, SessionError,
};
pub use connection::{SETTINGS, ServerConnection};
pub use connection_defaults::{ConnectionDefaults, LIBPQ_VARIABLES, ServiceFile};
pub use error::ClientError;
/// This is for a caller that finds the file that libpq would read.
pub use password_file::text as password_file_text;
pub use raw_connection::RawConnection;
pub use refusal::RefusalFacts;
pub use row_messages::FieldDescription;
pub use server_address::ServerAddress;
