//! `inrush demo`: loads generated data and checks it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush::plan::PlanError;
use inrush::report::TableReport;
use inrush_system::threads::cores;
use inrush_workloads::WorkloadError;
use inrush_workloads::demo::{FILE_NAME, check, package, save};
use inrush_workloads::tpch::{self, GeneratedTable};

use crate::arguments::DemoArguments;
use crate::embedded::{self, Reached};
use crate::errors::CommandError;
use crate::numbers::{bytes, counted, seconds};
use crate::running::{self, OutputMode, RunSetup};
use crate::{Surroundings, credentials, output, package_file, progress, run_summary, signals};

/// Generates TPC-H, loads it, checks it, and prints the result.
pub fn demo(
    arguments: &DemoArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    credentials::refuse_password("--to", &arguments.to)?;
    let files = DemoFolder::make(arguments)?;
    let threads = arguments.streams.map_or_else(cores, usize::from);

    let guard = signals::end_at_once(files.disposable());
    let tables = make_files(arguments, files.folder(), threads)?;
    let package = package(&tables, &url(arguments, &files), arguments.streams);
    let folder = files.folder().to_owned();
    let ready = package_file::ready(&package, &Default::default(), folder)?;
    if arguments.keep {
        // The package is written before the load, so that a disk that becomes full does not fail a load whose rows are
        // committed.
        save(&package, files.folder())?;
    }
    let started = Instant::now();
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    if let Some(server) = reached.server() {
        output::say(&format!(
            "started PostgreSQL {} in {}\n",
            server.server_version(),
            seconds(started.elapsed().as_secs_f64())
        ));
    }
    drop(guard);

    let hint = |error: &inrush::Error| hint_for(error, arguments);
    let setup = RunSetup {
        folder: ready.folder,
        runs_folder: arguments.runs_folder.clone(),
        again: false,
        from: None,
        output_mode: OutputMode::Bars,
        replays: None,
        shares: None,
        disposable: files.disposable(),
        stop: Stop::default(),
        hint: Some(&hint),
        rows: None,
    };
    let success = running::run(&reached, &setup).map_err(|(error, _)| error)?;
    let guard = signals::end_at_once(files.disposable());
    check_contents(&reached, &success.report.tables, &tables, threads)?;
    output::say(&format!(
        "\n{}",
        run_summary::account(&success.report, success.report_path.as_deref())
    ));
    if arguments.keep {
        output::say(&kept(arguments, files.folder()));
    }
    output::notes(reached.stop_after_commit());
    drop(guard);
    Ok(success.report.exit_status)
}

/// The hint for a failed demo. Most failures leave nothing to resume.
fn hint_for(error: &inrush::Error, arguments: &DemoArguments) -> Option<String> {
    match error {
        inrush::Error::Interrupted if !arguments.keep => {
            Some("run the demo again; --keep keeps its files and data".to_owned())
        }
        inrush::Error::Plan(PlanError::Target { .. }) => Some(format!(
            "the demo makes its eight tables itself: load into another database{}",
            match arguments.keep {
                true => ", or keep it in another --folder",
                false => "",
            }
        )),
        _ => None,
    }
}

/// The folder of the generated files.
enum DemoFolder {
    Kept(PathBuf),
    Disposable(tempfile::TempDir),
}

impl DemoFolder {
    fn make(arguments: &DemoArguments) -> Result<DemoFolder, CommandError> {
        let failed = |path: PathBuf| {
            move |source| CommandError::File {
                doing: "cannot make the folder",
                path,
                source,
            }
        };
        if arguments.keep {
            let folder = arguments.folder.clone();
            std::fs::create_dir_all(&folder).map_err(failed(folder.clone()))?;
            return Ok(DemoFolder::Kept(folder));
        }
        let parent = std::env::temp_dir();
        tempfile::Builder::new()
            .prefix("inrush-demo-")
            .tempdir_in(&parent)
            .map(DemoFolder::Disposable)
            .map_err(failed(parent))
    }

    fn folder(&self) -> &Path {
        match self {
            DemoFolder::Kept(folder) => folder,
            DemoFolder::Disposable(folder) => folder.path(),
        }
    }

    /// The folder that a signal removes.
    fn disposable(&self) -> Option<PathBuf> {
        match self {
            DemoFolder::Kept(_) => None,
            DemoFolder::Disposable(folder) => Some(folder.path().to_owned()),
        }
    }
}

/// The URL of the demo's database. An embedded server that is kept has its data beside the files.
fn url(arguments: &DemoArguments, files: &DemoFolder) -> String {
    match files {
        DemoFolder::Kept(_) if arguments.to == "embedded" => "embedded:data".to_owned(),
        _ => arguments.to.clone(),
    }
}

fn make_files(
    arguments: &DemoArguments,
    folder: &Path,
    threads: usize,
) -> Result<Vec<GeneratedTable>, CommandError> {
    let started = Instant::now();
    let rows = AtomicU64::new(0);
    let bar = output::shows_progress().then(|| progress::rows_bar("generating TPC-H"));
    let told = |_: &str, more: u64| {
        let rows = rows.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(bar) = &bar {
            progress::tell_rows(bar, "generating TPC-H", rows);
        }
    };
    let tables = tpch::generate(folder, arguments.scale, arguments.parts, threads, &told)
        .map_err(WorkloadError::Generate)?;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let files: usize = tables.iter().map(|table| table.files.len()).sum();
    output::say(&format!(
        "generated TPC-H at scale {}: {} of {} in {}, {}\n",
        arguments.scale,
        counted(tables.iter().map(|table| table.rows).sum(), "row"),
        counted(tables.len() as u64, "table"),
        counted(files as u64, "file"),
        format_args!(
            "{}, in {}",
            bytes(tables.iter().map(|table| table.bytes).sum()),
            seconds(started.elapsed().as_secs_f64())
        )
    ));
    Ok(tables)
}

fn check_contents(
    reached: &Reached,
    loaded: &[TableReport],
    tables: &[GeneratedTable],
    threads: usize,
) -> Result<(), CommandError> {
    let started = Instant::now();
    let connection = reached.package.single_connection()?;
    let defaults = credentials::connection_defaults()?;
    let address = inrush::postgres_server(connection, &defaults)?;
    check(&address, loaded, tables, threads)?;
    output::say(&format!(
        "checked in {}: every row of {} in the database equals a generated row\n",
        seconds(started.elapsed().as_secs_f64()),
        counted(tables.len() as u64, "table")
    ));
    Ok(())
}

fn kept(arguments: &DemoArguments, folder: &Path) -> String {
    let data = match arguments.to.as_str() {
        "embedded" => " and the server's data",
        _ => "",
    };
    format!(
        "kept in {}: the files, the package {}{data}\n",
        folder.display(),
        FILE_NAME
    )
}
