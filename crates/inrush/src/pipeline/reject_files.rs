//! Which files of the run's folder hold whose rejects: named after a flow and the key of a unit, which stays what it is
//! when other files join the package between two attempts.

use std::path::Path;
use std::{fs, io};

use crate::error::Error;
use crate::plan::identity;
use crate::report::{REASONS_SUFFIX, ROWS_SUFFIX};

/// The name of the file of the unit with this key.
pub fn of_key(flow: &str, unit_key: &str) -> String {
    format!("{flow}.{}", &unit_key[..identity::KEY_DIGITS])
}

/// Removes all files but those of these names.
pub fn remove_all_but(folder: &Path, names: &[String]) -> Result<(), Error> {
    remove(folder, |name| {
        let stem = name
            .strip_suffix(REASONS_SUFFIX)
            .or_else(|| name.strip_suffix(ROWS_SUFFIX));
        stem.is_some_and(|stem| !names.iter().any(|name| is_of(stem, name)))
    })
}

/// How many rejects the files of these names tell of.
pub fn count(folder: &Path, names: &[String]) -> Result<u64, Error> {
    let failed = failed_in(folder);
    let mut found = 0;
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let path = entry.map_err(&failed)?.path();
        let own = path.file_name().and_then(|own| own.to_str());
        let stem = own.and_then(|own| own.strip_suffix(REASONS_SUFFIX));
        if stem.is_some_and(|stem| names.iter().any(|name| is_of(stem, name))) {
            let text = fs::read(&path).map_err(&failed)?;
            found += text.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }
    Ok(found)
}

/// Whether a file's stem is such a name. A unit's rows may stand in several files, whose names go
/// on with a point.
fn is_of(stem: &str, name: &str) -> bool {
    let rest = stem.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Removes the files whose names are old.
pub fn remove(folder: &Path, is_old: impl Fn(&str) -> bool) -> Result<(), Error> {
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
