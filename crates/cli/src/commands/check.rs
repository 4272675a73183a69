//! `inrush check`.

use inrush::ExitStatus;

use crate::arguments::CheckArguments;
use crate::errors::CommandError;
use crate::{Surroundings, embedded, output, package_file, running, signals};

/// Prints the plan of a package.
pub fn check(
    arguments: &CheckArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let mut ready = package_file::read(&arguments.package, &arguments.overrides)?;
    arguments.limits.replace_those_of(&mut ready.package)?;
    if arguments.streams.is_some() {
        ready.package.run.streams = arguments.streams;
    }
    running::require_since(&ready.package, arguments.from.as_deref())?;
    let _guard = signals::end_at_once(None);
    let reached =
        embedded::reach_to_look(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    let plan = running::plan(
        &reached,
        ready.folder,
        arguments.again,
        arguments.from.clone(),
    )?;
    output::say(&match arguments.sql {
        true => plan.script().to_string(),
        false => plan.to_string(),
    });
    reached.stop()?;
    plan.require_runnable()?;
    Ok(ExitStatus::Clean)
}
