//! Loads the workload as often as requested, each time as a run of the engine, and measures it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inrush::package::Verify;
use inrush::plan::PlanError;
use inrush::report::{Outcome, RunReport, machine};
use inrush::verify::VerifyError;
use inrush::{Hint, Success};

use super::data::DataSet;
use super::database::Database;
use super::needs;
use super::proof::Expected;
use super::rates::Rates;
use super::results::{
    Begun, DataResult, GeneratedResult, Results, RunResult, SettingsResult, TableData, TableResult,
};
use super::results_folder;
use super::settings::{Settings, verify_word};
use super::transforms;
use crate::error::WorkloadError;

/// The program around a measurement: it reads the environment, handles signals and prints.
pub trait Host {
    /// The error of a load. Errors of the measurement itself are converted into it.
    type Error: From<WorkloadError>;

    /// Loads the workload's package, until the run ends or is asked to stop. `hint` returns the hint for an error if it
    /// differs from the hint of `inrush run`.
    fn load(&mut self, load: Load, hint: Hint<'_>) -> Result<Success, Self::Error>;

    /// True if the last load was asked to stop, even if the request came too late.
    fn was_asked_to_stop(&self) -> bool;

    /// Reports a load that was measured.
    fn measured(&mut self, run: &RunResult);
}

/// A load of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The round, counted from 1.
    pub round: u16,
    /// The number of streams.
    pub streams: u16,
    /// True if rows go through steps.
    pub transforms: bool,
}

/// A workload to be measured.
pub struct Measurement<'a> {
    /// The data.
    pub set: &'a DataSet,
    /// The settings.
    pub settings: &'a Settings,
    /// The database that the host loads into.
    pub database: &'a Database,
    /// The generation of the files, if this command generated them.
    pub generated: Option<GeneratedResult>,
    /// True if the files stay when the program ends.
    pub keeps_files: bool,
    /// The command that does the same again.
    pub command: String,
}

/// Results, and the folder where they are written.
type Written = (Results, PathBuf);

