//! Files and folders that survive a crash, and the atomic exchange of folders.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use inrush_destination::{Error, Result};
use inrush_system::small_file::SmallFile;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A record of the ledger.
const RECORD: SmallFile = SmallFile {
    what: "a record of a Parquet folder (JSON)",
    bytes_max: 1 << 30,
    may_be_pipe: false,
};

/// Creates a folder and its parents, and flushes them to the disk.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_folder(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(error) => return Err(Error::file("cannot make the folder", path)(error)),
    }
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Flushes the names in a folder to the disk.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(Error::file("cannot sync the folder", path))
}

/// Writes a value as JSON into a file. After a crash the file has its old or its new contents completely.
pub(super) fn write_whole<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    write_whole_by(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(Error::file("cannot write", path))
    })
}

/// Like [`write_whole`], for contents that are too large for memory.
pub(super) fn write_whole_by(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let file = File::create(&temporary).map_err(Error::file("cannot write", &temporary))?;
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all())
        .map_err(Error::file("cannot write", &temporary))?;
    fs::rename(&temporary, path).map_err(Error::file("cannot write", path))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Writes a value as one line of JSON.
pub(super) fn write_line<T: Serialize>(
    out: &mut BufWriter<File>,
    path: &Path,
    value: &T,
) -> Result<()> {
    serde_json::to_writer(&mut *out, value)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(Error::file("cannot write", path))
}

/// Reads a file that [`write_whole`] wrote; `None` if there is no such file.
pub(super) fn read_whole<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match RECORD.read(path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::file("cannot read", path)(error)),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| not_ours(path, &error))
}

/// Passes each line of a file that [`write_line`] wrote to `see`.
pub(super) fn each_line<T: DeserializeOwned>(path: &Path, see: &mut dyn FnMut(T)) -> Result<()> {
    let file = File::open(path).map_err(Error::file("cannot read", path))?;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(Error::file("cannot read", path))?;
        see(serde_json::from_str(&line).map_err(|error| not_ours(path, &error))?);
    }
    Ok(())
}

fn not_ours(path: &Path, error: &serde_json::Error) -> Error {
    Error::Ledger {
        what: format!(
            "{} cannot be read by this version of Inrush: {error}",
            path.display()
        ),
        hint:
            "another version wrote it, or it was changed by hand: use the version that wrote it, \
               or restore the file"
                .to_owned(),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Removes a file that may be gone already.
pub(super) fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => Err(Error::file("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes a folder with its contents, if it exists.
pub(super) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if !is_absent(&error) => Err(Error::file("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

/// The entries of a folder, sorted by name; empty if the folder does not exist.
pub(super) fn list(path: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    each(path, &mut |path| {
        paths.push(path);
        Ok(())
    })?;
    paths.sort();
    Ok(paths)
}

/// Passes each entry of a folder to `see`, in no order, for folders with a hundred thousand files. `see` may remove the
/// entry.
pub(super) fn each(path: &Path, see: &mut dyn FnMut(PathBuf) -> Result<()>) -> Result<()> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(Error::file("cannot list", path)(error)),
    };
    for entry in entries {
        see(entry.map_err(Error::file("cannot list", path))?.path())?;
    }
    Ok(())
}

/// True if a file's name ends with `.json`.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// Bytes of all files below a folder; 0 if it does not exist.
pub(super) fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in list(folder)? {
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // A running load may remove files meanwhile.
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(Error::file("cannot look at", &path)(error)),
        };
        bytes += match metadata.is_dir() {
            true => bytes_below(&path)?,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}

/// How two folders are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swap {
    /// Each folder gets the other's name.
    Exchange,
    /// The second name must not exist.
    New,
}

/// Gives the folder `new` the name `place`, in one atomic step.
pub(super) fn swap(new: &Path, place: &Path, how: Swap) -> io::Result<()> {
    let flags = match how {
        Swap::Exchange => RenameFlags::EXCHANGE,
        Swap::New => RenameFlags::NOREPLACE,
    };
    Ok(renameat_with(CWD, new, CWD, place, flags)?)
}

/// Checks in a temporary folder that the file system can exchange folders and link files.
pub(super) fn check_file_system(scratch: &Path) -> Result<()> {
    remove_folder(scratch)?;
    let (left, right) = (scratch.join("left"), scratch.join("right"));
    make_folder(&left)?;
    make_folder(&right)?;
    let file = left.join("file");
    File::create(&file).map_err(Error::file("cannot write", &file))?;
    let unable = |what: &str, error: io::Error| Error::Unsuitable {
        what: format!(
            "the file system of {} cannot {what} ({error}), so readers could see half of a table",
            scratch.display()
        ),
        hint: "use a folder on a local disk (ext4, XFS, Btrfs, tmpfs); network shares and mounted \
               object stores cannot do it"
            .to_owned(),
    };
    fs::hard_link(&file, right.join("file"))
        .map_err(|error| unable("give a file a second name (link)", error))?;
    swap(&left, &right, Swap::Exchange)
        .map_err(|error| unable("exchange two folders in one step (RENAME_EXCHANGE)", error))?;
    remove_folder(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let (new, place) = (folder.path().join("new"), folder.path().join("place"));
        make_folder(&new.join("inner")).unwrap();
        make_folder(&place).unwrap();
        assert!(swap(&new, &place, Swap::New).is_err());
        swap(&new, &place, Swap::Exchange).unwrap();
        assert!(place.join("inner").is_dir());
        assert!(new.is_dir() && !new.join("inner").exists());
        check_file_system(&folder.path().join("scratch")).unwrap();
    }

    #[test]
    fn small_files_are_there_whole_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        assert_eq!(read_whole::<Vec<u32>>(&path).unwrap(), None);
        write_whole(&path, &vec![1u32, 2]).unwrap();
        assert_eq!(read_whole(&path).unwrap(), Some(vec![1u32, 2]));
        fs::write(&path, "[1,").unwrap();
        let error = read_whole::<Vec<u32>>(&path).unwrap_err();
        assert!(matches!(error, Error::Ledger { .. }));
    }
}
