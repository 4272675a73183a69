//! Writes one file, which gets its name when it is complete.
//!
//! Until then it is `<name>.unfinished`, and locked. A process that finds the lock taken leaves the file to its writer;
//! a process that finds it free, after a writer was killed, writes the file from its beginning.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// The ending of the name of an incomplete file.
const UNFINISHED: &str = ".unfinished";

/// A complete file.
pub struct Written {
    /// The number of rows that the writer wrote; `None` if the file existed.
    pub rows: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
}

/// The error of a writer that was asked to stop.
pub fn stopped() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "stopped on request")
}

/// Writes a file, unless it exists and is to be kept.
pub fn write(
    path: &Path,
    keep: bool,
    write: impl Fn(&mut dyn Write) -> io::Result<u64>,
) -> io::Result<Written> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(there) = there(path, keep).map_err(named)? {
        return Ok(there);
    }
    let unfinished = unfinished(path);
    let mut file = lock(&unfinished).map_err(named)?;
    // The holder of the lock may have completed the file in the meantime.
    if let Some(there) = there(path, keep).map_err(named)? {
        return Ok(there);
    }
    let written = fill(&mut file, &write).and_then(|written| {
        std::fs::rename(&unfinished, path)?;
        Ok(written)
    });
    written.map_err(|error| {
        // Half a file is of no use, and the disk may be full. The first error is reported.
        let _ = std::fs::remove_file(&unfinished);
        named(error)
    })
}

fn there(path: &Path, keep: bool) -> io::Result<Option<Written>> {
    if !keep {
        return Ok(None);
    }
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(Some(Written {
            rows: None,
            bytes: facts.len(),
        })),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it exists, but is not a file",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    PathBuf::from(name)
}

/// Opens the unfinished file without touching what another process has written into it.
fn lock(unfinished: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(unfinished)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another process is generating it",
        )),
        // On a file system without locks, users must not run two processes on one folder.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn fill(file: &mut File, write: impl Fn(&mut dyn Write) -> io::Result<u64>) -> io::Result<Written> {
    file.set_len(0)?;
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, &*file);
    let rows = write(&mut output)?;
    output.flush()?;
    drop(output);
    Ok(Written {
        rows: Some(rows),
        bytes: file.metadata()?.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(output: &mut dyn Write) -> io::Result<u64> {
        output.write_all(b"1|\n").map(|()| 1)
    }

    #[test]
    fn a_file_is_written_once_and_what_a_killed_writer_left_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tbl");
        std::fs::write(unfinished(&path), "far more than will be written").unwrap();
        assert_eq!(write(&path, true, one).unwrap().rows, Some(1));
        assert_eq!(std::fs::read(&path).unwrap(), b"1|\n");
        assert!(!unfinished(&path).exists());
        let again = write(&path, true, |_| panic!("it is there")).unwrap();
        assert_eq!((again.rows, again.bytes), (None, 3));
        assert_eq!(write(&path, false, |_| Ok(0)).unwrap().bytes, 0);
    }

    #[test]
    fn a_writer_at_work_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tbl");
        let writer = lock(&unfinished(&path)).unwrap();
        let refused = write(&path, true, one).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
        assert!(unfinished(&path).exists() && !path.exists());
        drop(writer);
        assert_eq!(write(&path, true, one).unwrap().rows, Some(1));
    }

    #[test]
    fn a_stopped_writer_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tbl");
        let error = write(&path, true, |_| Err(stopped())).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(!unfinished(&path).exists() && !path.exists());
    }
}
