//! The steps that a run performs at a destination, as `inrush check` prints them.
//!
//! A destination makes the text of each step in one place: the run performs it with values, and
//! [`Destination::steps`](crate::Destination::steps) shows it with words in angle brackets for the values that only the
//! run can know.

use std::fmt;

use inrush_rows::ids::{RunId, RunKey};

use crate::given_steps::GivenSteps;
use crate::target::{TargetFacts, TargetPlan};

/// The placeholder for the number of the run in a plan.
pub const RUN: &str = "<run>";

/// A planned run whose steps are wanted.
#[derive(Clone, Debug)]
pub struct StepsRequest<'a> {
    /// The key of the run.
    pub run_key: &'a RunKey,
    /// The targets, in the plan's order.
    pub targets: Vec<StepsTarget<'a>>,
    /// The stopped run that it resumes.
    pub resumes: Option<RunId>,
    /// True if the package asks for new statistics of its targets ([`OpenRun::analyze`](crate::OpenRun::analyze)).
    pub analyzes: bool,
}

/// A target of a planned run.
#[derive(Clone, Copy, Debug)]
pub struct StepsTarget<'a> {
    /// The target as the run will fill it.
    pub plan: &'a TargetPlan,
    /// The target as it is now, if it exists.
    pub facts: Option<&'a TargetFacts>,
    /// The steps of its flow that the destination evaluates.
    pub steps: Option<&'a GivenSteps>,
}

/// The steps of a run in which no row is refused and nothing is loaded again. Reads are left out unless they lock, or
/// guard a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSteps {
    /// The steps of each session, when it is opened.
    pub session: Vec<Step>,
    /// The steps before the first row.
    pub begin: Vec<Step>,
    /// The steps of each transaction that commits rows, by the target's index.
    pub units: Vec<Vec<Step>>,
    /// The steps of the publish.
    pub publish: Vec<Step>,
    /// The steps after the publish, if the targets are analyzed.
    pub analyze: Vec<Step>,
    /// How statements end in a script.
    pub statement_end: StatementEnd,
    /// Notes for the user that follow from the steps: for example, why rows get into a target by a slower way.
    pub notes: Vec<String>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its text.
    pub action: Action,
    /// When it is performed.
    pub times: Times,
}

/// The text of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A statement, without a semicolon.
    Statement(String),
    /// A statement that only the run can perform: it has words in angle brackets for values that only the run can know,
    /// or rows follow it.
    Sketch(String),
    /// Something that is not a statement, in words: `write a file`, `send the rows`.
    Other(String),
}

/// When, and how often, a step is performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    Once,
    /// Any number of times: under a condition, in words after `if`.
    If(String),
    /// Several times: how often, in words such as `3 times` or `for each table`.
    Repeated(String),
}

/// How a statement ends in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementEnd {
    /// Statements end with a semicolon.
    #[default]
    Semicolon,
    /// Statements end with a semicolon and a line `GO`, which makes each of them a separate batch.
    Batch,
}

impl Step {
    /// A statement that is performed once.
    pub fn statement(sql: impl Into<String>) -> Step {
        Step {
            action: Action::Statement(sql.into()),
            times: Times::Once,
        }
    }

    /// A statement that only the run can perform, once.
    pub fn sketch(sql: impl Into<String>) -> Step {
        Step {
            action: Action::Sketch(sql.into()),
            times: Times::Once,
        }
    }

    /// Something else that is done once.
    pub fn other(words: impl Into<String>) -> Step {
        Step {
            action: Action::Other(words.into()),
            times: Times::Once,
        }
    }

    /// The same step, if a condition holds.
    #[must_use]
    pub fn only_if(self, condition: impl Into<String>) -> Step {
        Step {
            times: Times::If(condition.into()),
            ..self
        }
    }

    /// The same step, several times.
    #[must_use]
    pub fn repeated(self, times: impl Into<String>) -> Step {
        Step {
            times: Times::Repeated(times.into()),
            ..self
        }
    }
}

/// Writes a statement with its semicolon, and any other step as a comment. Then a comment says when it is performed.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match &self.action {
            Action::Statement(sql) | Action::Sketch(sql) => {
                write!(f, "{sql};")?;
                " -- "
            }
            Action::Other(words) => {
                write!(f, "-- {words}")?;
                ", "
            }
        };
        match &self.times {
            Times::Once => Ok(()),
            Times::If(condition) => write!(f, "{separator}if {condition}"),
            Times::Repeated(times) => write!(f, "{separator}{times}"),
        }
    }
}
