//! The folders that a measurement writes into.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::settings::Settings;
use crate::error::WorkloadError;

/// Finds out before hours of loading that results or runs cannot be written.
pub fn try_folders(settings: &Settings) -> Result<(), WorkloadError> {
    let folders: [(_, &Path, _); 2] = [
        ("cannot write results into", &settings.results, 0o777),
        // As a run makes it: rows of the input stand in it.
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
