//! Permits for the sessions of a source: no more are open at a time than its settings allow.

use std::path::Path;
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{SourceError, wait};

/// Permits that are taken and given back.
#[derive(Debug)]
pub struct Permits(Arc<Semaphore>);

impl Permits {
    /// This many permits, but at least one.
    pub fn new(count: usize) -> Permits {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Permits(Arc::new(Semaphore::new(count)))
    }

    /// A permit, which is given back when it is dropped. Waits while all are taken, until a stop is requested. `input`
    /// is the table or query that will be read.
    pub fn take(&self, input: &Path, stop: &Stop) -> Result<OwnedSemaphorePermit, SourceError> {
        let permit = wait(async {
            tokio::select! {
                biased;
                _ = stop.wait() => None,
                permit = Arc::clone(&self.0).acquire_owned() => permit.ok(),
            }
        });
        permit.ok_or_else(|| SourceError::Stopped {
            path: input.to_path_buf(),
        })
    }
}
