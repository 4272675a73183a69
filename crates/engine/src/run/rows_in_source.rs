//! If a target refuses staged rows when they are published, this finds the rows of the source from which they came.
//!
//! One stream has filled the staging of the unit in the order of the files, in one transaction that created or emptied it, so
//! its rows are in that order: the row with number N was the N-th to be loaded. The files are read once more. Rows that
//! cannot be converted are found again by the conversion; rows that the destination refused when the unit was loaded are
//! listed in the ledger, and skipped. The destination compares the found rows with the staged ones.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use inrush_destination::{
    Error as ContractError, RefusedStagedRow, Result as ContractResult, RowsInSource, SplitRecord,
};
use inrush_plan::load_plan::PlanFacts;
use inrush_plan::{UnitPlace, identity};
use inrush_rows::ids::SplitKey;
use inrush_rows::reject::Reject;
use inrush_scan::Records;
use inrush_source::ReadSettings;

use super::context::RunContext;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::kept_rejects::KeptRejects;
use crate::pipeline::reject_files::of_key;
use crate::pipeline::row_maker::RowMaker;
use crate::report::RejectFile;

/// The ending of the name of a file with rejects of the publish.
const OF_SWITCH: &str = "-switch";

/// Finds the rows that the attempts to publish copy carefully, and keeps the rejects among them.
pub struct SourceOfStaged<'a> {
    context: RunContext<'a>,
    /// The rejects of each unit.
    kept: BTreeMap<UnitPlace, KeptRejects<'a>>,
    /// The unit that is copied.
    unit: UnitPlace,
    /// Its rows that were found, by split.
    found: Vec<SplitRejects>,
    /// The error that ends the publish.
    error: Option<Error>,
}

/// Rejects of one split of a unit.
struct SplitRejects {
    split_key: SplitKey,
    /// In the order of the file.
    rejects: Vec<Reject>,
}

