//! Empty files with the names and sizes of the files that will be generated. The load is planned with them before the
//! data is generated, so that a load which would be refused is refused at once.
//!
//! A plan of this workload reads only names, sizes and first bytes: columns and format are declared, and the bounds of
//! the partitions come from the rows. So the plan with empty files equals the plan with the data.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::data::TableFiles;
use super::disposable::Disposable;
use crate::error::WorkloadError;

/// Files to plan with; they are removed when this is dropped.
pub struct StandIns {
    /// The tables, with their existing files if there are any.
    pub tables: Vec<TableFiles>,
    folder: Disposable,
}

impl StandIns {
    /// Creates the files in a separate folder inside `parent`. They use no disk space, because they have no contents.
    pub fn make(tables: &[TableFiles], parent: &Path) -> Result<StandIns, WorkloadError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WorkloadError::File {
                doing: "cannot make a file to plan with in",
                path,
                source,
            }
        };
        let folder = Disposable::make(parent).map_err(failed(parent))?;
        let mut tables = tables.to_vec();
        for table in &mut tables {
            let size_bytes = table.bytes / table.files.len().max(1) as u64;
            for path in table.files.values_mut().filter(|path| !path.exists()) {
                *path = empty(folder.path(), path, size_bytes).map_err(failed(folder.path()))?;
            }
        }
        Ok(StandIns { tables, folder })
    }

    /// Their folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn empty(folder: &Path, like: &Path, size_bytes: u64) -> io::Result<PathBuf> {
    let path = folder.join(like.file_name().unwrap_or_default());
    File::create_new(&path)?.set_len(size_bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tpch;

    #[test]
    fn files_that_are_there_stand_for_themselves() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |part: u32| folder.path().join(format!("orders.tbl.{part}"));
        std::fs::write(path(2), "1|").expect("written");
        let tables = [TableFiles {
            table: tpch::table("orders").expect("it is one"),
            files: BTreeMap::from([1, 2].map(|part| (part, path(part)))),
            bytes: 3_000_000_000,
        }];
        let made = StandIns::make(&tables, folder.path()).expect("made");
        let own = made.folder().join("orders.tbl.1");
        assert_eq!(
            made.tables[0].files,
            BTreeMap::from([(1, own.clone()), (2, path(2))])
        );
        assert_eq!(own.metadata().expect("it is there").len(), 1_500_000_000);
        assert!(!path(1).exists());
        let gone = made.folder().to_owned();
        drop(made);
        assert!(!gone.exists());
    }
}
