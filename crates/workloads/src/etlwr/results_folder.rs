//! The folders that a measurement writes to. They are checked before it begins. At the end they get the results as
//! JSON, as a page and, for a sweep, as a picture.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::results::Results;
use super::settings::Settings;
use super::{chart, markdown};
use crate::error::WorkloadError;
use crate::whole_file::write_whole;

/// Fails before hours of loading if results or runs cannot be written.
pub fn try_folders(settings: &Settings) -> Result<(), WorkloadError> {
    let folders: [(_, &Path, _); 2] = [
        ("cannot write results into", &settings.results, 0o777),
        // Only the owner may read it, as for a run, because it contains rows of the input.
        ("cannot write runs into", &settings.runs_folder, 0o700),
    ];
    for (doing, folder, mode) in folders {
        let tried = DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder).map(drop));
        tried.map_err(|source| WorkloadError::File {
            doing,
            path: folder.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Writes all forms of the results into a folder.
pub fn write(results: &Results, folder: &Path) -> Result<(), WorkloadError> {
    let text = serde_json::to_string_pretty(results).map_err(|error| WorkloadError::File {
        doing: "cannot write",
        path: folder.to_owned(),
        source: std::io::Error::other(error),
    })?;
    std::fs::create_dir_all(folder).map_err(|source| WorkloadError::File {
        doing: "cannot make the folder",
        path: folder.to_owned(),
        source,
    })?;
    write_whole(&folder.join("results.json"), &format!("{text}\n"))?;
    write_whole(&folder.join("summary.md"), &markdown::page(results))?;
    if results.curve.len() > 1 {
        write_whole(&folder.join(chart::FILE_NAME), &chart::svg(&results.curve))?;
    }
    Ok(())
}
