//! Checks that files and database fit on their disks, before anything is created.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inrush::free_space::free_bytes;
use inrush::quantity::bytes;

use crate::error::WorkloadError;
use crate::tpch::TableSize;

/// The size of a new server, including its WAL. The WAL does not contain the rows, because parts that one stream loads
/// are not logged.
const SERVER_BYTES: u64 = 300_000_000;

/// Something that will be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The content.
    pub what: &'static str,
    /// The folder; it need not exist.
    pub folder: PathBuf,
    /// The number of bytes.
    pub bytes: u64,
}

/// The disk space of the database at `url`, if it is an embedded database. The data of a temporary database are in
/// `temporary`. For any other server, the load's own plan checks the disk.
pub fn of_database(sizes: &[TableSize], url: &str, temporary: &Path) -> Vec<Need> {
    let folder = match url.trim().strip_prefix("embedded") {
        Some("") => temporary.to_owned(),
        Some(rest) => match rest.strip_prefix(':') {
            Some(folder) => PathBuf::from(folder),
            None => return Vec::new(),
        },
        None => return Vec::new(),
    };
    let stored: u64 = sizes.iter().map(TableSize::stored_bytes).sum();
    vec![Need {
        what: "the database",
        folder,
        bytes: stored + SERVER_BYTES,
    }]
}

/// Refuses needs that exceed the free space of a disk. Needs on the same disk are added up.
pub fn require(needs: &[Need]) -> Result<(), WorkloadError> {
    let mut disks: Vec<(u64, PathBuf, Vec<&Need>)> = Vec::new();
    for need in needs.iter().filter(|need| need.bytes > 0) {
        let (disk, place) = disk_of(&need.folder)?;
        match disks.iter_mut().find(|(known, ..)| *known == disk) {
            Some((_, _, own)) => own.push(need),
            None => disks.push((disk, place, vec![need])),
        }
    }
    for (_, place, own) in disks {
        let free = free_bytes(&place).map_err(|source| WorkloadError::File {
            doing: "cannot see how much room is left at",
            path: place.clone(),
            source,
        })?;
        let all: u64 = own.iter().map(|need| need.bytes).sum();
        if all > free {
            let what: Vec<String> = own
                .iter()
                .map(|need| format!("{} for {}", bytes(need.bytes), need.what))
                .collect();
            return Err(WorkloadError::Room {
                what: what.join(" and "),
                all: bytes(all),
                free: bytes(free),
                place,
            });
        }
    }
    Ok(())
}

/// The disk of a folder, and the nearest folder on it that exists.
fn disk_of(folder: &Path) -> Result<(u64, PathBuf), WorkloadError> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for place in absolute.ancestors() {
        match std::fs::metadata(place) {
            Ok(facts) => return Ok((facts.dev(), place.to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(WorkloadError::File {
                    doing: "cannot look at",
                    path: place.to_owned(),
                    source,
                });
            }
        }
    }
    Ok((0, PathBuf::from("/")))
}

#[cfg(test)]
mod tests {
    use inrush::ExitStatus;

    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_figures() {
        let folder = tempfile::tempdir().unwrap();
        let need = |bytes, what| Need {
            what,
            folder: folder.path().join("not/there/yet"),
            bytes,
        };
        assert!(require(&[need(1, "the files"), need(1, "the database")]).is_ok());
        let free = free_bytes(folder.path()).unwrap();
        // Each need fits by itself, but not both together.
        let half = free / 4 * 3;
        let error = require(&[need(half, "the files"), need(half, "the database")])
            .expect_err("together they are");
        assert_eq!(error.exit_status(), ExitStatus::Failed);
        let text = error.told();
        for part in ["the files", "the database", "free"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
