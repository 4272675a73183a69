//! Loads the workload as often as is asked for, each time by the engine's own run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inrush::Hint;
use inrush::cancel::Stop;
use inrush::destination::{Address, DestinationError, Session, catalog};
use inrush::plan::PlanError;
use inrush::report::{Outcome, RunReport, machine};
use inrush::upkeep::{self, LedgerPlace, PlaceOptions, Which};
use inrush::verify::VerifyError;
use serde_json::json;

use super::data::{DataSet, TableFiles};
use super::looking::try_folders;
use super::package::{NAME, package};
use super::proof::Expected;
use super::results::{
    Begun, DataResult, GeneratedResult, Rates, Results, RunResult, SettingsResult, TableData,
    TableResult,
};
use super::summary;
use crate::arguments::{EtlwrOrder, MeasureArguments, VerifyLevel};
use crate::commands::load::save;
use crate::embedded::{self, Reached, cores};
use crate::errors::CommandError;
use crate::numbers::{counted, seconds};
use crate::running::{self, RunWish, Telling};
use crate::{Surroundings, credentials, output, package_file, signals};

/// How long a lock on a table that is to be dropped is waited for.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// Refuses arguments that cannot be followed, before anything is made.
pub fn check(arguments: &MeasureArguments) -> Result<(), CommandError> {
    credentials::refuse_password("--to", &arguments.to)?;
    let url = arguments.to.trim();
    let kinds = ["postgresql://", "postgres://", "embedded:", "${env:"];
    if url != "embedded" && !kinds.iter().any(|kind| url.starts_with(kind)) {
        return Err(CommandError::Usage {
            what: format!("--to: {url} is no PostgreSQL, which this workload is made for"),
            hint: "write postgresql://USER@HOST/DATABASE, embedded:FOLDER or embedded".to_owned(),
        });
    }
    if arguments.keep && url == "embedded" {
        return Err(CommandError::Usage {
            what: "--keep: the embedded server goes with the command, and its tables with it"
                .to_owned(),
            hint: "--to embedded:FOLDER keeps them".to_owned(),
        });
    }
    Ok(())
}

/// A workload to be measured.
pub struct Measurement<'a> {
    /// What is loaded.
    pub set: &'a DataSet,
    /// How.
    pub arguments: &'a MeasureArguments,
    /// What the process knows.
    pub surroundings: &'a Surroundings,
    /// How the files were made, where this command did it.
    pub generated: Option<GeneratedResult>,
    /// A folder that goes with a command that is ended at once.
    pub disposable: Option<PathBuf>,
    /// The command that does the same again.
    pub command: String,
}

