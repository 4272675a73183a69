//! The destination alone: streams write rows that are already converted.

use std::time::Instant;

use inrush_destination::TrialLoad;

use super::TrialSettings;
use super::kept_rows::KeptRows;
use super::streams::{OpenStream, Streams};
use crate::error::Error;
use crate::preflight::throughput::Throughput;

/// A measurement of the destination alone.
pub struct Alone<'a> {
    /// The settings.
    pub settings: &'a TrialSettings<'a>,
    /// The rows.
    pub kept: &'a KeptRows<'a>,
    /// The number of units of the flow.
    pub units: usize,
}

impl Alone<'_> {
    /// Writes the rows by this number of streams at once, again and again until the time is over.
    pub fn measure(&self, load: &dyn TrialLoad, streams: usize) -> Result<Throughput, Error> {
        let streams = Streams {
            load,
            count: streams,
            rate_bytes_max: self.settings.rate_bytes_max,
        };
        let all = streams.run(&|number| number % self.units.max(1), &|open| {
            self.write(open)
        })?;
        Ok(Throughput::at_once(all))
    }

    fn write(&self, open: OpenStream<'_>) -> Result<Throughput, Error> {
        let OpenStream {
            number, mut stream, ..
        } = open;
        let stop = self.settings.client.stop;
        let begun = Instant::now();
        stream.begin_rows()?;
        let (mut rows, mut sent_bytes) = (0, 0.0);
        // Each stream begins with another block.
        for at in number * 7.. {
            let (written, bytes) = self.kept.write(at, &mut *stream)?;
            rows += written;
            sent_bytes += bytes;
            if begun.elapsed() >= self.settings.measuring_time.step || stop.asked().is_some() {
                break;
            }
        }
        if stop.asked().is_some() {
            return Err(Error::Interrupted);
        }
        stream.end_rows()?;
        stream.finish(rows)?;
        let took_s = begun.elapsed().as_secs_f64();
        Ok(Throughput {
            sent_bytes_s: sent_bytes / took_s.max(1e-9),
            sent_bytes: sent_bytes as u64,
            took_s,
        })
    }
}
