//! Finds which rows are the first of their keys (`distinct_on`), before the first row is loaded.
//!
//! All rows of the flow are read and passed through the steps before `distinct_on`; only their keys and places are
//! kept. Streams share the splits, in any order. The rows of kept units, which an earlier attempt has loaded, are read
//! as well, because they may be the first of their keys. The step then decides by a row's place alone, so the rows that
//! are loaded do not depend on streams, on the order of units, or on what is loaded again.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use inrush_convert::RunStamp;
use inrush_plan::Reading;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::PlanFacts;
use inrush_plan::steps::StepPlan;
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_scan::Records;
use inrush_source::{ReadSettings, SourceSplit, SourceStream};
use inrush_system::threads::on_threads;
use inrush_transform::distinct::{FirstRowsBuilder, PlannedDistinct};
use inrush_transform::stages::Staged;

use super::gathering::Gathering;
use super::prepared::PreparedRun;
use crate::error::Error;
use crate::event::Event;
use crate::gauge::Gauge;
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::row_maker;
use crate::pipeline::row_steps::{RowSteps, steps_error};
use crate::pipeline::{RunOptions, splitting};

/// Finds the first rows for all steps that need them.
pub fn find(
    run: &PreparedRun,
    options: &RunOptions<'_>,
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let facts: &PlanFacts = &run.plan;
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    for flow in &run.plan.flows {
        let reading = &flow.reading;
        let Some(steps) = &reading.steps else {
            continue;
        };
        for (at, distinct) in steps.planned.distinct_steps() {
            let name = &reading.name;
            let number = at + 1;
            event_sink.notice(&Event::Note {
                text: format!(
                    "flow `{name}`: the keys of all rows are read before the load (step {number}, distinct_on)"
                ),
            });
            let begun = Instant::now();
            let pass = Pass {
                reading,
                steps,
                before: steps.planned.prefix(at),
                distinct,
                splits: splits(flow, run.resumed),
                next: AtomicUsize::new(0),
                has_failed: AtomicBool::new(false),
                rows: AtomicU64::new(0),
                builder: FirstRowsBuilder::default(),
                stamp: run.stamp(),
                chunk_bytes: facts.settings.chunk_bytes as usize,
                stop: &options.stop,
            };
            on_threads(facts.streams.min(pass.splits.len()).max(1), &|| pass.work())?;
            gathering.note(format!(
                "flow `{name}`: reading the keys of {} before the load took {:.1} s (step {number}, distinct_on: {})",
                counted(pass.rows.load(Ordering::Relaxed), "row"),
                begun.elapsed().as_secs_f64(),
                counted(pass.builder.key_count(), "different key"),
            ));
            distinct.take_first_rows(pass.builder.build());
        }
    }
    Ok(())
}

/// All splits of a flow, ready to be read.
fn splits(flow: &LoadFlow, is_resumed: bool) -> Vec<SourceSplit> {
    let reading = &flow.reading;
    // In a resumed run the first records of kept ranges are unknown, so files are read whole.
    let are_whole = is_resumed && splitting::is_needed(reading);
    let splits = flow.units.iter().flat_map(|unit| match are_whole {
        true => unit.whole_splits(&*reading.source),
        false => unit.splits.to_vec(),
    });
    let alone = |split: SourceSplit| SourceSplit {
        is_shared: false,
        ..split
    };
    splits.map(|split| alone(split.in_source())).collect()
}

/// A pass over all rows of a flow, by several threads.
struct Pass<'a> {
    reading: &'a Reading,
    steps: &'a StepPlan,
    /// The steps before `distinct_on`.
    before: Staged,
    distinct: &'a PlannedDistinct,
    splits: Vec<SourceSplit>,
    /// The index of the next split.
    next: AtomicUsize,
    has_failed: AtomicBool,
    /// Rows that have reached the step.
    rows: AtomicU64,
    builder: FirstRowsBuilder,
    stamp: RunStamp,
    chunk_bytes: usize,
    stop: &'a Stop,
}

impl Pass<'_> {
    /// Reads splits until none is left. After an error the other threads end with their next rows.
    fn work(&self) -> Result<Vec<()>, Error> {
        let read = self.read_splits();
        if read.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        read.map(|()| Vec::new())
    }

    fn read_splits(&self) -> Result<(), Error> {
        let mut stream = self.reading.source.open_stream(ReadSettings {
            chunk_bytes: self.chunk_bytes,
        })?;
        while let Some(split) = self.splits.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            self.read(split, &mut *stream)?;
        }
        Ok(())
    }

    fn read(&self, split: &SourceSplit, stream: &mut dyn SourceStream) -> Result<(), Error> {
        let flow = &self.reading.name;
        let mut converter = row_maker::converter(self.reading, self.stamp)?;
        let mut steps = RowSteps::new(flow, &self.steps.evaluator, &self.before)?;
        steps.begin_input(split.input);
        let mut reader = stream.open(split)?;
        let mut records = Records::default();
        let gauge = Gauge::default();
        // These rejects are not counted: the load itself rejects the rows again.
        let mut rejects = Vec::new();
        while let Some(chunk) = reader.next_chunk(&mut records)? {
            if self.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            if self.has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut at = 0;
            while at < records.len() {
                rejects.clear();
                let range = at..steps.end(at, records.len());
                let passed = steps.pass(
                    &mut converter,
                    &chunk,
                    &records,
                    range,
                    &mut rejects,
                    &gauge,
                )?;
                let stepped = &passed.stepped;
                let reached = stepped.batch.num_rows();
                self.rows.fetch_add(reached as u64, Ordering::Relaxed);
                let place = |row: usize| steps.place(&converter, &chunk, &records, stepped, row);
                let noted = self.distinct.note(&stepped.batch, &place, &self.builder);
                noted.map_err(|error| steps_error(flow, error))?;
                at = passed.end;
            }
            reader.recycle(chunk);
        }
        Ok(())
    }
}
