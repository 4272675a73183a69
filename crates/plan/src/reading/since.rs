//! Incremental loads: where the last run of a package ended, and where this one begins.
//!
//! The mark of a run is the [`SinceRange`] of its rows. It is stored as the state of its inputs, in the records that commit
//! with the rows, and it counts once the run is switched: so the mark moves in the step that publishes the rows.

use std::ops::Deref;

use inrush_rows::ids::RunName;
use inrush_source::SinceRange;

use crate::error::PlanError;
use crate::load_flow::LoadFlow;

/// The facts about earlier runs that a flow with `since` needs.
#[derive(Clone, Debug, Default)]
pub struct SinceAsked {
    /// The ranges that were loaded into the flow's target by the newest run that has any.
    pub marks: Vec<SinceMark>,
    /// The ranges from which a stopped run has loaded rows into the flow's target.
    pub stopped: Vec<SinceRange>,
    /// Where the command says that this run begins, in place of the mark.
    pub given: Option<String>,
    /// The command asks to load again what was loaded.
    pub again: bool,
}

/// A range that a switched run has loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinceMark {
    /// The run.
    pub run: RunName,
    /// The range.
    pub range: SinceRange,
    /// The table that the run loaded is not the target any more.
    pub is_gone: bool,
    /// The process of the run was killed before it wrote its report.
    pub lacks_report: bool,
}

