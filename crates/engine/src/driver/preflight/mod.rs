//! A preflight of a load into a destination of the contract. If the destination has no place of its own for trial loads, the
//! sample is loaded into a temporary destination of the same kind, beside the real one ([`scratch`]). If a temporary one
//! cannot be made (a driver that connects to a server), the preflight says that the destination was not measured.

mod measure;
mod predict;
mod scratch;

use std::time::Instant;

use inrush_package::Package;
use inrush_rows::finding::Finding;

use self::measure::ContractPreflight;
use crate::driver::OpenDestination;
use crate::driver::load::prepare;
use crate::driver::plan::{self, ContractEarlier};
use crate::error::Error;
use crate::pipeline::{RunOptions, runtime};
use crate::preflight::measure::measure;
use crate::preflight::result::PreflightReport;
use crate::preflight::{PreflightOptions, findings, planning, record_input_error};
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
    let planned = runtime.block_on(planning::plan(options, &package.run, build, found))?;
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
        let preflight = ContractPreflight {
            open,
            package,
            connection,
            destination: destination.as_ref(),
            plan: &plan,
            options,
            preflight_options,
            plan_s,
        };
        let measured = measure(&preflight, report);
        record_input_error(report, measured)?;
    }
    Ok(())
}
