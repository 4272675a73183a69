//! A data folder that is held open, so that all checks look into the same folder.
//!
//! A package may name the data folder, and others may write to the package's folder: they may exchange a link on the way to
//! the data, or the data folder itself, between a check and the start of the server. So a path is resolved once and its
//! folder is opened once. The checks look into the open folder. The server gets the resolved path. This path must still
//! lead to the open folder before each program is started with it, and again when the server runs.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use crate::error::EmbeddedError;

/// The most bytes that are read of a small file. It holds an ID, a version, or a path of at most 4,096 bytes.
const SMALL_BYTES_MAX: u64 = 4_096;

/// An open data folder.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    path: PathBuf,
    handle: File,
}

impl OpenFolder {
    /// Opens the folder that a path means now.
    pub fn open(path: &Path) -> io::Result<OpenFolder> {
        let path = path.canonicalize()?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)?;
        Ok(OpenFolder { path, handle })
    }

    /// The resolved path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open folder itself. Locks are taken on it, and the server's processes inherit it.
    pub fn handle(&self) -> &File {
        &self.handle
    }

    /// The name of one of the things in it; `None` if it is empty.
    pub fn first_entry(&self) -> io::Result<Option<String>> {
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                return Ok(Some(name.to_string_lossy().into_owned()));
            }
        }
        Ok(None)
    }

    /// The content of a small regular file in it; a link is not followed.
    pub fn read_small(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        read_small(file)
    }

    /// Writes a small file that only the caller can read and write. Replaces an existing file of that name.
    pub fn write_small(&self, name: &str, text: &[u8]) -> io::Result<()> {
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(text)
    }

    /// Fails if the path now leads to another folder.
    pub fn require_in_place(&self) -> Result<(), EmbeddedError> {
        self.require_same(self.path.symlink_metadata())
    }

    /// Fails if a process has another working folder. The process must run as this user or be a child.
    pub fn require_works_here(&self, process_id: u32) -> Result<(), EmbeddedError> {
        self.require_in_place()?;
        let folder = PathBuf::from(format!("/proc/{process_id}/cwd"));
        match folder.metadata() {
            // The process has ended, or the system does not let us look. Then the check of the path must suffice.
            Err(_) => Ok(()),
            found => self.require_same(found),
        }
    }

    fn require_same(&self, found: io::Result<Metadata>) -> Result<(), EmbeddedError> {
        let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let is_same = match (found, self.handle.metadata()) {
            (Ok(found), Ok(own)) => identity(&found) == identity(&own),
            _ => false,
        };
        match is_same {
            true => Ok(()),
            false => Err(EmbeddedError::FolderReplaced {
                folder: self.path.clone(),
            }),
        }
    }
}

/// The content of a small regular file.
pub(crate) fn read_small(file: File) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = Vec::new();
    file.take(SMALL_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_is_exchanged_later_changes_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let (good, bad) = (parent.path().join("good"), parent.path().join("bad"));
        fs::create_dir(&good).unwrap();
        fs::create_dir(&bad).unwrap();
        fs::write(bad.join("PG_VERSION"), "bad").unwrap();
        let link = parent.path().join("data");
        symlink(&good, &link).unwrap();
        let open = OpenFolder::open(&link).unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&bad, &link).unwrap();
        assert_eq!(open.path(), good.canonicalize().unwrap());
        assert_eq!(open.first_entry().unwrap(), None);
        open.require_in_place().unwrap();
    }

    #[test]
    fn another_folder_in_its_place_is_seen() {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("PG_VERSION"), "18\n").unwrap();
        let open = OpenFolder::open(&data).unwrap();
        let away = parent.path().join("away");
        fs::rename(&data, &away).unwrap();
        let refused = |open: &OpenFolder| match open.require_in_place() {
            Err(EmbeddedError::FolderReplaced { folder }) => assert_eq!(folder, open.path()),
            other => panic!("{other:?}"),
        };
        refused(&open);
        symlink(&away, &data).unwrap();
        refused(&open);
        fs::remove_file(&data).unwrap();
        fs::create_dir(&data).unwrap();
        refused(&open);
        // The file that is read is the one that was opened.
        assert_eq!(open.read_small("PG_VERSION").unwrap(), b"18\n");
    }

    #[test]
    fn a_process_that_works_elsewhere_is_seen() {
        let elsewhere = tempfile::tempdir().unwrap();
        let here = OpenFolder::open(&std::env::current_dir().unwrap()).unwrap();
        here.require_works_here(std::process::id()).unwrap();
        let open = OpenFolder::open(elsewhere.path()).unwrap();
        assert!(open.require_works_here(std::process::id()).is_err());
    }
}
