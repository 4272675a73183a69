//! Writes files of results so that a reader never sees an incomplete file.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::WorkloadError;

/// Writes a file under another name first, and then renames it. So the file is complete even if the writer is killed.
pub fn write_whole(path: &Path, text: &str) -> Result<(), WorkloadError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&unfinished)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&unfinished, path)
    };
    write().map_err(|source| WorkloadError::File {
        doing: "cannot write",
        path: path.to_owned(),
        source,
    })
}
