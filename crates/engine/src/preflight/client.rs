//! Measures the loader alone: it reads the sample and makes rows of it. This is the same for all destinations.

use std::time::Duration;

use inrush_plan::Reading;
use inrush_plan::load_plan::PlanFacts;
use inrush_rows::cancel::Stop;

use super::decode::{self, Ways};
use super::flow_found::{self, FlowFound};
use super::read::{self, ReadFound, ReadOptions};
use super::sample::Portion;
use super::sample_batches::Making;
use super::{PreflightOptions, READ_TIME, source_read};
use crate::error::Error;
use crate::pipeline::RunOptions;

/// The loader's part of a plan.
#[derive(Clone, Copy)]
pub struct Client<'a> {
    /// Streams of the run.
    pub streams: usize,
    /// Bytes of text in a chunk.
    pub chunk_bytes: usize,
    /// The number of rows in a batch.
    pub batch_rows: usize,
    /// The preflight's own options.
    pub preflight_options: &'a PreflightOptions,
    /// Asks to stop.
    pub stop: &'a Stop,
}

impl<'a> Client<'a> {
    /// The loader of a plan.
    pub fn of(
        facts: &PlanFacts,
        options: &'a RunOptions<'_>,
        preflight_options: &'a PreflightOptions,
    ) -> Client<'a> {
        Client {
            streams: facts.streams,
            chunk_bytes: facts.settings.chunk_bytes as usize,
            batch_rows: facts.batch_rows,
            preflight_options,
            stop: &options.stop,
        }
    }

    /// The settings for making a flow's rows.
    pub fn making<'r>(&self, reading: &'r Reading, found: &FlowFound) -> Making<'r> {
        Making {
            reading,
            chunk_bytes: found.chunk_bytes(self.chunk_bytes),
            batch_rows: self.batch_rows,
        }
    }

    /// Reads the sample. Portions that are not in the page cache afterwards are left out.
    pub fn read(&self, flows: &mut [FlowFound]) -> Result<ReadFound, Error> {
        let places: Vec<_> = flow_found::portions(flows)
            .filter_map(|portion| portion.place.clone())
            .collect();
        let preflight_options = ReadOptions {
            streams: self.streams,
            chunk_bytes: self.chunk_bytes,
            measuring_time: READ_TIME,
            cold: self.preflight_options.cold,
        };
        let found = read::measure(&places, &preflight_options, self.stop)?;
        flow_found::keep_read(flows, &found.is_read);
        Ok(found)
    }

    /// Reads a flow's sample from its database. If the first row takes long to arrive, the later steps do not read the
    /// sample again.
    pub fn read_source(
        &self,
        found: &mut FlowFound,
        reading: &Reading,
        measuring_time: Duration,
    ) -> Result<(), Error> {
        let mut portions = found.spread();
        portions.retain(Portion::is_of_database);
        if portions.is_empty() {
            return Ok(());
        }
        let read = source_read::measure(self, reading, &portions, measuring_time)?;
        if read.is_slow_to_begin() {
            for (_, portions) in &mut found.works {
                portions.clear();
            }
        }
        found.source = Some(read);
        Ok(())
    }

    /// Makes rows of a flow's sample, with one thread and with as many as there are streams.
    pub fn decode(
        &self,
        found: &mut FlowFound,
        reading: &Reading,
        ways: Ways<'_>,
        measuring_time: Duration,
    ) -> Result<(), Error> {
        let making = self.making(reading, found);
        let portions = found.spread();
        let measure =
            |threads| decode::measure(&making, &portions, threads, measuring_time, ways, self.stop);
        found.decoded = Some(measure(1)?);
        if self.streams > 1 {
            found.decoded_all = Some(measure(self.streams)?);
        }
        Ok(())
    }
}
