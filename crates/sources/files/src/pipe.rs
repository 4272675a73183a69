//! Sources that can be read only once: standard input, named pipes and process substitution.
//!
//! The planner reads a pipe's first bytes. They are kept, and the load reads them from memory before it continues with
//! the pipe. A pipe has no size and no time of change, so it never counts as the same as another pipe, or as the same
//! pipe in an earlier run. If a writer fails in the middle, its pipe ends just as if the writer had finished: the
//! reader cannot notice.
//!
//! If rows may have to be read again, the load keeps what it reads on a disk ([`Spool`]). A second reader may follow
//! when the first one is gone: it reads the spool, then continues with the pipe.

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

/// The pipes of a run. If a second plan of the same run names a pipe again, it gets the same pipe, with what was read
/// of it. Clones share the pipes.
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
    /// An empty set of pipes; waiting for a pipe ends when `stop` is requested.
    pub fn new(stop: Stop) -> Pipes {
        Pipes {
            known: Arc::default(),
            stop,
        }
    }

    /// The stop that ends waiting for a pipe.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The pipe at `path` for `reader`, a flow. No other flow may read it.
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
            // A read of zero bytes does not wait, and fails if the descriptor is open for writing only.
            match input.read(&mut []) {
                Err(cause) if cause.raw_os_error() == Some(libc::EBADF) => {
                    return Err(closed(cause));
                }
                _ => input,
            }
        } else {
            // Without this flag, opening would wait for a writer, and a stop could not end that.
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

/// A text that is unique to this pipe and this run.
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

/// A pipe: the planner reads its beginning, then the load reads all of it.
#[derive(Debug)]
pub struct Pipe {
    path: PathBuf,
    identity: String,
    state: Mutex<State>,
    /// The stop of the run. It ends waiting for the pipe.
    stop: Stop,
    /// The stop of the reader, requested when the reader's owner is gone. It ends waiting for the pipe. Each reader has
    /// its own.
    abandoned: Mutex<Stop>,
}

#[derive(Debug)]
struct State {
    /// The pipe's descriptor; `None` while the load has it.
    file: Option<File>,
    /// The bytes that the planner has read, from the beginning.
    kept: Vec<u8>,
    at_end: bool,
    /// True if the load has begun to read it.
    is_loaded: bool,
    /// What the load has read of it, if that is kept.
    spool: Option<Spool>,
}

impl Pipe {
    /// A text that is unique to this pipe and this run.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The error of a read after a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.asked().is_some() || self.abandoned().asked().is_some()
    }

    /// Ends a read that waits for the pipe, now or later. Later readers are not affected.
    pub(super) fn abandon(&self) {
        self.abandoned().ask(StopReason::Failed);
    }

    fn abandoned(&self) -> Stop {
        self.abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps what the load reads of it in a folder, so that it can be read again.
    pub(super) fn keep_in(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.is_loaded && state.spool.is_none() {
            state.spool = Some(Spool::begin(folder)?);
        }
        Ok(())
    }

    /// True if everything that the load has read of it can be read again.
    pub(super) fn is_kept(&self) -> bool {
        self.state().spool.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the pipe itself; a requested stop ends the wait.
    fn read(&self, file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
        let abandoned = self.abandoned();
        loop {
            wait_readable(file.as_fd(), self.stop.bell()?, abandoned.bell()?)?;
            match file.read(bytes) {
                // Another process took the data that was announced.
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
    /// Reads for the planner, and keeps what was read.
    Look {
        /// The pipe.
        pipe: Arc<Pipe>,
        /// How many bytes this reader has read.
        at: usize,
    },
    /// Reads for the load: first what was kept, then the rest.
    Load(PipeLoad),
}

/// Reads all of a pipe.
#[derive(Debug)]
pub(super) struct PipeLoad {
    pipe: Arc<Pipe>,
    /// The pipe's own descriptor; it is returned if there may be another reader.
    file: Option<File>,
    /// The bytes that the planner has read, unless they are in the spool.
    kept: Vec<u8>,
    /// How many bytes of `kept`, or of the spool, were read.
    at: u64,
}

impl PipeReader {
    /// Opens it to read only the beginning.
    pub(super) fn look(pipe: &Arc<Pipe>) -> Result<PipeReader, SourceError> {
        pipe.require_unread()?;
        Ok(PipeReader::Look {
            pipe: Arc::clone(pipe),
            at: 0,
        })
    }

    /// Opens the pipe to read all of it. It can be opened a second time if its data was kept and no other reader has it
    /// open.
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
    /// Keeps what was read, if requested. A full disk ends the keeping.
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
                // Its memory is no longer needed.
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
            .expect("the descriptor is returned only when this is dropped");
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

/// Waits until there is something to read, or the end; returns an error when a stop is requested.
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
