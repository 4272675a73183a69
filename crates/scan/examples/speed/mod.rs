//! GB/s of processor time: the median of a few runs, each long against the clock's ticks.

use std::fs;

/// How often a run goes over its text.
pub const ROUNDS: usize = 400;
const REPEATS: usize = 5;

/// GB/s of a run that goes over a text so many times as [`ROUNDS`] says.
pub fn speed(text: &[u8], mut round: impl FnMut()) -> f64 {
    let mut speeds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = processor_ns();
            round();
            (text.len() * ROUNDS) as f64 / (processor_ns() - start) as f64
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[REPEATS / 2]
}

/// Nanoseconds that this process has run, as Linux counts them.
fn processor_ns() -> u64 {
    let counts = fs::read_to_string("/proc/self/schedstat").expect("Linux counts run times");
    let run = counts.split(' ').next().and_then(|run| run.parse().ok());
    run.expect("the first number is the run time")
}
