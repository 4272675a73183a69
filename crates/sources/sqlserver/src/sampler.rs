//! Samples the states of the reading sessions, over one more session.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_source::{SeenSession, SessionSampler, SourceError, input_error};
use inrush_tdsclient::{SessionWatch, WatchError};

use crate::error::refused;

/// Samples the sessions of a source.
#[derive(Debug)]
pub struct Sampler {
    server: Arc<str>,
    watch: Mutex<SessionWatch>,
}

impl Sampler {
    /// A sampler for the sessions of this server.
    pub fn new(server: Arc<str>, watch: SessionWatch) -> Sampler {
        Sampler {
            server,
            watch: Mutex::new(watch),
        }
    }
}

impl SessionSampler for Sampler {
    fn server(&self) -> &Arc<str> {
        &self.server
    }

    fn look(&self, process_ids: &[i32]) -> Result<Vec<SeenSession>, SourceError> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.look(process_ids).map_err(|error| {
            let place = Path::new(&*self.server);
            match error {
                WatchError::Session(error) => {
                    refused(place, "looking at the sessions that read", &error)
                }
                WatchError::NoRight => {
                    input_error(place, error.to_string(), "grant the login this right")
                }
            }
        })
    }

    /// A session is a thread of the server, and not a process of the system.
    fn is_on_this_machine(&self, _process_id: i32) -> bool {
        false
    }
}
