//! The context that all parts of a run into PostgreSQL share: the engine's, with the server's address.

use std::ops::Deref;
use std::time::Duration;

use inrush_engine::error::Error;
use inrush_engine::native::run::RunContext;

use super::prepared::PostgresRun;
use crate::DatabaseAddress;

/// The longest time that an interrupted statement may take to be undone.
pub const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(20);

/// A running load.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The part that is the same for all destinations.
    pub shared: RunContext<'a, PostgresRun>,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
}

impl<'a> Deref for Context<'a> {
    type Target = RunContext<'a, PostgresRun>;

    fn deref(&self) -> &RunContext<'a, PostgresRun> {
        &self.shared
    }
}

impl Context<'_> {
    /// Waits for work on the control session, as [`unless_stopped`](Context::unless_stopped) does it.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.runtime.block_on(self.unless_stopped(work))
    }

    /// Runs work on the control session. If the run is asked to stop meanwhile, the running statement is cancelled and
    /// undone.
    pub async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match self.stop.unless_asked(work).await {
            Some(done) => done,
            None => {
                self.undo_in_time().await;
                Err(Error::Interrupted)
            }
        }
    }

    /// Cancels the statement of the control session, if the server answers in time. If it does not, the end of the
    /// connection undoes the statement.
    pub async fn undo_in_time(&self) {
        let control = &self.run.control;
        let undone = async {
            // A statement may need minutes to end. If it cannot be cancelled, ROLLBACK waits for it.
            let _ = control.cancel(self.address).await;
            control
                .execute("ROLLBACK", "undoing what was stopped")
                .await
        };
        let _ = tokio::time::timeout(INTERRUPT_TIMEOUT, undone).await;
    }
}
