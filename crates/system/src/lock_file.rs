//! Files that are locked by `flock`, which the system lets go of when a process ends, however it does.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// The result of an attempt to lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// It is held until the file is dropped, and says by whom.
    Ours(File),
    /// Another process holds it, by the name that it gave.
    Others(String),
}

/// Takes the lock of a file, which is made where it is not.
pub fn try_take(path: &Path, holder: &str) -> io::Result<LockAttempt> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut other = String::new();
            // The holder may be writing its name at this moment.
            let _ = file.read_to_string(&mut other);
            return Ok(LockAttempt::Others(match other.trim() {
                "" => "another process".to_owned(),
                other => other.to_owned(),
            }));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(holder.as_bytes())?;
    Ok(LockAttempt::Ours(file))
}
