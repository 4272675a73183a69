//! The clock of a thread's own processor time, so that what else the machine does is not counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread so far. What neighbours do to caches and to the clock of the processor is
/// still in it.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread has not run for less than no time")
}
