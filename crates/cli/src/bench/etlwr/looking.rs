//! Finds out before files are made for hours that they could not be loaded: everything that is known by then is tried,
//! and nothing is left of it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::data::{TableFiles, no_files};
use super::measure::{address, is_series, plan_hint, points, refuse_tables};
use super::package::package_of;
use super::stand_ins::StandIns;
use crate::arguments::MeasureArguments;
use crate::commands::load::may_save;
use crate::errors::CommandError;
use crate::{Surroundings, embedded, package_file, running, signals};

/// Tries folders, database and plan of a load whose files may still have to be made. The server is reached as the load
/// reaches it: an embedded one is made, started with as many connections, and stopped again.
pub fn look(
    tables: &[TableFiles],
    arguments: &MeasureArguments,
    surroundings: &Surroundings,
    disposable: Option<PathBuf>,
) -> Result<(), CommandError> {
    if tables.is_empty() {
        return Err(no_files());
    }
    try_folders(arguments)?;
    if let Some(path) = &arguments.save_package {
        may_save(&package_of(tables, arguments).to_toml(), path)?;
    }
    let parent = disposable.clone().unwrap_or_else(std::env::temp_dir);
    let stand_ins = StandIns::make(tables, &parent)?;
    let goes = disposable.unwrap_or_else(|| stand_ins.folder().to_owned());
    let _guard = signals::end_at_once(Some(goes));

    let mut package = package_of(&stand_ins.tables, arguments);
    package.run.streams = points(arguments).into_iter().max();
    let ready = package_file::ready(&package, &Default::default(), PathBuf::from("."))?;
    let reached = embedded::reach(ready.package, &ready.folder, surroundings)?;
    refuse_tables(&address(&reached)?, tables)?;
    // What stopped loads have left is removed before a series, whatever it was.
    let again = is_series(arguments);
    let refused = running::plan(&reached, ready.folder, again)
        .and_then(|plan| Ok(plan.require_runnable()?))
        .map_err(in_our_words);
    refused?;
    reached.stop()
}

/// With the hint of this command.
fn in_our_words(error: CommandError) -> CommandError {
    let CommandError::Engine { error, notes, hint } = error else {
        return error;
    };
    let hint = plan_hint(&error).or(hint);
    CommandError::Engine { error, notes, hint }
}

/// Finds out before hours of loading that what comes of it cannot be written.
pub fn try_folders(arguments: &MeasureArguments) -> Result<(), CommandError> {
    let folders: [(_, &Path, _); 2] = [
        ("cannot write results into", &arguments.results, 0o777),
        // As a run makes it: rows of the input stand in it.
        ("cannot write runs into", &arguments.runs_folder, 0o700),
    ];
    for (doing, folder, mode) in folders {
        let tried = DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder).map(drop));
        tried.map_err(|source| CommandError::File {
            doing,
            path: folder.to_owned(),
            source,
        })?;
    }
    Ok(())
}
