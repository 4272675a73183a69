//! The ranges of a key that earlier runs of a package have loaded, for a flow with `unchanged_by`: a resumed run must cut its source
//! into the same ranges. They are stored as the state of the inputs, in the records that commit with the rows.

use inrush_package::{Flow, Mode};
use inrush_rows::ids::RunName;
use inrush_source::RangesMark;

use crate::options::PlanOptions;

/// The ranges of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRanges {
    /// The run.
    pub run: RunName,
    /// True if it was stopped before its rows were in their targets.
    pub is_stopped: bool,
    /// Its ranges.
    pub ranges: RangesMark,
}

impl RunRanges {
    /// The ranges of a run, from the states of its inputs.
    pub fn of_states<'a>(
        run: &RunName,
        is_stopped: bool,
        states: impl IntoIterator<Item = &'a str>,
    ) -> Vec<RunRanges> {
        let mut found: Vec<RunRanges> = Vec::new();
        for ranges in states.into_iter().filter_map(RangesMark::from_mark) {
            if !found.iter().any(|known| known.ranges == ranges) {
                found.push(RunRanges {
                    run: run.clone(),
                    is_stopped,
                    ranges,
                });
            }
        }
        found
    }
}

/// True if the plan of a flow needs the ranges of earlier runs.
pub fn are_asked(flow: &Flow) -> bool {
    let source = flow.source.as_ref();
    source.is_some_and(|source| source.unchanged_by.is_some())
}

impl PlanOptions<'_> {
    /// The ranges that the source of a flow tries to use again, in this order: those of a stopped run, then those of the last run
    /// whose rows are in the target. With the latter, the plan finds out whether the same rows would be appended once more. The
    /// latter are left out with `again`, and where rows are replaced or merged: a second load does no harm there, and new ranges
    /// fit the table better. They are kept in any case if that run was killed before its report.
    pub fn ranges(&self, flow: &Flow, found: Vec<RunRanges>) -> Vec<RangesMark> {
        let renews = matches!(flow.mode, Mode::Replace | Mode::Upsert);
        let (stopped, switched): (Vec<RunRanges>, Vec<RunRanges>) =
            found.into_iter().partition(|found| found.is_stopped);
        let counts = |found: &RunRanges| self.was_killed(&found.run) || !(renews || self.again);
        let switched = switched.into_iter().filter(counts);
        stopped
            .into_iter()
            .chain(switched)
            .map(|found| found.ranges)
            .collect()
    }
}
