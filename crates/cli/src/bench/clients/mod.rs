//! `inrush bench inserts` and `inrush bench calls`.
//!
//! The measurement itself is [`inrush_workloads::clients`]; this module provides arguments, a server, signals and a
//! terminal.

mod repeat_command;
mod settings;
mod terminal;

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush::clients::ClientWork;
use inrush_workloads::WorkloadError;
use inrush_workloads::clients::{Host, Measurement, RunResult, Settings};
use serde_json::json;

use crate::arguments::{CallsArguments, ClientsArguments, InsertsArguments};
use crate::commands::destination::of_url;
use crate::errors::CommandError;
use crate::signals::{self, Left};
use crate::{Surroundings, credentials, embedded, output};

/// Inserts by many connections.
pub fn inserts(
    arguments: &InsertsArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    credentials::refuse_password("--to", &arguments.measure.to)?;
    let settings = settings::of_inserts(arguments)?;
    let command = repeat_command::inserts_command(arguments);
    measure(&settings, &arguments.measure, command, surroundings)
}

/// Calls by many clients.
pub fn calls(
    arguments: &CallsArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    credentials::refuse_password("--to", &arguments.measure.to)?;
    let settings = settings::of_calls(arguments)?;
    let command = repeat_command::calls_command(arguments);
    measure(&settings, &arguments.measure, command, surroundings)
}

/// Connects to the server, measures, and prints the result.
fn measure(
    settings: &Settings,
    arguments: &ClientsArguments,
    command: String,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    settings.check()?;
    let stop = Stop::default();
    let most = settings.points.iter().copied().max().unwrap_or(1);
    let starting = signals::end_at_once(None);
    let mut ready = of_url(&settings.url, &[])?;
    // An embedded server is started with a connection for each client.
    ready.package.run.streams = Some(most);
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    drop(starting);
    let guard = signals::stop_cleanly(&stop, Left::Nothing(None));
    let defaults = credentials::connection_defaults()?;
    let work = ClientWork {
        work: settings.workload.work(),
        protocol: settings.protocol,
        endpoints: settings.endpoints.clone(),
    };
    let connection = reached.package.single_connection()?;
    let clients = inrush::client_server(connection, work, &defaults);
    let clients = clients.map_err(|error| CommandError::from(WorkloadError::from(error)))?;
    let mut told = Told { arguments };
    let measured = Measurement {
        settings,
        server: clients.as_ref(),
        command,
        stop: stop.clone(),
    }
    .run(&mut told);
    drop(clients);
    let (results, folder) = measured.inspect_err(|_| {
        if let Some(words) = reached.last_words() {
            output::errors(&format!(
                "the embedded server ended; its log says:\n{words}"
            ));
        }
    })?;
    super::tell(arguments.json, arguments.quiet, &results, &folder, || {
        terminal::results(&results, &folder)
    });
    reached.stop()?;
    drop(guard);
    Ok(ExitStatus::Clean)
}

/// Prints the progress, run by run.
struct Told<'a> {
    arguments: &'a ClientsArguments,
}

impl Host for Told<'_> {
    fn note(&mut self, note: &str) {
        if !self.arguments.quiet {
            output::notes([note.to_owned()]);
        }
    }

    fn measured(&mut self, run: &RunResult) {
        if self.arguments.json {
            let _ = output::json(&json!({"event": "measured", "measured": run}));
        } else if !self.arguments.quiet {
            output::say(&terminal::run_line(run));
        }
    }
}
