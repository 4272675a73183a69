//! A session for the engine's loader: transactions that fill load units.

use inrush_engine::error::Error;
use inrush_engine::native::load::{Gauge, Method, Part, Transactions};
use inrush_engine::native::plan::UnitPlace;
use inrush_source::SourceError;

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
}

impl Transactions for SessionStream<'_> {
    type Flow = FlowPlan;
    type Additions = Additions;
    type Transaction<'t>
        = Piece<'t>
    where
        Self: 't;

    fn gauge(&self) -> &Gauge {
        &self.session.gauge
    }

    fn transaction<'t>(
        &'t self,
        unit: UnitPlace,
        _: Part,
        method: Method<'t, Additions>,
    ) -> Piece<'t> {
        Piece::new(self.context, self.session, unit, method)
    }

    fn reject_file_name(&self, (flow, unit): UnitPlace, part: Part) -> String {
        let (flow, unit) = self.context.run.unit(flow, unit);
        unit_reject_files::of_part(flow, unit, part)
    }

    async fn finish_shared(&self, unit: UnitPlace) -> Result<(), Error> {
        Ok(shared_unit::finish(self.context, self.session, unit).await?)
    }

    async fn wait<T>(
        &self,
        feed: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, Error> {
        Ok(feed.await?)
    }
}
