//! `inrush bench etlwr generate`, and the progress of generating files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush_system::threads::cores;
use inrush_workloads::WorkloadError;
use inrush_workloads::etlwr::{GeneratedResult, Job, space};
use inrush_workloads::tpch::Told;
use serde_json::json;

use super::settings::selection;
use crate::arguments::GenerateArguments;
use crate::errors::CommandError;
use crate::numbers::{bytes, counted, seconds};
use crate::signals::{self, Left};
use crate::{output, progress};

/// Makes the files that the arguments name.
pub fn generate(arguments: &GenerateArguments) -> Result<ExitStatus, CommandError> {
    let job = Job::new(
        &arguments.to,
        arguments.scale,
        arguments.parts,
        &selection(&arguments.which),
        arguments.threads.map_or_else(cores, usize::from),
    )?;
    if !arguments.no_disk_check {
        space::require(&job.needs())?;
    }
    make(&job, (arguments.json, arguments.quiet), None)?;
    Ok(ExitStatus::Clean)
}

/// Generates files and shows progress. `(json, quiet)` is the form of the output; `disposable` is removed if the
/// command is stopped.
pub fn make(
    job: &Job,
    (json, quiet): (bool, bool),
    disposable: Option<PathBuf>,
) -> Result<GeneratedResult, CommandError> {
    let stop = Stop::default();
    let is_disposable = disposable.is_some();
    let left = match is_disposable {
        true => Left::Nothing(disposable),
        false => Left::Files,
    };
    let _guard = signals::stop_cleanly(&stop, left);
    let rows = AtomicU64::new(0);
    let is_shown = !json && !quiet && output::shows_progress();
    let bar = is_shown.then(|| progress::rows_bar("generating TPC-H"));
    let told = |told: Told<'_>| match told {
        Told::Rows { rows: more, .. } => {
            let rows = rows.fetch_add(more, Ordering::Relaxed) + more;
            if let Some(bar) = &bar {
                progress::tell_rows(bar, "generating TPC-H", rows);
            }
        }
        Told::File(file) if json => {
            let line = json!({
                "event": "file",
                "table": file.table,
                "part": file.part,
                "path": file.path.display().to_string(),
                "bytes": file.bytes,
                "rows": file.rows,
                "made": file.rows.is_some(),
            });
            let _ = output::json(&line);
        }
        Told::File(_) => {}
    };
    let made = job.run(&stop, &told);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let made = made.map_err(|error| match error {
        WorkloadError::Stopped { .. } if is_disposable => CommandError::Stopped {
            hint: "with --data FOLDER the files are kept, and the same command resumes".to_owned(),
        },
        error => error.into(),
    })?;
    tell(job, &made, json, quiet);
    Ok(made)
}

fn tell(job: &Job, result: &GeneratedResult, json: bool, quiet: bool) {
    let manifest = job.manifest();
    if json {
        let line = json!({
            "event": "generated",
            "folder": job.folder().display().to_string(),
            "scale": manifest.scale,
            "parts": manifest.parts,
            "ten_percent": manifest.ten_percent,
            "files": result.files,
            "files_made": result.files_made,
            "bytes": result.bytes,
            "bytes_made": result.bytes_made,
            "seconds": result.seconds,
        });
        let _ = output::json(&line);
    } else if !quiet {
        let there = match result.files - result.files_made {
            0 => String::new(),
            there => format!("; {} there already", counted(there as u64, "file")),
        };
        output::say(&format!(
            "generated {}: {}, {}, in {}{there}\n",
            manifest.describe(),
            counted(result.files_made as u64, "file"),
            bytes(result.bytes_made),
            seconds(result.seconds),
        ));
    }
}
