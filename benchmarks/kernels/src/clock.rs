//! The clock of a thread's own processor time, so that what else the machine does is not counted.

use std::time::Duration;

/// Processor time of this thread so far. What neighbours do to caches and to the clock of the processor is
/// still in it.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to the place that it is given and nowhere else.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "Linux has this clock");
    // Neither is negative, and nanoseconds are below a second.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
