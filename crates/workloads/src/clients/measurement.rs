//! A whole measurement: each number of clients in turn, round by round, with results written after each run.

use std::path::PathBuf;
use std::time::Duration;

use inrush::cancel::Stop;
use inrush::clients::{ClientServer, ClientServerFacts};
use inrush::quantity::counted;
use inrush::report::machine;

use super::client::Share;
use super::results::{Begun, FailedRun, Results, RunResult, ServerResult, SettingsResult};
use super::results_folder::ResultsFolder;
use super::run::{RunFailure, RunPlan};
use super::settings::{Amount, Settings, protocol_word};
use crate::error::WorkloadError;
use crate::etlwr::MachineResult;

/// Receives the progress of a measurement.
pub trait Host {
    /// Adds a note for the reader of the results.
    fn note(&mut self, note: &str);

    /// Reports a run that was measured.
    fn measured(&mut self, run: &RunResult);
}

/// A measurement.
pub struct Measurement<'a> {
    /// Its settings.
    pub settings: &'a Settings,
    /// The server.
    pub server: &'a dyn ClientServer,
    /// The command that repeats the measurement.
    pub command: String,
    /// Asks to stop.
    pub stop: Stop,
}

impl Measurement<'_> {
    /// Measures, and cleans up the server whatever happens. Returns the complete results and their folder.
    pub fn run(&self, host: &mut dyn Host) -> Result<(Results, PathBuf), WorkloadError> {
        let done = self.measure(host);
        for left in self.server.clean() {
            host.note(&left);
        }
        done
    }

    fn measure(&self, host: &mut dyn Host) -> Result<(Results, PathBuf), WorkloadError> {
        let facts = self.server.facts()?;
        for removed in &facts.removed {
            host.note(removed);
        }
        let most = self.settings.points.iter().copied().max().unwrap_or(1);
        self.server.require_room(most).map_err(as_usage)?;
        let (folder, mut results) = self.begin(host, facts)?;
        for note in self.server.make_ready()? {
            results.note(note);
        }
        let row_bytes = self.server.row_bytes()?;
        let share = self.share(row_bytes)?;
        let turns = (1..=self.settings.rounds).flat_map(|round| {
            self.settings
                .points
                .iter()
                .map(move |clients| (round, *clients))
        });
        for (round, clients) in turns {
            if results.has(round, clients) {
                continue;
            }
            if self.stop.asked().is_some() {
                return Err(stopped(&folder));
            }
            for note in self.server.make_ready()? {
                results.note(note);
            }
            let plan = self.plan(round, clients, share, &folder);
            let started_at = now();
            match plan.run(self.server, &self.stop) {
                Ok(mut run) => {
                    run.started_at = started_at;
                    run.row_bytes = row_bytes;
                    note_run(&mut results, &run);
                    host.measured(&run);
                    results.push(run, now());
                    folder.write(&results)?;
                }
                Err(RunFailure::Stopped) => return Err(stopped(&folder)),
                Err(RunFailure::Failed(error)) => {
                    let details = error.details();
                    let reason = [error.to_string()].into_iter().chain(details);
                    results.failed.push(FailedRun {
                        round,
                        clients,
                        reason: reason.collect::<Vec<_>>().join("\n"),
                    });
                    folder.write(&results)?;
                    return Err(error);
                }
            }
        }
        results.complete = true;
        folder.write(&results)?;
        Ok((results, folder.path().to_owned()))
    }

    /// Continues earlier results, or begins new ones.
    fn begin(
        &self,
        host: &mut dyn Host,
        facts: ClientServerFacts,
    ) -> Result<(ResultsFolder, Results), WorkloadError> {
        let settings = self.settings;
        if !settings.fresh
            && let Some((folder, mut results)) =
                ResultsFolder::find_stopped(&settings.results, &self.command)
            && !results.runs.is_empty()
        {
            let note = format!(
                "resumed {}: {} were measured before",
                folder.path().display(),
                counted(results.runs.len() as u64, "run")
            );
            host.note(&note);
            results.note(note);
            // Failed runs are repeated, and the server is described again, because it may have changed.
            results.failed.clear();
            results.server = server_result(facts);
            return Ok((folder, results));
        }
        let started_at = now();
        let stamp: String = started_at
            .chars()
            .take(19)
            .filter(|c| !"-:".contains(*c))
            .collect();
        let name = format!("{stamp}Z-{}", settings.workload.name());
        let folder = ResultsFolder::make(&settings.results, &name)?;
        let shape = settings.workload.shape(settings.pipeline);
        let own = machine();
        let results = Results::begin(Begun {
            command: &self.command,
            workload: settings.workload.name(),
            settings: SettingsResult {
                what: settings.workload.describe().to_owned(),
                statement: facts.statement.clone(),
                protocol: protocol_word(settings.protocol).to_owned(),
                batch: shape.rows,
                commit_every: shape.commit_every,
                pipeline: settings.pipeline,
                rate: settings.rate,
                clients: settings.points.clone(),
                rounds: settings.rounds,
                threads: self.threads(settings.points.iter().copied().max().unwrap_or(1)),
                cpus: settings.cpus.clone(),
                endpoints: settings.endpoints.clone(),
            },
            machine: MachineResult {
                cores: own.cores,
                processor: own.processor,
                memory_bytes: own.memory_bytes,
                kernel: own.kernel,
            },
            server: server_result(facts),
            started_at,
        });
        folder.write(&results)?;
        Ok((folder, results))
    }

    /// The work of all clients of a run together.
    fn share(&self, row_bytes: Option<f64>) -> Result<Share, WorkloadError> {
        let most = u64::from(self.settings.points.iter().copied().max().unwrap_or(1));
        match self.settings.amount {
            Amount::Rows(rows) => Ok(Share::Rows(rows)),
            Amount::Seconds(seconds) => Ok(Share::Until(Duration::from_secs_f64(seconds))),
            Amount::Bytes(bytes) => {
                let rows = (bytes as f64 / row_bytes.unwrap_or(1.0).max(1.0)).round() as u64;
                if rows < most {
                    return Err(WorkloadError::Usage {
                        what: format!(
                            "--size: {bytes} bytes are {rows} rows, fewer than {most} clients"
                        ),
                        hint: "write a larger size, such as --size 100MB".to_owned(),
                    });
                }
                Ok(Share::Rows(rows))
            }
        }
    }

    fn plan(&self, round: u16, clients: u16, share: Share, folder: &ResultsFolder) -> RunPlan<'_> {
        RunPlan {
            round,
            clients,
            share,
            shape: self.settings.workload.shape(self.settings.pipeline),
            rate: self.settings.rate,
            threads: self.threads(clients),
            cpus: &self.settings.cpus,
            folder: folder.path().to_owned(),
            comment: format!(
                "inrush bench {}, {clients} clients, round {round}",
                self.settings.workload.name()
            ),
        }
    }

    /// The number of threads for this number of clients.
    fn threads(&self, clients: u16) -> usize {
        let settings = self.settings;
        let cores = match settings.cpus.len() {
            0 => machine().cores,
            cpus => cpus,
        };
        let wanted = settings.threads.map_or(cores, usize::from);
        wanted.clamp(1, usize::from(clients.max(1)))
    }
}

