//! Loads one piece of work of a stream, from its files to the commit: a private unit, or a split of a shared one.

use std::sync::atomic::Ordering;

use inrush_destination::LoadMethod;
use inrush_plan::destination_error::{DestinationError, Retry};
use inrush_plan::ledger::Account;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::units::part::Part;
use inrush_plan::units::work_items::WorkItem;
use inrush_source::Split;
use inrush_verdict::Phase;

use super::run::LoadRun;
use super::straight::RepeatableWork;
use super::stream::LoadStream;
use super::transaction::TransactionEnd;
use crate::error::Error;
use crate::pipeline::feeding::{self, TakenRanges};
use crate::pipeline::piece_events::PieceEvents;
use crate::pipeline::reject_count::RowTally;
use crate::pipeline::reject_files;
use crate::pipeline::results::StreamResult;
use crate::pipeline::sharing::Sharing;
use crate::pipeline::work::Work;

/// A stream with a piece of work.
pub struct Loader<'a, 's> {
    pub(super) run: &'a LoadRun<'a>,
    pub(super) target: &'a LoadStream<'s>,
    pub(super) stream: usize,
    pub(super) item: &'a WorkItem,
}

impl<'a, 's> Loader<'a, 's> {
    /// `stream` is the stream's number, counted from 1; 0 for work that is done after all streams have ended.
    pub fn new(
        run: &'a LoadRun<'a>,
        target: &'a LoadStream<'s>,
        stream: usize,
        item: &'a WorkItem,
    ) -> Loader<'a, 's> {
        Loader {
            run,
            target,
            stream,
            item,
        }
    }

    /// Loads the piece of work and commits it; a piece of unknown length takes several transactions. If it fails or is
    /// dropped, the open transaction is rolled back.
    pub async fn load(&self, result: &mut StreamResult) -> Result<(), Error> {
        let Some(sharing) = self.run.sharing.get(&self.item.unit_place()) else {
            self.tell_start();
            return self.private_unit(result).await;
        };
        if !sharing.enter() {
            // Another stream loads the whole unit.
            return Ok(());
        }
        self.tell_start();
        if let Err(error) = self.splits(sharing, result).await {
            let error = self.refusal_of_unit(error)?;
            if sharing.refuse() {
                self.events().refused(error.to_string());
            }
        }
        if sharing.leave() {
            self.careful_shared_unit(sharing, result).await?;
        }
        Ok(())
    }

    /// Loads a shared unit carefully if a row was refused in its last step, after all streams had ended.
    pub(super) async fn after_refusal(
        &self,
        error: Error,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let error = self.refusal_of_unit(error)?;
        self.events().refused(error.to_string());
        let sharing = &self.run.sharing[&self.item.unit_place()];
        self.careful_shared_unit(sharing, result).await
    }

    /// Loads a private unit: quickly, then carefully if the destination refuses a row.
    async fn private_unit(&self, result: &mut StreamResult) -> Result<(), Error> {
        let (_, unit) = self.run.unit(self.item.unit_place());
        let mut work = RepeatableWork::Splits(&unit.splits);
        let tried = self.quickly(&mut work, Part::Whole, None, result);
        let error = match tried.await {
            Ok(_) => return Ok(()),
            Err(error) => self.refusal(error)?,
        };
        self.events().refused(error.to_string());
        let work = Work::Splits(&unit.splits);
        self.transaction(work, Part::Whole, None, LoadMethod::Careful, None, result)
            .await?;
        Ok(())
    }

