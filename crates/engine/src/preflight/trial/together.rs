//! All steps together, as a run does them: streams that read, scan, convert and write at once. Only these measurements
//! show how streams slow each other down, above all by sharing cores. The work after the rows is timed too.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use inrush_destination::{AfterRows, TrialLoad, TrialStream};
use inrush_rows::cancel::Stop;
use inrush_source::{ShareSettings, SharedSplit};
use inrush_verdict::Phase;

use super::streams::{OpenStream, Streams};
use super::{TrialSettings, TrialWork};
use crate::error::Error;
use crate::meter::{Meter, nanoseconds};
use crate::pipeline::row_maker::RowMaker;
use crate::preflight::at_once::own_cpu_s;
use crate::preflight::sample_batches::{self, Making, Portions, SampleBatches, SampleWork};
use crate::preflight::together::{BesideRows, Together};

/// A measurement of all steps together.
pub struct AllSteps<'a> {
    /// The settings.
    pub settings: &'a TrialSettings<'a>,
    /// How rows are made.
    pub making: Making<'a>,
}

/// The rows of a piece of work, for the streams that take it.
enum Rows {
    Portions(Arc<Portions>),
    Fed(Arc<dyn SharedSplit>),
}

/// The result of a stream.
struct Ran {
    work: SampleWork,
    /// Rows that the destination took.
    rows_taken: u64,
    took_s: f64,
    server_cpu_s: Option<f64>,
    beside: BesideRows,
    table_bytes: u64,
}

/// A moment, with the CPU seconds of this process.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    cpu_s: f64,
}

impl Moment {
    fn now() -> Moment {
        Moment {
            at: Instant::now(),
            cpu_s: own_cpu_s(),
        }
    }
}

impl AllSteps<'_> {
    /// Loads pieces of work by this number of streams at once; if there are fewer pieces than streams, several streams
    /// share one.
    pub fn measure(
        &self,
        load: &dyn TrialLoad,
        works: &[TrialWork<'_>],
        streams: usize,
        measuring_time: Duration,
    ) -> Result<Together, Error> {
        let mut rows = Vec::with_capacity(works.len());
        for work in works {
            rows.push(self.rows(work, streams)?);
        }
        // The measurement begins with the first row of the first stream, and ends when the last stream has its answer.
        let begun = OnceLock::new();
        let ended = Mutex::new(None);
        let load_one = |open: OpenStream<'_>| {
            begun.get_or_init(Moment::now);
            let at = open.number % works.len();
            let mut one = OneStream {
                steps: self,
                maker: self.maker(&works[at])?,
                open,
                measuring_time,
            };
            let mut ran = one.load(&rows[at])?;
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(Moment::now());
            one.finish(&mut ran)?;
            Ok(ran)
        };
        let unit_of = |number: usize| works[number % works.len()].unit.map_or(0, |(unit, _)| unit);
        let streams = Streams {
            load,
            count: streams,
            rate_bytes_max: self.settings.rate_bytes_max,
        };
        let all = streams.run(&unit_of, &load_one)?;
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(sum(all, begun.into_inner().zip(ended)))
    }

    fn rows(&self, work: &TrialWork<'_>, streams: usize) -> Result<Rows, Error> {
        let Some(split) = work.fed else {
            return Ok(Rows::Portions(Portions::new(work.portions.clone())));
        };
        let settings = ShareSettings {
            chunk_bytes: self.making.chunk_bytes,
            streams,
        };
        let source = &self.making.reading.source;
        Ok(Rows::Fed(
            source.share(&split.in_source(), settings, &[])?.into(),
        ))
    }

    fn maker(&self, work: &TrialWork<'_>) -> Result<RowMaker, Error> {
        match work.unit {
            Some((_, unit)) => {
                RowMaker::of_unit(unit, self.making.reading, sample_batches::stamp())
            }
            None => sample_batches::row_maker(self.making.reading),
        }
    }
}

/// A stream that loads.
struct OneStream<'a> {
    steps: &'a AllSteps<'a>,
    maker: RowMaker,
    open: OpenStream<'a>,
    measuring_time: Duration,
}