impl<'a> SourceOfStaged<'a> {
    /// At first no row is refused.
    pub fn new(context: RunContext<'a>) -> SourceOfStaged<'a> {
        SourceOfStaged {
            context,
            kept: BTreeMap::new(),
            unit: (0, 0),
            found: Vec::new(),
            error: None,
        }
    }

    /// The error that has ended a publish, if one of these calls has failed.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Takes the first rejects, once no other attempt follows.
    pub fn told(&mut self) -> Vec<Reject> {
        let kept = std::mem::take(&mut self.kept).into_values();
        kept.flat_map(KeptRejects::told).collect()
    }

    /// Discards the rejects of an attempt that was rolled back.
    pub fn take_back(&mut self) -> Result<(), Error> {
        for kept in self.kept.values_mut() {
            kept.take_back()?;
        }
        self.kept.clear();
        Ok(())
    }

    /// Keeps the reason of an error for the engine.
    fn answer<T>(&mut self, answer: Result<T, Error>) -> ContractResult<T> {
        answer.map_err(|error| {
            self.error = Some(error);
            ContractError::Interrupted
        })
    }

    fn begin_unit(&mut self, place: UnitPlace) -> Result<u64, Error> {
        let run = self.context.run;
        let (flow, unit) = run.unit(place);
        let reading = &flow.reading;
        if let Some(mut undone) = self.kept.remove(&place) {
            undone.take_back()?;
        }
        let name = format!("{}{OF_SWITCH}", of_key(&reading.name, &unit.key));
        let header = reading.header.as_deref();
        let file = RejectFile::new(run.folder.rejects(), &name, &reading.dialect, header)?;
        let sink = self.context.event_sink();
        let kept = KeptRejects::new(sink, reading, &run.rejects[place.0], None, file);
        let left = kept.left();
        self.unit = place;
        self.kept.insert(place, kept);
        Ok(left)
    }

    fn find_rows(
        &self,
        refused: &[RefusedStagedRow],
        records: &[SplitRecord],
        see: &mut dyn FnMut(&RecordBatch),
    ) -> Result<Option<Vec<SplitRejects>>, Error> {
        let run = self.context.run;
        let (flow, unit) = run.unit(self.unit);
        let reading = &flow.reading;
        let facts: &PlanFacts = &run.plan;
        let mut maker = RowMaker::of_unit(unit, reading, run.stamp())?;
        let mut found = Vec::new();
        let mut left = refused.iter().peekable();
        // The files are read after the streams have ended, so no stream's time is counted.
        let gauge = Gauge::default();
        let mut number = 0_u64;
        let chunk_bytes = facts.settings.chunk_bytes as usize;
        let batch_rows = facts.settings.batch_rows as usize;
        let mut stream = reading.source.open_stream(ReadSettings { chunk_bytes })?;
        for split in unit.whole_splits(&*reading.source) {
            let split_key = identity::split_key(&split);
            let record = records
                .iter()
                .find(|record| record.unit_key == unit.key && record.split_key == split_key);
            let Some(record) = record else {
                return Ok(None);
            };
            let mut refused_before: BTreeSet<u64> = record.refused.iter().copied().collect();
            let mut reader = stream.open(&split.in_source())?;
            maker.begin_input(split.input.index());
            let mut scanned = Records::default();
            let mut rejects = Vec::new();
            let mut of_split = Vec::new();
            while left.peek().is_some()
                && let Some(chunk) = reader.next_chunk(&mut scanned)?
            {
                let mut at = 0;
                while at < scanned.len() {
                    let end = maker.end(at, scanned.len(), batch_rows);
                    let made = maker.make(&chunk, &scanned, at..end, &mut rejects, &gauge)?;
                    rejects.clear();
                    for row in 0..made.batch.num_rows() {
                        if !refused_before.is_empty() && refused_before.remove(&made.row_id(row)) {
                            continue;
                        }
                        if let Some(refused) = left.next_if(|refused| refused.number == number) {
                            see(&made.batch.slice(row, 1));
                            of_split.push(made.reject(
                                row,
                                refused.column.as_deref(),
                                refused.code,
                                refused.reason.clone(),
                            ));
                        }
                        number += 1;
                    }
                    at = made.end;
                }
                reader.recycle(chunk);
            }
            // The next reader needs its memory.
            drop(reader.end());
            if left.peek().is_some() && !refused_before.is_empty() {
                // The file was read to its end without finding them, so it is not the file that was loaded.
                return Ok(None);
            }
            if !of_split.is_empty() {
                found.push(SplitRejects {
                    split_key,
                    rejects: of_split,
                });
            }
        }
        Ok(left.peek().is_none().then_some(found))
    }

    fn keep(&mut self) -> Result<(), Error> {
        let (flow, _) = self.unit;
        let kept = self.kept.get_mut(&self.unit).expect("a unit was begun");
        for mut of_split in self.found.drain(..) {
            kept.keep(&mut of_split.rejects)?;
        }
        let run = self.context.run;
        let name = &run.plan.flows[flow].reading.name;
        run.rejects[flow].judge_share_of_all(name)?;
        kept.finish()
    }
}

impl RowsInSource for SourceOfStaged<'_> {
    fn begin(&mut self, target: usize, unit: usize) -> ContractResult<u64> {
        let begun = self.begin_unit((target, unit));
        self.answer(begun)
    }

    fn find(
        &mut self,
        refused: &[RefusedStagedRow],
        records: &[SplitRecord],
        see: &mut dyn FnMut(&RecordBatch),
    ) -> ContractResult<Option<Vec<(SplitKey, u64)>>> {
        let found = self.find_rows(refused, records, see);
        let found = self.answer(found)?;
        Ok(found.map(|found| {
            let rows = |split: &SplitRejects| (split.split_key.clone(), split.rejects.len() as u64);
            let rows = found.iter().map(rows).collect();
            self.found = found;
            rows
        }))
    }

    fn reject(&mut self) -> ContractResult<()> {
        let kept = self.keep();
        self.answer(kept)
    }
}
