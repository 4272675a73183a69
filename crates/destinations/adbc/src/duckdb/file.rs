//! The file of a DuckDB database: checks its path, and removes a file that was only created by opening it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_destination::Error;

use crate::session::AdbcSession;

/// True if the database is a file, and not in memory.
pub fn is_open(session: &mut AdbcSession) -> Result<bool, Error> {
    let statement = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()";
    let rows = session.rows("cannot look up the path of the database's file", statement)?;
    let path = rows.into_iter().flatten().next().flatten();
    Ok(path.is_some_and(|path| !path.is_empty() && path != ":memory:"))
}

/// Refuses a path whose folder does not exist, or that is not a file.
pub fn is_possible(file: &Path) -> Result<(), Error> {
    if file.is_dir() {
        return Err(Error::Address {
            what: format!("{} is a folder, not a file of DuckDB", file.display()),
            hint: "write the path of a file, as in results.duckdb".to_owned(),
        });
    }
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Error::Address {
            what: format!("the folder of {} does not exist", file.display()),
            hint: format!("make it: mkdir -p {}", folder.display()),
        }),
        _ => Ok(()),
    }
}

/// A file that opening has created. It is removed if nothing was loaded, so that a command that only reads leaves
/// nothing behind.
pub struct MadeFile {
    path: PathBuf,
    inode: u64,
    wanted: AtomicBool,
}

impl MadeFile {
    /// Remembers a file that did not exist before it was opened. The file is open now, so DuckDB's lock keeps other
    /// processes out.
    pub fn opened(path: &Path) -> Option<MadeFile> {
        let inode = path.metadata().ok()?.ino();
        Some(MadeFile {
            path: path.to_owned(),
            inode,
            wanted: AtomicBool::new(false),
        })
    }

    /// Keeps the file.
    pub fn keep(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// True if the file may be removed when it is empty.
    pub fn is_unwanted(&self) -> bool {
        !self.wanted.load(Ordering::Relaxed)
    }

    /// Removes the file. The caller still has it open, so nobody else has written to it. A file with the same name and
    /// inode is this file.
    pub fn remove(&self) {
        if self
            .path
            .metadata()
            .is_ok_and(|found| found.ino() == self.inode)
        {
            // An empty file that remains does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = is_possible(Path::new("/nowhere/x.duckdb")).expect_err("no folder");
        assert_eq!(
            error.to_string(),
            "the folder of /nowhere/x.duckdb does not exist"
        );
    }

    #[test]
    fn only_the_file_itself_goes_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.duckdb");
        std::fs::write(&path, "").expect("written");
        let made = MadeFile::opened(&path).expect("it is there");
        assert!(made.is_unwanted());
        let aside = folder.path().join("aside");
        std::fs::rename(&path, &aside).expect("renamed");
        std::fs::write(&path, "of somebody else").expect("written");
        made.remove();
        assert!(path.exists());
        std::fs::rename(&aside, &path).expect("renamed");
        made.remove();
        assert!(!path.exists());
        made.keep();
        assert!(!made.is_unwanted());
    }
}
