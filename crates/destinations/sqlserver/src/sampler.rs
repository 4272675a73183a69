//! Asks the server what the sessions of a run's streams do. The answers are evidence for the verdict.

use inrush_destination::{Error, Result, ServerFigures, SessionSampler};
use inrush_tdsclient::{SessionWatch, WatchError};
use inrush_verdict::{SeenSession, ServerKind};

use crate::connection::refused;

/// Asks the server in a separate session.
pub struct Sampler(pub SessionWatch);

impl SessionSampler for Sampler {
    fn kind(&self) -> ServerKind {
        ServerKind::SqlServer
    }

    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>> {
        self.0.look(sessions).map_err(not_known)
    }

    fn figures(&mut self) -> Result<Option<ServerFigures>> {
        let sizes = self.0.file_sizes().map_err(not_known)?;
        Ok(Some(ServerFigures {
            log_file_bytes: Some(sizes.log_bytes),
            data_file_bytes: Some(sizes.data_bytes),
            ..ServerFigures::default()
        }))
    }
}

fn not_known(error: WatchError) -> Error {
    match error {
        WatchError::Session(error) => refused("cannot read the state of the sessions", error),
        WatchError::NoRight => Error::Unsuitable {
            what: error.to_string(),
            hint: "grant the login this right".to_owned(),
        },
    }
}
