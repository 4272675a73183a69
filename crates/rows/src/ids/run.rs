//! Ids and names of runs.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::short;

/// The number of a run in a ledger: larger than the numbers of all earlier runs in that ledger. The ledger assigns it
/// to a new run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(i64);

impl RunId {
    /// The first number in a ledger.
    pub const FIRST: RunId = RunId(1);

    /// The run with this number.
    pub const fn new(number: i64) -> RunId {
        RunId(number)
    }

    /// The number, as a ledger stores it.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The number after this one.
    pub const fn next(self) -> RunId {
        RunId(self.0 + 1)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for RunId {
    type Err = ParseIntError;

    /// Reads the number from a ledger that stores it as text.
    fn from_str(text: &str) -> Result<RunId, ParseIntError> {
        text.parse().map(RunId)
    }
}

text_key! {
    /// The digest of a package's name and its targets. Runs with the same key are runs of the same package: they
    /// exclude each other, and the next run resumes a stopped run, even if the package's settings were changed.
    RunKey
}

impl RunKey {
    /// The first digits, as they appear in the names of files.
    pub fn short(&self) -> &str {
        short(self.as_str())
    }
}

text_key! {
    /// The name of a run: its time, its package and a random part, such as `20261122T190822Z-demo-24ce22`. It is also
    /// the name of the run's folder, and part of the names of its connections.
    RunName
}