    /// Loads quickly. If the plan gives the steps to the destination, the destination evaluates them. If they fail there
    /// for a row, the same rows and all later rows of the flow pass the engine's own steps, which know the rows that they
    /// reject.
    async fn quickly(
        &self,
        work: &mut RepeatableWork<'_>,
        part: Part,
        sharing: Option<&Sharing>,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        const QUICK: LoadMethod = LoadMethod::Quick;
        let (flow, _) = self.run.unit(self.item.unit_place());
        let takes_own = &self.run.own_steps[self.item.flow];
        let given = flow.reading.given_steps();
        if let Some(given) = given.filter(|_| !takes_own.load(Ordering::Acquire)) {
            let tried = self.transaction(work.work(), part, sharing, QUICK, Some(given), result);
            match tried.await {
                Err(error) if self.retry(&error) == Retry::WithOwnSteps => {
                    takes_own.store(true, Ordering::Release);
                    self.events().steps_failed(error.to_string());
                }
                ended => return ended,
            }
        }
        self.transaction(work.work(), part, sharing, QUICK, None, result)
            .await
    }

    /// The splits of a shared unit that are this stream's piece of work.
    async fn splits(&self, sharing: &Sharing, result: &mut StreamResult) -> Result<(), Error> {
        let Loader {
            run, target, item, ..
        } = *self;
        let place = item.unit_place();
        let (flow, unit) = run.unit(place);
        let splits = &unit.splits[item.splits.clone()];
        let number = item.splits.start + 1;
        let Some(file) = run.fed_files.get(item.split_place()) else {
            let mut work = RepeatableWork::Splits(splits);
            let ended = self.part(&mut work, Part::Split(number), sharing, result);
            if matches!(ended.await?, TransactionEnd::Committed(_)) && sharing.split_done() {
                target.finish_shared(place)?;
            }
            return Ok(());
        };
        let split = &splits[0];
        let waiting = target.gauge.enter(Phase::FeedWait);
        let feed = file.feed(&flow.reading, split)?;
        drop(waiting);
        loop {
            let waiting = target.gauge.enter(Phase::FeedWait);
            let next = tokio::select! {
                biased;
                () = sharing.refused() => return Ok(()),
                next = feeding::wait(run.stop, file.next_part(&*feed)) => next?,
            };
            drop(waiting);
            let Some(first) = next else {
                break;
            };
            let part = Part::Ranges {
                split: number,
                text_start: first.range.start,
            };
            let mut work = RepeatableWork::Fed {
                file,
                feed: &*feed,
                split,
                wanted_bytes: run.fed_bytes,
                first: Some(first),
                taken: TakenRanges::default(),
            };
            match self.part(&mut work, part, sharing, result).await? {
                TransactionEnd::Committed(ranges) => file.committed(ranges),
                TransactionEnd::GivenUp => return Ok(()),
            }
        }
        if file.is_complete() && sharing.split_done() {
            target.finish_shared(place)?;
        }
        Ok(())
    }

    /// A part of a shared unit.
    async fn part(
        &self,
        work: &mut RepeatableWork<'_>,
        part: Part,
        sharing: &Sharing,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        if self.commits_each_split() {
            return self.straight(work, part, result).await;
        }
        self.quickly(work, part, Some(sharing), result).await
    }

    /// Loads a whole shared unit again, carefully, once no other stream loads a part of it.
    async fn careful_shared_unit(
        &self,
        sharing: &Sharing,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let bytes = sharing.committed_bytes.swap(0, Ordering::AcqRel);
        self.careful_unit(sharing.take_back(), bytes, result).await
    }

    /// Loads a unit again, carefully, because its target refused a row when all rows were to be published. `committed` is
    /// the ledger's account of the unit before that.
    pub async fn reload(&self, committed: Account, result: &mut StreamResult) -> Result<(), Error> {
        let place = self.item.unit_place();
        let (_, unit) = self.run.unit(place);
        if let Some(sharing) = self.run.sharing.get(&place) {
            sharing.take_back();
        }
        let bytes = unit.splits.iter().map(|split| split.size_bytes).sum();
        self.careful_unit(RowTally::from(committed), bytes, result)
            .await
    }

