//! The steps of a run that only its destination's driver can do.

use inrush_rows::ids::RunName;
use tokio::runtime::Runtime;

use super::prepared::PreparedRun;
use crate::error::Error;
use crate::report::RunFolder;
use crate::shares::SentPlan;
use inrush_plan::ledger::Account;
use inrush_plan::load_plan::LoadPlan;

/// Plans a package for one destination, and opens its run there. [`run`](super::run) has the order of all other steps.
pub trait LoadSteps {
    /// Plans and enters the run into the ledger, unless nothing is left to do.
    fn prepare(&self, runtime: &Runtime) -> Result<Preparation, Error>;

    /// True if other processes can join the run.
    fn can_be_joined(&self) -> bool {
        false
    }

    /// Plans the package of a sent plan here, and joins its run if the plan is the same. All units that the ledger has of the
    /// run are kept. Only called if the run [can be joined](LoadSteps::can_be_joined).
    fn join(
        &self,
        _runtime: &Runtime,
        _sent: &SentPlan,
        _folder: RunFolder,
    ) -> Result<PreparedRun, Error> {
        Err(Error::no_several_hosts())
    }
}

/// The result of [`LoadSteps::prepare`].
pub enum Preparation {
    /// According to the ledger, exactly these files are loaded already.
    AlreadyLoaded(Box<AlreadyLoaded>),
    /// There is something to do.
    Run(Box<PreparedRun>),
}

/// A plan with nothing left to do.
pub struct AlreadyLoaded {
    /// The plan.
    pub plan: LoadPlan,
    /// The name of the run that has loaded it.
    pub run: RunName,
    /// The rows that it has loaded, by flow.
    pub accounts: Vec<Account>,
}
