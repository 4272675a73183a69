//! The clock of a thread's own processor time, so that other programs are not counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of this thread so far. It still depends on what other programs do to caches and to the clock
/// frequency.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("processor time is not negative")
}