impl Measurement<'_> {
    /// Loads, measures, proves, writes and tells.
    pub fn run(self) -> Result<u8, CommandError> {
        let guard = signals::end_at_once(self.disposable.clone());
        try_folders(self.arguments)?;
        let expected = Expected::of(self.set);
        let mut package = package(self.set, self.arguments);
        if let Some(path) = &self.arguments.save_package {
            save(&package.to_toml(), path)?;
        }
        let points = points(self.arguments);
        // The embedded server has as many connections as the most streams need.
        package.run.streams = points.iter().copied().max();
        let ready = package_file::ready(&package, &Default::default(), PathBuf::from("."))?;
        let mut reached = embedded::reach(ready.package, &ready.folder, self.surroundings)?;
        drop(guard);

        let order = points.len() * usize::from(self.arguments.rounds);
        let mut results: Option<(Results, PathBuf)> = None;
        let turns = (1..=self.arguments.rounds)
            .flat_map(|round| points.iter().map(move |streams| (round, *streams)));
        for (number, (round, streams)) in turns.enumerate() {
            let is_last = number + 1 == order;
            self.one(
                &mut reached,
                &mut results,
                (round, streams),
                &expected,
                is_last,
            )?;
        }
        if let Some((results, folder)) = &mut results {
            results.complete = true;
            results.write(folder)?;
            self.tell(results, folder);
        }
        reached.stop()?;
        Ok(0)
    }

    fn one(
        &self,
        reached: &mut Reached,
        results: &mut Option<(Results, PathBuf)>,
        (round, streams): (u16, u16),
        expected: &Expected,
        is_last: bool,
    ) -> Result<(), CommandError> {
        let guard = signals::end_at_once(self.disposable.clone());
        let address = address(reached)?;
        let mut notes = self.make_ready(&address, reached)?;
        drop(guard);

        reached.package.run.streams = Some(streams);
        let cpu_before = machine().loader_cpu_s;
        let is_temporary = reached.is_temporary();
        let hint = |error: &inrush::Error| self.hint_for(error, is_temporary);
        let wish = self.wish(&hint);
        let success = running::run(reached, &wish).map_err(|(error, _)| error)?;
        let cpu_after = machine().loader_cpu_s;
        let report = success.report;
        if report.outcome == Outcome::AlreadyLoaded {
            return Err(CommandError::Usage {
                what: format!(
                    "run {} has loaded these very files already, so there is nothing to measure",
                    report.run
                ),
                hint: "drop its tables, or load into another database".to_owned(),
            });
        }

        let guard = signals::end_at_once(self.disposable.clone());
        let seen = Seen {
            loader_cpu_s: (cpu_after.0 + cpu_after.1) - (cpu_before.0 + cpu_before.1),
            stored_bytes: stored_bytes(&address, &report)?,
            cores: self.cores_in_all(&address, reached),
        };
        let mut run = self.result(&report, (round, streams), &seen, expected);
        run.report = success.report_path.map(|path| path.display().to_string());
        notes.extend(remarks(&report, streams));
        let (results, folder) = match results {
            Some(there) => there,
            None => {
                let folder = self.arguments.results.join(&report.run);
                let begun = Results::begin(self.begun(&address, reached), &report);
                results.insert((begun, folder))
            }
        };
        for note in notes {
            results.note(note);
        }
        let differences = run.proof.differences.clone();
        self.tell_run(&run);
        results.push(run, &report.finished_at);
        results.write(folder)?;
        if !differences.is_empty() {
            // The tables stay, to be looked at.
            return Err(CommandError::NotDbgens {
                differences,
                results: folder.join("summary.md"),
            });
        }
        if !(is_last && self.arguments.keep) {
            drop_tables(&address, &report)?;
        }
        drop(guard);
        // What came too late for this run ends the series.
        if !is_last && wish.stop.asked().is_some() {
            let error = inrush::Error::Interrupted;
            return Err(CommandError::Engine {
                hint: hint(&error),
                notes: vec![format!("results: {}", folder.join("summary.md").display())],
                error,
            });
        }
        Ok(())
    }

    fn wish<'a>(&self, hint: Hint<'a>) -> RunWish<'a> {
        RunWish {
            folder: PathBuf::from("."),
            runs_folder: self.arguments.runs_folder.clone(),
            again: false,
            telling: match (self.arguments.json, self.arguments.quiet) {
                (true, _) => Telling::Json,
                (false, true) => Telling::Quiet,
                (false, false) => Telling::Bars,
            },
            replays: None,
            disposable: self.disposable.clone(),
            stop: Stop::default(),
            hint: Some(hint),
        }
    }

    /// What to do about an error, where a user of this command can do something else than one of `inrush run`.
    fn hint_for(&self, error: &inrush::Error, is_temporary: bool) -> Option<String> {
        let is_series = is_series(self.arguments);
        match error {
            inrush::Error::Interrupted if is_series => Some(
                "runs that ended are in the results; the same command measures all anew".to_owned(),
            ),
            inrush::Error::Interrupted if is_temporary => Some(
                "run it again; with --to embedded:FOLDER and the files in a folder of yours \
                 (--data) it goes on where it stopped"
                    .to_owned(),
            ),
            inrush::Error::RejectLimit { reject, .. } => {
                Some(self.not_as_made(&reject.location.file))
            }
            inrush::Error::Verify(VerifyError::Sums { .. } | VerifyError::Rows { .. }) => {
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

    /// What to do about a file with a row that dbgen does not make: no rejects are accepted here.
    fn not_as_made(&self, path: &Path) -> String {
        let anew = match self.disposable {
            // It is gone with its folder.
            Some(_) => None,
            None => self.set.made_anew(path),
        };
        anew.unwrap_or_else(|| {
            "a row that dbgen makes never is a reject: this is a fault of Inrush, or of the \
             machine: please report it"
                .to_owned()
        })
    }

    /// Brings the server to the same state before each run, as far as it lets us.
    fn make_ready(
        &self,
        address: &Address,
        reached: &Reached,
    ) -> Result<Vec<String>, CommandError> {
        refuse_tables(address, &self.set.tables)?;
        let mut notes = Vec::new();
        if is_series(self.arguments) && !reached.is_temporary() {
            let which = Which {
                ledger_schema: reached.package.run.ledger_schema.clone(),
                package: Some(NAME.to_owned()),
                run: None,
            };
            let options = PlaceOptions {
                folder: Path::new("."),
                site_packages: None,
                ledger_schema: &which.ledger_schema,
                defaults: &credentials::connection_defaults()?,
            };
            let place = LedgerPlace::of(reached.package.single_connection()?, &options)?;
            for removed in upkeep::cleanup(&place, &which)? {
                notes.push(format!(
                    "what the stopped run {} had staged was removed before",
                    removed.run.name
                ));
            }
        }
        // What an earlier run has left to be written is not to be paid by the next one.
        let refused = with_session(address, async |session| {
            match session.execute("CHECKPOINT", "making ready").await {
                Ok(()) => Ok(None),
                Err(error @ DestinationError::Refused { .. }) => Ok(Some(error.to_string())),
                Err(error) => Err(error),
            }
        })?;
        if let Some(refused) = refused {
            notes.push(format!(
                "no CHECKPOINT before each run, so a run may pay for what is written of an earlier \
                 one: {refused}"
            ));
        }
        Ok(notes)
    }

    fn begun(&self, address: &Address, reached: &Reached) -> Begun<'_> {
        let cores_in_all = self.cores_in_all(address, reached);
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
                "the server is on another machine, whose cores nobody has told: --cores N"
                    .to_owned(),
            );
        }
        if self.arguments.verify != VerifyLevel::Count {
            notes.push(format!(
                "verify = {:?} is in the time that is measured; the record runs verified nothing",
                verify_word(self.arguments.verify)
            ));
        }
        Begun {
            command: &self.command,
            data: self.data(),
            settings: SettingsResult {
                order: match self.arguments.order {
                    EtlwrOrder::Sequence => "sequence",
                    EtlwrOrder::LargestFirst => "largest_first",
                }
                .to_owned(),
                verify: verify_word(self.arguments.verify).to_owned(),
                analyze: self.arguments.analyze,
                streams: points(self.arguments),
                rounds: self.arguments.rounds,
            },
            cores_in_all,
            generated: self.generated.clone(),
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

    /// Those that were told, else this machine's, where the server is on it.
    fn cores_in_all(&self, address: &Address, reached: &Reached) -> Option<u32> {
        if self.arguments.cores.is_some() {
            return self.arguments.cores;
        }
        let here = ["/", "localhost:", "127.", "[::1]"];
        let is_here = |place: &str| here.iter().any(|start| place.starts_with(start));
        let is_local = reached.server().is_some()
            || address
                .places
                .iter()
                .all(|place| is_here(&place.describe()));
        is_local.then(|| u32::try_from(machine().cores).unwrap_or(u32::MAX))
    }

    fn result(
        &self,
        report: &RunReport,
        (round, streams): (u16, u16),
        seen: &Seen,
        expected: &Expected,
    ) -> RunResult {
        let phases = report.phases;
        let seconds = phases.load_s + phases.switch_s;
        let bytes = report.account.bytes_read;
        RunResult {
            run: report.run.clone(),
            report: None,
            streams,
            streams_used: report.streams.len(),
            round,
            resumed: report.resumed,
            seconds,
            load_s: phases.load_s,
            switch_s: phases.switch_s,
            analyze_s: phases.analyze_s,
            total_s: phases.total_s,
            loader_cpu_s: seen.loader_cpu_s,
            rows: report.account.rows_loaded,
            bytes,
            rates: (!report.resumed).then(|| Rates::new(bytes as f64, seconds, seen.cores)),
            verdict: report.verdict.as_ref().map(|verdict| verdict.line.clone()),
            tables: report
                .tables
                .iter()
                .map(|table| TableResult {
                    table: table.flow.clone(),
                    rows: table.account.rows_loaded,
                    bytes: table.account.bytes_read,
                    partitions: table.partitions.len(),
                    stored_bytes: seen.stored_bytes.get(&table.target).copied().unwrap_or(0),
                })
                .collect(),
            proof: expected.hold(report, verify_word(self.arguments.verify)),
        }
    }

    fn tell_run(&self, run: &RunResult) {
        if self.arguments.json {
            let line = json!({"event": "measured", "measured": run});
            let _ = output::json(&line);
        } else if !self.arguments.quiet && is_series(self.arguments) {
            output::say(&format!(
                "{}, round {}: {}\n",
                counted(u64::from(run.streams), "stream"),
                run.round,
                seconds(run.seconds)
            ));
        }
    }

    fn tell(&self, results: &Results, folder: &Path) {
        if self.arguments.json {
            let line = json!({
                "event": "results",
                "folder": folder.display().to_string(),
                "results": results,
            });
            let _ = output::json(&line);
        } else if !self.arguments.quiet {
            output::say(&summary::terminal(results, folder));
        }
    }
}

/// What to do about a load that cannot be planned.
pub fn plan_hint(error: &inrush::Error) -> Option<String> {
    let hint = match error {
        inrush::Error::Plan(PlanError::Target { .. }) => {
            "the workload makes its tables itself: load into another database, or drop those of an \
             earlier run"
        }
        inrush::Error::Plan(PlanError::Room { .. }) => {
            "free space there, or choose a smaller --scale or fewer parts; --no-disk-check tries it \
             all the same"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The numbers of streams, each once, in their order.
pub fn points(arguments: &MeasureArguments) -> Vec<u16> {
    let mut points: Vec<u16> = Vec::new();
    for streams in &arguments.sweep {
        if !points.contains(streams) {
            points.push(*streams);
        }
    }
    if points.is_empty() {
        let streams = arguments.streams;
        points.push(streams.unwrap_or_else(|| u16::try_from(cores()).unwrap_or(1024).min(1024)));
    }
    points
}

/// Whether each run must start anew: a point of a sweep that went on where another one stopped
/// would be none.
pub fn is_series(arguments: &MeasureArguments) -> bool {
    points(arguments).len() > 1 || arguments.rounds > 1
}

/// Refuses a database that has a table of the workload: what is dropped at the end must be what
/// was made here.
pub fn refuse_tables(address: &Address, tables: &[TableFiles]) -> Result<(), CommandError> {
    let names: Vec<String> = tables
        .iter()
        .map(|table| table.table.name.to_owned())
        .collect();
    let there = with_session(address, async |session| {
        for name in &names {
            let schema = catalog::default_schema(session, name).await?;
            let only = std::slice::from_ref(name);
            if !catalog::relation_names(session, &schema, Some(only))
                .await?
                .is_empty()
            {
                return Ok(Some(format!("{schema}.{name}")));
            }
        }
        Ok(None)
    })?;
    match there {
        None => Ok(()),
        Some(table) => Err(CommandError::Usage {
            what: format!(
                "--to: the database has a table {table}, and the workload makes its tables itself"
            ),
            hint: "load into another database, or drop it where it is of an earlier run".to_owned(),
        }),
    }
}

/// What the report of a run does not say.
struct Seen {
    /// CPU seconds of the loader in this run.
    loader_cpu_s: f64,
    /// Bytes in the database, by target.
    stored_bytes: BTreeMap<String, u64>,
    /// Cores of all machines that took part.
    cores: Option<u32>,
}

fn verify_word(level: VerifyLevel) -> &'static str {
    match level {
        VerifyLevel::Count => "count",
        VerifyLevel::Sums => "sums",
        VerifyLevel::Rows => "rows",
    }
}

/// What a reader should know of a run.
fn remarks(report: &RunReport, streams: u16) -> Vec<String> {
    let mut notes = Vec::new();
    if report.resumed {
        notes.push(format!(
            "run {} went on where an earlier one stopped, so no figure is made of it",
            report.run
        ));
    }
    if report.streams.len() < usize::from(streams) && !report.resumed {
        notes.push(format!(
            "{streams} streams were asked for, and there was work for {}",
            report.streams.len()
        ));
    }
    notes
}

/// Where the database is.
pub fn address(reached: &Reached) -> Result<Address, CommandError> {
    let connection = reached.package.single_connection()?;
    let defaults = credentials::connection_defaults()?;
    let address = Address::parse(connection.address(), &defaults).map_err(inrush::Error::from)?;
    Ok(address)
}

/// Does something over a connection of its own.
fn with_session<T>(
    address: &Address,
    work: impl AsyncFnOnce(&Session) -> Result<T, DestinationError>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| inrush::Error::Threads { source })?;
    let done = runtime.block_on(async {
        let session = Session::open(address, "inrush bench etlwr").await?;
        let done = work(&session).await;
        session.close().await;
        done
    });
    Ok(done.map_err(inrush::Error::from)?)
}

/// What each target takes in the database, its partitions included.
fn stored_bytes(
    address: &Address,
    report: &RunReport,
) -> Result<BTreeMap<String, u64>, CommandError> {
    let targets: Vec<String> = report
        .tables
        .iter()
        .map(|table| table.target.clone())
        .collect();
    with_session(address, async |session| {
        let mut sizes = BTreeMap::new();
        for target in targets {
            let rows = session
                .query(
                    "SELECT (pg_total_relation_size($1::text::regclass) + coalesce((\
                     SELECT sum(pg_total_relation_size(relid)) \
                     FROM pg_partition_tree($1::text::regclass) \
                     WHERE relid <> $1::text::regclass), 0))::bigint",
                    &[&target],
                    "looking at the sizes of the tables",
                )
                .await?;
            sizes.insert(target, rows[0].get::<_, i64>(0).unsigned_abs());
        }
        Ok(sizes)
    })
}

/// Takes out what this run has made.
fn drop_tables(address: &Address, report: &RunReport) -> Result<(), CommandError> {
    let targets: Vec<&str> = report
        .tables
        .iter()
        .map(|table| table.target.as_str())
        .collect();
    let statement = format!("{PATIENCE}; DROP TABLE {}", targets.join(", "));
    with_session(address, async |session| {
        session.execute(&statement, "dropping the tables").await
    })
}
