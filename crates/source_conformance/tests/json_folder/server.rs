//! A toy server that sends the lines of a folder: a process for each file.

use std::sync::Arc;

use inrush_source::{BackendState, ReadingSession, SeenSession, SessionSampler, SourceError};

use super::Flaw;

/// The server of a folder.
#[derive(Debug)]
pub struct JsonServer {
    name: Arc<str>,
    process_count: i32,
}

impl JsonServer {
    pub fn new(files: usize) -> JsonServer {
        JsonServer {
            name: "a server of lines".into(),
            process_count: i32::try_from(files).expect("a few files"),
        }
    }

    /// The session that sends a file.
    pub fn session(&self, file: usize, flaw: Flaw) -> ReadingSession {
        let process_id = i32::try_from(file + 1).expect("a few files");
        ReadingSession {
            server: Arc::clone(&self.name),
            process_id: match flaw {
                Flaw::NamesOtherSession => process_id + self.process_count,
                _ => process_id,
            },
            is_remote: false,
            round_trip_us: None,
        }
    }
}

impl SessionSampler for JsonServer {
    fn server(&self) -> &Arc<str> {
        &self.name
    }

    fn look(&self, process_ids: &[i32]) -> Result<Vec<SeenSession>, SourceError> {
        let known = 1..=self.process_count;
        let seen = process_ids.iter().filter(|id| known.contains(id));
        let session = |id: &i32| SeenSession {
            process_id: *id,
            state: BackendState::Cpu,
            event: None,
            blockers: Vec::new(),
        };
        Ok(seen.map(session).collect())
    }

    fn is_on_this_machine(&self, _process_id: i32) -> bool {
        true
    }
}
