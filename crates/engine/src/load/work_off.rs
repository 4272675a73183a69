//! A stream's way through its pieces of work, for any destination.

use super::loader::Loader;
use super::run::LoadRun;
use super::transactions::Transactions;
use crate::error::Error;
use crate::pipeline::results::StreamResult;
use crate::pipeline::stream_threads::Queue;
use crate::pipeline::work_items::WorkItem;
use crate::plan::PlannedFlow;

impl<F: PlannedFlow> LoadRun<'_, F> {
    /// Loads `first`, and then the pieces of the queue until none is left. `stream` is the stream's number, counted from 1.
    ///
    /// When the run is asked to stop, waits in the runtime are dropped, and the result is [`Error::Interrupted`]. Between two
    /// pieces nothing is to be dropped: then it ends without an error, and the work that is left shows that it was stopped.
    pub async fn work_off<T: Transactions<Flow = F>>(
        &self,
        target: &T,
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
            tokio::select! {
                biased;
                loaded = loader.load(result) => loaded?,
                _ = self.stop.wait() => return Err(Error::Interrupted),
            }
            next = queue.next();
        }
        Ok(())
    }
}
