//! Paths in the folder, and files that survive a crash.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use inrush_destination::{Error, Result};
use inrush_rows::ids::{RunId, RunKey, UnitKey};
use inrush_rows::percent::percent_encoded;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The paths of all files and folders.
#[derive(Clone, Debug)]
pub struct Layout {
    folder: PathBuf,
}

impl Layout {
    pub fn new(folder: &Path) -> Layout {
        Layout {
            folder: folder.to_owned(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn catalog(&self) -> PathBuf {
        self.folder.join("catalog.json")
    }

    pub fn locks(&self) -> PathBuf {
        self.folder.join(".inrush/locks")
    }

    pub fn run_lock(&self, key: &RunKey) -> PathBuf {
        self.locks().join(percent_encoded(key.as_str().as_bytes()))
    }

    pub fn catalog_lock(&self) -> PathBuf {
        self.locks().join("catalog")
    }

    pub fn runs(&self) -> PathBuf {
        self.folder.join(".inrush/runs")
    }

    pub fn run(&self, run: impl Display) -> PathBuf {
        self.runs().join(run.to_string())
    }

    pub fn run_file(&self, run: impl Display) -> PathBuf {
        self.run(run).join("run.json")
    }

    /// The records of a run's units.
    pub fn all_units(&self, run: impl Display) -> PathBuf {
        self.run(run).join("units")
    }

    /// The records of the units of one staging.
    pub fn units(&self, run: impl Display, staging: impl Display) -> PathBuf {
        self.all_units(run).join(staging.to_string())
    }

    /// The rows of a run.
    pub fn all_rows(&self, run: impl Display) -> PathBuf {
        self.folder.join("rows").join(run.to_string())
    }

    /// The rows of one staging, as the catalog names their folder.
    pub fn rows_name(run: RunId, staging: u64) -> String {
        format!("rows/{run}/{staging}")
    }

    /// The rows of one staging.
    pub fn rows(&self, run: impl Display, staging: impl Display) -> PathBuf {
        self.all_rows(run).join(staging.to_string())
    }
}

/// The name of a unit's files. A key may be any text, so everything that has a meaning in a path is encoded.
pub fn unit_file(key: &UnitKey) -> String {
    format!("{}.json", percent_encoded(key.as_str().as_bytes()))
}

/// Makes the error of a call on a file an error of the destination.
pub trait Doing<T> {
    /// The result, whose error names the step and the path.
    fn doing(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::File {
            doing,
            path: path.display().to_string(),
            source,
        })
    }
}

/// True if the call failed because there is no such file. It is false for every other error.
pub fn is_absent<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Makes a folder, and the folders above it. They are on disk when it returns. Returns true if this call made the
/// folder.
pub fn make_folder(path: &Path) -> Result<bool> {
    if path.is_dir() {
        return Ok(false);
    }
    let above = folder_of(path);
    if !above.as_os_str().is_empty() {
        make_folder(above)?;
    }
    match fs::create_dir(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        made => made.doing("cannot make the folder", path)?,
    }
    sync_folder(above)?;
    Ok(true)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Returns once the names in a folder are on disk.
fn sync_folder(folder: &Path) -> Result<()> {
    let here = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let synced = File::open(here).and_then(|opened| opened.sync_all());
    synced.doing("cannot write the folder", here)
}

/// Removes a folder with all that is in it, if it is there.
pub fn remove_folder(path: &Path) -> Result<()> {
    let removed = fs::remove_dir_all(path);
    match is_absent(&removed) {
        true => Ok(()),
        false => removed.doing("cannot remove the folder", path),
    }
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<()> {
    let removed = fs::remove_file(path);
    match is_absent(&removed) {
        true => Ok(()),
        false => removed.doing("cannot remove", path),
    }
}

/// The paths in a folder, one after the other; none if the folder does not exist.
pub fn entries(path: &Path) -> Result<impl Iterator<Item = Result<PathBuf>>> {
    let opened = fs::read_dir(path);
    let opened = match is_absent(&opened) {
        true => None,
        false => Some(opened.doing("cannot read the folder", path)?),
    };
    let folder = path.to_owned();
    Ok(opened
        .into_iter()
        .flatten()
        .map(move |entry| Ok(entry.doing("cannot read the folder", &folder)?.path())))
}

/// Gives a file its name once its bytes are on disk, and returns once the name is on disk, too.
pub fn settle(file: &File, written: &Path, name: &Path) -> Result<()> {
    file.sync_all().doing("cannot write", written)?;
    fs::rename(written, name).doing("cannot rename", written)?;
    sync_folder(folder_of(name))
}

/// The path at which a file is written before it gets its name.
pub fn unfinished(name: &Path) -> PathBuf {
    name.with_extension("json.unfinished")
}

/// Writes a file in one step: a reader finds the old file or the new one, and never a part.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let written = unfinished(path);
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(io::Error::from)
        .doing("cannot write", path)?;
    text.push(b'\n');
    let mut file = File::create(&written).doing("cannot write", &written)?;
    file.write_all(&text).doing("cannot write", &written)?;
    settle(&file, &written, path)
}

/// Reads a file that this crate wrote; `None` if it is not there.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let read = fs::read(path);
    if is_absent(&read) {
        return Ok(None);
    }
    let text = read.doing("cannot read", path)?;
    serde_json::from_slice(&text).map(Some).map_err(|error| Error::Ledger {
        what: format!("{} cannot be read by this version of Inrush: {error}", path.display()),
        hint: "if another program changed it, restore the earlier file; if another version of Inrush wrote it, use \
               that version"
            .to_owned(),
    })
}

/// The rows of a unit's file, counted in the file.
pub fn count_rows(path: &Path) -> Result<u64> {
    let file = File::open(path).doing("cannot read", path)?;
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let (mut rows, mut at_line_start) = (0, true);
    loop {
        let bytes = reader.fill_buf().doing("cannot read", path)?;
        if bytes.is_empty() {
            return Ok(rows);
        }
        for &byte in bytes {
            rows += u64::from(at_line_start && byte == b'{');
            at_line_start = byte == b'\n';
        }
        let read = bytes.len();
        reader.consume(read);
    }
}

/// The rows of all units in a folder.
pub fn count_all_rows(folder: &Path) -> Result<u64> {
    let mut rows = 0;
    for path in entries(folder)? {
        rows += count_rows(&path?)?;
    }
    Ok(rows)
}

/// The bytes of all files in a folder.
pub fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in entries(folder)? {
        let path = path?;
        let facts = fs::metadata(&path).doing("cannot read the size of", &path)?;
        bytes += match facts.is_dir() {
            true => bytes_of(&path)?,
            false => facts.len(),
        };
    }
    Ok(bytes)
}
