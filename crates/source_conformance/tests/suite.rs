//! Tests that the suite finds each flaw of a source, and accepts a source without flaws.

mod json_folder;

use inrush_source_conformance::{Case, breach, clauses, hold};

use json_folder::{Flaw, JsonCase};

#[test]
fn a_source_without_flaws_holds() {
    for seed in [1, 2] {
        hold(
            "JSON files",
            &|rows| Box::new(JsonCase::new(rows, Flaw::None)),
            seed,
        );
    }
}

/// The clauses that find a flaw.
fn finders(flaw: Flaw) -> Vec<&'static str> {
    let make = |rows| -> Box<dyn Case> { Box::new(JsonCase::new(rows, flaw)) };
    let found = clauses().filter(|clause| breach(clause, &make, 1).is_some());
    found.collect()
}

#[test]
fn each_clause_finds_a_mistake_that_no_other_finds() {
    let flaws = [
        (Flaw::TellsSecret, "S-1"),
        (Flaw::WritesToFile, "S-2"),
        (Flaw::HasNoSuchColumn, "S-3"),
        (Flaw::CountsSplitBytesTwice, "S-4"),
        (Flaw::SplitsByChance, "S-5"),
        (Flaw::ReadsOwnSplitsAlone, "S-6"),
        (Flaw::PassesOverAnyRange, "S-7"),
        (Flaw::LosesRowOfLargeChunk, "S-8"),
        (Flaw::CountsLinesFromZero, "S-9"),
        (Flaw::LetsFaultyRowsPass, "S-10"),
        (Flaw::CountsRowsWrong, "S-11"),
        (Flaw::ReadsOnAfterEnd, "S-12"),
        (Flaw::NamesTwoAlike, "S-13"),
        (Flaw::FindsNoChange, "S-14"),
        (Flaw::ReadsWhatChanged, "S-15"),
        (Flaw::FindsNoOtherContent, "S-16"),
        (Flaw::HearsNoStop, "S-18"),
        (Flaw::ReadsNothingAfterDrop, "S-19"),
        (Flaw::NamesNoFile, "S-20"),
        (Flaw::LosesNativeRow, "S-21"),
        (Flaw::NamesOtherSession, "S-22"),
        (Flaw::KeepsNoRate, "S-23"),
        (Flaw::TellsNoFix, "S-24"),
        (Flaw::TrustsMarks, "S-25"),
    ];
    for (flaw, clause) in flaws {
        assert_eq!(finders(flaw), [clause], "{flaw:?}");
    }
    // S-17 has its own test binary.
    let tested = flaws.map(|(_, clause)| clause);
    assert_eq!(clauses().collect::<Vec<_>>(), tested);
}

#[test]
fn mistakes_that_several_clauses_find_are_found() {
    let flaws = [
        (Flaw::LeavesOutFirstByte, "S-4"),
        (Flaw::LosesRowAtSplitEnd, "S-6"),
        (Flaw::DoublesRowAtSplitStart, "S-6"),
        (Flaw::LosesRowOfChunk, "S-8"),
        (Flaw::OpensOnce, "S-19"),
    ];
    for (flaw, clause) in flaws {
        let found = finders(flaw);
        assert!(found.contains(&clause), "{flaw:?} is found by {found:?}");
    }
}
