//! PostgreSQL 14 to 18, by COPY into private staging tables.
//!
//! [`session`] opens connections, [`catalog`] reads what is there, [`types`] maps its types to
//! columns, [`staging`] writes the statements that make staging tables, [`copy`] streams blocks
//! into one (on most connections by [`block_socket`]) and [`unit`] loads and commits a load unit. The ledger and the switch, which are
//! statements on the same sessions, stand in folders of their own.

pub mod address;
pub mod block_socket;
pub mod catalog;
pub mod copy;
pub mod default_grants;
pub mod error;
pub mod guests;
pub mod old_tables;
pub mod partition_tree;
pub mod password_file;
pub mod quote;
pub mod ranges;
pub mod refusal;
pub mod row_numbers;
pub mod service_file;
pub mod session;
mod settings;
pub mod socket;
pub mod staging;
pub mod swap;
pub mod tls;
pub mod types;
pub mod unit;
mod vigil;

pub use address::{Address, ConnectionDefaults, SslMode};
pub use error::DestinationError;
pub use refusal::RefusalFacts;
pub use service_file::ServiceFile;
pub use session::Session;
