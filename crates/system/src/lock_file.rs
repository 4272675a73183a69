//! Files that are locked by `flock`. The system releases the lock when the process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// The most bytes of a holder's name that are read.
const NAME_BYTES_MAX: u64 = 4096;

/// The result of an attempt to lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// The lock is held until the file is dropped. The file contains the holder's name.
    Ours(File),
    /// Another process, with this name, holds the lock.
    Others(String),
}

/// The name of a holder that has not written its name yet.
const SOMEBODY: &str = "another process";

/// The name of the last holder of a file's lock. It may be writing its name at this moment.
pub fn holder(file: File) -> io::Result<String> {
    let mut name = Vec::new();
    file.take(NAME_BYTES_MAX).read_to_end(&mut name)?;
    let name = String::from_utf8_lossy(&name);
    Ok(match name.trim() {
        "" => SOMEBODY.to_owned(),
        name => name.to_owned(),
    })
}

/// Takes the lock of a file, which is created if it does not exist.
pub fn try_take(path: &Path, own_name: &str) -> io::Result<LockAttempt> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Ok(LockAttempt::Others(
                holder(file).unwrap_or_else(|_| SOMEBODY.to_owned()),
            ));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(own_name.as_bytes())?;
    Ok(LockAttempt::Ours(file))
}
