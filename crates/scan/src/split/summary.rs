//! The result of a pass over a range, for each state in which the range may begin.

use crate::split::State;

/// The first record that begins in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRecord {
    /// The number of bytes of the range before it.
    pub offset: u64,
    /// The number of line ends in the range before it.
    pub line_count: u64,
}

/// The facts of a range if it begins in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeOutcome {
    /// The state after its last byte.
    pub end: State,
    /// The number of line ends in it. It depends on the state only if lines are counted by terminators.
    pub line_count: u64,
    /// The first record that begins in it; blank lines and comments count as records here.
    pub first_record: Option<FirstRecord>,
}

/// The result of a pass over a range, for every state in which the range may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSummary {
    /// The number of bytes of the range.
    pub byte_count: u64,
    /// The outcomes by start state.
    pub(crate) outcomes: Vec<RangeOutcome>,
}

/// The position of a range's first record in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeStart {
    /// The byte of the file at which the range's first record begins; `None` if none begins in it. It may be a blank
    /// line or a comment.
    pub first_record: Option<u64>,
    /// The number of line ends in the file before that record, or before the end of the range if there is none.
    pub line: u64,
}

impl RangeSummary {
    /// The facts of the range if it begins in this state.
    ///
    /// # Panics
    ///
    /// If the state is one of another dialect.
    pub fn outcome(&self, start: State) -> RangeOutcome {
        self.outcomes[start.index()]
    }

    /// The summary of this range and the next one together.
    #[must_use]
    pub fn then(&self, next: &RangeSummary) -> RangeSummary {
        let outcomes = self.outcomes.iter().map(|outcome| {
            let behind = next.outcome(outcome.end);
            RangeOutcome {
                end: behind.end,
                line_count: outcome.line_count + behind.line_count,
                first_record: outcome.first_record.or_else(|| {
                    behind.first_record.map(|first| FirstRecord {
                        offset: self.byte_count + first.offset,
                        line_count: outcome.line_count + first.line_count,
                    })
                }),
            }
        });
        RangeSummary {
            byte_count: self.byte_count + next.byte_count,
            outcomes: outcomes.collect(),
        }
    }
}

/// The position of the first record of each range. The ranges are consecutive, without gaps, and begin with the first
/// record of their file (after a byte order mark): offsets and lines are counted from there.
pub fn resolve(summaries: &[RangeSummary]) -> Vec<RangeStart> {
    let mut state = State::FIRST;
    let mut offset = 0;
    let mut line = 0;
    let starts = summaries.iter().map(|summary| {
        let outcome = summary.outcome(state);
        let line_end = line + outcome.line_count;
        let start = match outcome.first_record {
            Some(first) => RangeStart {
                first_record: Some(offset + first.offset),
                line: line + first.line_count,
            },
            None => RangeStart {
                first_record: None,
                line: line_end,
            },
        };
        state = outcome.end;
        offset += summary.byte_count;
        line = line_end;
        start
    });
    starts.collect()
}
