//! Tables, queries, ranges of a key and partitions of the double of SQL Server, held to the contract of a source
//! (`docs/specs/source.md`).

mod case;

use case::{Double, Form, TableCase};
use inrush_source_conformance::{Case, hold};

fn holds(form: Form) {
    let double = Double::start();
    let seed = u64::from(std::process::id());
    let make = |rows| -> Box<dyn Case> { Box::new(TableCase::new(&double, form, rows)) };
    hold(&format!("{form:?}"), &make, seed);
}

#[test]
fn heaps_hold() {
    holds(Form::Heap);
}

#[test]
fn queries_hold() {
    holds(Form::Query);
}

#[test]
fn ranges_of_a_key_hold() {
    holds(Form::Ranges);
}

#[test]
fn ranges_of_a_clustered_index_hold() {
    holds(Form::Clustered);
}

#[test]
fn partitions_hold() {
    holds(Form::Partitions);
}
