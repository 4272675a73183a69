//! A preflight: plans as a run does, and measures the plan. Errors that would stop the run become findings.

use std::time::Instant;

use inrush_package::Package;
use inrush_plan::PlanOptions;
use inrush_plan::earlier::{Earlier, KeptCount};
use inrush_plan::planner::PackagePlan;
use inrush_rows::exit_status::ExitStatus;
use inrush_rows::finding::Finding;

use super::Driver;
use crate::error::Error;
use crate::pipeline::{RunOptions, runtime};
use crate::preflight::measure::{MeasuredRun, measure};
use crate::preflight::{
    PreflightOptions, PreflightReport, findings, missing_inputs, plan_with_findings,
};

/// Measures a checked package, and predicts its run.
pub fn preflight(
    driver: &Driver<'_>,
    package: &Package,
    options: &RunOptions<'_>,
    preflight_options: &PreflightOptions,
    report: &mut PreflightReport,
) -> Result<(), Error> {
    let runtime = runtime()?;
    let reached = driver.planner(package, options, runtime.handle());
    let reached = reached.and_then(|planner| {
        planner.connect(&options.stop)?;
        Ok(planner)
    });
    let planner = match reached {
        Ok(planner) => planner,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        // The package itself is wrong: it names no destination.
        Err(error) if error.exit_status() == ExitStatus::Usage => return Err(error),
        Err(error) => {
            report.findings.push(findings::of_error(&error));
            report.findings.extend(missing_inputs(package, options));
            return Ok(());
        }
    };
    let planning = Instant::now();
    let build = |options: &PlanOptions<'_>| planner.plan(package, options);
    let planned = plan_with_findings(package, options, build, &mut report.findings)?;
    let plan_s = planning.elapsed().as_secs_f64();
    let Some(planned) = planned else {
        return Ok(());
    };
    let plan = &planned.load_plan();
    report.destination.clone_from(&plan.destination);
    report.streams = plan.streams;
    let held = planned.held()?;
    let earlier = planned.earlier();
    report
        .findings
        .extend(of_plan(&*planned, &earlier, held.is_some()));
    report.findings.extend(plan.all_notes().map(Finding::tells));
    if let Some(held) = held {
        report
            .findings
            .push(findings::of_error(&Error::Destination(held)));
        return Ok(());
    }
    if earlier.is_loaded() || plan.flows.is_empty() {
        return Ok(());
    }
    planned.rehearse_members();
    let destination = planned.measured()?;
    let run = MeasuredRun {
        plan,
        destination: &*destination,
        committed: &|place, unit| planned.committed(place, unit),
        options,
        preflight_options,
        plan_s,
    };
    let measured = measure(&run, report);
    findings::record_input_error(report, measured)
}

/// The findings of the plan itself. A run of the package that is in progress is not reported as stopped.
fn of_plan(plan: &dyn PackagePlan, earlier: &Earlier<KeptCount>, is_held: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Err(error) = plan.shown().require_runnable() {
        found.push(findings::of_refusal(&error));
    }
    match earlier {
        Earlier::None => {}
        Earlier::Loaded(run) => found.push(findings::loaded_already(&run.name)),
        Earlier::Unpublished { .. } if is_held => {}
        Earlier::Unpublished { run, work } => found.push(Finding::tells(format!(
            "run {} of this package stopped; {} of its units are kept{}, and the run resumes from them",
            run.name,
            work.units,
            match work.in_part {
                0 => String::new(),
                parts => format!(", {parts} of them in part"),
            }
        ))),
    }
    found
}
