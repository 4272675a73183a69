//! Tables, queries and ranges of a key of DuckDB and SQLite, held to the contract of a source (`docs/specs/source.md`).

mod case;

use case::{Form, Kind, TableCase, kinds};
use inrush_source_conformance::hold;

fn holds(kind: Kind, form: Form) {
    if !kinds().contains(&kind) {
        return;
    }
    let seed = u64::from(std::process::id());
    let make = |rows| -> Box<dyn inrush_source_conformance::Case> {
        Box::new(TableCase::new(kind, form, rows))
    };
    hold(&format!("{form:?} of {kind:?}"), &make, seed);
}

#[test]
fn tables_of_duckdb_hold() {
    holds(Kind::DuckDb, Form::Table);
}

#[test]
fn queries_of_duckdb_hold() {
    holds(Kind::DuckDb, Form::Query);
}

#[test]
fn ranges_of_duckdb_hold() {
    holds(Kind::DuckDb, Form::Ranges);
}

#[test]
fn tables_of_sqlite_hold() {
    holds(Kind::Sqlite, Form::Table);
}

#[test]
fn queries_of_sqlite_hold() {
    holds(Kind::Sqlite, Form::Query);
}

#[test]
fn ranges_of_sqlite_hold() {
    holds(Kind::Sqlite, Form::Ranges);
}
