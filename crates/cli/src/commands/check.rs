//! `inrush check`.

use inrush::RunOptions;
use inrush::cancel::Stop;
use inrush::event::Silent;

use crate::arguments::CheckArguments;
use crate::embedded::cores;
use crate::errors::CommandError;
use crate::{Surroundings, credentials, embedded, output, package_file, signals};

/// Prints what a package would do.
pub fn check(arguments: &CheckArguments, surroundings: &Surroundings) -> Result<u8, CommandError> {
    let mut ready = package_file::read(&arguments.package, &arguments.overrides)?;
    if arguments.streams.is_some() {
        ready.package.run.streams = arguments.streams;
    }
    let _guard = signals::end_at_once(None);
    let reached = embedded::reach_to_look(ready.package, &ready.folder, surroundings)?;
    let options = RunOptions {
        folder: ready.folder,
        runs_folder: "runs".into(),
        streams_default: cores(),
        replays: None,
        again: arguments.again,
        connection_defaults: credentials::connection_defaults()?,
        site_packages: reached.site_packages.clone(),
        embedded: reached.report.clone(),
        stop: Stop::default(),
        observer: &Silent,
        fault: None,
    };
    let plan = inrush::check(&reached.package, &options)?;
    output::say(&plan.to_string());
    reached.stop()?;
    plan.require_runnable()?;
    Ok(0)
}