/// The value at which a run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinceStart<'a> {
    /// The `from` of the package, or the first row.
    Package,
    /// The mark of a run.
    Mark(&'a SinceMark),
    /// The value that the command gives.
    Given(&'a str),
    /// No value: the run of this command with its `--from` was killed after the rows were in their targets.
    Done(&'a SinceMark),
}

/// Why a flow with `since` has nothing to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingNew {
    /// The whole sentence, which names the flow.
    pub sentence: String,
    /// The run of the mark.
    pub run: RunName,
}

/// Collects the ranges that a run has loaded, from the states of its inputs.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<SinceRange>);

impl Marks {
    /// Takes the state of an input.
    pub fn see(&mut self, state: &str) {
        let Some(range) = SinceRange::from_mark(state) else {
            return;
        };
        if !self.0.contains(&range) {
            self.0.push(range);
        }
    }

    /// The marks of the run that has loaded these inputs.
    pub fn of(self, run: &RunName, is_gone: bool) -> Vec<SinceMark> {
        let mark = |range| SinceMark {
            run: run.clone(),
            range,
            is_gone,
            lacks_report: false,
        };
        self.0.into_iter().map(mark).collect()
    }
}

/// The run of the first flow's mark, if no flow has anything to load.
pub fn run_if_all<F: Deref<Target = LoadFlow>>(flows: &[F]) -> Option<&RunName> {
    let all = flows.iter().map(|flow| flow.nothing_new.as_ref());
    let all: Vec<&NothingNew> = all.collect::<Option<_>>()?;
    all.into_iter().map(|nothing| &nothing.run).next()
}

/// The sentences of all flows, if none of them has anything to load.
pub fn sentences_if_all<F: Deref<Target = LoadFlow>>(flows: &[F]) -> Vec<String> {
    let all = flows.iter().map(|flow| flow.nothing_new.as_ref());
    let all: Option<Vec<&NothingNew>> = all.collect();
    let all = all.unwrap_or_default().into_iter();
    all.map(|nothing| nothing.sentence.clone()).collect()
}

impl SinceAsked {
    /// The value at which a flow begins, if it reads the table or query `of` by this column.
    pub fn start(&self, flow: &str, of: &str, column: &str) -> Result<SinceStart<'_>, PlanError> {
        let refused = |what: String, hint: String| {
            Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what,
                hint,
            })
        };
        let is_same = |mark: &&SinceMark| mark.range.of == of && mark.range.column == column;
        // A run has one range for each table. If there were two, the lower bound is safe: no row is missed.
        let own = self.marks.iter().filter(is_same);
        let own = own.min_by(|one, other| one.range.below.cmp(&other.range.below));
        if self.again {
            return refused(
                "it loads only new rows (`since`), so --again does not say which rows to load again".to_owned(),
                "say from which value: --from VALUE".to_owned(),
            );
        }
        if let Some(given) = &self.given {
            // The same command after a kill must not load its rows twice.
            let is_done =
                |mark: &&SinceMark| mark.lacks_report && mark.range.given.as_ref() == Some(given);
            return Ok(match own.filter(is_done) {
                Some(mark) => SinceStart::Done(mark),
                None => SinceStart::Given(given),
            });
        }
        let Some(mark) = own.or(self.marks.first()) else {
            return Ok(SinceStart::Package);
        };
        let SinceRange {
            of: of_mark,
            column: column_of_mark,
            below,
            ..
        } = &mark.range;
        let hint = format!(
            "--from {below} continues there; with an earlier value, rows are loaded once more"
        );
        if own.is_none() {
            return refused(
                format!(
                    "it reads {of} by `{column}`, but the mark in its target is for {of_mark}, which was read by \
                     `{column_of_mark}` up to {below} (run {})",
                    mark.run
                ),
                hint,
            );
        }
        if mark.is_gone {
            return refused(
                format!(
                    "its target is not the table that run {} loaded up to {below}: it was dropped \
                     or emptied since, or the flow has another target now",
                    mark.run
                ),
                hint,
            );
        }
        Ok(SinceStart::Mark(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(of: &str) -> SinceMark {
        SinceMark {
            run: RunName::new("r-1"),
            range: SinceRange {
                of: of.to_owned(),
                column: "at".to_owned(),
                from: None,
                below: "2026-01-02T00:00:00.000000Z".to_owned(),
                given: None,
                snapshot: None,
            },
            is_gone: false,
            lacks_report: false,
        }
    }

    fn asked(marks: &[SinceMark], given: Option<&str>) -> SinceAsked {
        SinceAsked {
            marks: marks.to_vec(),
            stopped: Vec::new(),
            given: given.map(str::to_owned),
            again: false,
        }
    }

    #[test]
    fn a_run_begins_at_the_mark_of_the_same_table_alone() {
        let known = mark("t");
        let both = asked(&[mark("other"), known.clone()], None);
        assert_eq!(
            both.start("f", "t", "at").expect("its own mark"),
            SinceStart::Mark(&known)
        );
        let none = asked(&[], None);
        assert_eq!(
            none.start("f", "t", "at").expect("no mark"),
            SinceStart::Package
        );
        for (of, column) in [("u", "at"), ("t", "made")] {
            let one = asked(std::slice::from_ref(&known), None);
            let error = one
                .start("f", of, column)
                .expect_err("another mark")
                .to_string();
            assert!(error.contains("up to 2026-01-02T"), "{error}");
            // A value that is given needs no mark.
            let given = asked(std::slice::from_ref(&known), Some("2026-01-01"));
            let start = given.start("f", of, column).expect("given");
            assert_eq!(start, SinceStart::Given("2026-01-01"));
        }
        let gone = SinceMark {
            is_gone: true,
            ..known
        };
        let gone = asked(&[gone], None);
        let error = gone.start("f", "t", "at");
        let error = error.expect_err("gone").to_string();
        assert!(error.contains("dropped or emptied"), "{error}");
    }

    #[test]
    fn a_value_that_is_given_is_loaded_once_though_the_run_was_killed() {
        let given = |text: &str, lacks_report| {
            let mut mark = mark("t");
            mark.range.given = Some(text.to_owned());
            SinceMark {
                lacks_report,
                ..mark
            }
        };
        for (before, is_done) in [
            (given("2026-01-01", true), true),
            (given("2026-01-01", false), false),
            (given("2025-01-01", true), false),
        ] {
            let asked = asked(&[before], Some("2026-01-01"));
            let start = asked.start("f", "t", "at").expect("given");
            assert_eq!(matches!(start, SinceStart::Done(_)), is_done, "{start:?}");
        }
    }
}
