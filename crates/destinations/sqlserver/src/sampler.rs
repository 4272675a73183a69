//! Asks the server what the sessions of a run's streams do. The answers are evidence for the verdict.

use inrush_destination::{Error, FileBytes, Result, SessionSampler};
use inrush_tdsclient::{SessionWatch, WatchError};
use inrush_verdict::{SeenSession, ServerKind};

use crate::connection::refused;

/// Asks the server by a session of its own.
pub struct Sampler(pub SessionWatch);

impl SessionSampler for Sampler {
    fn kind(&self) -> ServerKind {
        ServerKind::SqlServer
    }

    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>> {
        self.0.look(sessions).map_err(not_known)
    }

    fn file_bytes(&mut self) -> Result<FileBytes> {
        let sizes = self.0.file_sizes().map_err(not_known)?;
        Ok(FileBytes {
            log: sizes.log_bytes,
            data: sizes.data_bytes,
        })
    }
}

fn not_known(error: WatchError) -> Error {
    match error {
        WatchError::Session(error) => refused("cannot ask what sessions do", error),
        WatchError::NoRight => Error::Unsuitable {
            what: error.to_string(),
            hint: "grant the login this right".to_owned(),
        },
    }
}
