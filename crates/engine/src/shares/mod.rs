//! One run, loaded by several processes on several hosts.
//!
//! ```text
//! coordinate (holds the run)   prepare ──> plan.json ──> loads what only it can ──> waits ──> shut out ──> account, switch, report
//! load_share (each host)                      └──> plans the package again, compares ──> joins ──> loads its share ──> result
//! ```
//!
//! The remaining work of a run is divided into [shares](divide). The plan is sent ([`sent_plan`]) as the facts that
//! decide what a row becomes and where it is counted: the run's record, the digest of its package and targets, the key
//! of each unit, and its splits. The host that loads a share makes a plan of the same package from the same files, and
//! goes on only if its plan has the same units. So no type of a plan has to be sent: a file is opened, and a secret
//! resolved, where it is used.
//!
//! A [result](share_result) comes back as a file in the run's folder, which all hosts see. The ledger alone says which rows are
//! loaded; a result adds the facts that only the process knew that loaded them: times, changed values, the first rejects.

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
