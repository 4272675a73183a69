//! The steps of a run that only its destination's driver can do.

use inrush_destination::RunRecord;
use inrush_rows::ids::RunName;
use tokio::runtime::Runtime;

use super::context::RunContext;
use super::prepared::DriverRun;
use crate::error::Error;
use crate::ledger::Account;
use crate::report::RunFolder;
use crate::shares::SentPlan;

/// Loads into the destinations of one kind. [`run`](super::run) has the order of these calls.
pub trait LoadSteps: Sized + Sync {
    /// A run that is planned and holds its lock.
    type Run: DriverRun + Sync;

    /// The settings that may delay streams, as subject and verb of a sentence: "`rate_bytes_max` asks".
    const PACED_BY: &'static str;

    /// Plans and enters the run into the ledger, unless nothing is left to do.
    fn prepare(&self, runtime: &Runtime) -> Result<Preparation<Self::Run>, Error>;

    /// True if the target of a flow is analyzed after the publish.
    fn analyzes(&self, context: &RunContext<'_, Self::Run>, flow: usize) -> bool;

    /// The steps of a run that several processes load; none if the destination lacks the ability.
    fn joins(&self) -> Option<&dyn JoinSteps<Self::Run>> {
        None
    }

    /// Releases the run's lock.
    fn close(&self, _: &Runtime, _: Self::Run) {}
}

/// The steps of a run that several processes load: one holds it, and the others join it.
pub trait JoinSteps<R> {
    /// The run as the ledger has it.
    fn record<'r>(&self, run: &'r R) -> &'r RunRecord;

    /// A digest of the targets as the run fills them.
    fn targets_digest(&self, run: &R) -> String;

    /// Plans the package of a sent plan here, and joins its run if the plan is the same. What the ledger has of it is kept.
    fn join(&self, runtime: &Runtime, sent: &SentPlan, folder: RunFolder) -> Result<R, Error>;

    /// Lets no process commit that has joined the run.
    fn shut_out(&self, run: &R) -> Result<(), Error>;
}

/// The result of [`LoadSteps::prepare`].
pub enum Preparation<R: DriverRun> {
    /// According to the ledger, exactly these files are loaded already.
    AlreadyLoaded(Box<AlreadyLoaded<R::Plan>>),
    /// There is something to do.
    Run(Box<R>),
}

/// A plan with nothing left to do.
pub struct AlreadyLoaded<P> {
    /// The plan.
    pub plan: P,
    /// The name of the run that has loaded it.
    pub run: RunName,
    /// The rows that it has loaded, by flow.
    pub accounts: Vec<Account>,
}
