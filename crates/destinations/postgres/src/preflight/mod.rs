//! A preflight of a load into a PostgreSQL server: planning finds the obstacles of the run, then the plan is measured
//! ([`measure`]) and its run is predicted ([`predict`]).

mod hazards;
mod measure;
mod network;
mod not_predicted;
mod pieces;
mod predict;
mod server;
mod steps;
mod time_around_load;
mod trial;
mod trial_server;
mod trial_stream;
mod volume;
mod wal;
mod work_left;

use std::time::Instant;

use inrush_engine::error::Error;
use inrush_engine::pipeline::RunOptions;
use inrush_engine::planner::preflight::{findings, planning, record_input_error};
use inrush_engine::preflight::{Finding, PreflightOptions, PreflightReport};
use inrush_package::Package;
use inrush_pgclient::ClientError;
use inrush_plan::PlanError;
use inrush_plan::PlanOptions;
use inrush_plan::flow_inputs::FlowAsked;
use inrush_system::runtime::runtime;

use self::measure::Preflight;
use crate::plan::routing::KeyScans;
use crate::plan::{self, Earlier, Plan};
use crate::{DatabaseAddress, PostgresError, Session};

/// Measures, and predicts the run.
pub fn preflight(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
    preflight_options: &PreflightOptions,
    report: &mut PreflightReport,
) -> Result<(), Error> {
    let runtime = runtime().map_err(PostgresError::Threads)?;
    let session = match runtime.block_on(Session::open(address, "inrush preflight")) {
        Ok(session) => session,
        Err(error @ PostgresError::Client(ClientError::Address { .. })) => return Err(error.into()),
        Err(error) => {
            report.findings.push(findings::of_error(&error.into()));
            report.findings.extend(missing_files(package, options));
            return Ok(());
        }
    };
    let planning = Instant::now();
    let found = &mut report.findings;
    let planned = runtime.block_on(plan_all(&session, address, package, options, found))?;
    let plan_s = planning.elapsed().as_secs_f64();
    if let Some(Planned { plan, is_held }) = planned {
        report.destination.clone_from(&plan.destination);
        report.streams = plan.streams;
        let is_loaded = matches!(plan.earlier, Earlier::Loaded(_));
        if !is_loaded && !is_held && !plan.flows.is_empty() {
            let preflight = Preflight {
                runtime: &runtime,
                address,
                session: &session,
                plan: &plan,
                options,
                preflight_options,
                plan_s,
            };
            let measured = preflight.measure(report);
            record_input_error(report, measured)?;
        }
    }
    runtime.block_on(session.close());
    Ok(())
}

/// A plan that can be made.
struct Planned {
    plan: Plan,
    /// Another run of the package is in progress.
    is_held: bool,
}

/// Plans, and collects the findings that need no measurement.
async fn plan_all(
    session: &Session,
    address: &DatabaseAddress,
    package: &Package,
    options: &RunOptions<'_>,
    found: &mut Vec<Finding>,
) -> Result<Option<Planned>, Error> {
    let key_scans = KeyScans::default();
    let build = async |options: &PlanOptions<'_>| {
        let built = plan::build(session, address, package, options, &key_scans).await;
        built.map_err(PlanError::from)
    };
    let Some(plan) = planning::plan(options, &package.run, build, found).await? else {
        return Ok(None);
    };
    for planned in plan.members() {
        planned.members.rehearse();
    }
    let holder = hazards::of_holder(session, &plan).await?;
    let is_held = holder.is_some();
    found.extend(hazards::of_plan(&plan, is_held));
    found.extend(holder);
    Ok(Some(Planned { plan, is_held }))
}

/// Findings for files that cannot be read. Used if there is no server, because a plan needs one.
fn missing_files(package: &Package, options: &RunOptions<'_>) -> Vec<Finding> {
    let sources = options.sources();
    let mut found = Vec::new();
    for flow in &package.flows {
        let asked = FlowAsked {
            flow,
            name: flow.shown_name(),
            folder: &options.folder,
            package,
            filled: None,
            since: None,
            ranges: &[],
            is_reference: false,
        };
        match sources.find(&asked) {
            Err(PlanError::Package(_)) | Ok(()) => {}
            Err(error) => found.push(findings::of_refusal(&error)),
        }
    }
    found
}
