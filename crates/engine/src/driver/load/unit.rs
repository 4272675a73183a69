//! A unit from its file to the ledger: as a whole by one stream, or by all streams that take ranges of it from a feed.

use inrush_destination::UnitStream;
use inrush_files::{BufferPool, Feed, FeedRange, RowReader, Split};
use inrush_verdict::Phase;

use super::ContractContext;
use super::commit::{self, Commit, StreamWork};
use crate::driver::unit_detail;
use crate::error::Error;
use crate::event::Event;
use crate::gauge::Gauge;
use crate::ledger::SplitRecord;
use crate::pipeline::check_header::check_header;
use crate::pipeline::feeding::FedFile;
use crate::pipeline::results::StreamResult;
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
    context.notice(&Event::UnitStarted {
        flow: flow.reading.name.clone(),
        unit: work.unit.number,
        stream: number,
        file: work.unit.split.file.path.display().to_string(),
    });
    match context.run.fed_files.get(&work.place) {
        None => whole(&work, stream, result),
        Some(file) => fed(&work, stream, file, result),
    }
}

/// All of a unit, in one record.
fn whole(
    work: &StreamWork<'_>,
    stream: &mut dyn UnitStream,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let StreamWork { gauge, unit, .. } = *work;
    let split = &unit.split;
    let reading = &work.flow.reading;
    commit::load(work, stream, unit.key.clone(), result, |commit| {
        let opening = gauge.enter(Phase::Read);
        let mut reader = RowReader::open(
            split.clone(),
            &reading.dialect,
            work.context.run.plan.settings.chunk_bytes as usize,
            BufferPool::default(),
        )?;
        drop(opening);
        check_header(reading, split, reader.header())?;
        let account = commit.rows(&mut reader)?;
        let mut record = commit.record(split, account);
        // What a pipe brings has no size before.
        record.byte_end = record.byte_end.filter(|_| !split.is_whole());
        Ok(unit_detail::of_split(record))
    })
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
        let mut taken = 0;
        commit::load(work, stream, key, result, |commit| {
            let ranges = ranges(work, commit, file, &feed, first)?;
            taken = ranges.len();
            Ok(unit_detail::of_ranges(ranges))
        })?;
        file.committed(taken);
    }
    Ok(())
}

/// Sends the rows of as many ranges as one commit should have, and returns what the ledger is to know of them.
fn ranges(
    work: &StreamWork<'_>,
    commit: &mut Commit<'_>,
    file: &FedFile,
    feed: &Feed,
    first: FeedRange,
) -> Result<Vec<SplitRecord>, Error> {
    let wanted_bytes = work.context.run.plan.abilities.unit_bytes;
    let mut records = Vec::new();
    let mut next = Some(first);
    while let Some(mut range) = next {
        let account = commit.rows(&mut range)?;
        commit.note_fed(&file.new_cost(feed));
        let split = Split::range(work.unit.split.file.clone(), range.text_range.clone(), None);
        records.push(commit.record(&split, account));
        next = match commit.account().bytes_read < wanted_bytes {
            true => next_range(work, file, feed)?,
            false => None,
        };
    }
    Ok(records)
}

/// Waits for the next range of the feed, or until the run is asked to stop.
fn next_range(
    work: &StreamWork<'_>,
    file: &FedFile,
    feed: &Feed,
) -> Result<Option<FeedRange>, Error> {
    let context = work.context;
    let _waiting = work.gauge.enter(Phase::FeedWait);
    context.runtime.block_on(async {
        tokio::select! {
            biased;
            _ = context.stop.wait() => Err(Error::Interrupted),
            next = file.next_range(feed) => Ok(next?),
        }
    })
}
