//! The transaction of one piece of work, and what is told of its end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use inrush_source::SourceMeter;

use super::loader::{Loader, TransactionEnd};
use super::performer::Performer;
use super::piece::{Piece, SendMethod};
use super::rows::CopyRows;
use super::unit_reject_files;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::pipeline::kept_rejects::KeptRejects;
use crate::engine::pipeline::piece_events::EndedPiece;
use crate::engine::pipeline::results::StreamResult;
use crate::engine::pipeline::row_loop::RowLoop;
use crate::engine::pipeline::sharing::Sharing;
use crate::engine::pipeline::split_evidence::SplitEvidence;
use crate::engine::pipeline::work::Work;
use crate::engine::report::RejectFile;

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
        let (flow, _) = self.context.run.unit(self.item.flow, self.item.unit);
        let mut performer = Performer::new(
            self.context.run,
            self.session,
            (self.item.flow, self.item.unit),
            way.is_careful(),
            format!("loading {}", flow.target()),
        );
        // Dropped before the performer, for its COPY ends before the transaction does.
        let mut piece = self.piece(name, sharing, way)?;
        let performed = piece.perform(work, &mut performer);
        let outcome = match sharing {
            None => performed.await.map(Some),
            Some(sharing) => tokio::select! {
                biased;
                () = sharing.refused() => Ok(None),
                outcome = performed => outcome.map(Some),
            },
        };
        let is_whole = piece.is_whole();
        let Piece { table, rows } = piece;
        drop(table);
        let mut ended = EndedPiece {
            is_whole,
            is_careful: way.is_careful(),
            ..EndedPiece::of(rows, self.session.gauge.meter().since(&before))
        };
        result.meter.add_reading(&ended.fed);
        match outcome {
            Ok(Some((account, ranges))) => {
                if !flow.commits_at_switch() {
                    fault::reach(self.context.fault, FaultPoint::AfterUnitCommit);
                }
                if let Some(sharing) = sharing {
                    sharing
                        .committed_bytes
                        .fetch_add(ended.meter.stored_bytes, Ordering::AcqRel);
                }
                self.events().committed(ended, account, result);
                Ok(TransactionEnd::Committed(ranges))
            }
            Ok(None) => {
                ended.rejects.take_back()?;
                self.events().aborted(ended.meter.stored_bytes);
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
                self.events().aborted(ended.meter.stored_bytes);
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
        let run = context.run;
        let (flow, unit) = run.unit(item.flow, item.unit);
        let file = RejectFile::new(
            &run.rejects_folder(),
            &unit_reject_files::of_unit(flow, unit, name),
            &flow.dialect,
            flow.header.as_deref(),
        )?;
        let count = &run.rejects[item.flow];
        let event_sink = context.event_sink();
        let settings = &run.plan.settings;
        Ok(Piece {
            table: CopyRows::new(context, session, (flow, unit), way),
            rows: RowLoop {
                event_sink,
                flow,
                flow_count: &run.flow_counts[item.flow],
                gauge: &session.gauge,
                stop: context.stop,
                fault: context.fault,
                chunk_bytes: settings.chunk_bytes as usize,
                batch_rows: settings.batch_rows as usize,
                evidence: SplitEvidence::new(flow),
                rejects: KeptRejects::new(event_sink, flow, count, sharing, file),
                fed: SourceMeter::default(),
                changes: BTreeMap::new(),
            },
        })
    }
}
