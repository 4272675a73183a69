//! Plans as a run does, but collects all reasons to refuse the plan, not only the first.

use inrush_package::RunSettings;

use super::findings;
use super::result::Finding;
use crate::error::Error;
use crate::pipeline::RunOptions;
use inrush_plan::{ContentChecks, Obstacles, PlanError, PlanOptions};

/// Makes a plan, and adds the obstacles to the findings. Returns an error only if the package itself is wrong.
pub async fn plan_with_findings<P>(
    options: &RunOptions<'_>,
    run: &RunSettings,
    build: impl AsyncFnOnce(&PlanOptions<'_>) -> Result<P, PlanError>,
    found: &mut Vec<Finding>,
) -> Result<Option<P>, Error> {
    let sources = options.sources();
    let contents = ContentChecks::default();
    let obstacles = Obstacles::default();
    let plan_options = PlanOptions {
        obstacles: Some(&obstacles),
        ..options.plan_options(run, &*sources, &contents, false)
    };
    let plan = build(&plan_options).await;
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
