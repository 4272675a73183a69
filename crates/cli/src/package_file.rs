//! Packages for the commands: read, with parameters inserted, checked.

use std::path::{Path, PathBuf};

use inrush::package::{Overrides, Package, not_local, password_takes};

use crate::arguments::OverrideArguments;
use crate::credentials;
use crate::embedded::{self, DataTrust};
use crate::errors::CommandError;

/// A package that is ready, and the folder where its relative paths start.
pub struct Ready {
    /// The package, resolved and checked.
    pub package: Package,
    /// Relative paths start here.
    pub folder: PathBuf,
    /// Who has permitted opening the data folder of an embedded server.
    pub data_trust: DataTrust,
}

/// Reads a package and inserts the values that arguments replace.
pub fn read(path: &Path, overrides: &OverrideArguments) -> Result<Ready, CommandError> {
    for (name, url) in &overrides.connection {
        credentials::refuse_password(&format!("--connection {name}"), url)?;
    }
    let package = Package::read(path)?;
    refuse_password_parameters(&package, overrides)?;
    resolved(
        &package,
        &Overrides {
            parameters: overrides.set.clone(),
            connections: overrides.connection.clone(),
        },
        overrides.trust,
    )
}

/// Refuses passwords in parameters that are given as arguments, because other users can see arguments.
fn refuse_password_parameters(
    package: &Package,
    overrides: &OverrideArguments,
) -> Result<(), CommandError> {
    let given = overrides.connection.iter().map(|(_, url)| url.as_str());
    let urls = package.connections.values().map(|known| known.url.as_str());
    for url in urls.chain(given) {
        for (name, value) in &overrides.set {
            let is_whole = url.trim() == format!("{{{name}}}");
            if is_whole {
                credentials::refuse_password(&format!("--set {name}"), value)?;
            } else if password_takes(url, name) {
                return Err(CommandError::Usage {
                    what: format!(
                        "--set {name}: the value is part of a connection's password, and other \
                         users can read the arguments of a command"
                    ),
                    hint: format!(
                        "write ${{env:NAME}} in the URL in place of {{{name}}}, and set NAME; or \
                         put the password into PGPASSWORD or ~/.pgpass"
                    ),
                });
            }
        }
    }
    Ok(())
}

/// Like [`read`], for values that no other user can see.
pub fn read_by_program(
    path: &Path,
    overrides: &Overrides,
    trust: bool,
) -> Result<Ready, CommandError> {
    resolved(&Package::read(path)?, overrides, trust)
}

/// Puts the values into a package that was read from a file.
fn resolved(package: &Package, overrides: &Overrides, trust: bool) -> Result<Ready, CommandError> {
    let folder = package
        .origin
        .folder()
        .map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mut overrides = overrides.clone();
    for (_, url) in &mut overrides.connections {
        *url = from_here(url);
    }
    let mut ready = ready(package, &overrides, folder)?;
    if !trust {
        ready.data_trust = require_trusted(&ready.package, &ready.folder, &overrides)?;
    }
    Ok(ready)
}

/// Refuses code that the package brings, in libraries and in the data folders of embedded servers. Returns who has
/// permitted the data folder; the folder is checked again when its server starts, because it may have been replaced by
/// then.
pub fn require_trusted(
    package: &Package,
    folder: &Path,
    overrides: &Overrides,
) -> Result<DataTrust, CommandError> {
    package.require_trusted(overrides)?;
    embedded::require_made_here(package, folder, overrides)?;
    Ok(embedded::data_trust(package, overrides)?)
}

/// Inserts the values into a package that is the command's own or trusted, and checks it.
pub fn ready(
    package: &Package,
    overrides: &Overrides,
    folder: PathBuf,
) -> Result<Ready, CommandError> {
    let mut package = package.resolve(overrides, &credentials::environment)?;
    credentials::complete_from_sqlcmd(&mut package)?;
    package.check()?;
    Ok(Ready {
        package,
        folder,
        data_trust: DataTrust::OfUser,
    })
}

/// Resolves the folder of an embedded server in an argument relative to the current folder, not to the package's
/// folder.
pub fn from_here(url: &str) -> String {
    match (url.strip_prefix("embedded:"), std::env::current_dir()) {
        (Some(folder), Ok(current))
            if !folder.starts_with(['$', '{']) && not_local(folder.trim_start()).is_none() =>
        {
            format!("embedded:{}", current.join(folder).display())
        }
        _ => url.to_owned(),
    }
}
