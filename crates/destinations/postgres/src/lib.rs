//! PostgreSQL 14 to 18, by COPY into private staging tables.
//!
//! [`PostgresPlanner`] plans loads ([`plan`]) and begins their runs. A run, its streams and its switch ([`load`]) implement the
//! contract, as those of every destination do; [`ledger()`] is the ledger of a server by the contract, and [`preflight`] measures a plan.
//! The planner is not that of the contract, because this plan says more: `docs/design/one-driver.md`.
//!
//! Connections, quoting and types are those of `crates/pgclient`; a [`session`] adds the pace and the meter of a load.
//! [`catalog`] reads the tables that exist, [`staging`] writes the statements that make staging tables, [`copy`]
//! streams blocks into a staging table ([`fast_copy`] is about the server extension that may store them), and
//! [`unit_transaction`] loads and commits a load unit. The [ledger](mod@ledger), the [`switch`] and [`undo`] are statements on
//! the same sessions.
//!
//! More about this destination: `docs/design/streams.md`, `docs/design/exactly-once.md`, `docs/design/careful-loads.md` and
//! `docs/design/switch.md`.

mod abilities;
pub mod catalog;
mod clients;
mod contract_errors;
mod copy;
mod default_grants;
mod error;
mod failures;
mod fast_copy;
mod index_names;
mod ledger;
mod load;
mod load_error;
mod old_tables;
mod partition_tree;
mod plan;
mod planned_server;
mod planner;
mod preflight;
mod ranges;
mod row_numbers;
mod server_facts;
mod server_ledger;
mod session;
mod staging;
mod switch;
mod table_swap;
mod transaction;
mod undo;
mod unit_transaction;
mod verify;

// The files of this crate write `crate::quote` and the like.
use inrush_pgclient::{block_socket, quote, types};

/// For callers who need a server's address, or a session with it.
pub use inrush_pgclient::{
    ClientError, ConnectionDefaults, DatabaseAddress, LIBPQ_VARIABLES, RefusalFacts, ServiceFile,
    is_meant, password_file_text,
};

pub use clients::PostgresClients;
pub use error::PostgresError;
pub use fast_copy::make_extension;
pub use planner::{PostgresPlanner, ledger, server_of};
pub use session::Session;
