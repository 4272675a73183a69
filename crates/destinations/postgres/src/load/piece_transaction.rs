//! The transaction of one piece of work, and what is told of its end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use inrush_rows::column_policy::ColumnChanges;
use inrush_source::SourceMeter;

use super::loader::{Loader, TransactionEnd};
use super::performer::Performer;
use super::piece::{Piece, SendMethod};
use super::unit_reject_files;
use super::work::Work;
use crate::copy::BlockPool;
use crate::engine::error::Error;
use crate::engine::event::Event;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::Account;
use crate::engine::meter::Meter;
use crate::engine::pipeline::kept_rejects::KeptRejects;
use crate::engine::pipeline::results::{Loaded, StreamResult};
use crate::engine::pipeline::row_loop::RowLoop;
use crate::engine::pipeline::sharing::Sharing;
use crate::engine::pipeline::split_evidence::SplitEvidence;
use crate::engine::report::RejectFile;

/// A piece whose transaction has ended in whatever way.
struct EndedPiece<'a> {
    /// It was all of its unit.
    is_whole: bool,
    /// The server could refuse rows of it.
    is_careful: bool,
    rejects: KeptRejects<'a>,
    changes: BTreeMap<String, ColumnChanges>,
    /// What another thread has read for it; a part of `meter`.
    fed: SourceMeter,
    /// Where its time went.
    meter: Meter,
}

impl<'a> EndedPiece<'a> {
    /// `meter` is that of its session.
    fn of(piece: Piece<'a>, mut meter: Meter) -> EndedPiece<'a> {
        let (is_whole, is_careful) = (piece.is_whole(), piece.way.is_careful());
        let RowLoop {
            rejects,
            changes,
            fed,
            ..
        } = piece.rows;
        meter.add_reading(&fed);
        EndedPiece {
            is_whole,
            is_careful,
            rejects,
            changes,
            fed,
            meter,
        }
    }
}

impl Loader<'_> {
    /// Loads and commits.
    pub(super) async fn transaction(
        &self,
        work: Work<'_>,
        name: &str,
        sharing: Option<&Sharing>,
        way: SendMethod<'_>,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        let before = self.session.gauge.meter();
        let mut piece = self.piece(name, sharing, way)?;
        let mut performer = Performer::new(
            self.context.run,
            self.session,
            (self.item.flow, self.item.unit),
            way.is_careful(),
            format!("loading {}", piece.flow.target()),
        );
        let performed = piece.perform(work, &mut performer);
        let outcome = match sharing {
            None => performed.await.map(Some),
            Some(sharing) => tokio::select! {
                biased;
                () = sharing.refused() => Ok(None),
                outcome = performed => outcome.map(Some),
            },
        };
        let mut ended = EndedPiece::of(piece, self.session.gauge.meter().since(&before));
        result.meter.add_reading(&ended.fed);
        match outcome {
            Ok(Some((account, ranges))) => {
                self.committed(ended, account, sharing, result);
                Ok(TransactionEnd::Committed(ranges))
            }
            Ok(None) => {
                ended.rejects.take_back()?;
                self.aborted(ended.meter.stored_bytes);
                performer.roll_back().await?;
                Ok(TransactionEnd::GivenUp)
            }
            Err(error) => {
                match self.may_be_mended(&error) {
                    true => {
                        ended.rejects.take_back()?;
                        // Nobody loads these rows again while their locks are held.
                        performer.roll_back().await?;
                    }
                    // Those that led here are the ones to show.
                    false => result.rejects.extend(ended.rejects.told()),
                }
                self.aborted(ended.meter.stored_bytes);
                Err(error)
            }
        }
    }

    /// A piece of the unit whose transaction has not begun.
    fn piece<'b>(
        &'b self,
        name: &str,
        sharing: Option<&'b Sharing>,
        way: SendMethod<'b>,
    ) -> Result<Piece<'b>, Error> {
        let Loader {
            context,
            session,
            item,
            ..
        } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        let file = RejectFile::new(
            &context.run.rejects_folder(),
            &unit_reject_files::of_unit(flow, unit, name),
            &flow.dialect,
            flow.header.as_deref(),
        )?;
        let count = &context.run.rejects[item.flow];
        let event_sink = context.event_sink();
        Ok(Piece {
            context,
            session,
            flow,
            unit,
            way,
            expected: None,
            pool: BlockPool::default(),
            rows: RowLoop {
                event_sink,
                flow,
                flow_count: &context.run.flow_counts[item.flow],
                gauge: &session.gauge,
                stop: context.stop,
                fault: context.fault,
                batch_rows: context.run.plan.settings.batch_rows as usize,
                evidence: SplitEvidence::new(flow),
                rejects: KeptRejects::new(event_sink, flow, count, sharing, file),
                fed: SourceMeter::default(),
                changes: BTreeMap::new(),
            },
        })
    }

    /// The piece is committed, which others and the observer are told.
    fn committed(
        &self,
        ended: EndedPiece<'_>,
        account: Account,
        sharing: Option<&Sharing>,
        result: &mut StreamResult,
    ) {
        let Loader { context, item, .. } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        let rejects = ended.rejects.told();
        if !flow.commits_at_switch() {
            fault::reach(context.fault, FaultPoint::AfterUnitCommit);
        }
        let stored_bytes = ended.meter.stored_bytes;
        if let Some(sharing) = sharing {
            sharing
                .committed_bytes
                .fetch_add(stored_bytes, Ordering::AcqRel);
        }
        context.notice(Event::UnitCommitted {
            flow: flow.name.clone(),
            unit: unit.number,
            stream: self.stream,
            account,
            stored_bytes,
        });
        result.loaded.push(Loaded {
            flow: item.flow,
            unit: item.unit,
            is_whole: ended.is_whole,
            is_careful: ended.is_careful,
            account,
            meter: ended.meter,
            changes: ended.changes,
            rejects,
        });
    }

    /// The piece is not committed, which the observer is told.
    fn aborted(&self, stored_bytes: u64) {
        let (flow, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        self.context.notice(Event::UnitAborted {
            flow: flow.name.clone(),
            unit: unit.number,
            bytes: stored_bytes,
        });
    }
}
