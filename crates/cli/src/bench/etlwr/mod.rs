//! `inrush bench etlwr`: the ETL world record of 2009, and the repetition of 2016, at any scale.
//!
//! The workload itself is [`inrush_workloads::etlwr`]; this module provides arguments, a database, signals and a
//! terminal.

mod early_checks;
mod generating;
mod measuring;
mod repeat_command;
mod settings;
mod terminal;

use std::path::{Path, PathBuf};

use inrush::ExitStatus;
use inrush_workloads::etlwr::{DataSet, Disposable, Job, References, space};

use self::measuring::Task;
use self::settings::{selection, settings};
use crate::arguments::{
    EtlwrArguments, EtlwrCommand, EtlwrRunArguments, MeasureArguments, WholeArguments,
};
use crate::errors::CommandError;
use crate::{Surroundings, credentials, output, running};
use inrush_system::threads::cores;

/// Runs the command with these arguments.
pub fn etlwr(
    arguments: &EtlwrArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        Some(EtlwrCommand::Generate(arguments)) => generating::generate(arguments),
        Some(EtlwrCommand::Run(arguments)) => run(arguments, surroundings),
        None => whole(&arguments.whole, surroundings),
    }
}

/// Loads existing files.
fn run(
    arguments: &EtlwrRunArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    let measure = &arguments.measure;
    credentials::refuse_password("--to", &measure.to)?;
    let settings = settings(measure);
    settings.check()?;
    let set = DataSet::find(&arguments.data, &selection(&arguments.which))?;
    if settings.disk_check {
        let temporary = std::env::temp_dir();
        space::require(&space::of_database(&set.sizes(), &settings.url, &temporary))?;
    }
    let made_references = match (measure.transforms, set.folders.first()) {
        (true, Some(folder)) => Some(references(folder, set.manifest.scale, measure, None)?),
        _ => None,
    };
    let task = Task {
        set: &set,
        arguments: measure,
        settings: &settings,
        references: made_references.as_ref(),
        generated: None,
        disposable: None,
        command: repeat_command::run_command(arguments),
    };
    task.run(surroundings)
}

/// Generates the files and loads them.
fn whole(
    arguments: &WholeArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    let measure = &arguments.measure;
    credentials::refuse_password("--to", &measure.to)?;
    let settings = settings(measure);
    settings.check()?;
    // Folders of killed commands are removed before the disk is checked, because they may fill it.
    let temporary = std::env::temp_dir();
    for left in Disposable::remove_left(&temporary) {
        if !measure.quiet {
            output::errors(&format!(
                "removed {}, files of an `inrush bench etlwr` that was killed",
                left.display()
            ));
        }
    }
    let files = FilesFolder::new(arguments, temporary.clone())?;
    let selection = selection(&arguments.which);
    let job = Job::new(
        files.folder(),
        arguments.scale,
        arguments.parts,
        &selection,
        cores(),
    )?;
    if settings.disk_check {
        let mut needs = job.needs();
        needs.extend(space::of_database(&job.sizes(), &settings.url, &temporary));
        space::require(&needs)?;
    }
    let made_references = match measure.transforms {
        true => {
            let scale = job.manifest().scale;
            Some(references(
                job.folder(),
                scale,
                measure,
                files.disposable(),
            )?)
        }
        false => None,
    };
    early_checks::look(
        &job.tables(),
        measure,
        &settings,
        made_references.as_ref(),
        surroundings,
        files.disposable(),
    )?;
    let made = generating::make(&job, (measure.json, measure.quiet), files.disposable())?;
    let set = DataSet::find(&[files.folder().to_owned()], &selection)?;
    let task = Task {
        set: &set,
        arguments: measure,
        settings: &settings,
        references: made_references.as_ref(),
        generated: Some(made),
        disposable: files.disposable(),
        command: repeat_command::whole_command(arguments),
    };
    task.run(surroundings)
}

/// Generates the references of lookups for the files in a folder.
fn references(
    folder: &Path,
    scale: f64,
    measure: &MeasureArguments,
    disposable: Option<PathBuf>,
) -> Result<References, CommandError> {
    let job = References::job(folder, scale, cores())?;
    if !measure.no_disk_check {
        space::require(&job.needs())?;
    }
    generating::make(&job, (measure.json, measure.quiet), disposable)?;
    Ok(References::of(&job))
}

/// The folder of the generated files.
enum FilesFolder {
    Kept(PathBuf),
    Disposable(Disposable),
}

impl FilesFolder {
    fn new(arguments: &WholeArguments, temporary: PathBuf) -> Result<FilesFolder, CommandError> {
        if let Some(folder) = &arguments.data {
            return Ok(FilesFolder::Kept(folder.clone()));
        }
        Disposable::make(&temporary)
            .map(FilesFolder::Disposable)
            .map_err(|source| CommandError::File {
                doing: "cannot make a folder in",
                path: temporary,
                source,
            })
    }

    fn folder(&self) -> &Path {
        match self {
            FilesFolder::Kept(folder) => folder,
            FilesFolder::Disposable(folder) => folder.path(),
        }
    }

    /// The folder that a signal removes.
    fn disposable(&self) -> Option<PathBuf> {
        match self {
            FilesFolder::Kept(_) => None,
            FilesFolder::Disposable(folder) => Some(folder.path().to_owned()),
        }
    }
}
