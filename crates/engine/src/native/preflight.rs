//! The measurements of a preflight: the trait of a measured destination, and the arithmetic that predicts a run from them.

pub use crate::preflight::at_once::on_a_thread_each;
pub use crate::preflight::client::Client;
pub use crate::preflight::decode::MakeEncoder;
pub use crate::preflight::findings::record_input_error;
pub use crate::preflight::measure::{MeasuredDestination, measure};
pub use crate::preflight::measuring_time::STEP_TIME;
pub use crate::preflight::read::ReadFound;
pub use crate::preflight::together::Together;
pub use crate::preflight::trial::{TrialFound, Trials};

/// Findings for the user.
pub mod findings {
    pub use crate::preflight::findings::{loaded_already, of_error, of_refusal};
}

/// The measurements of a flow.
pub mod flow_found {
    pub use crate::preflight::flow_found::{FlowFound, largest, like};
}

/// Seconds from measurements, by arithmetic alone.
pub mod model {
    pub use crate::preflight::model::{
        Beside, ObservedLoad, Schedule, SharedSeconds, WorkPiece, answer, schedule,
    };
}

/// The plan of a preflight, with the obstacles of the run as findings.
pub mod planning {
    pub use crate::preflight::planning::plan;
}

/// The prediction of a run.
pub mod predict {
    pub use crate::preflight::predict::{
        LeftToRead, PredictedPhases, costs, of_unknown_size, seen, shared, speeds, tell,
        tell_loaded,
    };
}

/// The steps that a preflight reports.
pub mod steps {
    pub use crate::preflight::steps::{destination, together};
}
