//! A session for the engine's loader: transactions that fill load units.

use inrush_destination::LoadMethod;
use inrush_engine::error::Error;
use inrush_engine::native::load::{Gauge, Part, Transactions};
use inrush_engine::native::plan::UnitPlace;

use super::context::Context;
use super::piece::Piece;
use super::{shared_unit, unit_reject_files};
use crate::Session;
use crate::plan::FlowPlan;
use crate::plan::additions::Additions;

/// A stream with its session. Its waits end when the run is asked to stop.
pub struct SessionStream<'a> {
    /// The data that the run shares.
    pub context: &'a Context<'a>,
    /// The session.
    pub session: &'a Session,
    /// The constraints and indexes that the staging of a unit gets for a careful load.
    pub additions: &'a Additions,
}

impl<'a> SessionStream<'a> {
    /// A stream whose careful loads need no additions.
    pub fn new(context: &'a Context<'a>, session: &'a Session) -> SessionStream<'a> {
        SessionStream {
            context,
            session,
            additions: Additions::NONE,
        }
    }
}

impl Transactions for SessionStream<'_> {
    type Flow = FlowPlan;
    type Transaction<'t>
        = Piece<'t>
    where
        Self: 't;

    fn gauge(&self) -> &Gauge {
        &self.session.gauge
    }

    fn transaction<'t>(&'t self, unit: UnitPlace, _: Part, method: LoadMethod) -> Piece<'t> {
        Piece::new(self, unit, method)
    }

    fn reject_file_name(&self, (flow, unit): UnitPlace, part: Part) -> String {
        let (flow, unit) = self.context.run.unit(flow, unit);
        unit_reject_files::of_part(flow, unit, part)
    }

    async fn finish_shared(&self, unit: UnitPlace) -> Result<(), Error> {
        Ok(shared_unit::finish(self.context, self.session, unit).await?)
    }
}
