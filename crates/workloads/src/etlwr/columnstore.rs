//! A columnstore on this machine as the target: one file, or a folder of files. It must not exist before, so that the
//! command does not remove somebody else's files. It is measured after each run and then removed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use inrush::DestinationKind;

use crate::error::WorkloadError;

/// The end of the name of the log that a database file may have beside it.
const LOG: &str = ".wal";

/// The path of a columnstore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columnstore {
    path: PathBuf,
}

impl Columnstore {
    /// The columnstore that a URL names; `None` for the URL of a server.
    pub fn of(url: &str) -> Option<Columnstore> {
        DestinationKind::local_place(url).map(|path| Columnstore { path })
    }

    /// Its path, as the URL has it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a path that exists: the command removes only what it has made.
    pub(super) fn refuse_existing(&self) -> Result<(), WorkloadError> {
        match self.path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(source) => Err(self.failed("cannot look at")(source)),
            Ok(_) => Err(WorkloadError::Usage {
                what: format!(
                    "--to: {} exists already, but the workload fills an empty place and removes it at the end",
                    self.path.display()
                ),
                hint: "name another place, or remove it if it comes from an earlier run of this command"
                    .to_owned(),
            }),
        }
    }

    /// Bytes that it takes on the disk.
    pub(super) fn stored_bytes(&self) -> Result<u64, WorkloadError> {
        let log = bytes_below(&self.log()).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(0),
            _ => Err(error),
        });
        bytes_below(&self.path)
            .and_then(|bytes| Ok(bytes + log?))
            .map_err(self.failed("cannot see the size of"))
    }

    /// Removes what a run has made there.
    pub(super) fn remove(&self) -> Result<(), WorkloadError> {
        let removed = match self.path.is_dir() {
            true => std::fs::remove_dir_all(&self.path),
            false => std::fs::remove_file(&self.path).and_then(|()| {
                match std::fs::remove_file(self.log()) {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }),
        };
        removed.map_err(self.failed("cannot remove"))
    }

    fn log(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(LOG);
        path.into()
    }

    fn failed(&self, doing: &'static str) -> impl Fn(std::io::Error) -> WorkloadError + use<> {
        let path = self.path.clone();
        move |source| WorkloadError::File {
            doing,
            path: path.clone(),
            source,
        }
    }
}

/// The sizes of a file, or of all files below a folder.
fn bytes_below(path: &Path) -> std::io::Result<u64> {
    let facts = path.symlink_metadata()?;
    if !facts.is_dir() {
        return Ok(facts.len());
    }
    let mut bytes = 0;
    for entry in path.read_dir()? {
        bytes += bytes_below(&entry?.path())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_made_measured_and_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| Columnstore {
            path: folder.path().join(name),
        };
        let file = at("x.duckdb");
        assert!(file.refuse_existing().is_ok());
        std::fs::write(file.path(), "12345").expect("written");
        std::fs::write(file.log(), "12").expect("written");
        std::fs::write(folder.path().join("x.duckdb.bak"), "1").expect("written");
        assert_eq!(file.stored_bytes().expect("it is there"), 7);
        let refused = file.refuse_existing().expect_err("it is there").told();
        assert!(refused.contains("x.duckdb"), "{refused}");
        file.remove().expect("removed");
        assert!(file.refuse_existing().is_ok() && !file.log().exists());
        assert!(folder.path().join("x.duckdb.bak").exists());

        let lake = at("lake");
        std::fs::create_dir_all(folder.path().join("lake/orders")).expect("made");
        std::fs::write(folder.path().join("lake/orders/1.parquet"), "123").expect("written");
        assert_eq!(lake.stored_bytes().expect("it is there"), 3);
        lake.remove().expect("removed");
        assert!(lake.refuse_existing().is_ok());
    }

    #[test]
    fn only_local_places_are_columnstores() {
        let path = |url: &str| Columnstore::of(url).map(|place| place.path);
        assert_eq!(path("x.duckdb"), Some("x.duckdb".into()));
        assert_eq!(path("parquet:lake"), Some("lake".into()));
        for url in [
            "embedded",
            "embedded:x",
            "postgresql://etl@dw/tpch",
            "adbc:sqlite",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }
}