/// Adds notes about a run for the reader.
fn note_run(results: &mut Results, run: &RunResult) {
    if let Some(open) = run.open_loop.filter(|open| open.behind_share > 0.01) {
        results.note(format!(
            "{} did not hold the rate: {:.0} of {:.0} calls/s, {:.1} % behind; the last call began {:.2} s late",
            counted(u64::from(run.clients), "client"),
            open.rate_made,
            open.rate_asked,
            open.behind_share * 100.0,
            open.late_s
        ));
    }
    for (jump_s, after_s) in &run.clock_jumps {
        results.note(format!(
            "the clock of this machine jumped by {jump_s:.1} s, {after_s:.1} s after the start of the run with {}; \
             times are measured by a clock that cannot be set, so the results hold",
            counted(u64::from(run.clients), "client")
        ));
    }
    if run.cpu.others + run.cpu.stolen > 0.1 * run.cpu.cores as f64 {
        results.note(format!(
            "others used {:.2} of {} cores during the run with {}, round {}",
            run.cpu.others + run.cpu.stolen,
            run.cpu.cores,
            counted(u64::from(run.clients), "client"),
            run.round
        ));
    }
}

fn server_result(facts: ClientServerFacts) -> ServerResult {
    ServerResult {
        version: facts.version,
        destination: facts.destination,
        way: facts.way,
        settings: facts.settings,
    }
}

/// A number of clients that is too large for the server is a mistake in the arguments.
fn as_usage(error: inrush::clients::Error) -> WorkloadError {
    match error {
        inrush::clients::Error::Unsuitable { what, hint } => WorkloadError::Usage { what, hint },
        other => other.into(),
    }
}

fn stopped(folder: &ResultsFolder) -> WorkloadError {
    WorkloadError::Stopped {
        hint: format!(
            "the finished runs are in {}; the same command measures the others",
            folder.path().display()
        ),
    }
}

/// The time now, RFC 3339.
fn now() -> String {
    jiff::Timestamp::now().to_string()
}
