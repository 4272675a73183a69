//! Standard input, named pipes and process substitution: what can be read only once.
//!
//! The planner looks at a pipe's first bytes; they are kept, and the load reads them again from
//! memory before it goes on with the pipe. A pipe has no size and no time of change, so it is
//! never the same as another one, or as itself in an earlier run. A writer that goes away in
//! the middle looks like one that is done: nothing in a pipe tells them apart.
//!
//! Where rows of it may have to be read again, what the load reads is kept on a disk
//! ([`Spool`]). A second reader, once the first one is gone, has that first and goes on with the pipe.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_rows::cancel::{Stop, StopReason};
use inrush_source::SourceError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::spool::Spool;

/// The word for standard input among files.
pub(super) const STANDARD_INPUT: &str = "-";

/// The pipes of a run: one that is named again, by a second plan of the same run, is the same
/// one, with what was read of it. Clones are the same pipes.
#[derive(Clone, Debug, Default)]
pub struct Pipes {
    known: Arc<Mutex<HashMap<(u64, u64), OpenPipe>>>,
    stop: Stop,
}

#[derive(Debug)]
struct OpenPipe {
    pipe: Arc<Pipe>,
    reader: String,
}

impl Pipes {
    /// No pipes yet; waiting for one ends when `stop` is asked for.
    pub fn new(stop: Stop) -> Pipes {
        Pipes {
            known: Arc::default(),
            stop,
        }
    }

    /// What ends the waiting.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The pipe at `path`, for `reader` (a flow): nobody else may read it.
    pub(super) fn open(&self, path: &Path, reader: &str) -> Result<Arc<Pipe>, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        };
        let is_standard_input = path == Path::new(STANDARD_INPUT);
        let file = if is_standard_input {
            let input = io::stdin();
            if input.is_terminal() {
                return Err(SourceError::Terminal);
            }
            let closed = |cause: io::Error| match cause.raw_os_error() {
                Some(libc::EBADF) => SourceError::StandardInputClosed,
                _ => unreadable(cause),
            };
            let mut input = File::from(input.as_fd().try_clone_to_owned().map_err(closed)?);
            // Asks for nothing, so it does not wait; what is open for writing only refuses it.
            match input.read(&mut []) {
                Err(cause) if cause.raw_os_error() == Some(libc::EBADF) => {
                    return Err(closed(cause));
                }
                _ => input,
            }
        } else {
            // Without the flag, opening waits for a writer, and a stop would wait with it.
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(libc::O_NONBLOCK);
            options.open(path).map_err(unreadable)?
        };
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(SourceError::Folder {
                path: path.to_path_buf(),
            });
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&(metadata.dev(), metadata.ino())) {
            Some(found) if found.reader == reader => return Ok(Arc::clone(&found.pipe)),
            Some(found) => {
                return Err(SourceError::PipeTaken {
                    path: path.to_path_buf(),
                    reader: found.reader.clone(),
                });
            }
            None => {}
        }
        let pipe = Arc::new(Pipe {
            path: path.to_path_buf(),
            identity: new_identity(),
            state: Mutex::new(State {
                file: Some(file),
                kept: Vec::new(),
                at_end: false,
                is_loaded: false,
                spool: None,
            }),
            stop: self.stop.clone(),
            abandoned: Mutex::default(),
        });
        let entry = OpenPipe {
            pipe: Arc::clone(&pipe),
            reader: reader.to_owned(),
        };
        known.insert((metadata.dev(), metadata.ino()), entry);
        Ok(pipe)
    }
}

