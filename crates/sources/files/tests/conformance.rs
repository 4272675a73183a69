//! Tests files of every kind against the contract of a source (`docs/specs/source.md`).

mod cases;

use cases::{FileCase, KINDS};
use inrush_source_conformance::hold;

#[test]
fn files_of_every_kind_hold() {
    let seed = u64::from(std::process::id());
    for kind in KINDS {
        hold(
            kind.name(),
            &|rows| Box::new(FileCase::new(*kind, rows)),
            seed,
        );
    }
}
