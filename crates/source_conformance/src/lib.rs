//! Tests a source against `docs/specs/source.md`, using only the traits of its contract.
//!
//! A source gives the suite a [`Case`]: itself, with known rows. [`hold`] tests each clause with new cases, and fails
//! with all clauses that the source violates. [`hold_memory`] measures the process, so it needs its own test binary.

mod case;
mod change;
mod ending;
mod loaded_again;
mod memory;
mod native;
mod opening;
mod random;
mod reading;
mod rows;
mod server;
mod shared;
mod splits;

pub use case::{Case, Change, MakeCase, written_later};
pub use memory::{hold_memory, memory_breach};
pub use reading::Row;

use random::Random;

/// A clause that a source violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The clause of `docs/specs/source.md`.
    pub clause: &'static str,
    /// How it was violated.
    pub what: String,
}

/// Tests one clause.
type Test = fn(&MakeCase<'_>, &mut Random) -> Result<(), String>;

/// The tests of all clauses except the clause about memory.
const CLAUSES: [(&str, Test); 24] = [
    ("S-1", opening::no_secret),
    ("S-2", opening::changes_nothing),
    ("S-3", opening::columns),
    ("S-4", splits::cover_their_input),
    ("S-5", splits::depend_on_the_input_alone),
    ("S-6", splits::any_split_is_serial),
    ("S-7", shared::parts_are_serial),
    ("S-8", rows::chunks_do_not_matter),
    ("S-9", rows::places),
    ("S-10", rows::faulty_rows),
    ("S-11", rows::counts),
    ("S-12", rows::end_stays),
    ("S-13", change::identity),
    ("S-14", change::state),
    ("S-15", change::changed_while_open),
    ("S-16", change::same_content),
    ("S-18", ending::stop),
    ("S-19", ending::dropped),
    ("S-20", ending::errors_name_the_input),
    ("S-21", native::are_the_rows_of_chunks),
    ("S-22", server::sessions_are_known),
    ("S-23", server::rate_is_kept),
    ("S-24", server::hazards_are_told),
    ("S-25", loaded_again::inputs_are_loaded_again_alone),
];

/// The names of all clauses except the clause about memory, in order.
pub fn clauses() -> impl Iterator<Item = &'static str> {
    CLAUSES.iter().map(|(clause, _)| *clause)
}

/// How a source violates a clause, if it does. `seed` determines the order in which splits are read.
///
/// # Panics
///
/// If there is no such clause.
pub fn breach(clause: &str, make: &MakeCase<'_>, seed: u64) -> Option<Breach> {
    let found = CLAUSES.iter().find(|(known, _)| *known == clause);
    let (clause, test) = found.expect("a clause of docs/specs/source.md");
    let what = test(make, &mut Random::new(seed)).err()?;
    Some(Breach { clause, what })
}

/// Fails with all clauses that a source violates.
///
/// # Panics
///
/// If it violates a clause.
pub fn hold(name: &str, make: &MakeCase<'_>, seed: u64) {
    let broken = CLAUSES
        .iter()
        .filter_map(|(clause, _)| breach(clause, make, seed));
    let lines = broken.map(|breach| format!("\n  {}: {}", breach.clause, breach.what));
    let lines: String = lines.collect();
    assert!(lines.is_empty(), "{name}, seed {seed}:{lines}");
}
