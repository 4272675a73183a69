//! Opens the database, measures the workload, and prints the results.

use std::path::PathBuf;

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush::package::Flow;
use inrush::{Hint, Success};
use inrush_workloads::etlwr::{
    DataSet, Database, GeneratedResult, Host, Load, Measurement, References, RunResult, Server,
    Settings, package, try_folders,
};
use serde_json::json;

use super::terminal::terminal;
use crate::arguments::MeasureArguments;
use crate::embedded::{self, Reached};
use crate::errors::CommandError;
use crate::numbers::{counted, seconds};
use crate::running::{self, OutputMode, RunSetup};
use crate::save_package::save;
use crate::signals::{self, Guard};
use crate::{Surroundings, credentials, output, package_file};

/// The inputs of a measurement.
pub struct Task<'a> {
    /// The files.
    pub set: &'a DataSet,
    /// The settings of the load and the measurement, as arguments.
    pub arguments: &'a MeasureArguments,
    /// The same settings for the workload.
    pub settings: &'a Settings,
    /// The references of lookups, if rows go through steps.
    pub references: Option<&'a References>,
    /// The generation of the files, if this command generated them.
    pub generated: Option<GeneratedResult>,
    /// A temporary folder, removed if the command is ended at once.
    pub disposable: Option<PathBuf>,
    /// The command that repeats the measurement.
    pub command: String,
}

impl Task<'_> {
    /// Loads, measures, checks, writes the results and prints them.
    pub fn run(self, surroundings: &Surroundings) -> Result<ExitStatus, CommandError> {
        let guard = signals::end_at_once(self.disposable.clone());
        try_folders(self.settings)?;
        let mut package = package(&self.set.tables, self.settings, None);
        let with_steps = self.references.map(|references| {
            inrush_workloads::etlwr::package(&self.set.tables, self.settings, Some(references))
        });
        if let Some(path) = &self.arguments.save_package {
            save(&with_steps.as_ref().unwrap_or(&package).to_toml(), path)?;
        }
        package.run.streams = self.settings.streams_most();
        let ready = package_file::ready(&package, &Default::default(), PathBuf::from("."))?;
        let plain = ready.package.flows.clone();
        let with_steps = match &with_steps {
            Some(package) => {
                let ready = package_file::ready(package, &Default::default(), PathBuf::from("."))?;
                ready.package.flows
            }
            None => Vec::new(),
        };
        let reached =
            embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
        let measurement = Measurement {
            set: self.set,
            settings: self.settings,
            database: &database(&reached)?,
            generated: self.generated,
            keeps_files: self.disposable.is_none(),
            command: self.command,
        };
        let mut loads = Loads {
            reached,
            plain,
            with_steps,
            arguments: self.arguments,
            is_series: self.settings.is_series(),
            disposable: self.disposable,
            stop: Stop::default(),
            guard: Some(guard),
        };
        let measured = measurement.run(&mut loads)?;
        let Loads { reached, guard, .. } = loads;
        drop(guard);
        if let Some((results, folder)) = &measured {
            let MeasureArguments { json, quiet, .. } = *self.arguments;
            crate::bench::tell(json, quiet, results, folder, || terminal(results, folder));
        }
        reached.stop()?;
        Ok(ExitStatus::Clean)
    }
}

/// The database of the workload, with the address to connect to.
pub fn database(reached: &Reached) -> Result<Database, CommandError> {
    let server = match reached.server() {
        Some(_) if reached.is_temporary() => Server::Temporary,
        Some(_) => Server::Kept,
        None => Server::Own,
    };
    let defaults = credentials::connection_defaults()?;
    Ok(Database::of(&reached.package, defaults, server)?)
}

/// The loads of a measurement, as this command runs and reports them.
struct Loads<'a> {
    reached: Reached,
    /// The flows without steps.
    plain: Vec<Flow>,
    /// The flows with steps; empty if no load has them.
    with_steps: Vec<Flow>,
    arguments: &'a MeasureArguments,
    is_series: bool,
    disposable: Option<PathBuf>,
    /// The stop flag of the last load, which a signal sets.
    stop: Stop,
    /// Between loads a signal ends the command at once.
    guard: Option<Guard>,
}

impl Host for Loads<'_> {
    type Error = CommandError;

    fn load(&mut self, load: Load, hint: Hint<'_>) -> Result<Success, CommandError> {
        // Dropping a guard disconnects the signals, so the old guard must be dropped before the next one is made.
        self.guard = None;
        self.reached.package.run.streams = Some(load.streams);
        let flows = if load.transforms {
            &self.with_steps
        } else {
            &self.plain
        };
        self.reached.package.flows.clone_from(flows);
        self.stop = Stop::default();
        let setup = RunSetup {
            folder: PathBuf::from("."),
            runs_folder: self.arguments.runs_folder.clone(),
            again: false,
            from: None,
            output_mode: OutputMode::of(self.arguments.json, self.arguments.quiet),
            replays: None,
            shares: None,
            disposable: self.disposable.clone(),
            stop: self.stop.clone(),
            hint: Some(hint),
            rows: None,
        };
        let success = running::run(&self.reached, &setup).map_err(|(error, _)| error)?;
        self.guard = Some(signals::end_at_once(self.disposable.clone()));
        Ok(success)
    }

    fn was_asked_to_stop(&self) -> bool {
        self.stop.asked().is_some()
    }

    fn measured(&mut self, run: &RunResult) {
        if self.arguments.json {
            let line = json!({"event": "measured", "measured": run});
            let _ = output::json(&line);
        } else if !self.arguments.quiet && self.is_series {
            output::say(&format!(
                "{}, round {}{}: {}\n",
                counted(u64::from(run.streams), "stream"),
                run.round,
                if run.transforms { ", with steps" } else { "" },
                seconds(run.seconds)
            ));
        }
    }
}
