//! A preflight of a load into a PostgreSQL server: planning finds the obstacles of the run. Then the engine measures the
//! plan and predicts its run, and asks [`measured_server`] for everything that only the server shows.

mod around_streams;
mod beside_rows;
mod hazards;
mod measured_server;
mod network;
mod not_predicted;
mod server;
mod trial;
mod trial_server;
mod trial_stream;
mod wal;

use std::time::Instant;

use inrush_engine::error::Error;
use inrush_engine::pipeline::RunOptions;
use inrush_engine::planner::run::runtime;
use inrush_engine::preflight::{
    MeasuredRun, PreflightOptions, PreflightReport, loaded_already, measure, of_error, of_refusal,
    plan_with_findings, record_input_error,
};
use inrush_package::Package;
use inrush_pgclient::ClientError;
use inrush_plan::PlanError;
use inrush_plan::PlanOptions;
use inrush_plan::flow_inputs::FlowAsked;
use inrush_rows::finding::Finding;

use self::measured_server::{MeasuredServer, committed};
use self::server::ServerFacts;
use crate::ledger::{Ledger, LedgerError};
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
    let runtime = runtime()?;
    let session = match runtime.block_on(Session::open(address, "inrush preflight")) {
        Ok(session) => session,
        Err(error @ PostgresError::Client(ClientError::Address { .. })) => return Err(error.into()),
        Err(error) => {
            report.findings.push(of_error(&error.into()));
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
            let server = MeasuredServer {
                runtime: &runtime,
                address,
                session: &session,
                plan: &plan,
                stop: &options.stop,
                server: runtime.block_on(ServerFacts::ask(&session, &plan))?,
            };
            let run = MeasuredRun {
                plan: &plan.to_load_plan(),
                destination: &server,
                committed: &|_, unit| committed(&plan, unit),
                options,
                preflight_options,
                plan_s,
            };
            let measured = measure(&run, report);
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
    let Some(plan) = plan_with_findings(options, &package.run, build, found).await? else {
        return Ok(None);
    };
    for planned in plan.members() {
        planned.members.rehearse();
    }
    let holder = of_holder(session, &plan).await?;
    let is_held = holder.is_some();
    found.extend(of_plan(&plan, is_held));
    found.extend(holder);
    Ok(Some(Planned { plan, is_held }))
}

/// The finding about another run of the package that is in progress.
async fn of_holder(session: &Session, plan: &Plan) -> Result<Option<Finding>, LedgerError> {
    let ledger = Ledger::new(&plan.settings.ledger_schema);
    let holder = ledger.holder(session, &plan.run_key).await?;
    Ok(holder.map(|holder| of_error(&LedgerError::from(holder).into())))
}

/// The findings of the plan itself. If another run of the package is in progress, its leftovers are not reported.
fn of_plan(plan: &Plan, is_held: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Err(error) = plan.require_privileges() {
        found.push(of_refusal(&error));
    }
    match &plan.earlier {
        Earlier::None => {}
        Earlier::Loaded(run) => found.push(loaded_already(&run.name)),
        Earlier::Stopped { .. } if is_held => {}
        Earlier::Stopped {
            run,
            kept,
            unfinished,
            ..
        } => found.push(Finding::tells(format!(
            "run {} of this package stopped; {} of its units are kept{}, and the run resumes from them",
            run.name,
            kept.len(),
            match unfinished.len() {
                0 => String::new(),
                parts => format!(", {parts} of them in part"),
            }
        ))),
    }
    found.extend(plan.all_notes().map(Finding::tells));
    found
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
            Err(error) => found.push(of_refusal(&error)),
        }
    }
    found
}
