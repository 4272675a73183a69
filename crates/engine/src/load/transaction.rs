//! The transaction of one piece of work, and the events at its end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use inrush_destination::LoadMethod;
use inrush_fault::{self as fault, FaultPoint};
use inrush_plan::destination_error::Retry;
use inrush_plan::step_tally::StepTally;
use inrush_plan::steps::GivenPlan;
use inrush_plan::units::part::Part;
use inrush_source::SourceMeter;

use super::loader::Loader;
use super::unit_transaction::UnitTransaction;
use crate::error::Error;
use crate::pipeline::kept_rejects::KeptRejects;
use crate::pipeline::piece_events::EndedPiece;
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop::RowLoop;
use crate::pipeline::row_maker::RowMaker;
use crate::pipeline::sharing::Sharing;
use crate::pipeline::split_evidence::SplitEvidence;
use crate::pipeline::work::Work;
use crate::report::RejectFile;

/// The outcome of a transaction.
pub enum TransactionEnd {
    /// The number of committed splits, or of committed ranges of a fed file.
    Committed(usize),
    /// The destination refused a row that another stream sent: the whole unit is rolled back or will be discarded.
    GivenUp,
}

impl Loader<'_, '_> {
    /// Loads and commits. `given` are the steps that the destination evaluates; otherwise they are evaluated here.
    pub(super) async fn transaction(
        &self,
        work: Work<'_>,
        part: Part,
        sharing: Option<&Sharing>,
        method: LoadMethod,
        given: Option<&GivenPlan>,
        result: &mut StreamResult,
    ) -> Result<TransactionEnd, Error> {
        let Loader {
            run, target, item, ..
        } = *self;
        let (flow, unit) = run.unit(item.unit_place());
        let before = target.gauge.meter();
        let mut rows = self.row_loop(part, sharing, given)?;
        let mut transaction = UnitTransaction::new(target, item.unit_place(), part, method);
        let performed = transaction.perform(&mut rows, work);
        let outcome = match sharing {
            None => performed.await.map(Some),
            Some(sharing) => tokio::select! {
                biased;
                () = sharing.refused() => Ok(None),
                outcome = performed => outcome.map(Some),
            },
        };
        let is_careful = method == LoadMethod::Careful;
        let mut ended = EndedPiece {
            // True for a careful load and for a private unit. With `atomic = false` it is false, because committed rows
            // stay.
            is_whole: !flow.is_straight() && (is_careful || !unit.is_shared),
            is_careful,
            ..EndedPiece::of(rows, target.gauge.meter().since(&before))
        };
        result.meter.add_reading(&ended.fed);
        match outcome {
            Ok(Some(gathered)) => {
                if !flow.commits_at_publish() {
                    fault::reach(run.fault, FaultPoint::AfterUnitCommit);
                }
                if let Some(sharing) = sharing {
                    sharing
                        .committed_bytes
                        .fetch_add(ended.meter.stored_bytes, Ordering::AcqRel);
                }
                self.events().committed(ended, gathered.account, result);
                Ok(TransactionEnd::Committed(gathered.count()))
            }
            Ok(None) => {
                ended.rejects.take_back()?;
                self.events().aborted(ended.meter.stored_bytes);
                transaction.roll_back()?;
                Ok(TransactionEnd::GivenUp)
            }
            Err(error) => {
                match self.retry(&error) {
                    Retry::Never => {
                        // The rejects that led to the error are the ones to show.
                        result.rejects.extend(ended.rejects.told());
                    }
                    Retry::WithoutRows | Retry::WithOwnSteps | Retry::Alone => {
                        ended.rejects.take_back()?;
                        // The transaction holds its locks until it is rolled back. Until then, no other transaction can
                        // load these rows.
                        transaction.roll_back()?;
                    }
                }
                self.events().aborted(ended.meter.stored_bytes);
                Err(error)
            }
        }
    }

    /// The row loop of a part of the unit.
    fn row_loop<'b>(
        &'b self,
        part: Part,
        sharing: Option<&'b Sharing>,
        given: Option<&'b GivenPlan>,
    ) -> Result<RowLoop<'b>, Error> {
        let Loader {
            run, target, item, ..
        } = *self;
        let (flow, unit) = run.unit(item.unit_place());
        let reading = &flow.reading;
        let event_sink = run.event_sink;
        let file = RejectFile::new(
            event_sink.folder.rejects(),
            &target.context.run.reject_file_name(item.unit_place(), part),
            &reading.dialect,
            reading.header.as_deref(),
        )?;
        let count = &run.rejects[item.flow];
        Ok(RowLoop {
            event_sink,
            flow: reading,
            make_maker: match given {
                None => Box::new(|| RowMaker::of_unit(unit, reading, run.stamp)),
                Some(_) => Box::new(|| RowMaker::before_steps(reading, run.stamp)),
            },
            given,
            flow_count: &run.flow_counts[item.flow],
            gauge: target.gauge,
            stop: run.stop,
            fault: run.fault,
            chunk_bytes: run.chunk_bytes,
            batch_rows: run.batch_rows,
            evidence: SplitEvidence::new(reading),
            rejects: KeptRejects::new(event_sink, reading, count, sharing, file),
            fed: SourceMeter::default(),
            changes: BTreeMap::new(),
            steps: StepTally::default(),
        })
    }
}
