//! Locks between processes that load into one folder.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use inrush_destination::{Error, Result};
use inrush_system::lock_file::{self, LockAttempt};

use crate::files;

/// A lock that is held until it is dropped. The file stays: if it were removed, two processes could hold the
/// lock.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// The longest wait for another process that creates the next generation of the same table.
const WAIT_MAX: Duration = Duration::from_secs(60);
const WAIT_STEP: Duration = Duration::from_millis(10);

impl Lock {
    /// Takes the lock, or fails with the name of its holder.
    pub(super) fn take(path: &Path, what: &str, holder: &str) -> Result<Lock> {
        match Lock::try_take(path, holder)? {
            Ok(lock) => Ok(lock),
            Err(other) => Err(Error::Held {
                what: format!("{what} is held by {other}"),
                hint: "wait until it is done, or stop it".to_owned(),
            }),
        }
    }

    /// Waits for a lock that others hold only briefly. Gives up when `stop` returns true.
    pub(super) fn wait(
        path: &Path,
        what: &str,
        holder: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Lock> {
        let begun = Instant::now();
        loop {
            match Lock::try_take(path, holder)? {
                Ok(lock) => return Ok(lock),
                Err(_) if stop() => return Err(Error::Interrupted),
                Err(other) if begun.elapsed() > WAIT_MAX => {
                    return Err(Error::Held {
                        what: format!(
                            "{what} has been held by {other} for more than {} s",
                            WAIT_MAX.as_secs()
                        ),
                        hint: "check whether that process is still working; then run the same command again"
                            .to_owned(),
                    });
                }
                Err(_) => std::thread::sleep(WAIT_STEP),
            }
        }
    }

    /// True if a process holds the lock.
    pub(super) fn is_held(path: &Path) -> Result<bool> {
        let holder =
            lock_file::held_by(path).map_err(Error::file("cannot check the lock", path))?;
        Ok(holder.is_some())
    }

    fn try_take(path: &Path, holder: &str) -> Result<std::result::Result<Lock, String>> {
        files::make_folder(path.parent().unwrap_or(Path::new(".")))?;
        match lock_file::try_take(path, holder).map_err(Error::file("cannot lock", path))? {
            LockAttempt::Ours(_file) => Ok(Ok(Lock { _file })),
            LockAttempt::Others(other) => Ok(Err(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_learns_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks/x.lock");
        let first = Lock::take(&path, "table x", "host a, process 1").unwrap();
        let refused = Lock::take(&path, "table x", "host b, process 2").unwrap_err();
        assert_eq!(refused.to_string(), "table x is held by host a, process 1");
        let stopped = Lock::wait(&path, "table x", "", &|| true).unwrap_err();
        assert!(matches!(stopped, Error::Interrupted));
        drop(first);
        Lock::take(&path, "table x", "host b, process 2").unwrap();
    }
}
