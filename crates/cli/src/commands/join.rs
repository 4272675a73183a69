//! `inrush join`.

use inrush::ExitStatus;
use inrush::printable::line;
use inrush::shares::ShareLoaded;

use crate::arguments::JoinArguments;
use crate::errors::CommandError;
use crate::numbers::counted;
use crate::running::{self, OutputMode, RunSetup};
use crate::{Surroundings, embedded, output, package_file, signals};

/// Loads a share of a run.
pub fn join(
    arguments: &JoinArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    let mut ready = package_file::read(&arguments.package, &arguments.overrides)?;
    if arguments.streams.is_some() {
        ready.package.run.streams = arguments.streams;
    }
    let guard = signals::end_at_once(None);
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    drop(guard);
    let output_mode = OutputMode::of(arguments.json, arguments.quiet);
    let setup = RunSetup::of_share(&ready.folder, output_mode);
    let share = usize::from(arguments.share);
    let loaded = running::load_share(&reached, &setup, &arguments.plan, share)?;
    if output_mode == OutputMode::Bars {
        output::say(&line(&told(&loaded)));
    }
    output::notes(reached.stop_after_commit());
    Ok(match loaded.account.rows_rejected {
        0 => ExitStatus::Clean,
        _ => ExitStatus::Rejects,
    })
}

fn told(loaded: &ShareLoaded) -> String {
    let ShareLoaded {
        run,
        share,
        units,
        units_kept,
        account,
    } = loaded;
    let kept = match units_kept {
        0 => String::new(),
        kept => format!(" ({kept} of them were loaded before)"),
    };
    format!(
        "share {share} of run {run} is loaded: {}{kept}, {} loaded, {} rejected; `inrush run` publishes them",
        counted(*units as u64, "unit"),
        counted(account.rows_loaded, "row"),
        account.rows_rejected,
    )
}
