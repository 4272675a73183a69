//! The next generation of a table. It is made beside the table and exchanged with it in one step; then the old one is
//! retired.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inrush_destination::{Error, Result};
use inrush_rows::ids::RunId;

use crate::data_file::DataFile;
use crate::files::{self, Swap};
use crate::layout::Layout;
use crate::ledger::{GENERATION, Generation, Root};
use crate::names;
use crate::options::Options;

/// A next generation under construction.
pub(super) struct Building {
    pub(super) folder: PathBuf,
    /// All its folders, to be flushed.
    folders: BTreeSet<PathBuf>,
}

impl Building {
    pub(super) fn new(folder: PathBuf) -> Result<Building> {
        files::remove_folder(&folder)?;
        files::make_folder(&folder)?;
        Ok(Building {
            folders: BTreeSet::from([folder.clone()]),
            folder,
        })
    }

    fn make_place(&mut self, name: &Path) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| *folder != self.folder) {
            self.folders.insert(folder.to_owned());
            above = folder.parent();
        }
        if let Some(parent) = path.parent()
            && !parent.is_dir()
        {
            fs::create_dir_all(parent).map_err(Error::file("cannot make the folder", parent))?;
        }
        Ok(path)
    }

    pub(super) fn link(&mut self, from: &Path, name: &Path) -> Result<()> {
        let path = self.make_place(name)?;
        fs::hard_link(from, &path).map_err(Error::file("cannot link", from))
    }

    /// Adds a file without rows and with this name, so that a table without rows still has its columns.
    pub(super) fn add_empty(
        &mut self,
        layout: &Layout,
        options: &Options,
        name: &str,
    ) -> Result<()> {
        let mut partition = String::new();
        for column in &layout.partitions {
            if !partition.is_empty() {
                partition.push('/');
            }
            names::push_partition(&mut partition, &column.name, None);
        }
        let path = self.make_place(Path::new(&join(&partition, name)))?;
        DataFile::create(path, layout, options, &[], 0)?.close()?;
        Ok(())
    }

    pub(super) fn finish(&self, generation: &Generation) -> Result<()> {
        files::write_whole(&self.folder.join(GENERATION), generation)?;
        self.flush()
    }

    /// Flushes the names of its files to the disk.
    pub(super) fn flush(&self) -> Result<()> {
        for folder in &self.folders {
            files::sync_folder(folder)?;
        }
        Ok(())
    }
}

/// Exchanges the table's folder, and retires the old one.
/// `table` is its path, `name` its name in messages.
pub(super) fn exchange(root: &Root, table: &Path, name: &str, next: &Path) -> Result<()> {
    let place = root.folder().join(table);
    let parent = place.parent().unwrap_or(Path::new("."));
    files::make_folder(parent)?;
    let how = match place.is_dir() {
        true => Swap::Exchange,
        false => Swap::New,
    };
    files::swap(next, &place, how).map_err(|error| Error::Refused {
        doing: format!("putting the new files of table {name} in place"),
        message: error.to_string(),
        hint: match error.kind() {
            io::ErrorKind::CrossesDevices => Some(format!(
                "{} must be a folder of the same file system as {}, not a mount",
                place.display(),
                root.folder().display()
            )),
            io::ErrorKind::AlreadyExists => {
                Some("somebody created it meanwhile: run the same command again".to_owned())
            }
            _ => None,
        },
    })?;
    files::sync_folder(parent)?;
    if how == Swap::Exchange {
        files::sync_folder(next.parent().unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Retires an old generation. Files that no other generation has are removed now, to free their space. The links to
/// files that stay remain in the old generation until the next run begins, for readers that are listing it: a reader
/// that lists while names disappear would miss files that still exist.
pub(super) fn retire(root: &Root, run_id: RunId, old: &Path) -> Result<()> {
    if !old.is_dir() {
        return Ok(());
    }
    files::make_folder(&root.retired())?;
    let place = retired(root, run_id, old);
    files::remove_folder(&place)?;
    fs::rename(old, &place).map_err(Error::file("cannot put away", old))?;
    remove_alone(&place)
}

/// The path to which an old generation is moved.
pub(super) fn retired(root: &Root, run_id: impl Display, old: &Path) -> PathBuf {
    let name = old.file_name().unwrap_or_default().to_string_lossy();
    root.retired().join(format!("{run_id}-{name}"))
}

fn remove_alone(folder: &Path) -> Result<()> {
    for path in files::list(folder)? {
        // A run that begins now may remove it at the same time.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            remove_alone(&path)?;
        } else if metadata.nlink() == 1 {
            files::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The path of a file in the folder of its partition, relative to the table's.
pub(super) fn join(partition: &str, name: &str) -> String {
    match partition {
        "" => name.to_owned(),
        partition => format!("{partition}/{name}"),
    }
}
