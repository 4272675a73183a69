//! The server extension that Inrush brings, in a folder that the server's user can read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{EmbeddedError, file_error};
use crate::folder;
use crate::server_user::OsAccount;
use crate::settings::Setting;

/// The first version of PostgreSQL that finds extensions in any folder.
const MAJOR_MIN: u32 = 18;

/// The folders in it: control files and scripts, and the library.
const PARTS: [&str; 2] = ["extension", "lib"];

/// The folder that the server's settings name. It is `None` if this version has no such settings, if a part of the
/// extension is missing, or if the settings cannot name the folder. A server that runs as another user gets a copy in
/// its private folder `private`, because that user may not reach the original.
pub(crate) fn reachable(
    folder: &Path,
    major: u32,
    account: &OsAccount,
    private: &Path,
) -> Result<Option<PathBuf>, EmbeddedError> {
    // The settings are lists, in which a colon ends a path.
    let is_nameable = |path: &Path| path.to_str().is_some_and(|path| !path.contains(':'));
    let is_there = PARTS.iter().all(|part| folder.join(part).is_dir());
    if major < MAJOR_MIN || !is_there {
        return Ok(None);
    }
    if !account.change {
        return Ok(is_nameable(folder).then(|| folder.to_owned()));
    }
    let copy = private.join("server");
    if !is_nameable(&copy) {
        return Ok(None);
    }
    folder::make_inside(&copy, account)?;
    for part in PARTS {
        let (from, to) = (folder.join(part), copy.join(part));
        folder::make_inside(&to, account)?;
        for entry in fs::read_dir(&from).map_err(file_error("cannot read", &from))? {
            let entry = entry.map_err(file_error("cannot read", &from))?;
            let path = entry.path();
            fs::copy(&path, to.join(entry.file_name()))
                .map_err(file_error("cannot copy", &path))?;
        }
    }
    Ok(Some(copy))
}

/// The settings by which the server finds it.
pub(crate) fn settings(folder: &Path) -> [Setting; 2] {
    let why = "the server finds the extension of Inrush, which stores rows in less time";
    [
        Setting::new(
            "extension_control_path",
            format!("$system:{}", folder.display()),
            why,
        ),
        Setting::new(
            "dynamic_library_path",
            format!("$libdir:{}", folder.join("lib").display()),
            why,
        ),
    ]
}
