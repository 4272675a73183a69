//! A stream's work with a piece: a private unit, or a split of a shared one, from file to COMMIT.
//!
//! [`piece`](super::piece) is the transaction, [`piece_transaction`](super::piece_transaction) its end as the loader tells
//! it, [`rows`](super::rows) the rows in it.
//! After the server has refused a row, the unit is loaded once more as [`careful`](super::careful) says.

use std::sync::atomic::Ordering;

use inrush_files::Split;
use inrush_verdict::Phase;

use super::context::Context;
use super::piece::SendMethod;
use super::straight::StraightPart;
use super::{shared_unit, unit_reject_files};
use crate::engine::error::Error;
use crate::engine::pipeline::check_header::check_header;
use crate::engine::pipeline::feeding::TakenRanges;
use crate::engine::pipeline::piece_events::PieceEvents;
use crate::engine::pipeline::reject_count::RowTally;
use crate::engine::pipeline::results::StreamResult;
use crate::engine::pipeline::sharing::Sharing;
use crate::engine::pipeline::work::Work;
use crate::engine::pipeline::work_items::WorkItem;
use crate::failures::{of_server, said_by_server};
use crate::plan::additions::Additions;
use crate::{PostgresError, Session};

/// Loads a piece of work and commits it; one that is fed in as many transactions as it takes.
/// Dropped before its end, or after an error, it has rolled its transaction back.
pub async fn load(
    context: &Context<'_>,
    session: &Session,
    stream: usize,
    item: &WorkItem,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let loader = Loader {
        context,
        session,
        stream,
        item,
    };
    let Some(sharing) = context.run.sharing.get(&item.unit_place()) else {
        loader.tell_start();
        return loader.private_unit(result).await;
    };
    if !sharing.enter() {
        // Another stream loads all of it.
        return Ok(());
    }
    loader.tell_start();
    if let Err(error) = loader.splits(sharing, result).await {
        let error = loader.refusal_of_unit(error)?;
        if sharing.refuse() {
            loader.tell_refusal(&error);
        }
    }
    if sharing.leave() {
        loader.careful_shared_unit(sharing, result).await?;
    }
    Ok(())
}

/// Loads a shared unit carefully whose last step was refused after all streams had ended.
pub async fn load_carefully(
    context: &Context<'_>,
    session: &Session,
    item: &WorkItem,
    error: Error,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let loader = Loader::after_streams(context, session, item);
    let error = loader.refusal_of_unit(error)?;
    loader.tell_refusal(&error);
    let sharing = &context.run.sharing[&item.unit_place()];
    loader.careful_shared_unit(sharing, result).await
}

/// A stream with a piece of work.
pub(super) struct Loader<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) session: &'a Session,
    pub(super) stream: usize,
    pub(super) item: &'a WorkItem,
}

/// What came of a transaction.
pub(super) enum TransactionEnd {
    /// So many file ranges are committed.
    Committed(usize),
    /// The server refused a row that another stream sent: all of it is undone, or forgotten soon.
    GivenUp,
}

