//! `inrush bench etlwr`: the ETL world record of 2009, and its answer of 2016, at any scale.
//!
//! `generating` makes files, where nobody names a folder in a `disposable` one, `data` finds them again,
//! `package` says how they are loaded, `measure` loads them by the engine's own run, `proof` holds
//! what was loaded against what dbgen makes, and `results`, `summary` and `chart` tell. Before files are
//! made, `space` looks at the disks, and `looking` plans the load with `stand_ins`.

mod chart;
mod data;
mod disposable;
mod generating;
mod looking;
mod measure;
mod package;
mod proof;
mod published;
mod results;
#[cfg(test)]
mod schema_test;
mod selection;
mod space;
mod stand_ins;
mod summary;

use std::path::PathBuf;

use self::data::DataSet;
use self::disposable::Disposable;
use self::generating::Job;
use self::measure::Measurement;
use crate::Surroundings;
use crate::arguments::{EtlwrArguments, EtlwrCommand, EtlwrRunArguments, WholeArguments};
use crate::embedded::cores;
use crate::errors::CommandError;
use crate::{output, running};

/// Does what the arguments ask for.
pub fn etlwr(arguments: &EtlwrArguments, surroundings: &Surroundings) -> Result<u8, CommandError> {
    match &arguments.command {
        Some(EtlwrCommand::Generate(arguments)) => generating::generate(arguments),
        Some(EtlwrCommand::Run(arguments)) => run(arguments, surroundings),
        None => whole(&arguments.whole, surroundings),
    }
}

/// Loads files that are there.
fn run(arguments: &EtlwrRunArguments, surroundings: &Surroundings) -> Result<u8, CommandError> {
    running::fault()?;
    measure::check(&arguments.measure)?;
    let set = DataSet::find(&arguments.data, &arguments.which)?;
    let measure = &arguments.measure;
    if !measure.no_disk_check {
        space::require(&space::of_database(&set.sizes(), measure))?;
    }
    Measurement {
        set: &set,
        arguments: measure,
        surroundings,
        generated: None,
        disposable: None,
        command: summary::run_command(arguments),
    }
    .run()
}

/// Makes the files and loads them.
fn whole(arguments: &WholeArguments, surroundings: &Surroundings) -> Result<u8, CommandError> {
    running::fault()?;
    let measure = &arguments.measure;
    measure::check(measure)?;
    // Before the disk is looked at: they may be what fills it.
    let temporary = std::env::temp_dir();
    for left in Disposable::remove_left(&temporary) {
        if !measure.quiet {
            output::errors(&format!(
                "removed {}, files of an `inrush bench etlwr` that was killed",
                left.display()
            ));
        }
    }
    let place = Place::new(arguments, temporary)?;
    let job = Job::new(
        place.folder(),
        arguments.scale,
        arguments.parts,
        &arguments.which,
        cores(),
    )?;
    if !measure.no_disk_check {
        let mut needs = job.needs();
        let sizes = job.sizes();
        needs.extend(space::of_database(&sizes, measure));
        space::require(&needs)?;
    }
    looking::look(&job.tables(), measure, surroundings, place.disposable())?;
    let made = job.run((measure.json, measure.quiet), place.disposable())?;
    let set = DataSet::find(&[place.folder().to_owned()], &arguments.which)?;
    Measurement {
        set: &set,
        arguments: measure,
        surroundings,
        generated: Some(made),
        disposable: place.disposable(),
        command: summary::whole_command(arguments),
    }
    .run()
}

/// Where the files are made.
enum Place {
    Kept(PathBuf),
    Disposable(Disposable),
}

impl Place {
    fn new(arguments: &WholeArguments, temporary: PathBuf) -> Result<Place, CommandError> {
        if let Some(folder) = &arguments.data {
            return Ok(Place::Kept(folder.clone()));
        }
        Disposable::make(&temporary)
            .map(Place::Disposable)
            .map_err(|source| CommandError::File {
                doing: "cannot make a folder in",
                path: temporary,
                source,
            })
    }

    fn folder(&self) -> &std::path::Path {
        match self {
            Place::Kept(folder) => folder,
            Place::Disposable(folder) => folder.path(),
        }
    }

    /// What a signal removes.
    fn disposable(&self) -> Option<PathBuf> {
        match self {
            Place::Kept(_) => None,
            Place::Disposable(folder) => Some(folder.path().to_owned()),
        }
    }
}
