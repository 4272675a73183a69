//! `inrush run`.

use std::num::NonZeroUsize;
use std::time::Duration;

use inrush::ExitStatus;
use inrush::shares::Shares;

use crate::arguments::{RunArguments, RunCommandArguments};
use crate::errors::CommandError;
use crate::package_file::{self, Ready};
use crate::running::{self, RunSetup};
use crate::{Surroundings, embedded, output, run_summary, signals};

/// Runs a package.
pub fn run(
    arguments: &RunCommandArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    let mut ready = package_file::read(&arguments.package, &arguments.overrides)?;
    arguments.limits.replace_those_of(&mut ready.package)?;
    if arguments.run.streams.is_some() {
        ready.package.run.streams = arguments.run.streams;
    }
    running::require_since(&ready.package, arguments.from.as_deref())?;
    let count = arguments
        .shares
        .and_then(|shares| NonZeroUsize::new(shares.into()));
    let wait = arguments.shares_wait.map(Duration::from_secs);
    let shares = count.map(|count| Shares {
        count,
        silence_max: wait.unwrap_or(Shares::SILENCE_MAX),
    });
    let special = SpecialRun {
        shares,
        from: arguments.from.clone(),
    };
    run_in_shares(ready, &arguments.run, special, surroundings)
}

/// Runs a package that is ready and prints its account.
pub fn run_ready(
    ready: Ready,
    arguments: &RunArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    run_in_shares(ready, arguments, SpecialRun::default(), surroundings)
}

/// Options that only `inrush run` has.
#[derive(Default)]
struct SpecialRun {
    shares: Option<Shares>,
    from: Option<String>,
}

fn run_in_shares(
    mut ready: Ready,
    arguments: &RunArguments,
    special: SpecialRun,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    if arguments.max_rate.is_some() {
        ready.package.run.rate_bytes_max = arguments.max_rate;
    }
    if let Some(choice) = arguments.server_copy {
        ready.package.run.server_copy = choice.into();
    }
    // The embedded server notices that this process has ended.
    let guard = signals::end_at_once(None);
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    drop(guard);
    let setup = RunSetup {
        shares: special.shares,
        from: special.from,
        ..RunSetup::new(arguments, &ready.folder)
    };
    let success = running::run(&reached, &setup).map_err(|(error, _)| error)?;
    if !arguments.json && !arguments.quiet {
        output::say(&run_summary::account(
            &success.report,
            success.report_path.as_deref(),
        ));
    }
    if arguments.quiet {
        output::notes(success.lost_report().map(str::to_owned));
    }
    output::notes(reached.stop_after_commit());
    Ok(success.report.exit_status)
}