impl Measurement<'_> {
    /// Loads, measures, checks the loaded rows, and writes the results after each load. Returns the complete results
    /// and their folder; `None` if no load was requested.
    pub fn run<H: Host>(&self, host: &mut H) -> Result<Option<Written>, H::Error> {
        let expected = Expected::of(self.set, self.settings.columnstore().is_none());
        let points = self.settings.points();
        let ways: &[bool] = match self.settings.transforms {
            true => &[false, true],
            false => &[false],
        };
        let mut loads = Vec::new();
        for round in 1..=self.settings.rounds {
            for streams in points.iter().copied() {
                loads.extend(ways.iter().map(|transforms| Load {
                    round,
                    streams,
                    transforms: *transforms,
                }));
            }
        }
        let mut results = None;
        for (number, load) in loads.iter().enumerate() {
            let is_last = number + 1 == loads.len();
            self.one(host, &mut results, *load, &expected, is_last)?;
        }
        if let Some((results, folder)) = &mut results {
            results.complete = true;
            results_folder::write(results, folder)?;
        }
        Ok(results)
    }

    fn one<H: Host>(
        &self,
        host: &mut H,
        results: &mut Option<Written>,
        load: Load,
        expected: &Expected,
        is_last: bool,
    ) -> Result<(), H::Error> {
        let is_series = self.settings.is_series();
        let mut notes = self.database.make_ready(&self.set.tables, is_series)?;
        let cpu_before = machine().loader_cpu_s;
        let hint = |error: &inrush::Error| self.hint_for(error);
        let success = host.load(load, &hint)?;
        let cpu_after = machine().loader_cpu_s;
        let report = success.report;
        if report.outcome == Outcome::AlreadyLoaded {
            return Err(already_loaded(&report).into());
        }

        let stored = self.database.stored_bytes(&report)?;
        let seen = Seen {
            loader_cpu_s: (cpu_after.0 + cpu_after.1) - (cpu_before.0 + cpu_before.1),
            stored_bytes: stored.all,
            stored_by_target: stored.by_target,
            cores: self.cores_in_all(),
        };
        let mut run = self.result(&report, load, &seen, expected);
        run.report = success.report_path.map(|path| path.display().to_string());
        notes.extend(remarks(&report, load.streams));
        let (results, folder) = results.get_or_insert_with(|| {
            let folder = self.settings.results.join(report.run.as_str());
            (Results::begin(self.begun(), &report), folder)
        });
        for note in notes {
            results.note(note);
        }
        let differences = run.proof.differences.clone();
        host.measured(&run);
        results.push(run, &report.finished_at);
        results_folder::write(results, folder)?;
        if !differences.is_empty() {
            // The tables stay, so that the user can examine them.
            return Err(WorkloadError::NotDbgens {
                differences,
                results: folder.join("summary.md"),
            }
            .into());
        }
        if !(is_last && self.settings.keep) {
            self.database.drop_tables(&report)?;
        }
        // A signal that came too late for this run ends the series.
        if !is_last && host.was_asked_to_stop() {
            let error = inrush::Error::Interrupted;
            return Err(WorkloadError::Engine {
                hint: hint(&error),
                notes: vec![format!("results: {}", folder.join("summary.md").display())],
                error,
            }
            .into());
        }
        Ok(())
    }

    /// The hint for an error, if a user of this command can do something else than a user of `inrush run`.
    fn hint_for(&self, error: &inrush::Error) -> Option<String> {
        let is_series = self.settings.is_series();
        let is_temporary = self.database.is_temporary();
        if let (Some(place), inrush::Error::Interrupted) = (self.settings.columnstore(), error) {
            let measured = match is_series {
                true => "runs that ended are in the results; ",
                false => "",
            };
            let path = place.path().display();
            return Some(match place.refuse_existing() {
                Ok(()) => format!("{measured}the same command measures everything again"),
                Err(_) => format!(
                    "{measured}remove {path}, and run the same command again: a columnstore is loaded from the beginning"
                ),
            });
        }
        match error {
            inrush::Error::Interrupted if is_series => Some(
                "runs that ended are in the results; the same command measures everything again"
                    .to_owned(),
            ),
            inrush::Error::Interrupted if is_temporary => Some(
                "run it again; with --to embedded:FOLDER and --data FOLDER it resumes where it \
                 stopped"
                    .to_owned(),
            ),
            inrush::Error::RejectLimit { reject, .. } => {
                Some(self.not_as_made(&reject.location.file))
            }
            inrush::Error::Verify(VerifyError::Sums { .. } | VerifyError::Rows { .. }) => {
                if let Some(place) = self.settings.columnstore() {
                    return Some(format!(
                        "something changed values in staging: remove {}, and run the same command again",
                        place.path().display()
                    ));
                }
                let cleanup = match is_series || is_temporary {
                    true => "",
                    false => "`inrush cleanup --to URL`, then ",
                };
                Some(format!(
                    "something changed values on the way into a staging table; {cleanup}the same \
                     command again, with --verify rows if it was less"
                ))
            }
            error => plan_hint(error),
        }
    }

    /// The hint for a file with a row that dbgen does not generate: no rejects are accepted here.
    fn not_as_made(&self, path: &Path) -> String {
        let anew = match self.keeps_files {
            true => self.set.made_anew(path),
            // The file was removed with its folder.
            false => None,
        };
        anew.unwrap_or_else(|| {
            "a row that dbgen makes is never a reject: this is a bug of Inrush or a fault of the \
             machine: please report it"
                .to_owned()
        })
    }

    fn begun(&self) -> Begun<'_> {
        let cores_in_all = self.cores_in_all();
        let mut notes = Vec::new();
        if self.set.bytes() < machine().memory_bytes {
            notes.push(
                "the text is smaller than this machine's memory, so its disks had less to do than \
                 those of the record runs"
                    .to_owned(),
            );
        }
        if cores_in_all.is_none() {
            notes.push(
                "the server is on another machine, and its cores are unknown: use --cores N"
                    .to_owned(),
            );
        }
        if self.settings.verify != Verify::Count {
            notes.push(format!(
                "the measured time includes verify = {:?}; the record runs verified nothing",
                verify_word(self.settings.verify)
            ));
        }
        Begun {
            command: &self.command,
            columnstore: self.settings.columnstore().is_some(),
            data: self.data(),
            settings: SettingsResult {
                order: self.settings.order.word().to_owned(),
                verify: verify_word(self.settings.verify).to_owned(),
                analyze: self.settings.analyze,
                streams: self.settings.points(),
                rounds: self.settings.rounds,
            },
            cores_in_all,
            generated: self.generated.clone(),
            transforms: match self.settings.transforms {
                true => transforms::described(self.set.tables.iter().map(|files| files.table)),
                false => Vec::new(),
            },
            notes,
        }
    }

    fn data(&self) -> DataResult {
        let set = self.set;
        let folders = set.folders.iter();
        let mut parts: Vec<u32> = set
            .tables
            .iter()
            .flat_map(|table| table.files.keys().copied())
            .collect();
        parts.sort_unstable();
        parts.dedup();
        DataResult {
            files_of: set.manifest.clone(),
            folders: folders.map(|folder| folder.display().to_string()).collect(),
            parts,
            tables: set
                .tables
                .iter()
                .map(|table| TableData {
                    table: table.table.name.to_owned(),
                    files: table.files.len(),
                    bytes: table.bytes,
                })
                .collect(),
            files: set.files(),
            bytes: set.bytes(),
        }
    }

    /// The given number of cores; otherwise the number of cores of this machine, if the server is on it.
    fn cores_in_all(&self) -> Option<u32> {
        self.settings.cores.or_else(|| self.database.cores_here())
    }

    fn result(
        &self,
        report: &RunReport,
        load: Load,
        seen: &Seen,
        expected: &Expected,
    ) -> RunResult {
        let phases = report.phases;
        let seconds = phases.load_s + phases.switch_s;
        let bytes = report.account.bytes_read;
        RunResult {
            run: report.run.to_string(),
            report: None,
            streams: load.streams,
            streams_used: report.streams.len(),
            round: load.round,
            transforms: load.transforms,
            resumed: report.resumed,
            seconds,
            load_s: phases.load_s,
            switch_s: phases.switch_s,
            analyze_s: phases.analyze_s,
            total_s: phases.total_s,
            loader_cpu_s: seen.loader_cpu_s,
            steps_s: report
                .streams
                .iter()
                .map(|stream| stream.meter.transform_ns as f64 / 1e9)
                .sum(),
            rows: report.account.rows_loaded,
            bytes,
            stored_bytes: seen.stored_bytes,
            rates: (!report.resumed).then(|| Rates::new(bytes as f64, seconds, seen.cores)),
            verdict: report.verdict.as_ref().map(|verdict| verdict.line.clone()),
            costs: needs::costs(
                report,
                seen.stored_bytes,
                self.settings.columnstore().is_some(),
            ),
            tables: report
                .tables
                .iter()
                .map(|table| TableResult {
                    table: table.flow.clone(),
                    rows: table.account.rows_loaded,
                    bytes: table.account.bytes_read,
                    partitions: table.partitions.len(),
                    stored_bytes: seen
                        .stored_by_target
                        .as_ref()
                        .map(|sizes| sizes.get(&table.target).copied().unwrap_or(0)),
                })
                .collect(),
            proof: expected.hold(report, verify_word(self.settings.verify)),
        }
    }
}

