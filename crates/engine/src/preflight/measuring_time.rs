//! The time that each measurement of a preflight may take.

use std::time::Duration;

/// The time of one measurement of a step, for all flows together.
pub const STEP_TIME: Duration = Duration::from_millis(1000);
/// The time for measuring all steps together. The prediction rests on this measurement.
const TOGETHER_TIME: Duration = Duration::from_millis(2500);

/// The time of each measurement of a flow.
#[derive(Clone, Copy, Debug)]
pub struct MeasuringTime {
    /// The time for measuring a single step.
    pub step: Duration,
    /// The time for measuring all steps together.
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
