//! `inrush copy`.

use std::path::PathBuf;

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush::package::Overrides;

use super::run::run_ready;
use crate::Surroundings;
use crate::arguments::CopyArguments;
use crate::copy_package::{self, SOURCE};
use crate::credentials;
use crate::errors::CommandError;
use crate::save_package::save;
use crate::{package_file, running, signals, target_package};

/// Copies tables of a database.
pub fn copy(
    arguments: &CopyArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    credentials::refuse_password("--from", &arguments.from)?;
    credentials::refuse_password("--to", &arguments.to.to)?;
    credentials::refuse_secrets("--from-option", &arguments.from_option)?;
    credentials::refuse_secrets("--option", &arguments.to.option)?;
    let package = copy_package::package_of(arguments, &tables(arguments)?)?;
    let ready = package_file::ready(&package, &Overrides::default(), PathBuf::from("."))?;
    if let Some(path) = &arguments.target.save_package {
        save(&target_package::to_save(&package, path)?.to_toml(), path)?;
    }
    run_ready(ready, &arguments.run, surroundings)
}

/// The tables that the arguments name. Patterns are looked up in the database that is read.
fn tables(arguments: &CopyArguments) -> Result<Vec<String>, CommandError> {
    let unresolved = copy_package::package_of(arguments, &[])?;
    let mut resolved = unresolved.resolve(&Overrides::default(), &credentials::environment)?;
    credentials::complete_from_sqlcmd(&mut resolved)?;
    let Some(connection) = resolved.connections.get(SOURCE) else {
        return Ok(arguments.table.clone());
    };
    let own_schemas = [&*resolved.run.ledger_schema, &resolved.run.staging_schema];
    // Nothing has begun that a signal would have to end.
    let guard = signals::end_at_once(None);
    let tables = inrush::tables_like(
        connection,
        &arguments.table,
        &own_schemas,
        &credentials::connection_defaults()?,
        &Stop::default(),
    )?;
    drop(guard);
    Ok(tables)
}
