//! Tests folders of JSON files against the contract of a source (`docs/specs/source.md`).

mod case;

use case::{FolderCase, Form};
use inrush_source_conformance::hold;

#[test]
fn folders_of_json_files_hold() {
    let seed = u64::from(std::process::id());
    for form in [Form::Array, Form::Lines] {
        hold(
            &format!("{form:?}"),
            &|rows| Box::new(FolderCase::new(form, rows)),
            seed,
        );
    }
}
