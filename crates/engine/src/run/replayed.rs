//! The check of the run whose rejects are loaded.

use std::sync::Arc;

use inrush_destination::{Replaced, RunLedger, RunState};
use inrush_plan::load_flow::LoadFlow;
use inrush_rows::ids::RunName;

use crate::error::Error;

/// Refuses to load the rejects of a run that is not switched, because the run's own command still loads all of its rows. Also
/// refuses it if the run's rows were taken out of a target of these flows since.
pub fn refuse_unswitched(
    ledger: &dyn RunLedger,
    name: &RunName,
    flows: &[Arc<LoadFlow>],
) -> Result<(), Error> {
    let runs = ledger.runs(None)?;
    let of_name: Vec<_> = runs.iter().filter(|run| run.record.name == *name).collect();
    let mut switched = of_name.iter();
    let Some(run) = switched.find(|run| run.record.state == RunState::Switched) else {
        return Err(Error::NotSwitched {
            run: name.clone(),
            state: of_name.first().map(|run| run.record.state),
        });
    };
    let replaced = |target: &str, by| {
        Err(Error::Replaced {
            run: name.clone(),
            target: target.to_owned(),
            by,
        })
    };
    for flow in flows {
        let target = &flow.reading.target;
        if let Some(Replaced { by }) = ledger.replaced(&run.record, target)? {
            return replaced(target, by);
        }
    }
    let is_planned = |gone: &&String| flows.iter().any(|flow| flow.reading.target == **gone);
    match run.gone.iter().find(is_planned) {
        Some(target) => replaced(target, None),
        None => Ok(()),
    }
}