    /// Loads the whole unit carefully. Its rows and rejects that were counted before are subtracted first.
    async fn careful_unit(
        &self,
        committed: RowTally,
        committed_bytes: u64,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let run = self.run;
        let place = self.item.unit_place();
        let (flow, unit) = run.unit(place);
        let splits = unit.whole_splits(&*flow.reading.source);
        run.fed_files.close(place);
        run.rejects[self.item.flow].take_back(committed);
        self.events().aborted(committed_bytes);
        let work = Work::Splits(&splits);
        self.transaction(work, Part::Whole, None, LoadMethod::Careful, None, result)
            .await?;
        if let Some(sharing) = run.sharing.get(&place) {
            sharing.all_done();
        }
        let folder = run.event_sink.folder.rejects();
        reject_files::remove_parts(folder, &flow.reading.name, &unit.key)
    }

    pub(super) fn commits_each_split(&self) -> bool {
        let (flow, _) = self.run.unit(self.item.unit_place());
        flow.commits_each_split()
    }

    /// The other way in which the rows may be loaded after this error. [`Retry::Alone`] is possible only if each split is
    /// committed in the target.
    pub(super) fn retry(&self, error: &Error) -> Retry {
        let Error::Destination(error) = error else {
            return Retry::Never;
        };
        match error.retry() {
            Retry::Alone if !self.commits_each_split() => Retry::Never,
            retry => retry,
        }
    }

    /// An error after which the whole unit is loaded again. If splits of the unit are committed directly in its target,
    /// the error is returned: they cannot be removed, because the table holds other rows too.
    fn refusal_of_unit(&self, error: Error) -> Result<Error, Error> {
        match self.commits_each_split() {
            true => Err(error),
            false => self.refusal(error),
        }
    }

    /// Returns `error` if another try may succeed, and fails with `error` otherwise. Also fails if an input cannot be read
    /// again.
    pub(super) fn refusal(&self, error: Error) -> Result<Error, Error> {
        let (flow, unit) = self.run.unit(self.item.unit_place());
        let is_lost = |split: &&Split| {
            let is_fed_again = self.commits_each_split() && split.input.is_read_once();
            is_fed_again || !split.input.is_read_again()
        };
        let pipe = unit.splits.iter().find(is_lost);
        match (self.retry(&error), pipe, error) {
            (Retry::WithoutRows, Some(split), Error::Destination(source)) => {
                Err(refused_from_pipe(flow, split, source))
            }
            (Retry::WithoutRows | Retry::Alone, None, error) => Ok(error),
            (_, _, error) => Err(error),
        }
    }

    /// Reports the events of this piece: its start, a refusal, its rollback and its commit.
    pub(super) fn events(&self) -> PieceEvents<'a> {
        let Loader { run, item, .. } = *self;
        let (flow, unit) = run.unit(item.unit_place());
        PieceEvents {
            event_sink: run.event_sink,
            reading: &flow.reading,
            flow: item.flow,
            unit: item.unit,
            unit_number: unit.number,
            stream: self.stream,
        }
    }

    fn tell_start(&self) {
        let (_, unit) = self.run.unit(self.item.unit_place());
        let first = unit.splits[self.item.splits.clone()].first();
        let file = first.map(|split| split.input.name().display().to_string());
        self.events().started(file.unwrap_or_default());
    }
}

/// Refuses to load the rows of a flow again if one of its inputs cannot be read once more. Otherwise returns `refusal`, the
/// destination's error about a row.
pub fn refuse_pipe<R: Into<DestinationError>>(flow: &LoadFlow, refusal: R) -> Result<R, Error> {
    let pipe = flow.splits().find(|split| !split.input.is_read_again());
    match pipe {
        Some(pipe) => Err(refused_from_pipe(flow, pipe, refusal.into())),
        None => Ok(refusal),
    }
}

/// The error of a row that was refused, and that cannot be found because its input is a pipe.
fn refused_from_pipe(flow: &LoadFlow, pipe: &Split, refusal: DestinationError) -> Error {
    Error::RefusedFromPipe {
        limit: flow.reading.reject_limit.rows_accepted(),
        pipe: pipe.input.name().display().to_string(),
        source: refusal,
    }
}
