//! The folder of a run's rejects, for one attempt of the run.
//!
//! Every attempt writes into a separate folder. An attempt that resumes a run moves the files that it keeps into a new
//! folder, which then takes the place of the old one ([`RejectsFolder::renew`]). A process of an earlier attempt may
//! have been suspended for any length of time, and may continue. That process has the old folder open and does not use
//! the path. So it cannot remove or overwrite a file of a unit that another process has committed, even before it
//! learns that its run was resumed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, stat, unlinkat};
use rustix::io::Errno;

use crate::error::Error;

/// The folder of rejects, in the folder of its run.
pub const REJECTS: &str = "rejects";

/// The next attempt's folder, while kept files are moved into it.
const NEXT: &str = "rejects.next";

/// The folder of an earlier attempt, before it is removed.
const FORMER: &str = "rejects.former";

/// The folder of rejects of one attempt.
#[derive(Debug)]
pub struct RejectsFolder {
    /// The path of the folder, for messages. The folder of another attempt may be at this path now.
    path: PathBuf,
    folder: OwnedFd,
}

impl RejectsFolder {
    /// Opens the folder that is at this path now.
    pub fn open(path: &Path) -> Result<RejectsFolder, Error> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty());
        Ok(RejectsFolder {
            folder: folder.map_err(|errno| failed(path, errno))?,
            path: path.to_owned(),
        })
    }

    /// The path of the folder when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a new folder in the place of this one, and moves the files into it whose names `is_kept` accepts. From then
    /// on, changes in this folder have no effect on the new one. If the process is killed meanwhile,
    /// [`complete_renewal`] restores the folder. Fails if another folder is at its path now.
    pub fn renew(&self, is_kept: impl Fn(&str) -> bool) -> Result<RejectsFolder, Error> {
        let next_path = self.path.with_file_name(NEXT);
        let former_path = self.path.with_file_name(FORMER);
        let failed_at = |path: &Path| {
            let path = path.to_owned();
            move |source| failed(&path, source)
        };
        let made = fs::DirBuilder::new().mode(0o700).create(&next_path);
        made.map_err(failed_at(&next_path))?;
        let next = RejectsFolder::open(&next_path)?;
        // All names are read first: a folder must not be listed while files are moved out of it.
        for name in self.names(is_kept)? {
            let moved = renameat(&self.folder, &name, &next.folder, &name);
            moved.map_err(|errno| self.failed(&name, errno))?;
        }
        rustix::fs::fsync(&next.folder).map_err(|errno| failed(&next_path, errno))?;
        if self.was_replaced() {
            return Err(self.taken());
        }
        fs::rename(&self.path, &former_path).map_err(failed_at(&self.path))?;
        fs::rename(&next_path, &self.path).map_err(failed_at(&self.path))?;
        remove_former(&former_path)?;
        Ok(RejectsFolder {
            path: self.path.clone(),
            folder: next.folder,
        })
    }

    /// Creates a file that only its owner may read, or makes an old one empty.
    pub fn create(&self, name: &str) -> Result<File, Error> {
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        match openat(&self.folder, name, flags, mode) {
            Ok(file) => Ok(File::from(file)),
            // No file can be created in a folder that was removed.
            Err(Errno::NOENT) => Err(self.taken()),
            Err(errno) => Err(self.failed(name, errno)),
        }
    }

    /// Opens a file to read it.
    pub fn open_file(&self, name: &str) -> Result<File, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::empty());
        file.map(File::from)
            .map_err(|errno| self.failed(name, errno))
    }

    /// The size of a file, in bytes.
    pub fn size_bytes(&self, name: &str) -> Result<u64, Error> {
        let facts = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let facts = facts.map_err(|errno| self.failed(name, errno))?;
        Ok(u64::try_from(facts.st_size).unwrap_or(0))
    }

    /// Removes the files whose names `is_old` accepts.
    pub fn remove(&self, is_old: impl Fn(&str) -> bool) -> Result<(), Error> {
        for name in self.names(is_old)? {
            match unlinkat(&self.folder, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.failed(&name, errno)),
            }
        }
        Ok(())
    }

    /// The names of the files that `is_meant` accepts; none if the folder was removed.
    pub fn names(&self, is_meant: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
        let dir = match Dir::read_from(&self.folder) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(failed(&self.path, errno)),
        };
        let mut found = Vec::new();
        for entry in dir {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::NOENT) => break,
                Err(errno) => return Err(failed(&self.path, errno)),
            };
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
                && is_meant(name)
            {
                found.push(name.to_owned());
            }
        }
        Ok(found)
    }

    /// True if another folder is at the path now, or none.
    fn was_replaced(&self) -> bool {
        match (fstat(&self.folder), stat(&self.path)) {
            (Ok(own), Ok(there)) => (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino),
            _ => true,
        }
    }

    /// The error of a process whose run was resumed by another one.
    fn taken(&self) -> Error {
        Error::RejectsTaken {
            folder: self.path.display().to_string(),
        }
    }

    fn failed(&self, name: &str, errno: Errno) -> Error {
        failed(&self.path.join(name), errno)
    }
}

/// Completes a renewal that was interrupted: afterwards all kept files are in the folder of rejects again. Only the
/// process that holds the run may call it.
pub fn complete_renewal(run_folder: &Path) -> Result<(), Error> {
    let rejects = run_folder.join(REJECTS);
    let next = run_folder.join(NEXT);
    let failed_at = |source| failed(&next, source);
    if next.is_dir() {
        match rejects.is_dir() {
            // The old folder was renamed, but the new one was not.
            false => fs::rename(&next, &rejects).map_err(failed_at)?,
            true => {
                for entry in fs::read_dir(&next).map_err(failed_at)? {
                    let entry = entry.map_err(failed_at)?;
                    let back = rejects.join(entry.file_name());
                    fs::rename(entry.path(), back).map_err(failed_at)?;
                }
                fs::remove_dir(&next).map_err(failed_at)?;
            }
        }
    }
    remove_former(&run_folder.join(FORMER))
}

