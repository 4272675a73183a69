//! What a stream does with a piece of work: a private unit, or a shard of a shared one, from
//! file to COMMIT.
//!
//! [`work`](super::work) is what goes into one transaction, [`piece`](super::piece) the
//! transaction, [`rows`](super::rows) the rows in it.

use std::collections::BTreeMap;
use std::time::Instant;

use super::context::Context;
use super::kept_rejects::KeptRejects;
use super::piece::Piece;
use super::results::{Loaded, StreamResult};
use super::shared_unit;
use super::work::{Work, check_header};
use crate::destination::postgres::Session;
use crate::destination::postgres::copy::BlockPool;
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::meter::{Meter, nanoseconds};
use crate::plan::units::WorkItem;
use crate::report::RejectFile;

/// Loads a piece of work and commits it; one that is fed in as many transactions as it takes.
/// Dropped before its end, or after an error, it leaves an open transaction behind: the session
/// must then be abandoned.
pub async fn load(
    context: &Context<'_>,
    session: &Session,
    stream: usize,
    item: &WorkItem,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let (flow, unit) = context.run.unit(item.flow, item.unit);
    let shards = &unit.shards[item.shards.clone()];
    context.notice(Event::UnitStarted {
        flow: flow.name.clone(),
        unit: unit.number,
        stream,
        file: shards
            .first()
            .map(|shard| shard.file.path.display().to_string())
            .unwrap_or_default(),
    });
    let loader = Loader {
        context,
        session,
        stream,
        item,
    };
    let place = (item.flow, item.unit, item.shards.start);
    let Some(file) = context.run.fed_files.get(&place) else {
        loader.transaction(Work::Shards(shards), "", result).await?;
        if unit.shared {
            shared_unit::shard_done(context, session, item.flow, item.unit).await?;
        }
        return Ok(());
    };
    let shard = &shards[0];
    let feed = file.feed(flow, shard)?;
    check_header(flow, shard, feed.header())?;
    while let Some(first) = file.next_range(&feed).await? {
        let name = format!(".{}", first.text_range.start);
        let work = Work::Fed {
            file,
            feed: &feed,
            shard,
            first: Box::new(first),
        };
        let ranges = loader.transaction(work, &name, result).await?;
        file.committed(ranges);
    }
    if file.is_complete() {
        shared_unit::shard_done(context, session, item.flow, item.unit).await?;
    }
    Ok(())
}

/// A stream with a piece of work.
struct Loader<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    stream: usize,
    item: &'a WorkItem,
}

impl Loader<'_> {
    /// Loads and commits; the ranges that were.
    async fn transaction(
        &self,
        work: Work<'_>,
        name: &str,
        result: &mut StreamResult,
    ) -> Result<usize, Error> {
        let Loader {
            context,
            session,
            item,
            ..
        } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        let begun = Instant::now();
        let mut piece = Piece {
            context,
            session,
            flow,
            unit,
            expected: None,
            rejects: KeptRejects::new(context, flow, item.flow, self.reject_file(name)?),
            pool: BlockPool::default(),
            meter: Meter::default(),
            changes: BTreeMap::new(),
        };
        let outcome = piece.transaction(work).await;
        let Piece {
            rejects,
            mut meter,
            changes,
            ..
        } = piece;
        result.rejects.append(&mut rejects.told());
        let (account, ranges) = match outcome {
            Ok(done) => done,
            Err(error) => {
                context.notice(Event::UnitAborted {
                    flow: flow.name.clone(),
                    unit: unit.number,
                    bytes: meter.stored_bytes,
                });
                return Err(error);
            }
        };
        fault::reach(context.fault, FaultPoint::AfterUnitCommit);
        meter.busy_ns = nanoseconds(begun.elapsed());
        context.notice(Event::UnitCommitted {
            flow: flow.name.clone(),
            unit: unit.number,
            stream: self.stream,
            account,
            stored_bytes: meter.stored_bytes,
        });
        result.meter.add(&meter);
        result.loaded.push(Loaded {
            flow: item.flow,
            unit: item.unit,
            meter,
            changes,
        });
        Ok(ranges)
    }

    fn reject_file(&self, suffix: &str) -> Result<RejectFile, Error> {
        let (flow, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        let name = if unit.shared {
            let shard = self.item.shards.start + 1;
            format!("{}.{}.{shard}{suffix}", flow.name, unit.number)
        } else {
            format!("{}.{}", flow.name, unit.number)
        };
        RejectFile::new(
            &self.context.run.rejects_folder(),
            &name,
            &flow.dialect,
            flow.header.as_deref(),
        )
    }
}
