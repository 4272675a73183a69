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
use inrush_package::{Connection, Package, URLS, redacted_url};

use crate::error::Error;

/// The exit status where there is no such place to load into: the command was used wrongly.
const ADDRESS_STATUS: u8 = 2;

/// No engine loads into this destination.
#[derive(Debug, thiserror::Error)]
#[error("the connection URL {url} cannot be used: no destination is meant by it: {URLS}")]
struct UnknownDestination {
    /// The URL without its password.
    url: String,
}

/// The engine that loads into the destination of a connection.
pub fn engine_of(connection: &Connection) -> Result<&'static dyn Engine, Error> {
    let url = connection.address();
    if contract::is_meant(url) {
        return Ok(&contract::Contract);
    }
    if postgres::is_meant(url) {
        return Ok(&postgres::Postgres);
    }
    let unknown = UnknownDestination {
        url: redacted_url(url),
    };
    Err(Error::Engine(
        EngineError::new(unknown, None).with_exit_status(ADDRESS_STATUS),
    ))
}

/// The engine that loads a package: all of its flows go to one destination.
pub fn engine_of_package(package: &Package) -> Result<&'static dyn Engine, Error> {
    engine_of(package.single_connection()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_is_an_error_that_names_the_known_ones() {
        let unknown = |url: &str| {
            let engine = engine_of(&Connection::new(url));
            engine.err().map(|error| error.to_string())
        };
        for url in ["mysql://u:secret@h/d", "embedded", "POSTGRESQL://h/d", ""] {
            let text = unknown(url).expect(url);
            assert!(text.contains(URLS) && !text.contains("secret"), "{text}");
        }
        for url in [
            "postgresql://h/d",
            "postgres://h/d",
            "x.duckdb",
            "parquet:lake",
            "adbc:sqlite",
        ] {
            assert_eq!(unknown(url), None, "{url}");
        }
    }
}