impl OneStream<'_> {
    /// Writes rows until the destination has answered.
    fn load(&mut self, rows: &Rows) -> Result<Ran, Error> {
        let making = &self.steps.making;
        let OpenStream { stream, gauge, .. } = &mut self.open;
        stream.begin_rows()?;
        let cpu_before = stream.server_cpu_s();
        let began = Instant::now();
        let mut writing = Writing {
            stream: &mut **stream,
            stop: self.steps.settings.client.stop,
            deadline: began + self.measuring_time,
            wait_ns: 0,
            rows_refused: 0,
        };
        let mut work = SampleWork::default();
        match rows {
            Rows::Portions(portions) => {
                let mut reading = sample_batches::stream(making)?;
                while let Some(portion) = portions.take() {
                    let maker = &mut self.maker;
                    let batches = sample_batches::portion(making, &mut *reading, maker, portion)?;
                    work.add(writing.all_of(batches)?);
                    if writing.is_over() {
                        break;
                    }
                }
            }
            Rows::Fed(feed) => loop {
                let waiting = gauge.enter(Phase::Read);
                let next = inrush_source::wait(feed.next_part())?;
                drop(waiting);
                let Some(part) = next else { break };
                let batches = SampleBatches::new(making, &mut self.maker, part.reader);
                work.add(writing.all_of(batches)?);
                if writing.is_over() {
                    break;
                }
            },
        }
        let Writing {
            wait_ns,
            rows_refused,
            ..
        } = writing;
        stream.end_rows()?;
        work.meter.add(&Meter {
            busy_ns: 0,
            ..gauge.meter()
        });
        if !stream.is_metered() {
            work.meter.send_wait_ns += wait_ns;
        }
        let took_s = began.elapsed().as_secs_f64().max(1e-9);
        let cpu = cpu_before.zip(stream.server_cpu_s());
        Ok(Ran {
            rows_taken: work.meter.rows - rows_refused,
            beside: BesideRows {
                rows: work.meter.rows as f64,
                connect_s: self.open.connect_s,
                create_s: self.open.create_s,
                ..BesideRows::default()
            },
            work,
            took_s,
            server_cpu_s: cpu.map(|(before, after)| after - before),
            table_bytes: 0,
        })
    }

    /// Does the work of the unit after its rows.
    fn finish(&mut self, ran: &mut Ran) -> Result<(), Error> {
        let stream = &mut self.open.stream;
        let cpu_before = stream.server_cpu_s();
        let AfterRows {
            table_bytes,
            measure_s,
            ready_s,
            analyze_s,
        } = stream.finish(ran.rows_taken)?;
        let cpu = cpu_before.zip(stream.server_cpu_s());
        ran.table_bytes = table_bytes;
        ran.beside = BesideRows {
            measure_s,
            ready_s,
            analyze_s,
            server_cpu_s: cpu.map(|(before, after)| after - before),
            ..ran.beside
        };
        Ok(())
    }
}

/// Writes batches until the time is over.
struct Writing<'a> {
    stream: &'a mut dyn TrialStream,
    stop: &'a Stop,
    deadline: Instant,
    /// Nanoseconds in which the destination took rows.
    wait_ns: u64,
    rows_refused: u64,
}

impl Writing<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn all_of(&mut self, mut batches: SampleBatches<'_>) -> Result<SampleWork, Error> {
        while let Some(batch) = batches.next_batch()? {
            if self.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            let writing = Instant::now();
            self.rows_refused += self.stream.write(&batch)?.not_taken() as u64;
            self.wait_ns += nanoseconds(writing.elapsed());
            if self.is_over() {
                break;
            }
        }
        Ok(batches.end())
    }
}

/// The results of all streams, in one. `during` is the time from the first row to the last answer.
fn sum(all: Vec<Ran>, during: Option<(Moment, Moment)>) -> Together {
    let (took_s, cpu_s) = during.map_or((0.0, 0.0), |(begun, ended)| {
        let took_s = (ended.at - begun.at).as_secs_f64();
        (took_s, ended.cpu_s - begun.cpu_s)
    });
    let took_s = took_s.max(1e-9);
    let mut found = Together {
        took_s,
        client_cores: cpu_s / took_s,
        server_cores: Some(0.0),
        ..Together::default()
    };
    let part = 1.0 / all.len() as f64;
    for ran in all {
        found.stream_s += ran.took_s;
        found.text_bytes_s += ran.work.meter.text_bytes as f64 / ran.took_s;
        found.rows_s += ran.work.meter.rows as f64 / ran.took_s;
        found.table_bytes += ran.table_bytes;
        found.server_cores = match (found.server_cores, ran.server_cpu_s) {
            (Some(before), Some(more)) => Some(before + more / ran.took_s),
            _ => None,
        };
        found.beside.add(&ran.beside, part);
        found.work.add(ran.work);
    }
    found.count_source();
    found
}
