//! The options of a plan besides its package, and the reasons to refuse a plan.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inrush_rows::cancel::Stop;
use inrush_rows::ids::RunName;
use inrush_source::SinceRange;

use crate::earlier::contents::ContentChecks;
use crate::earlier::run_folder;
use crate::error::PlanError;
use crate::reading::flow_inputs::Sources;
use crate::reading::since::{SinceAsked, SinceMark};

/// The options of a plan, besides the package.
#[derive(Clone, Debug)]
pub struct PlanOptions<'a> {
    /// Relative paths of files start here.
    pub folder: &'a Path,
    /// The folder with the folders of runs.
    pub runs_folder: &'a Path,
    /// Opens the inputs of flows; the same for each plan of a run.
    pub sources: &'a dyn Sources,
    /// The streams that the package asks for, or else the caller; a destination may have fewer.
    pub streams: usize,
    /// The results of reading files again: the same for each plan of a run.
    pub contents: &'a ContentChecks,
    /// Load again what an earlier run has loaded.
    pub again: bool,
    /// Where flows with `since` begin, in place of their marks.
    pub from: Option<&'a str>,
    /// The rows are rejects of an earlier run. They may belong to any partitions, so the server routes them.
    pub is_replay: bool,
    /// Other processes load shares of the run.
    pub is_shared_out: bool,
    /// Another run of the package may be in progress, so its staging tables are not leftovers.
    pub unlocked: bool,
    /// A plan that waits for a server ends when the run is asked to stop.
    pub stop: &'a Stop,
    /// Collects all reasons to refuse the plan; without it the first one ends planning.
    pub obstacles: Option<&'a Obstacles>,
}

impl PlanOptions<'_> {
    /// Further facts for a flow with `since`, apart from the marks in its target and the ranges of a stopped run.
    pub fn since(&self, mut marks: Vec<SinceMark>, stopped: Vec<SinceRange>) -> SinceAsked {
        for mark in &mut marks {
            mark.lacks_report = run_folder::lacks_report(self.runs_folder, &mark.run);
        }
        SinceAsked {
            marks,
            stopped,
            given: self.from.map(str::to_owned),
            again: self.again,
        }
    }

    /// True if `again` asks for what a killed command has done already: `run`, the last of the package, is switched, and
    /// its process was killed before it wrote the report.
    pub fn is_repeated(&self, run: &RunName) -> bool {
        self.again && !self.is_replay && self.was_killed(run)
    }

    /// True if the process of a switched run was killed before it wrote the report.
    pub fn was_killed(&self, run: &RunName) -> bool {
        run_folder::lacks_report(self.runs_folder, run)
    }

    /// Passes a result on, or collects its error.
    pub fn or_note<T, E: PlanRefusal>(&self, found: Result<T, E>) -> Result<Option<T>, E> {
        match (found, self.obstacles) {
            (Ok(found), _) => Ok(Some(found)),
            (Err(error), None) => Err(error),
            (Err(error), _) if error.ends_planning() => Err(error),
            (Err(error), Some(obstacles)) => {
                obstacles.add(error.into());
                Ok(None)
            }
        }
    }
}

/// An error for which a plan is refused: a [`PlanError`], or the typed error of a planner.
pub trait PlanRefusal: Into<PlanError> {
    /// True if planning cannot continue after it: the package itself is wrong, or the server is gone.
    fn ends_planning(&self) -> bool;
}

impl PlanRefusal for PlanError {
    fn ends_planning(&self) -> bool {
        match self {
            PlanError::Package(_) | PlanError::Interrupted => true,
            PlanError::Destination(error) => error.is_lost(),
            _ => false,
        }
    }
}

/// The reasons to refuse a plan.
#[derive(Debug, Default)]
pub struct Obstacles(Mutex<Vec<PlanError>>);

impl Obstacles {
    fn add(&self, error: PlanError) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(error);
    }

    /// All of them, in the order in which they were met.
    pub fn take(&self) -> Vec<PlanError> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
