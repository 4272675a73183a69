//! A temporary folder that is removed when the command ends, in whatever way.
//!
//! A command that ends by itself, by a signal or by an error removes its folder. If a command is killed, the next
//! command removes the folder. A folder is unused if its lock is free: the system releases the lock of a dead process,
//! even if another process now has its number.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The beginning of the folders' names.
const PREFIX: &str = "inrush-etlwr-";

/// A folder that is removed when this is dropped.
pub struct Disposable {
    // Fields are dropped in their order, so the folder is locked until it is removed.
    folder: TempDir,
    _lock: File,
}

impl Disposable {
    /// Creates a folder.
    pub fn make(parent: &Path) -> io::Result<Disposable> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        match lock.lock() {
            Ok(()) => {}
            // On a file system without locks, a left folder never counts as unused and is not removed.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
        Ok(Disposable {
            folder,
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes this user's folders that killed commands have left, and returns their paths.
    pub fn remove_left(parent: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(parent) else {
            return Vec::new();
        };
        let named = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(PREFIX)
        });
        let mut left: Vec<PathBuf> = named
            .map(|entry| entry.path())
            .filter(|path| is_own_folder(path) && remove_if_free(path))
            .collect();
        left.sort();
        left
    }
}

/// A link may lead anywhere, and another user's folder is for that user to remove, even if we are root.
fn is_own_folder(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|facts| facts.is_dir() && facts.uid() == user)
}

/// Removes a folder without a living process, and returns true if it did. If the folder cannot be read or removed it
/// stays, because another command's files must not make this one fail.
fn remove_if_free(path: &Path) -> bool {
    let Ok(lock) = File::open(path) else {
        return false;
    };
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return false,
    }
    // An empty folder may have just been created, and its creator may be waiting for this lock.
    let has_files = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    has_files && std::fs::remove_dir_all(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder that a killed command left.
    fn left(parent: &Path) -> PathBuf {
        let Disposable {
            folder,
            _lock: lock,
        } = Disposable::make(parent).expect("made");
        std::fs::create_dir(folder.path().join("ten-percent")).expect("made");
        // A process that another test starts may briefly hold the same lock.
        lock.unlock().expect("unlocked");
        folder.keep()
    }

    #[test]
    fn what_a_killed_command_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let killed = [left(parent.path()), left(parent.path())];
        let at_work = Disposable::make(parent.path()).expect("made");
        std::fs::write(at_work.path().join("etlwr.json"), "{}").expect("written");
        let named = |name: &str| parent.path().join(name);
        // A folder that was just created, a file, a link, and another user's folder.
        std::fs::create_dir(named("inrush-etlwr-empty")).expect("made");
        std::fs::write(named("inrush-etlwr-file"), "x").expect("written");
        std::fs::create_dir_all(named("other/files")).expect("made");
        std::os::unix::fs::symlink(named("other"), named("inrush-etlwr-link")).expect("linked");

        let mut expected = killed.to_vec();
        expected.sort();
        assert_eq!(Disposable::remove_left(parent.path()), expected);
        assert!(killed.iter().all(|folder| !folder.exists()));
        assert!(at_work.path().join("etlwr.json").exists());
        assert!(named("other/files").exists());
        for name in [
            "inrush-etlwr-empty",
            "inrush-etlwr-file",
            "inrush-etlwr-link",
        ] {
            assert!(named(name).symlink_metadata().is_ok(), "{name}");
        }
        assert!(Disposable::remove_left(parent.path()).is_empty());

        let gone = at_work.path().to_owned();
        drop(at_work);
        assert!(!gone.exists());
    }
}
