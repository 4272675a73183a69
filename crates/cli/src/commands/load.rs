//! `inrush load`.

use std::path::PathBuf;

use inrush::ExitStatus;
use inrush::package::Overrides;

use super::run::run_ready;
use crate::Surroundings;
use crate::arguments::LoadArguments;
use crate::credentials;
use crate::errors::CommandError;
use crate::save_package::save;
use crate::{load_package, package_file, running, target_package};

/// Loads files into a table.
pub fn load(
    arguments: &LoadArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    credentials::refuse_password("--to", &arguments.to.to)?;
    credentials::refuse_secrets("--option", &arguments.to.option)?;
    let package = load_package::package_of(arguments)?;
    let ready = package_file::ready(&package, &Overrides::default(), PathBuf::from("."))?;
    if let Some(path) = &arguments.target.save_package {
        save(&target_package::to_save(&package, path)?.to_toml(), path)?;
    }
    run_ready(ready, &arguments.run, surroundings)
}
