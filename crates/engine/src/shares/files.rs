//! The files of shares in a run's folder: the lock and the result of each, by the attempt of the run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use inrush_system::lock_file::{self, LockAttempt};

use super::error::ShareError;
use super::share_result::ShareResult;
use super::waiting::Life;
use crate::pipeline::naming::holder;
use crate::report::write_whole;

/// The folder of an attempt's shares, in the folder of its run.
#[derive(Clone, Debug)]
pub struct ShareFiles {
    folder: PathBuf,
    /// The attempt: files of another attempt are skipped.
    epoch: i32,
}

/// A share that this process loads. No other process loads it until this is dropped, or the process ends.
#[derive(Debug)]
pub struct HeldShare {
    _lock: fs::File,
    path: PathBuf,
}

impl HeldShare {
    /// The file whose time shows that the process is alive.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl ShareFiles {
    /// The files of an attempt of the run in this folder. Their folder is created if it does not exist.
    pub fn open(run_folder: &Path, epoch: i32) -> Result<ShareFiles, ShareError> {
        let folder = run_folder.join("shares");
        match fs::create_dir(&folder) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(ShareError::File {
                doing: "write",
                path: folder,
                source,
            }),
            _ => Ok(ShareFiles { folder, epoch }),
        }
    }

    fn path(&self, share: usize, end: &str) -> PathBuf {
        self.folder.join(format!("{}-{share}.{end}", self.epoch))
    }

    /// Keeps other processes from loading a share.
    pub fn hold(&self, share: usize) -> Result<HeldShare, ShareError> {
        let path = self.path(share, "lock");
        let locked = lock_file::try_take(&path, &holder()).map_err(|source| ShareError::File {
            doing: "lock",
            path: path.clone(),
            source,
        })?;
        match locked {
            LockAttempt::Ours(_lock) => Ok(HeldShare { _lock, path }),
            LockAttempt::Others(by) => Err(ShareError::Held { share, by }),
        }
    }

    /// The last sign of life of the process that loads a share; `None` if no process has begun to load it. The lock is not
    /// touched: it belongs to that process.
    pub fn life(&self, share: usize) -> Result<Option<Life>, ShareError> {
        let path = self.path(share, "lock");
        let read = || -> io::Result<Life> {
            // On NFS, opening a file asks the server for the file's time.
            let file = fs::File::open(&path)?;
            let at = file.metadata()?.modified()?;
            let process = lock_file::holder(file)?;
            Ok(Life { process, at })
        };
        match read() {
            Ok(life) => Ok(Some(life)),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ShareError::File {
                doing: "read",
                path,
                source,
            }),
        }
    }

    /// The result of a share, once it is loaded.
    pub fn result(&self, share: usize) -> Result<Option<ShareResult>, ShareError> {
        let path = self.path(share, "json");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ShareError::File {
                    doing: "read",
                    path,
                    source,
                });
            }
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| ShareError::Form { path, source })
    }

    /// Writes the result of a share, completely or not at all.
    pub fn write(&self, share: usize, result: &ShareResult) -> Result<(), ShareError> {
        let path = self.path(share, "json");
        let text = serde_json::to_vec(result).expect("a result has only keys that are text");
        write_whole(&path, &[&text]).map_err(|source| ShareError::File {
            doing: "write",
            path,
            source,
        })
    }
}