/// Removes the folder of an earlier attempt. If a process of that attempt creates a file there at this moment, the
/// folder stays; nobody reads it.
fn remove_former(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(source)
            if !matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Err(failed(path, source))
        }
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: impl Into<io::Error>) -> Error {
    Error::Folder {
        path: path.display().to_string(),
        source: source.into(),
    }
}

/// Tells which files belong to some pieces of work: the stem of a file begins with the name of its piece.
pub struct FilesOf<'a>(HashSet<&'a str>);

impl<'a> FilesOf<'a> {
    /// The files of the pieces with these names.
    pub fn pieces(names: impl IntoIterator<Item = &'a String>) -> FilesOf<'a> {
        FilesOf(names.into_iter().map(String::as_str).collect())
    }

    /// True if a file with this stem belongs to one of them. The rejects of a piece may be in several files, whose
    /// stems continue after a dot.
    pub fn has(&self, stem: &str) -> bool {
        let dots = stem.match_indices('.').map(|(at, _)| at);
        dots.chain([stem.len()])
            .any(|end| self.0.contains(&stem[..end]))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use tempfile::{TempDir, tempdir};

    use super::*;

    fn run_folder() -> (TempDir, RejectsFolder) {
        let run = tempdir().expect("a folder");
        fs::create_dir(run.path().join(REJECTS)).expect("made");
        let folder = RejectsFolder::open(&run.path().join(REJECTS)).expect("opened");
        (run, folder)
    }

    fn write(folder: &RejectsFolder, name: &str, text: &str) {
        let mut file = folder.create(name).expect("created");
        file.write_all(text.as_bytes()).expect("written");
    }

    fn text(folder: &RejectsFolder, name: &str) -> String {
        let mut text = String::new();
        let mut file = folder.open_file(name).expect("there");
        file.read_to_string(&mut text).expect("read");
        text
    }

    fn names_in(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).expect("listed");
        let names = entries.map(|entry| entry.expect("listed").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("text")).collect();
        names.sort();
        names
    }

    #[test]
    fn a_process_of_an_earlier_attempt_touches_no_file_of_the_next_one() {
        let (run, late) = run_folder();
        for name in ["kept.rejects", "left.rejects"] {
            write(&late, name, name);
        }
        let open = late.create("open.rejects").expect("created");
        let first = RejectsFolder::open(late.path()).expect("opened");
        let own = first.renew(|name| name == "kept.rejects").expect("renewed");
        write(&own, "left.rejects", "loaded again");
        write(&own, "open.rejects", "loaded again");
        let before = names_in(own.path());

        late.remove(|_| true).expect("removed there");
        (&open).write_all(b"late").expect("written there");
        let refused = late.create("left.rejects").expect_err("the folder is gone");
        assert!(matches!(refused, Error::RejectsTaken { .. }), "{refused}");
        assert!(matches!(
            late.renew(|_| true),
            Err(Error::RejectsTaken { .. })
        ));

        assert_eq!(before, ["kept.rejects", "left.rejects", "open.rejects"]);
        assert_eq!(names_in(own.path()), before);
        assert_eq!(text(&own, "kept.rejects"), "kept.rejects");
        assert_eq!(text(&own, "left.rejects"), "loaded again");
        assert_eq!(text(&own, "open.rejects"), "loaded again");
        // The late process left `rejects.next`, and the next attempt removes it.
        complete_renewal(run.path()).expect("completed");
        assert_eq!(names_in(run.path()), [REJECTS]);
        assert_eq!(names_in(own.path()), before);
    }

    #[test]
    fn a_renewal_that_was_interrupted_loses_no_file() {
        // The kill came after files were moved (0), after the old folder was renamed (1), or after both folders were
        // renamed (2).
        for renamed in 0..=2 {
            let (run, folder) = run_folder();
            write(&folder, "moved.rejects", "1");
            write(&folder, "left.rejects", "2");
            let (next, former) = (run.path().join(NEXT), run.path().join(FORMER));
            fs::create_dir(&next).expect("made");
            let moved = next.join("moved.rejects");
            fs::rename(folder.path().join("moved.rejects"), moved).expect("moved");
            if renamed > 0 {
                fs::rename(folder.path(), &former).expect("renamed");
            }
            if renamed > 1 {
                fs::rename(&next, folder.path()).expect("renamed");
            }
            complete_renewal(run.path()).expect("completed");
            assert_eq!(names_in(run.path()), [REJECTS], "{renamed}");
            let found = names_in(folder.path());
            let all = ["left.rejects".to_owned(), "moved.rejects".to_owned()];
            assert_eq!(found, all[usize::from(renamed > 0)..], "{renamed}");
        }
    }

    #[test]
    fn a_piece_has_the_files_whose_stems_continue_after_a_dot() {
        let names = ["f.0123".to_owned(), "a.b.4567-2".to_owned()];
        let files = FilesOf::pieces(&names);
        for (stem, is_of_one) in [
            ("f.0123", true),
            ("f.0123.last2", true),
            ("f.0123-1", false),
            ("f", false),
            ("a.b.4567-2.utf-16le", true),
            ("a.b.4567-21", false),
        ] {
            assert_eq!(files.has(stem), is_of_one, "{stem}");
        }
    }
}
