//! A file.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_source::{Input, InputState, SourceError};

/// A file, as it was when the source was opened.
#[derive(Debug)]
pub struct JsonFile {
    index: usize,
    name: Arc<Path>,
    canonical: PathBuf,
    state: InputState,
}

impl JsonFile {
    pub fn new(index: usize, path: &Path) -> Result<JsonFile, SourceError> {
        let unreadable = |cause: io::Error| SourceError::Unreadable {
            path: path.to_owned(),
            cause,
        };
        Ok(JsonFile {
            index,
            name: Arc::from(path),
            canonical: path.canonicalize().map_err(unreadable)?,
            state: state_of(&fs::metadata(path).map_err(unreadable)?),
        })
    }

    /// Fails if the file has changed since the source was opened.
    pub fn check(&self) -> Result<(), SourceError> {
        let what = match self.state_now() {
            Some(now) if now == self.state => return Ok(()),
            Some(now) if now.size_bytes != self.state.size_bytes => {
                format!(
                    "it had {} bytes, and has {} now",
                    self.state.size_bytes, now.size_bytes
                )
            }
            Some(_) => "it was written to".to_owned(),
            None => "it is gone".to_owned(),
        };
        Err(SourceError::Changed {
            path: self.name.to_path_buf(),
            what,
        })
    }
}

fn state_of(facts: &Metadata) -> InputState {
    InputState {
        size_bytes: facts.len(),
        modified_ns: facts
            .mtime()
            .saturating_mul(1_000_000_000)
            .saturating_add(facts.mtime_nsec()),
        // A program can set the time of the last write, but not the time of the last change (`ctime`).
        mark: format!(
            "{}:{}:{}.{}",
            facts.dev(),
            facts.ino(),
            facts.ctime(),
            facts.ctime_nsec()
        ),
    }
}

impl Input for JsonFile {
    fn index(&self) -> usize {
        self.index
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
    }

    fn size_bytes(&self) -> u64 {
        self.state.size_bytes
    }

    fn modified_ns(&self) -> i64 {
        self.state.modified_ns
    }

    fn mark(&self) -> String {
        self.state.mark.clone()
    }

    fn state_now(&self) -> Option<InputState> {
        fs::metadata(&self.name).ok().map(|facts| state_of(&facts))
    }

    fn identity(&self) -> Vec<String> {
        vec![self.canonical.display().to_string()]
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn stored_at(&self) -> Option<(&Path, u64)> {
        Some((&self.canonical, 0))
    }
}