impl<'a> Loader<'a> {
    /// Once all streams have ended: the first one goes on.
    pub(super) fn after_streams(
        context: &'a Context<'a>,
        session: &'a Session,
        item: &'a WorkItem,
    ) -> Loader<'a> {
        Loader {
            context,
            session,
            stream: 0,
            item,
        }
    }

    /// A private unit: quickly, then carefully where the server refuses a row.
    async fn private_unit(&self, result: &mut StreamResult) -> Result<(), Error> {
        let (_, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        let work = || Work::Splits(&unit.splits);
        let tried = self.transaction(work(), "", None, SendMethod::Quick, result);
        let error = match tried.await {
            Ok(_) => return Ok(()),
            Err(error) => self.refusal(error)?,
        };
        self.tell_refusal(&error);
        self.transaction(
            work(),
            "",
            None,
            SendMethod::Careful(Additions::NONE),
            result,
        )
        .await?;
        Ok(())
    }

    /// The splits of a shared unit that are this stream's piece of work.
    async fn splits(&self, sharing: &Sharing, result: &mut StreamResult) -> Result<(), Error> {
        let Loader {
            context,
            session,
            item,
            ..
        } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        let splits = &unit.splits[item.splits.clone()];
        let number = item.splits.start + 1;
        let Some(file) = context.run.fed_files.get(item.split_place()) else {
            let name = unit_reject_files::of_split(number);
            let mut part = StraightPart::Splits(splits);
            let ended = self.part(&mut part, &name, sharing, result).await?;
            if matches!(ended, TransactionEnd::Committed(_)) && sharing.split_done() {
                shared_unit::finish(context, session, item.flow, item.unit).await?;
            }
            return Ok(());
        };
        let split = &splits[0];
        let feed = file.feed(flow, split)?;
        check_header(flow, split, feed.header())?;
        loop {
            let next = tokio::select! {
                biased;
                () = sharing.refused() => return Ok(()),
                next = waiting_for_feed(session, file.next_range(&feed)) => next?,
            };
            let Some(first) = next else {
                break;
            };
            let name = unit_reject_files::of_range(number, first.text_range.start);
            let mut part = StraightPart::Fed {
                file,
                feed: &feed,
                split,
                first: Some(Box::new(first)),
                taken: TakenRanges::default(),
            };
            match self.part(&mut part, &name, sharing, result).await? {
                TransactionEnd::Committed(ranges) => file.committed(ranges),
                TransactionEnd::GivenUp => return Ok(()),
            }
        }
        if file.is_complete() && sharing.split_done() {
            shared_unit::finish(context, session, item.flow, item.unit).await?;
        }
        Ok(())
    }

    /// A part of a shared unit.
    async fn part(
        &self,
        part: &mut StraightPart<'_>,
        name: &str,
        sharing: &Sharing,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        if self.commits_each_split() {
            return self.straight(part, name, result).await;
        }
        self.transaction(part.work(), name, Some(sharing), SendMethod::Quick, result)
            .await
    }

    /// All of a shared unit, once nobody else loads a piece of it any more.
    async fn careful_shared_unit(
        &self,
        sharing: &Sharing,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let bytes = sharing.committed_bytes.swap(0, Ordering::AcqRel);
        self.careful_unit(sharing.take_back(), bytes, Additions::NONE, result)
            .await
    }

    /// All of a unit, of which nothing counts that was committed before: neither its rows nor the
    /// rejects that were met.
    pub(super) async fn careful_unit(
        &self,
        committed: RowTally,
        committed_bytes: u64,
        additions: &Additions,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let run = self.context.run;
        let (flow, unit) = run.unit(self.item.flow, self.item.unit);
        let splits = unit.whole_splits();
        run.fed_files.close(self.item.unit_place());
        run.rejects[self.item.flow].take_back(committed);
        self.events().aborted(committed_bytes);
        let way = SendMethod::Careful(additions);
        self.transaction(Work::Splits(&splits), "", None, way, result)
            .await?;
        unit_reject_files::forget_splits(&run.rejects_folder(), flow, unit)
    }

    fn commits_each_split(&self) -> bool {
        let (flow, _) = self.context.run.unit(self.item.flow, self.item.unit);
        flow.commits_each_split()
    }

    /// Whether another try may end better: one in which the server may refuse rows, or one that
    /// waits for nobody.
    pub(super) fn may_be_mended(&self, error: &Error) -> bool {
        of_server(error).is_some_and(|error| {
            error.row_refusal().is_some() || (self.commits_each_split() && error.is_blocked())
        })
    }

    /// An error for which all of the unit is loaded once more. Not one whose splits are committed in
    /// its target: the table holds the rows of others.
    fn refusal_of_unit(&self, error: Error) -> Result<PostgresError, Error> {
        match self.commits_each_split() {
            true => Err(error),
            false => self.refusal(error),
        }
    }

    /// An error that another try may fix; others come back as errors, and so do all where nothing
    /// can be read again.
    pub(super) fn refusal(&self, error: Error) -> Result<PostgresError, Error> {
        let (flow, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        let is_lost = |split: &&Split| {
            let is_fed_again = self.commits_each_split() && split.file.is_pipe();
            is_fed_again || !split.file.is_read_again()
        };
        let pipe = unit.splits.iter().find(is_lost);
        let may_be_mended = self.may_be_mended(&error);
        let refused = said_by_server(error)?;
        match pipe {
            Some(split) if refused.row_refusal().is_some() => Err(Error::RefusedFromPipe {
                limit: flow.reject_limit.rows_accepted(),
                pipe: split.file.path.display().to_string(),
                source: refused.into(),
            }),
            None if may_be_mended => Ok(refused),
            _ => Err(refused.into()),
        }
    }

    /// Tells of the piece.
    pub(super) fn events(&self) -> PieceEvents<'a> {
        let Loader { context, item, .. } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        PieceEvents {
            event_sink: context.event_sink(),
            reading: flow,
            flow: item.flow,
            unit: item.unit,
            unit_number: unit.number,
            stream: self.stream,
        }
    }

    fn tell_start(&self) {
        let (_, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        let first = unit.splits[self.item.splits.clone()].first();
        let file = first.map(|split| split.file.path.display().to_string());
        self.events().started(file.unwrap_or_default());
    }

    pub(super) fn tell_refusal(&self, error: &PostgresError) {
        self.events().refused(error.to_string());
    }
}

/// Waits for what a feed hands out.
async fn waiting_for_feed<T>(session: &Session, next: impl Future<Output = T>) -> T {
    let _waiting = session.gauge.enter(Phase::FeedWait);
    next.await
}
