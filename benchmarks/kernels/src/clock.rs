//! The processor time of a thread, which does not count the time of other programs.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of this thread so far. Other programs still change it a little: they use the caches and lower the
/// clock frequency.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("processor time is not negative")
}
