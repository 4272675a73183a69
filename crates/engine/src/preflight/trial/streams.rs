//! The streams of a trial load, each in its own thread, like those of a run.

use std::sync::Arc;
use std::time::Instant;

use inrush_destination::{StreamSetup, TrialLoad, TrialStream};
use inrush_rows::pace::Pace;

use crate::error::Error;
use crate::gauge::Gauge;
use crate::preflight::at_once::at_the_same_time;

/// The streams of a trial load.
pub struct Streams<'a> {
    /// The trial load.
    pub load: &'a dyn TrialLoad,
    /// Their number.
    pub count: usize,
    /// The most bytes that all of them send in a second.
    pub rate_bytes_max: Option<u64>,
}

/// A stream with an empty table.
pub struct OpenStream<'a> {
    /// Its number, from 0.
    pub number: usize,
    /// The stream.
    pub stream: Box<dyn TrialStream + 'a>,
    /// Its times and bytes.
    pub gauge: Arc<Gauge>,
    /// Seconds of connecting.
    pub connect_s: f64,
    /// Seconds of creating the table.
    pub create_s: f64,
}

impl Streams<'_> {
    /// Opens the streams one after the other, each with the unit that `unit_of` returns. Once all of them have their tables,
    /// calls `work` with each at the same time.
    pub fn run<T: Send>(
        &self,
        unit_of: &(impl Fn(usize) -> usize + Sync),
        work: &(impl Fn(OpenStream<'_>) -> Result<T, Error> + Sync),
    ) -> Result<Vec<T>, Error> {
        let pace = Arc::new(Pace::new(self.rate_bytes_max));
        let open = |number: usize| {
            let gauge = Arc::<Gauge>::default();
            let setup = StreamSetup {
                number: number + 1,
                pace: Arc::clone(&pace),
                meter: gauge.clone(),
                note: &|_| {},
            };
            let begun = Instant::now();
            let mut stream = self.load.open_stream(&setup)?;
            let connect_s = begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            stream.begin(unit_of(number))?;
            Ok(OpenStream {
                number,
                stream,
                gauge,
                connect_s,
                create_s: begun.elapsed().as_secs_f64(),
            })
        };
        at_the_same_time(self.count, &open, work)
    }
}
