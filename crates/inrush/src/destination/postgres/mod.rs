//! PostgreSQL 14 to 18, by COPY into private staging tables.
//!
//! [`session`] opens connections, [`catalog`] reads what is there, [`types`] maps its types to
//! columns, [`staging`] writes the statements that make staging tables, [`copy`] streams blocks
//! into one (on most connections by [`block_socket`]) and [`unit`] loads and commits a load unit. The [`ledger`], the
//! [`switch`] and [`undo`] are statements on the same sessions. [`engine`] is all of it, as callers see it who do not
//! know which engine loads.

pub mod address;
pub mod block_socket;
pub mod catalog;
pub mod copy;
pub mod default_grants;
mod engine;
pub mod error;
pub mod failures;
pub mod guests;
pub mod ledger;
mod load;
mod local_backend;
mod message_limits;
pub mod old_tables;
pub mod partition_tree;
pub mod password_file;
pub mod plan;
mod preflight;
pub mod quote;
pub mod ranges;
pub mod refusal;
pub mod required_auth;
pub mod row_numbers;
mod server_certificate;
pub mod service_file;
pub mod session;
mod settings;
pub mod socket;
pub mod staging;
pub mod swap;
pub mod switch;
pub mod tls;
pub mod tls_settings;
pub mod types;
pub mod undo;
pub mod unit;
mod upkeep;
pub mod verify;
mod vigil;

pub use address::{Address, is_meant};
pub use engine::Postgres;
pub use error::DestinationError;
pub use refusal::RefusalFacts;
pub use session::Session;