/// A text that no other pipe, and no other run, has.
fn new_identity() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!(
        "pipe {} {} {}",
        std::process::id(),
        now.unwrap_or_default().as_nanos(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// What can be read only once: looked at by the planner, then loaded.
#[derive(Debug)]
pub struct Pipe {
    path: PathBuf,
    identity: String,
    state: Mutex<State>,
    /// Ends waiting for it: the run's.
    stop: Stop,
    /// Ends waiting for it: its reader's owner is gone. Each reader has its own.
    abandoned: Mutex<Stop>,
}

#[derive(Debug)]
struct State {
    /// Nothing while the load has it.
    file: Option<File>,
    /// What was looked at, from the beginning.
    kept: Vec<u8>,
    at_end: bool,
    /// The load has begun to read it.
    is_loaded: bool,
    /// What the load has read of it, where that is kept.
    spool: Option<Spool>,
}

impl Pipe {
    /// A text that no other pipe, and no other run, has.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Why nothing is read of it any more: a stop was asked for.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.asked().is_some() || self.abandoned().asked().is_some()
    }

    /// Ends a read that waits for the pipe, now or later; not one of a reader that comes after it.
    pub(super) fn abandon(&self) {
        self.abandoned().ask(StopReason::Failed);
    }

    fn abandoned(&self) -> Stop {
        self.abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps what the load reads of it in a folder, so that it can be read once more.
    pub(super) fn keep_in(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.is_loaded && state.spool.is_none() {
            state.spool = Some(Spool::begin(folder)?);
        }
        Ok(())
    }

    /// Whether all that the load has read of it can be read once more.
    pub(super) fn is_kept(&self) -> bool {
        self.state().spool.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the pipe itself, which ends early when a stop is asked for.
    fn read(&self, file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
        let abandoned = self.abandoned();
        loop {
            wait_readable(file.as_fd(), self.stop.bell()?, abandoned.bell()?)?;
            match file.read(bytes) {
                // Another reader of the same pipe was faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Reads a pipe from its beginning.
#[derive(Debug)]
pub(super) enum PipeReader {
    /// For the planner: what it reads is kept.
    Look {
        /// The pipe.
        pipe: Arc<Pipe>,
        /// What was read by this reader.
        at: usize,
    },
    /// For the load: what was kept first, then the rest.
    Load(PipeLoad),
}

/// Reads all of a pipe.
#[derive(Debug)]
pub(super) struct PipeLoad {
    pipe: Arc<Pipe>,
    /// The pipe's own descriptor; it goes back where there may be another reader.
    file: Option<File>,
    /// What was looked at, where that is not in the spool.
    kept: Vec<u8>,
    /// How much was read of it, or of the spool.
    at: u64,
}

impl PipeReader {
    /// Looks at the beginning; to load is for another time.
    pub(super) fn look(pipe: &Arc<Pipe>) -> Result<PipeReader, SourceError> {
        pipe.require_unread()?;
        Ok(PipeReader::Look {
            pipe: Arc::clone(pipe),
            at: 0,
        })
    }

    /// Reads all of it: once, or again where it was kept and nobody reads it now.
    pub(super) fn load(pipe: &Arc<Pipe>) -> Result<PipeReader, SourceError> {
        let mut state = pipe.state();
        let Some(file) = state.file.take() else {
            drop(state);
            return Err(pipe.read_already());
        };
        state.is_loaded = true;
        *pipe
            .abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Stop::default();
        let kept = std::mem::take(&mut state.kept);
        let kept = match state.keep(&kept) {
            true => Vec::new(),
            false => kept,
        };
        Ok(PipeReader::Load(PipeLoad {
            pipe: Arc::clone(pipe),
            file: Some(file),
            kept,
            at: 0,
        }))
    }

    pub(super) fn pipe(&self) -> &Arc<Pipe> {
        match self {
            PipeReader::Look { pipe, .. } => pipe,
            PipeReader::Load(load) => &load.pipe,
        }
    }
}

impl Pipe {
    fn read_already(&self) -> SourceError {
        SourceError::PipeReadTwice {
            path: self.path.clone(),
        }
    }

    fn require_unread(&self) -> Result<(), SourceError> {
        match self.state().is_loaded {
            false => Ok(()),
            true => Err(self.read_already()),
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            PipeReader::Look { pipe, at } => {
                let mut state = pipe.state();
                if *at == state.kept.len() && !state.at_end {
                    let mut file = state.file.take().ok_or(io::ErrorKind::NotFound)?;
                    let result = pipe.read(&mut file, bytes);
                    state.file = Some(file);
                    let count = result?;
                    state.at_end = count == 0;
                    state.kept.extend_from_slice(&bytes[..count]);
                    *at += count;
                    return Ok(count);
                }
                Ok(copy_kept(&state.kept, at, bytes))
            }
            PipeReader::Load(load) => load.read(bytes),
        }
    }
}

impl State {
    /// Keeps what was read, where that is wanted. A disk that takes no more ends the keeping.
    fn keep(&mut self, bytes: &[u8]) -> bool {
        let Some(spool) = &mut self.spool else {
            return false;
        };
        if spool.append(bytes).is_err() {
            self.spool = None;
        }
        self.spool.is_some()
    }
}

impl PipeLoad {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !self.kept.is_empty() {
            let mut at = self.at as usize;
            let count = copy_kept(&self.kept, &mut at, bytes);
            self.at = at as u64;
            if at == self.kept.len() {
                // Its memory is of no more use.
                self.kept = Vec::new();
            }
            return Ok(count);
        }
        let state = self.pipe.state();
        if let Some(spool) = &state.spool
            && self.at < spool.bytes_count()
        {
            let count = spool.read_at(bytes, self.at)?;
            self.at += count as u64;
            return Ok(count);
        }
        if state.at_end {
            return Ok(0);
        }
        drop(state);
        let file = self
            .file
            .as_mut()
            .expect("it goes back when this is dropped");
        let count = self.pipe.read(file, bytes)?;
        let mut state = self.pipe.state();
        state.at_end = count == 0;
        state.keep(&bytes[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Drop for PipeLoad {
    fn drop(&mut self) {
        let mut state = self.pipe.state();
        if state.spool.is_some() {
            state.file = self.file.take();
        }
    }
}

fn copy_kept(kept: &[u8], at: &mut usize, bytes: &mut [u8]) -> usize {
    let left = &kept[*at..];
    let count = left.len().min(bytes.len());
    bytes[..count].copy_from_slice(&left[..count]);
    *at += count;
    count
}

/// Waits until something can be read, or the end be seen; an error once a bell rings.
fn wait_readable(
    file: BorrowedFd<'_>,
    stop: BorrowedFd<'_>,
    abandoned: BorrowedFd<'_>,
) -> io::Result<()> {
    let wish = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
    let mut wishes = [wish(file), wish(stop), wish(abandoned)];
    loop {
        match poll(&mut wishes, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if wishes[1..].iter().any(|bell| !bell.revents().is_empty()) {
            return Err(io::Error::other("asked to stop while waiting for the pipe"));
        }
        return Ok(());
    }
}
