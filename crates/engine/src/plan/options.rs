//! Facts that a plan needs beside its package, and obstacles of a plan.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::contents::ContentChecks;
use super::error::PlanError;
use super::flow_inputs::Sources;

/// What a plan needs to know beside the package.
#[derive(Clone, Debug)]
pub struct PlanOptions<'a> {
    /// Relative paths of files start here.
    pub folder: &'a Path,
    /// Opens what flows name: the same for each plan of a run.
    pub sources: &'a dyn Sources,
    /// Streams where the package does not say; usually the number of cores.
    pub streams_default: usize,
    /// What reading files again has found: the same for each plan of a run.
    pub contents: &'a ContentChecks,
    /// Load anew what a run has loaded already.
    pub again: bool,
    /// The rows are rejects of an earlier run, and lie in any partitions: the server routes them.
    pub is_replay: bool,
    /// Another run of the package may be at work now: its staging tables are nobody's leftovers.
    pub unlocked: bool,
    /// Gathers what the plan would be refused for, where all of it is asked for and not only the first.
    pub obstacles: Option<&'a Obstacles>,
}

impl PlanOptions<'_> {
    /// Passes on what was found, or notes why there is nothing.
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

/// An error for which a plan is refused: the engine's, or one of a driver that still has its type.
pub trait PlanRefusal: Into<PlanError> {
    /// Nothing more can be planned after it: the package is wrong in itself, or the server is gone.
    fn ends_planning(&self) -> bool;
}

impl PlanRefusal for PlanError {
    fn ends_planning(&self) -> bool {
        match self {
            PlanError::Package(_) => true,
            PlanError::Driver(error) => error.is_lost(),
            _ => false,
        }
    }
}

/// What a plan would be refused for.
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
