//! Tables and queries, held to the contract of a source (`docs/specs/source.md`), on each version of the server.

mod case;

use case::server::{installations, open_folder, temporary};
use case::{Database, Form, TableCase};
use inrush_embedded::{Binaries, EmbeddedServer};
use inrush_source_conformance::hold;

#[test]
fn tables_and_queries_hold() {
    // Each version's server mostly waits for its test, or the test for it.
    let installations = installations();
    std::thread::scope(|scope| {
        for binaries in &installations {
            scope.spawn(move || hold_on(binaries));
        }
    });
}

fn hold_on(binaries: &Binaries) {
    let seed = u64::from(std::process::id());
    let parent = open_folder();
    let server = EmbeddedServer::start(options(binaries, parent.path())).expect("a server");
    let database = Database::new(&server, binaries);
    for form in [Form::Table, Form::Query, Form::Ranges, Form::Proven] {
        hold(
            &format!("{form:?} of PostgreSQL {}", binaries.version),
            &|rows| Box::new(TableCase::new(&database, form, rows)),
            seed,
        );
    }
}

/// Without autovacuum only the tests write: the state of an input would show any other write.
fn options(binaries: &Binaries, parent: &std::path::Path) -> inrush_embedded::Options {
    let mut options = temporary(binaries, parent);
    options.durable = false;
    options
        .settings
        .push(("autovacuum".to_owned(), "off".to_owned()));
    options
}
