//! All steps together, as a run does them: streams that read, scan, convert and write at once.

use std::time::{Duration, Instant};

use inrush_destination::UnitStream;

use super::scratch::{Scratch, commit};
use crate::error::Error;
use crate::meter::nanoseconds;
use crate::preflight::at_once::own_cpu_s;
use crate::preflight::flow_found::FlowFound;
use crate::preflight::measure::MeasuredDestination;
use crate::preflight::sample_batches::{self, Portions, SampleWork};
use crate::preflight::together::{BesideRows, Together};

/// The result of one stream.
#[derive(Default)]
struct Ran {
    work: SampleWork,
    wait_ns: u64,
    took_s: f64,
    commit_s: f64,
}

/// Loads a flow's sample by this number of streams at once.
pub fn measure(
    scratch: &Scratch<'_>,
    found: &FlowFound,
    streams: usize,
    measuring_time: Duration,
) -> Result<Together, Error> {
    let preflight = scratch.preflight;
    let reading = &preflight.plan.flows[found.index].reading;
    let making = preflight.client().making(reading, found);
    let portions = Portions::new(found.spread());
    let cpu_before = own_cpu_s();
    let begun = Instant::now();
    let load = |target: &str, number: usize, stream: &mut dyn UnitStream| -> Result<Ran, Error> {
        let mut maker = sample_batches::row_maker(reading)?;
        let mut reading = sample_batches::stream(&making)?;
        let mut ran = Ran::default();
        let begun = Instant::now();
        let mut refused = 0;
        'all: while let Some(portion) = portions.take() {
            let mut batches = sample_batches::portion(&making, &mut *reading, &mut maker, portion)?;
            while let Some(batch) = batches.next_batch()? {
                let writing = Instant::now();
                refused += stream.write(&batch, u64::MAX)?.not_taken() as u64;
                ran.wait_ns += nanoseconds(writing.elapsed());
                if preflight.options.stop.asked().is_some() {
                    return Err(Error::Interrupted);
                }
                if begun.elapsed() >= measuring_time {
                    drop(batch);
                    ran.work.add(batches.end());
                    break 'all;
                }
            }
            ran.work.add(batches.end());
        }
        ran.took_s = begun.elapsed().as_secs_f64();
        let committing = Instant::now();
        let rows = ran.work.meter.rows - refused;
        commit(stream, target, number, rows)?;
        ran.commit_s = committing.elapsed().as_secs_f64();
        Ok(ran)
    };
    let (all, publish_s) = scratch.run(found.index, streams, &load)?;
    let took_s = begun.elapsed().as_secs_f64().max(1e-9);
    let mut together = Together {
        took_s,
        client_cores: (own_cpu_s() - cpu_before) / took_s,
        // The destination's threads belong to this process, so their time is part of the loader's.
        server_cores: None,
        ..Together::default()
    };
    for mut ran in all {
        let own_s = ran.took_s.max(1e-9);
        together.stream_s += own_s;
        together.text_bytes_s += ran.work.meter.text_bytes as f64 / own_s;
        together.rows_s += ran.work.meter.rows as f64 / own_s;
        ran.work.meter.send_wait_ns += ran.wait_ns;
        together.beside.ready_s += ran.commit_s / streams as f64;
        together.work.add(ran.work);
    }
    together.count_source();
    together.beside = BesideRows {
        rows: together.work.meter.rows as f64 / streams as f64,
        copy_s: Some(publish_s),
        ..together.beside
    };
    Ok(together)
}
