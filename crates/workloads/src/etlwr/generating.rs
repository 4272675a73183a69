//! Generates the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use inrush::cancel::Stop;

use super::data::TableFiles;
use super::manifest::{Manifest, folder_of, tenth};
use super::results::GeneratedResult;
use super::selection::{self, Selection};
use super::space::Need;
use crate::error::WorkloadError;
use crate::tpch::{self, Generation, TableSize, Told, file_name, parts_of};

/// Files to be generated.
pub struct Job {
    folder: PathBuf,
    manifest: Manifest,
    tables: Vec<&'static str>,
    wanted: Vec<u32>,
    threads: usize,
}

impl Job {
    /// The files to generate; an error if the folder has files of another data set.
    pub fn new(
        base: &Path,
        scale: f64,
        parts: u32,
        which: &Selection,
        threads: usize,
    ) -> Result<Job, WorkloadError> {
        let manifest = Manifest {
            scale: match which.ten_percent {
                true => tenth(scale),
                false => scale,
            },
            parts,
            ten_percent: which.ten_percent,
        };
        tpch::scale_is_known(manifest.scale).map_err(WorkloadError::Generate)?;
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

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Their scale and parts.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn refuse_other_files(&self) -> Result<(), WorkloadError> {
        match Manifest::read(&self.folder)? {
            Some(there) if there != self.manifest => Err(WorkloadError::Usage {
                what: format!(
                    "{} has {}, but {} should be generated",
                    self.folder.display(),
                    there.describe(),
                    self.manifest.describe()
                ),
                hint: "choose another folder, or the same --scale and --parts".to_owned(),
            }),
            Some(_) => Ok(()),
            None => match self.files().find(|(_, _, path)| path.exists()) {
                Some((_, _, path)) => Err(WorkloadError::Usage {
                    what: format!("{} exists, but its scale is unknown", path.display()),
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

    /// The tables with the files that [`DataSet::find`](super::data::DataSet::find) will find once they are generated,
    /// and their estimated sizes.
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

    /// The estimated size of each table.
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

    /// The disk space that the missing files need.
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

    /// Generates the files until a stop is requested. `told` is called from several threads.
    pub fn run(
        &self,
        stop: &Stop,
        told: &(dyn Fn(Told<'_>) + Sync),
    ) -> Result<GeneratedResult, WorkloadError> {
        self.manifest.write(&self.folder)?;
        let generation = Generation {
            folder: &self.folder,
            scale: self.manifest.scale,
            parts: self.manifest.parts,
            tables: &self.tables,
            wanted: &self.wanted,
            threads: self.threads,
            keep_files: true,
            stop,
        };
        let started = Instant::now();
        let made = generation.make(told).map_err(|error| match error.kind() {
            std::io::ErrorKind::Interrupted => WorkloadError::Stopped {
                hint: "the same command resumes: existing files are complete, and are kept"
                    .to_owned(),
            },
            _ => WorkloadError::Generate(error),
        })?;
        let elapsed = started.elapsed().as_secs_f64();
        let new = made.iter().filter(|file| file.rows.is_some());
        Ok(GeneratedResult {
            seconds: elapsed,
            files: made.len(),
            files_made: new.clone().count(),
            bytes: made.iter().map(|file| file.bytes).sum(),
            bytes_made: new.map(|file| file.bytes).sum(),
        })
    }
}
