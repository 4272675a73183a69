//! The sequence of a run: its traits, its state, and the work that is kept from earlier attempts.

pub use crate::pipeline::naming::{holder, new_run_name};
pub use crate::pipeline::threads::{Threads, runtime};
pub use crate::report::folder::RunFolder;
pub use crate::run::one_transaction::NOTHING_KEPT;
pub use crate::run::prepared::PreparedRun;
pub use crate::run::run;
pub use crate::run::steps::{AlreadyLoaded, LoadSteps, Preparation};
pub use inrush_plan::kept_units::{KeptPart, KeptUnits};

/// Notes for the user about the plan.
pub mod announcements {
    pub use crate::run::announcements::planned;
}

/// The ranges of a file in the ledger, compared with the file.
pub mod coverage {
    pub use inrush_plan::coverage::check_file;
}
