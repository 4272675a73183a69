//! Checks that files can be loaded, before hours are spent on generating them. All checks that need no files are made,
//! and nothing is left behind.

use std::path::PathBuf;

use inrush_workloads::etlwr::{
    References, Settings, StandIns, TableFiles, no_files, package, plan_hint, try_folders,
};

use super::measuring::database;
use crate::arguments::MeasureArguments;
use crate::errors::CommandError;
use crate::save_package::may_save;
use crate::{Surroundings, embedded, package_file, running, signals};

/// Checks folders, database and plan of a load whose files may not exist yet. The server is reached in the same way as
/// for the load: an embedded one is created, started with the same number of connections, and stopped again.
pub fn look(
    tables: &[TableFiles],
    arguments: &MeasureArguments,
    settings: &Settings,
    references: Option<&References>,
    surroundings: &Surroundings,
    disposable: Option<PathBuf>,
) -> Result<(), CommandError> {
    if tables.is_empty() {
        return Err(no_files().into());
    }
    try_folders(settings)?;
    if let Some(path) = &arguments.save_package {
        may_save(&package(tables, settings, references).to_toml(), path)?;
    }
    let parent = disposable.clone().unwrap_or_else(std::env::temp_dir);
    let stand_ins = StandIns::make(tables, &parent)?;
    let goes = disposable.unwrap_or_else(|| stand_ins.folder().to_owned());
    let _guard = signals::end_at_once(Some(goes));

    // The loads with steps need more: DuckDB, and the references.
    let mut package = package(&stand_ins.tables, settings, references);
    package.run.streams = settings.streams_most();
    let ready = package_file::ready(&package, &Default::default(), PathBuf::from("."))?;
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    database(&reached)?.refuse_tables(tables)?;
    // The leftovers of all stopped loads are removed before a series.
    let again = settings.is_series();
    let refused = running::plan(&reached, ready.folder, again, None)
        .and_then(|plan| Ok(plan.require_runnable()?))
        .map_err(in_our_words);
    refused?;
    reached.stop()
}

/// The error, with a hint for this command.
fn in_our_words(error: CommandError) -> CommandError {
    let CommandError::Engine { error, notes, hint } = error else {
        return error;
    };
    let hint = plan_hint(&error).or(hint);
    CommandError::Engine { error, notes, hint }
}
