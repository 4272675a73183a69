//! `inrush bench etlwr generate`: the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use inrush::cancel::Stop;
use serde_json::json;

use super::data::{Manifest, TableFiles, folder_of, tenth};
use super::results::GeneratedResult;
use super::selection;
use super::space::{self, Need};
use crate::arguments::{GenerateArguments, WhichArguments};
use crate::embedded::cores;
use crate::errors::CommandError;
use crate::numbers::{bytes, counted, seconds};
use crate::signals::{self, Left};
use crate::{output, progress};
use inrush_workloads::tpch::{self, Generated, Generation, TableSize, Told, file_name, parts_of};

/// Makes the files that the arguments name.
pub fn generate(arguments: &GenerateArguments) -> Result<u8, CommandError> {
    let job = Job::new(
        &arguments.to,
        arguments.scale,
        arguments.parts,
        &arguments.which,
        arguments.threads.map_or_else(cores, usize::from),
    )?;
    if !arguments.no_disk_check {
        space::require(&job.needs())?;
    }
    job.run((arguments.json, arguments.quiet), None)?;
    Ok(0)
}

/// Files to be made.
pub struct Job {
    folder: PathBuf,
    manifest: Manifest,
    tables: Vec<&'static str>,
    wanted: Vec<u32>,
    threads: usize,
}

impl Job {
    /// What is to be made; refuses a folder with files of something else.
    pub fn new(
        base: &Path,
        scale: f64,
        parts: u32,
        which: &WhichArguments,
        threads: usize,
    ) -> Result<Job, CommandError> {
        let manifest = Manifest {
            scale: match which.ten_percent {
                true => tenth(scale),
                false => scale,
            },
            parts,
            ten_percent: which.ten_percent,
        };
        tpch::scale_is_known(manifest.scale).map_err(CommandError::Generate)?;
        let job = Job {
            folder: folder_of(base, which.ten_percent),
            manifest,
            tables: selection::tables(which.tables.as_deref())?,
            wanted: selection::parts(which.part.as_deref(), parts)?,
            threads,
        };
        job.refuse_other_files()?;
        Ok(job)
    }

    fn refuse_other_files(&self) -> Result<(), CommandError> {
        match Manifest::read(&self.folder)? {
            Some(there) if there != self.manifest => Err(CommandError::Usage {
                what: format!(
                    "{} holds {}, and {} is to be made",
                    self.folder.display(),
                    there.describe(),
                    self.manifest.describe()
                ),
                hint: "choose another folder, or the same --scale and --parts".to_owned(),
            }),
            Some(_) => Ok(()),
            None => match self.files().find(|(_, _, path)| path.exists()) {
                Some((_, _, path)) => Err(CommandError::Usage {
                    what: format!(
                        "{} is there, and nothing says of which scale it is",
                        path.display()
                    ),
                    hint: "choose another folder".to_owned(),
                }),
                None => Ok(()),
            },
        }
    }

    /// Table, part and path of each file.
    fn files(&self) -> impl Iterator<Item = (&'static str, u32, PathBuf)> {
        self.tables.iter().flat_map(move |table| {
            let parts = parts_of(table, self.manifest.parts);
            let wanted = self.wanted.iter().copied();
            wanted.filter(move |part| *part <= parts).map(move |part| {
                let path = self.folder.join(file_name(table, parts, part));
                (*table, part, path)
            })
        })
    }

    /// The tables with the files that they will have, as [`DataSet::find`](super::data::DataSet::find) will find them,
    /// and about how large they will be.
    pub fn tables(&self) -> Vec<TableFiles> {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let table = |name: &&'static str| {
            let own = self.files().filter(|(of, ..)| of == name);
            let files: BTreeMap<u32, PathBuf> =
                own.map(|(_, part, path)| (part, absolute(path))).collect();
            Some(TableFiles {
                table: tpch::table(name)?,
                bytes: self.text_bytes(name, files.len()),
                files,
            })
        };
        let tables = self.tables.iter().filter_map(table);
        tables.filter(|table| !table.files.is_empty()).collect()
    }

    /// About how large each table will be.
    pub fn sizes(&self) -> Vec<TableSize> {
        let size = |table: &&'static str| {
            let files = self.files().filter(|(of, ..)| of == table).count();
            TableSize {
                table,
                files,
                text_bytes: self.text_bytes(table, files),
            }
        };
        self.tables.iter().map(size).collect()
    }

    fn text_bytes(&self, table: &str, files: usize) -> u64 {
        let share = files as f64 / f64::from(parts_of(table, self.manifest.parts));
        tpch::text_bytes(table, self.manifest.scale, share)
    }

    /// What the files that are not there will take.
    pub fn needs(&self) -> Vec<Need> {
        let missing = self.tables.iter().map(|table| {
            let files = self.files().filter(|(of, ..)| of == table);
            let files = files.filter(|(_, _, path)| !path.exists()).count();
            self.text_bytes(table, files)
        });
        vec![Need {
            what: "the files",
            folder: self.folder.clone(),
            bytes: missing.sum(),
        }]
    }

    /// Makes them. `(json, quiet)` is how it is told.
    pub fn run(
        &self,
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
        self.manifest.write(&self.folder)?;
        let generation = Generation {
            folder: &self.folder,
            scale: self.manifest.scale,
            parts: self.manifest.parts,
            tables: &self.tables,
            wanted: &self.wanted,
            threads: self.threads,
            keep_files: true,
            stop: &stop,
        };
        let started = Instant::now();
        let made = made(&generation, json, quiet).map_err(|error| match error {
            CommandError::Stopped { .. } if is_disposable => CommandError::Stopped {
                hint: "with --data FOLDER the files stay, and the same command goes on".to_owned(),
            },
            other => other,
        })?;
        let elapsed = started.elapsed().as_secs_f64();
        let new = made.iter().filter(|file| file.rows.is_some());
        let result = GeneratedResult {
            seconds: elapsed,
            files: made.len(),
            files_made: new.clone().count(),
            bytes: made.iter().map(|file| file.bytes).sum(),
            bytes_made: new.map(|file| file.bytes).sum(),
        };
        self.tell(&result, json, quiet);
        Ok(result)
    }

    fn tell(&self, result: &GeneratedResult, json: bool, quiet: bool) {
        if json {
            let line = json!({
                "event": "generated",
                "folder": self.folder.display().to_string(),
                "scale": self.manifest.scale,
                "parts": self.manifest.parts,
                "ten_percent": self.manifest.ten_percent,
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
                self.manifest.describe(),
                counted(result.files_made as u64, "file"),
                bytes(result.bytes_made),
                seconds(result.seconds),
            ));
        }
    }
}

/// Makes the files with progress shown; an interruption says how to go on.
fn made(
    generation: &Generation<'_>,
    json: bool,
    quiet: bool,
) -> Result<Vec<Generated>, CommandError> {
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
    let made = generation.make(&told);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    made.map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => CommandError::Stopped {
            hint: "the same command goes on: files that are there are whole, and stay".to_owned(),
        },
        _ => CommandError::Generate(error),
    })
}
