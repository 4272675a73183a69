//! Waiting for the server in a run that may be asked to stop.

use std::time::Duration;

use super::prepared::PostgresRun;
use crate::load_error::LoadError;

/// The longest time that an interrupted statement may take to be undone.
pub const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(20);

impl PostgresRun {
    /// Waits for work on the control session. If the run is asked to stop meanwhile, the running statement is cancelled and
    /// undone.
    pub fn answer<T, E: Into<LoadError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, LoadError> {
        let done = self.unless_stopped(work).ok_or(LoadError::Interrupted)?;
        done.map_err(Into::into)
    }

    /// Waits for work on another session, until the run is asked to stop.
    pub fn ask<T, E: Into<LoadError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, LoadError> {
        let done = self.runtime.block_on(self.stop.unless_asked(work));
        done.ok_or(LoadError::Interrupted)?.map_err(Into::into)
    }

    fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            let done = self.stop.unless_asked(work).await;
            if done.is_none() {
                self.undo_in_time().await;
            }
            done
        })
    }

    /// Cancels the statement of the control session, if the server answers in time. If it does not, the end of the
    /// connection undoes the statement.
    pub async fn undo_in_time(&self) {
        let undone = async {
            // A statement may need minutes to end. If it cannot be cancelled, ROLLBACK waits for it.
            let _ = self.control.cancel(&self.address).await;
            self.control
                .execute("ROLLBACK", "undoing what was stopped")
                .await
        };
        let _ = tokio::time::timeout(INTERRUPT_TIMEOUT, undone).await;
    }
}
