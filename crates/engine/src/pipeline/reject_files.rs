//! The names of reject files in the run's folder. A name is made of the flow's name and the unit's key, because the key
//! stays the same if other files join the package between two attempts.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use inrush_plan::identity;
use inrush_plan::units::part::Part;
use inrush_rows::ids::UnitKey;

use crate::error::Error;
use crate::report::{FilesOf, REASONS_SUFFIX, ROWS_SUFFIX, RejectsFolder, reject_file_name};

/// The name of the file of the unit with this key.
pub fn of_key(flow: &str, unit_key: &UnitKey) -> String {
    format!("{flow}.{}", unit_key.short())
}

/// The name of the file for the ledger's record with this key: a unit, or ranges of a fed unit.
pub fn of_record(flow: &str, record_key: &UnitKey) -> String {
    let unit_key = identity::unit_of(record_key);
    format!(
        "{}{}",
        of_key(flow, &unit_key),
        &record_key.as_str()[unit_key.as_str().len()..]
    )
}

/// The name of the reject file for a part of a unit, if only units have keys in the ledger. The name contains the
/// number of the split, even if the unit has only one split. For ranges of a fed file it also contains their first
/// byte. The names must not change: a resumed run looks for the files of its earlier attempts.
pub fn of_part(flow: &str, unit_key: &UnitKey, part: Part) -> String {
    let of_unit = of_key(flow, unit_key);
    match part {
        Part::Whole => of_unit,
        Part::Split(number) => format!("{of_unit}-{number}"),
        Part::Ranges { split, text_start } => format!("{of_unit}-{split}-{text_start}"),
    }
}

/// Removes the files of a unit's parts, because the unit was loaded again as a whole.
pub fn remove_parts(folder: &RejectsFolder, flow: &str, unit_key: &UnitKey) -> Result<(), Error> {
    let beginning = reject_file_name(&format!("{}-", of_key(flow, unit_key)));
    folder.remove(|name| name.starts_with(&beginning))
}

/// Removes the files with these names.
pub fn remove_those(folder: &RejectsFolder, names: &[String]) -> Result<(), Error> {
    let files = FilesOf::pieces(names);
    folder.remove(|name| is_of(name, &files))
}

/// True if a file of rejects belongs to one of the pieces.
pub fn is_of(name: &str, files: &FilesOf<'_>) -> bool {
    stem_of(name).is_some_and(|stem| files.has(stem))
}

/// The number of rejects in the files of these names.
pub fn count(folder: &RejectsFolder, names: &[String]) -> Result<u64, Error> {
    let files = FilesOf::pieces(names);
    let is_meant = |name: &str| {
        let stem = name.strip_suffix(REASONS_SUFFIX);
        stem.is_some_and(|stem| files.has(stem))
    };
    let mut found = 0;
    for name in folder.names(is_meant)? {
        let lines = lines_in(folder.open_file(&name)?);
        found += lines.map_err(|source| Error::Folder {
            path: folder.path().join(name).display().to_string(),
            source,
        })?;
    }
    Ok(found)
}

/// The size of the files of these names, in bytes.
pub fn bytes(folder: &RejectsFolder, names: &[String]) -> Result<u64, Error> {
    let files = FilesOf::pieces(names);
    let mut found = 0;
    for name in folder.names(|name| is_of(name, &files))? {
        found += folder.size_bytes(&name)?;
    }
    Ok(found)
}

/// The number of lines of a file, which may be larger than memory.
pub fn line_count(path: &Path) -> io::Result<u64> {
    lines_in(File::open(path)?)
}

fn lines_in(file: File) -> io::Result<u64> {
    let mut file = BufReader::new(file);
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
