//! The measurements of a preflight: the trait of a measured destination, and what it says for the prediction.

pub use crate::preflight::at_once::on_a_thread_each;
pub use crate::preflight::decode::MakeEncoder;
pub use crate::preflight::findings::record_input_error;
pub use crate::preflight::measure::{MeasuredDestination, measure};
pub use crate::preflight::measuring_time::STEP_TIME;
pub use crate::preflight::together::Together;
pub use crate::preflight::trial::Trials;

/// Findings for the user.
pub mod findings {
    pub use crate::preflight::findings::{loaded_already, of_error, of_refusal};
}

/// The measurements of a flow.
pub mod flow_found {
    pub use crate::preflight::flow_found::{FlowFound, largest, like};
}

/// The pieces of work of a run.
pub mod model {
    pub use crate::preflight::model::{Beside, WorkPiece};
}

/// The plan of a preflight, with the obstacles of the run as findings.
pub mod planning {
    pub use crate::preflight::planning::plan;
}

/// What a destination knows of its run, for the prediction.
pub mod predict {
    pub use crate::preflight::predict::{PredictedPhases, RunCosts, ServerSpeeds};
}
