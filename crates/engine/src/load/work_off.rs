//! Loads the pieces of work of a stream one after the other, and finishes units that a killed process has left unfinished,
//! for any destination.

use inrush_plan::UnitPlace;
use inrush_plan::units::work_items::WorkItem;

use super::loader::Loader;
use super::run::LoadRun;
use super::stream::LoadStream;
use crate::error::Error;
use crate::pipeline::results::StreamResult;
use crate::pipeline::stream_threads::Queue;

impl LoadRun<'_> {
    /// Loads `first`, and then the pieces of the queue until none is left. `stream` is the stream's number, counted from 1.
    ///
    /// When the run is asked to stop, waits in the runtime are dropped, and the result is [`Error::Interrupted`].
    /// Between two pieces there is nothing to drop: then the function ends without an error, and the remaining work
    /// shows that the run was stopped.
    pub async fn work_off(
        &self,
        target: &LoadStream<'_>,
        stream: usize,
        first: WorkItem,
        queue: &Queue<WorkItem>,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let mut next = Some(first);
        while let Some(item) = next {
            if self.stop.asked().is_some() {
                return Ok(());
            }
            let loader = Loader::new(self, target, stream, &item);
            let loaded = self.stop.unless_asked(loader.load(result)).await;
            loaded.unwrap_or(Err(Error::Interrupted))?;
            next = queue.next();
        }
        Ok(())
    }

    /// Finishes shared units whose splits are all committed, but that a killed process has left unfinished. If the
    /// destination refuses a row of a unit, the whole unit is loaded again, carefully. All streams have ended.
    pub async fn finish_units(
        &self,
        target: &LoadStream<'_>,
        places: &[UnitPlace],
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        for place in places {
            if self.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            if let Err(error) = target.finish_shared(*place) {
                let (_, unit) = self.unit(*place);
                let item = WorkItem::whole(*place, unit);
                let loader = Loader::new(self, target, 0, &item);
                loader.after_refusal(error, result).await?;
            }
        }
        Ok(())
    }
}
