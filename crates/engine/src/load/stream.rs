//! A stream of a run, with its connection to the destination.

use std::cell::RefCell;

use inrush_destination::{CompleteUnit, Error as ContractError, UnitStream};
use inrush_plan::UnitPlace;
use inrush_verdict::Phase;

use crate::error::Error;
use crate::gauge::Gauge;
use crate::run::context::RunContext;

/// A stream and its connection to the destination. The calls of the connection block, and they may wait in the runtime. So
/// the futures of a load must be driven outside of the runtime ([`blocking`](crate::pipeline::row_loop::blocking)).
pub struct LoadStream<'a> {
    /// The context that all streams of the run share.
    pub context: &'a RunContext<'a>,
    /// The stream's gauge.
    pub gauge: &'a Gauge,
    /// The destination's side.
    pub stream: RefCell<&'a mut dyn UnitStream>,
}

impl<'a> LoadStream<'a> {
    /// A stream with its connection.
    pub fn new(
        context: &'a RunContext<'a>,
        gauge: &'a Gauge,
        stream: &'a mut dyn UnitStream,
    ) -> LoadStream<'a> {
        LoadStream {
            context,
            gauge,
            stream: RefCell::new(stream),
        }
    }

    /// Tells the gauge which session on the destination's server serves the stream.
    pub fn note_session(&self) {
        if let Some(session) = self.stream.borrow().session_number() {
            self.gauge.served_by(session, None);
        }
    }

    /// Called when all splits of a unit that several streams fill are committed. Lets the destination prepare the unit for
    /// the publish.
    pub(super) fn finish_shared(&self, place: UnitPlace) -> Result<(), Error> {
        let run = self.context.run;
        let waiting = self.gauge.enter(Phase::ServerWait);
        let (_, unit) = run.unit(place);
        let fed = run.fed_ends(place);
        let complete = CompleteUnit {
            target: place.0,
            unit: place.1,
            key: &unit.key,
            fed: &fed,
        };
        let finished = self.stream.borrow_mut().finish(&complete);
        if finished.is_err() {
            // The first error is reported; an error of the rollback adds nothing to it.
            let _ = self.stream.borrow_mut().abort();
        }
        finished.map_err(|error| match run.plan.reloads_units_alone {
            true => error,
            false => not_of_rows(error),
        })?;
        drop(waiting);
        run.note_finished(place);
        Ok(())
    }
}

/// Turns a refusal of rows into an error that is not retried: this unit cannot be loaded again while other streams load units
/// of its target.
fn not_of_rows(error: ContractError) -> ContractError {
    match error {
        ContractError::RowsRefused {
            doing,
            message,
            hint,
            ..
        } => ContractError::Refused {
            doing,
            message,
            hint,
        },
        other => other,
    }
}
