//! A unit from its file to the ledger: as a whole by one stream, or by all streams that take ranges of it from a feed.

use std::slice;

use inrush_destination::UnitStream;
use inrush_files::{Feed, FeedRange};
use inrush_verdict::Phase;

use super::ContractContext;
use super::commit::{self, StreamWork};
use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::check_header::check_header;
use crate::pipeline::feeding::{FedFile, TakenRanges};
use crate::pipeline::results::StreamResult;
use crate::pipeline::work::{FedWork, Work};
use crate::plan::identity;

/// Loads a unit and commits it; of a unit that is fed, as many ranges as this stream gets.
pub fn load(
    context: &ContractContext<'_>,
    stream: &mut dyn UnitStream,
    number: usize,
    gauge: &Gauge,
    (flow_index, unit_index): (usize, usize),
    result: &mut StreamResult,
) -> Result<(), Error> {
    let flow = &context.run.plan.flows[flow_index];
    let work = StreamWork {
        context,
        number,
        gauge,
        flow,
        unit: &flow.units[unit_index],
        place: (flow_index, unit_index),
    };
    let split = &work.unit.split;
    work.events().started(split.file.path.display().to_string());
    match context.run.fed_files.get((flow_index, unit_index, 0)) {
        Some(file) => fed(&work, stream, file, result),
        None => {
            let splits = Work::Splits(slice::from_ref(split));
            commit::load(&work, stream, work.unit.key.clone(), splits, result).map(drop)
        }
    }
}

/// Ranges of a file that is fed, until none is left. Each record has as much text as the destination wants in a commit.
fn fed(
    work: &StreamWork<'_>,
    stream: &mut dyn UnitStream,
    file: &FedFile,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let split = &work.unit.split;
    let reading = &work.flow.reading;
    let waiting = work.gauge.enter(Phase::FeedWait);
    let feed = file.feed(reading, split)?;
    drop(waiting);
    check_header(reading, split, feed.header())?;
    while let Some(first) = next_range(work, file, &feed)? {
        let key = identity::range_key(&work.unit.key, first.text_range.start);
        let splits = Work::Fed(FedWork {
            file,
            feed: &feed,
            split,
            first: Some(Box::new(first)),
            wanted_bytes: work.context.run.plan.abilities.unit_bytes,
            taken: &mut TakenRanges::default(),
        });
        let taken = commit::load(work, stream, key, splits, result)?;
        file.committed(taken);
    }
    Ok(())
}

/// Waits for the next range of the feed, or until the run is asked to stop.
fn next_range(
    work: &StreamWork<'_>,
    file: &FedFile,
    feed: &Feed,
) -> Result<Option<FeedRange>, Error> {
    let _waiting = work.gauge.enter(Phase::FeedWait);
    work.context.wait_for_feed(file.next_range(feed))
}
