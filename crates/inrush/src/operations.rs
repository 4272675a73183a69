//! The operations that need a destination: check, run, preflight, and access to the ledger. `defaults` complete a
//! connection's URL: the caller has found them on its machine in the places where libpq looks.

use std::path::{Path, PathBuf};
use std::time::Instant;

use inrush_destination::clients::{ClientServer, ClientWork};
use inrush_engine::driver::Checked;
use inrush_engine::error::Error;
use inrush_engine::event::Event;
use inrush_engine::pipeline::{Failure, RunOptions, Success};
use inrush_engine::preflight::{PreflightOptions, PreflightReport};
use inrush_engine::shares::ShareLoaded;
use inrush_engine::upkeep::{LedgerOptions, PastRuns};
use inrush_openlineage::{Destination as EventsTo, Emitter, End};
use inrush_package::{Connection, JOB_NAMESPACE, Package};
use inrush_plan::contract::folder_beside;

use crate::ConnectionDefaults;
use crate::registry::{self, driver_of, ledger_of};

/// Plans a resolved package without running it.
pub fn check(
    package: &Package,
    options: &RunOptions<'_>,
    defaults: &ConnectionDefaults,
) -> Result<Checked, Error> {
    package.check()?;
    driver_of(package, defaults)?.check(package, options)
}

/// Runs a resolved package to its end, or until it is asked to stop.
pub fn run(
    package: &Package,
    options: &RunOptions<'_>,
    defaults: &ConnectionDefaults,
) -> Result<Success, Failure> {
    package.check().map_err(Error::from)?;
    driver_of(package, defaults)?.run(package, options)
}

/// Like [`run`], and sends the events of OpenLineage for which the package asks. `key` is the key for the server that
/// receives the events; a package does not contain it.
pub fn run_with_events(
    package: &Package,
    options: RunOptions<'_>,
    defaults: &ConnectionDefaults,
    key: Option<String>,
) -> Result<Success, Failure> {
    let Some(open_lineage) = &package.run.open_lineage else {
        return run(package, &options, defaults);
    };
    package.check().map_err(Error::from)?;
    let file = || open_lineage.file(&options.folder).unwrap_or_default();
    let destination = open_lineage.url().map_or_else(
        || EventsTo::File(file()),
        |url| EventsTo::Url {
            url: url.to_owned(),
            key: key.filter(|_| open_lineage.keeps_secrets()),
        },
    );
    let namespace = open_lineage.namespace.as_deref().unwrap_or(JOB_NAMESPACE);
    let folder = std::path::absolute(&options.folder).unwrap_or_else(|_| options.folder.clone());
    let observer = options.observer;
    let emitter = Emitter::new(package, destination, namespace, folder, observer);
    let mut ended = {
        let watched = RunOptions {
            observer: &emitter,
            ..options
        };
        run(package, &watched, defaults)
    };
    let lost = emitter.end(match &ended {
        Ok(success) => End::Reported(&success.report),
        Err(failure) => match &failure.report {
            Some(report) => End::Reported(&report.0),
            None => End::Failed(&failure.error),
        },
    });
    let report = match &mut ended {
        Ok(success) => Some(&mut success.report),
        Err(failure) => failure.report.as_mut().map(|report| &mut report.0),
    };
    match (lost, report) {
        (Some(lost), Some(report)) => report.notes.push(lost),
        (Some(text), None) => observer.notice(&Event::Note { text }),
        (None, _) => {}
    }
    ended
}

/// Loads one share, counted from 1, of a run that another process has begun with [`RunOptions::shares`]. The package is that
/// of the run, and `plan_file` the plan in the run's folder. The other process publishes the rows.
pub fn load_share(
    package: &Package,
    options: &RunOptions<'_>,
    defaults: &ConnectionDefaults,
    plan_file: &Path,
    share: usize,
) -> Result<ShareLoaded, Failure> {
    package.check().map_err(Error::from)?;
    let driver = driver_of(package, defaults)?;
    Ok(driver.load_share(package, options, plan_file, share)?)
}

/// Measures a resolved package, and predicts its run. Reasons that would stop the run are findings. It is an error if
/// the package itself is wrong, or if the preflight could not be carried out.
pub fn preflight_of(
    package: &Package,
    options: &RunOptions<'_>,
    preflight_options: &PreflightOptions,
    defaults: &ConnectionDefaults,
) -> Result<PreflightReport, Error> {
    package.check()?;
    let begun = Instant::now();
    let mut report = PreflightReport::begin(package, options);
    driver_of(package, defaults)?.preflight(package, options, preflight_options, &mut report)?;
    report.finish(begun.elapsed());
    Ok(report)
}

/// The folder that a preflight makes beside the destination and removes at its end. A caller that ends the process
/// earlier has to remove the folder itself. `None` if there is no place beside the destination.
pub fn scratch_folder(package: &Package, options: &RunOptions<'_>) -> Option<PathBuf> {
    let connection = package.single_connection().ok()?;
    folder_beside(connection.address(), &options.folder)
}

/// The past runs in the ledger of a connection's destination. A destination other than a server is opened.
pub fn past_runs(
    connection: &Connection,
    options: &LedgerOptions<'_>,
    defaults: &ConnectionDefaults,
) -> Result<PastRuns, Error> {
    Ok(PastRuns::of(ledger_of(connection, options, defaults)?))
}

/// The server of a connection, prepared for clients that call it: leftovers of killed measurements are removed, and a
/// new schema for tables is made.
pub fn client_server(
    connection: &Connection,
    work: ClientWork,
    defaults: &ConnectionDefaults,
) -> inrush_destination::Result<Box<dyn ClientServer>> {
    registry::client_server(connection, work, defaults)
}
