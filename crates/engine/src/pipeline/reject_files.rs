//! The names of reject files in the run's folder. A name is made of the flow's name and the unit's key, because the key
//! stays the same if other files join the package between two attempts.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use inrush_rows::ids::UnitKey;

use crate::error::Error;
use crate::plan::identity;
use crate::report::{REASONS_SUFFIX, ROWS_SUFFIX, reject_file_name};

/// The name of the file of the unit with this key.
pub fn of_key(flow: &str, unit_key: &UnitKey) -> String {
    format!("{flow}.{}", unit_key.short())
}

/// The name of the file for the ledger's record with this key: a unit, or ranges of a fed unit. A destination whose ledger has
/// keys only for units names the files of splits itself.
pub fn of_record(flow: &str, record_key: &UnitKey) -> String {
    let unit_key = identity::unit_of(record_key);
    format!(
        "{}{}",
        of_key(flow, &unit_key),
        &record_key.as_str()[unit_key.as_str().len()..]
    )
}

/// Removes the files of a unit's parts, because the unit was loaded again as a whole.
pub fn remove_parts(folder: &Path, flow: &str, unit_key: &UnitKey) -> Result<(), Error> {
    let beginning = reject_file_name(&format!("{}-", of_key(flow, unit_key)));
    remove(folder, |name| name.starts_with(&beginning))
}

/// Removes all files except those with these names.
pub fn remove_all_but(folder: &Path, names: &[String]) -> Result<(), Error> {
    remove(folder, |name| {
        stem_of(name).is_some_and(|stem| !names.iter().any(|name| is_of(stem, name)))
    })
}

/// Removes the files with these names.
pub fn remove_those(folder: &Path, names: &[String]) -> Result<(), Error> {
    remove(folder, |name| {
        stem_of(name).is_some_and(|stem| names.iter().any(|name| is_of(stem, name)))
    })
}

/// The number of rejects in the files of these names.
pub fn count(folder: &Path, names: &[String]) -> Result<u64, Error> {
    let failed = failed_in(folder);
    let mut found = 0;
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let path = entry.map_err(&failed)?.path();
        let own = path.file_name().and_then(|own| own.to_str());
        let stem = own.and_then(|own| own.strip_suffix(REASONS_SUFFIX));
        if stem.is_some_and(|stem| names.iter().any(|name| is_of(stem, name))) {
            found += line_count(&path).map_err(&failed)?;
        }
    }
    Ok(found)
}

/// The size of the files of these names, in bytes.
pub fn bytes(folder: &Path, names: &[String]) -> Result<u64, Error> {
    let failed = failed_in(folder);
    let mut found = 0;
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        if let Some(stem) = entry.file_name().to_str().and_then(stem_of)
            && names.iter().any(|name| is_of(stem, name))
        {
            found += entry.metadata().map_err(&failed)?.len();
        }
    }
    Ok(found)
}

/// The number of lines of a file, which may be larger than memory.
pub fn line_count(path: &Path) -> io::Result<u64> {
    let mut file = BufReader::new(File::open(path)?);
    let mut count = 0;
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(count);
        }
        count += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let length = bytes.len();
        file.consume(length);
    }
}

/// The name of a file of rejects without its ending; `None` for any other file.
fn stem_of(name: &str) -> Option<&str> {
    let reasons = name.strip_suffix(REASONS_SUFFIX);
    reasons.or_else(|| name.strip_suffix(ROWS_SUFFIX))
}

/// True if a file's stem belongs to this name. A unit's rejects may be in several files, whose names continue after a
/// dot.
fn is_of(stem: &str, name: &str) -> bool {
    let rest = stem.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Removes the files whose names `is_old` accepts.
fn remove(folder: &Path, is_old: impl Fn(&str) -> bool) -> Result<(), Error> {
    let failed = failed_in(folder);
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        if entry.file_name().to_str().is_some_and(&is_old) {
            fs::remove_file(entry.path()).map_err(&failed)?;
        }
    }
    Ok(())
}

fn failed_in(folder: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Folder {
        path: folder.display().to_string(),
        source,
    }
}
