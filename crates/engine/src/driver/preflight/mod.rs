//! A preflight of a load into a destination of the contract. If the destination has no place of its own for trial loads, the
//! sample is loaded into a temporary destination of the same kind, beside the real one ([`scratch`]). If a temporary one
//! cannot be made (a driver that connects to a server), the preflight says that the destination was not measured.

mod measured_contract;
mod scratch;

use std::time::Instant;

use inrush_package::Package;
use inrush_rows::finding::Finding;

use self::measured_contract::{MeasuredContract, committed};
use self::scratch::ScratchSettings;
use crate::driver::OpenDestination;
use crate::driver::load::prepare;
use crate::driver::plan::{self, ContractEarlier};
use crate::error::Error;
use crate::pipeline::{RunOptions, runtime};
use crate::preflight::result::PreflightReport;
use crate::preflight::{
    MeasuredRun, PreflightOptions, findings, measure, plan_with_findings, record_input_error,
};
use inrush_plan::PlanOptions;

pub use self::scratch::folder as scratch_folder;

/// Measures, and predicts the run.
pub fn preflight(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
    preflight_options: &PreflightOptions,
    report: &mut PreflightReport,
) -> Result<(), Error> {
    let runtime = runtime()?;
    let connection = package.single_connection()?;
    let destination = match prepare::connect(open, connection, package, options) {
        Ok(destination) => destination,
        Err(error @ inrush_destination::Error::Address { .. }) => return Err(error.into()),
        Err(error) => {
            report.findings.push(findings::of_error(&error.into()));
            return Ok(());
        }
    };
    let build =
        async |options: &PlanOptions<'_>| plan::build(destination.as_ref(), package, options).await;
    let planning = Instant::now();
    let found = &mut report.findings;
    let planned = runtime.block_on(plan_with_findings(options, &package.run, build, found))?;
    let plan_s = planning.elapsed().as_secs_f64();
    let Some(plan) = planned else {
        return Ok(());
    };
    for asked in plan.flows.iter().flat_map(|flow| &flow.asked_members) {
        asked.members.rehearse();
    }
    report.destination.clone_from(&plan.destination);
    report.streams = plan.streams;
    report.findings.extend(plan.all_notes().map(Finding::tells));
    if let ContractEarlier::Loaded { run, .. } = &plan.earlier {
        report.findings.push(findings::loaded_already(&run.name));
    } else if !plan.flows.is_empty() {
        let measured_contract = MeasuredContract {
            destination: destination.as_ref(),
            plan: &plan,
            targets: prepare::targets(&plan),
            scratch: ScratchSettings {
                open,
                package,
                connection,
                folder: &options.folder,
                site_packages: options.site_packages.as_deref(),
            },
        };
        let run = MeasuredRun {
            plan: &plan.to_load_plan(),
            destination: &measured_contract,
            committed: &|place, unit| committed(&plan, place, unit),
            options,
            preflight_options,
            plan_s,
        };
        let measured = measure(&run, report);
        record_input_error(report, measured)?;
    }
    Ok(())
}
