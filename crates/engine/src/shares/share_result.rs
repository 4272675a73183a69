//! The result of a share, which its process writes for the process that holds the run.

use inrush_verdict::Measurements;
use serde::{Deserialize, Serialize};

use crate::pipeline::results::LoadedPieces;
use crate::report::StreamReport;

/// The result of a share that is loaded completely. Its rows are in the ledger; the result has the facts that the
/// ledger does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ShareResult {
    /// The process, in words.
    pub by: String,
    /// Its streams, counted from 1.
    pub streams: Vec<StreamReport>,
    /// The pieces of work that it committed.
    pub loaded: LoadedPieces,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The measurements on its host, if it loaded something.
    pub measurements: Option<Measurements>,
}
