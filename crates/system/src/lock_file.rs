//! Files that are locked by `flock`. The system releases the lock when the process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

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

/// The name of the process that holds the lock of a file now, on any host; `None` if no process holds it. Nothing is
/// written.
///
/// To find out, the function takes a shared lock for a moment. [`try_take`] distinguishes such a lock from the lock of
/// a holder.
pub fn held_by(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            Ok(Some(holder(file).unwrap_or_else(|_| SOMEBODY.to_owned())))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The longest wait for a lock that other processes take only to ask for the holder.
const ASKED_MAX: Duration = Duration::from_secs(1);
/// The pause between two attempts.
const ASKED_STEP: Duration = Duration::from_millis(1);

/// Takes the lock of a file, which is created if it does not exist.
pub fn try_take(path: &Path, own_name: &str) -> io::Result<LockAttempt> {
    let begun = Instant::now();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // A shared lock is granted if other processes only ask, and refused if a process holds the lock.
        match file.try_lock_shared() {
            Ok(()) if begun.elapsed() < ASKED_MAX => {
                file.unlock()?;
                std::thread::sleep(ASKED_STEP);
            }
            Ok(()) | Err(TryLockError::WouldBlock) => {
                return Ok(LockAttempt::Others(
                    holder(file).unwrap_or_else(|_| SOMEBODY.to_owned()),
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(own_name.as_bytes())?;
    Ok(LockAttempt::Ours(file))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_lock_says_whether_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        assert_eq!(held_by(&path).unwrap(), None);
        assert!(!path.exists());
        let LockAttempt::Ours(file) = try_take(&path, "process 7 on another host").unwrap() else {
            panic!("nobody else has it");
        };
        let holder = held_by(&path).unwrap();
        assert_eq!(holder.as_deref(), Some("process 7 on another host"));
        drop(file);
        assert_eq!(held_by(&path).unwrap(), None);
    }

    #[test]
    fn who_only_asks_keeps_nobody_from_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    held_by(&path).unwrap();
                }
            });
            let attempts = (0..2000).map(|_| try_take(&path, "a").unwrap());
            let refused = attempts
                .filter(|it| matches!(it, LockAttempt::Others(_)))
                .count();
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
    }
}
