//! Where rows go. What is done in the same way for all destinations stands in the other folders, which know none of
//! them; what is done otherwise stands here, in an engine for each kind, behind the trait [`Engine`].
//!
//! [`postgres`] loads into servers of PostgreSQL, [`contract`] into all that keeps the contract of
//! `inrush_destination`. This file is the one place that knows both, and chooses: they are private to it, so nothing
//! outside of this folder can name them.

mod connection_defaults;
mod contract;
mod engine;
mod engine_error;
#[cfg(test)]
mod knowledge_test;
mod postgres;

pub use self::connection_defaults::{ConnectionDefaults, LIBPQ_VARIABLES, ServiceFile};
pub use self::engine::{Checked, Engine, EnginePlan, PastRuns};
pub use self::engine_error::EngineError;
/// For the command alone, which finds the file that libpq would read.
pub use self::postgres::password_file::text as password_file_text;
/// For the command alone, which looks into servers of its own: the demo's, and those that it measures.
pub use self::postgres::{Address, DestinationError, Session, catalog};
use inrush_package::{Connection, Package, PackageError};

/// The engine that loads into the destination of a connection.
pub fn engine_of(connection: &Connection) -> &'static dyn Engine {
    match contract::is_meant(connection) {
        true => &contract::Contract,
        false => &postgres::Postgres,
    }
}

/// The engine that loads a package: all of its flows go to one destination.
pub fn engine_of_package(package: &Package) -> Result<&'static dyn Engine, PackageError> {
    Ok(engine_of(package.single_connection()?))
}
