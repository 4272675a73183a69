//! One run, loaded by several processes on several hosts.
//!
//! ```text
//! coordinate (holds the run)   prepare ──> plan.json ──> loads what only it can ──> waits ──> shut out ──> account, switch, report
//! load_share (each host)                      └──> plans the package again, compares ──> joins ──> loads its share ──> result
//! ```
//!
//! The remaining work of a run is divided into [shares](divide). The sent plan ([`sent_plan`]) has only the facts that
//! decide what a row becomes and where it is counted: the run's record, the digest of its package and targets, the key
//! of each unit, and its splits. The host that loads a share plans the same package with the same files, and continues
//! only if its plan has the same units. So the types of a plan are never sent: each host opens files and resolves
//! secrets itself.
//!
//! A [result](share_result) comes back as a file in the run's folder, which all hosts see. Only the ledger says which
//! rows are loaded. A result adds facts that only the loading process knew: times, changed values, the first rejects.

pub(crate) mod coordinate;
mod divide;
mod error;
mod files;
mod load;
pub(crate) mod sent_plan;
pub(crate) mod share_result;
mod waiting;

use std::num::NonZeroUsize;
use std::time::Duration;

pub use error::ShareError;
pub use load::{ShareLoaded, load_share};
pub use sent_plan::SentPlan;

/// How the work of a run is shared among processes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// The number of shares.
    pub count: NonZeroUsize,
    /// The run fails if no process that loads a share gives a sign of life for this time.
    pub silence_max: Duration,
}

impl Shares {
    /// The default of [`silence_max`](Self::silence_max).
    pub const SILENCE_MAX: Duration = Duration::from_secs(60 * 60);
}