fn already_loaded(report: &RunReport) -> WorkloadError {
    WorkloadError::Usage {
        what: format!(
            "run {} has loaded the same files already, so there is nothing to measure",
            report.run
        ),
        hint: "drop its tables, or load into another database".to_owned(),
    }
}

/// The hint for a load that cannot be planned.
pub fn plan_hint(error: &inrush::Error) -> Option<String> {
    let hint = match error {
        inrush::Error::Plan(PlanError::Target { .. }) => {
            "the workload creates its tables itself: load into another database, or drop the \
             tables of an earlier run"
        }
        inrush::Error::Plan(PlanError::Room { .. }) => {
            "free space there, or choose a smaller --scale or fewer parts; --no-disk-check skips \
             this check"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Facts that the report of a run does not contain.
struct Seen {
    /// CPU seconds of the loader in this run.
    loader_cpu_s: f64,
    /// Bytes in the database.
    stored_bytes: u64,
    /// Bytes in the database by target; absent if the database does not report them.
    stored_by_target: Option<BTreeMap<String, u64>>,
    /// Cores of all machines that took part.
    cores: Option<u32>,
}

/// Notes about a run for the reader.
fn remarks(report: &RunReport, streams: u16) -> Vec<String> {
    let mut notes = Vec::new();
    if report.resumed {
        notes.push(format!(
            "run {} resumed an earlier run, so it is not measured",
            report.run
        ));
    }
    if report.streams.len() < usize::from(streams) && !report.resumed {
        notes.push(format!(
            "{streams} streams were requested, but there was work for {}",
            report.streams.len()
        ));
    }
    notes
}
