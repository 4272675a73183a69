//! Criterion with the thread's processor time as its clock, and with settings for all benches.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use inrush_kernels::clock::processor_time;

/// Processor time, shown as Criterion shows time.
pub struct CpuTime(WallTime);

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        processor_time()
    }

    fn end(&self, start: Duration) -> Duration {
        processor_time() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self.0.formatter()
    }
}

/// Criterion with the arguments of the command line. An iteration processes a whole text, so a few samples are enough.
pub fn criterion() -> Criterion<CpuTime> {
    Criterion::default()
        .with_measurement(CpuTime(WallTime))
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args()
}

/// Measures a function that runs this many iterations and measures their time itself.
pub fn measure(
    group: &mut BenchmarkGroup<'_, CpuTime>,
    name: &str,
    instructions: &str,
    bytes: usize,
    mut time_of: impl FnMut(u64) -> Duration,
) {
    group
        .sampling_mode(SamplingMode::Flat)
        .throughput(Throughput::BytesDecimal(bytes as u64))
        .bench_function(BenchmarkId::new(name, instructions), |bencher| {
            bencher.iter_custom(&mut time_of);
        });
}

/// The processor time of this many runs.
pub fn time(iterations: u64, mut run: impl FnMut()) -> Duration {
    let start = processor_time();
    for _ in 0..iterations {
        run();
    }
    processor_time() - start
}
