//! PostgreSQL 14 to 18, by COPY into private staging tables.
//!
//! [`session`] opens connections, [`catalog`] reads the tables that exist, [`types`] maps their types to columns, [`staging`]
//! writes the statements that make staging tables, [`copy`] streams blocks into one (on most connections by
//! [`block_socket`]), and [`unit`] loads and commits a load unit. The [`ledger`], the [`switch`] and [`undo`] are statements on
//! the same sessions. [`driver`] is the entry of all of it for callers who do not know which driver loads.
//!
//! The names that this crate still takes from the engine's internals are listed in [`engine`]. The reasons behind it:
//! `docs/design/streams.md`, `docs/design/exactly-once.md`, `docs/design/careful-loads.md` and `docs/design/switch.md`.

mod address;
mod backend;
mod block_socket;
pub mod catalog;
mod copy;
mod default_grants;
mod driver;
mod engine;
mod error;
mod failures;
mod ledger;
mod liveness;
mod load;
mod local_backend;
mod message_limits;
mod old_tables;
mod partition_tree;
mod password_file;
mod plan;
mod preflight;
mod quote;
mod ranges;
mod refusal;
mod required_auth;
mod row_numbers;
mod server_certificate;
mod server_facts;
mod service_file;
mod session;
mod settings;
mod socket;
mod staging;
mod swap;
mod switch;
mod tls;
mod tls_settings;
mod tls_stream;
mod transaction;
mod types;
mod undo;
mod unit;
mod upkeep;
mod verify;

pub use address::{DatabaseAddress, is_meant};
pub use driver::Postgres;
pub use error::PostgresError;
/// For the command, which finds the file that libpq would read.
pub use password_file::text as password_file_text;
pub use refusal::RefusalFacts;
pub use session::Session;
