//! The time that each measurement of a preflight may take.

use std::time::Duration;

/// For each measurement of a step, all flows together.
pub const STEP_TIME: Duration = Duration::from_millis(1000);
/// The time for all steps together, on which the prediction rests.
const TOGETHER_TIME: Duration = Duration::from_millis(2500);

/// The time of each measurement of a flow.
#[derive(Clone, Copy, Debug)]
pub struct MeasuringTime {
    /// Each step.
    pub step: Duration,
    /// All steps together.
    pub together: Duration,
}

impl MeasuringTime {
    /// The times for this number of flows.
    pub fn of(flows: usize) -> MeasuringTime {
        let flows = flows.max(1) as f64;
        MeasuringTime {
            step: STEP_TIME.div_f64(flows),
            together: TOGETHER_TIME.div_f64(flows),
        }
    }
}
