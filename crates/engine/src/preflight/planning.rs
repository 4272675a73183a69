//! Plans as a run does, but collects all reasons to refuse the plan, not only the first.

use inrush_package::Package;
use inrush_plan::reading::flow_inputs::FlowAsked;
use inrush_plan::{ContentChecks, Obstacles, PlanError, PlanOptions};

use super::findings;
use super::result::Finding;
use crate::error::Error;
use crate::pipeline::RunOptions;

/// Makes a plan, and adds the obstacles to the findings. Returns an error only if the package itself is wrong.
pub fn plan_with_findings<P>(
    package: &Package,
    options: &RunOptions<'_>,
    build: impl FnOnce(&PlanOptions<'_>) -> Result<P, PlanError>,
    found: &mut Vec<Finding>,
) -> Result<Option<P>, Error> {
    let sources = options.sources();
    let contents = ContentChecks::default();
    let obstacles = Obstacles::default();
    let plan_options = PlanOptions {
        obstacles: Some(&obstacles),
        ..options.plan_options(&package.run, &*sources, &contents, false)
    };
    let plan = build(&plan_options);
    found.extend(obstacles.take().iter().map(findings::of_refusal));
    match plan {
        Ok(plan) => Ok(Some(plan)),
        Err(error @ PlanError::Package(_)) => Err(error.into()),
        Err(error) => match Error::from(error) {
            Error::Interrupted => Err(Error::Interrupted),
            error => {
                found.push(findings::of_error(&error));
                Ok(None)
            }
        },
    }
}

/// Findings for inputs that cannot be read. Used if the destination cannot be reached, because a plan needs it.
pub fn missing_inputs(package: &Package, options: &RunOptions<'_>) -> Vec<Finding> {
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
