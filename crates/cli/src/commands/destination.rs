//! The database whose ledger `status`, `cleanup` and `undo` read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use inrush::package::{
    Connection, Flow, OneOrMany, Overrides, Package, PackageOrigin, RunSettings,
};
use inrush::upkeep::{LedgerOptions, PastRuns, Which};

use crate::arguments::LedgerArguments;
use crate::embedded::{self, Reached};
use crate::errors::CommandError;
use crate::package_file::{self, Ready};
use crate::{Surroundings, credentials};

/// A database with a ledger.
pub struct LedgerDestination {
    /// The runs that its ledger knows.
    pub runs: PastRuns,
    /// The filter of runs.
    pub which: Which,
    /// The destination. Its server must be stopped afterwards.
    pub reached: Reached,
}

impl LedgerDestination {
    /// Closes the ledger, then stops the server, if it is an embedded one.
    pub fn stop(self) -> Result<(), CommandError> {
        drop(self.runs);
        self.reached.stop()
    }

    /// Like [`LedgerDestination::stop`], for a command whose work is committed: an error is a note for the user.
    pub fn stop_after_commit(self) -> Option<String> {
        drop(self.runs);
        self.reached.stop_after_commit()
    }
}

/// Finds the database, and starts it if it is an embedded one.
pub fn find(
    arguments: &LedgerArguments,
    surroundings: &Surroundings,
) -> Result<LedgerDestination, CommandError> {
    let (ready, package) = match (&arguments.destination.package, &arguments.destination.to) {
        (Some(path), _) => {
            let ready = package_file::read(path, &arguments.overrides)?;
            let name = ready.package.name.clone();
            (ready, Some(name))
        }
        (None, Some(url)) => (of_url(url, &arguments.option)?, None),
        (None, None) => unreachable!("clap asks for one of them"),
    };
    let ledger_schema = arguments.ledger_schema.as_ref();
    let ledger_schema = ledger_schema
        .unwrap_or(&ready.package.run.ledger_schema)
        .clone();
    let which = Which { package, run: None };
    if ready.package.single_connection()?.url.trim() == "embedded" {
        return Err(CommandError::Usage {
            what: "an embedded server without a folder ends with its command: there is no data to \
                   read"
                .to_owned(),
            hint: "embedded:FOLDER keeps its data".to_owned(),
        });
    }
    if let Some(folder) = ready
        .package
        .single_connection()?
        .url
        .trim()
        .strip_prefix("embedded:")
        && !ready.folder.join(folder).join("PG_VERSION").exists()
    {
        return Err(CommandError::Usage {
            what: format!("{folder} holds no data of an embedded server"),
            hint: "name the folder of the load: embedded:FOLDER".to_owned(),
        });
    }
    let folder = ready.folder.clone();
    let reached =
        embedded::reach_to_look(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    let connection = reached.package.single_connection()?;
    let options = LedgerOptions {
        folder: &folder,
        site_packages: reached.site_packages.as_deref(),
        ledger_schema: &ledger_schema,
    };
    let defaults = credentials::connection_defaults()?;
    let runs = inrush::past_runs(connection, &options, &defaults)?;
    Ok(LedgerDestination {
        runs,
        which,
        reached,
    })
}

/// A package that has this connection and nothing to load.
pub fn of_url(url: &str, options: &[(String, String)]) -> Result<Ready, CommandError> {
    credentials::refuse_password("--to", url)?;
    credentials::refuse_secrets("--option", options)?;
    let package = Package {
        name: "none".to_owned(),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([(
            "target".to_owned(),
            Connection {
                options: options.iter().cloned().collect(),
                ..Connection::new(url)
            },
        )]),
        run: RunSettings::default(),
        flows: vec![Flow::new(OneOrMany::One("none".to_owned()), "none")],
        origin: PackageOrigin::of_arguments([("connections.target.url", "--to")]),
    };
    package_file::ready(&package, &Overrides::default(), PathBuf::from("."))
}
