//! The run whose rejects are loaded.

use std::sync::Arc;

use inrush_destination::{PastRun, Replaced, RunLedger, RunState};
use inrush_plan::PlanError;
use inrush_plan::load_flow::LoadFlow;
use inrush_rows::ids::RunName;

use crate::error::Error;

/// The run whose rejects are loaded, as the ledger has it: it is switched.
pub struct Replayed(PastRun);

impl Replayed {
    /// Finds the run with this name. Refuses one that is not switched, because the run's own command still loads all of its rows.
    pub fn find(ledger: &dyn RunLedger, name: &RunName) -> Result<Replayed, Error> {
        let mut of_name = ledger.runs(None)?;
        of_name.retain(|run| run.record.name == *name);
        let state = of_name.first().map(|run| run.record.state);
        let mut runs = of_name.into_iter();
        let switched = runs.find(|run| run.record.state == RunState::Switched);
        switched.map(Replayed).ok_or_else(|| Error::NotSwitched {
            run: name.clone(),
            state,
        })
    }

    /// Refuses to load the rejects if the run's rows were taken out of a target of these flows since.
    pub fn refuse_replaced(
        &self,
        ledger: &dyn RunLedger,
        flows: &[Arc<LoadFlow>],
    ) -> Result<(), Error> {
        let targets = || flows.iter().map(|flow| &flow.reading.target);
        for target in targets() {
            if let Some(Replaced { by }) = ledger.replaced(&self.0.record, target)? {
                return Err(self.replaced(target, by));
            }
        }
        let is_planned = |gone: &&String| targets().any(|target| target == *gone);
        match self.0.gone.iter().find(is_planned) {
            Some(target) => Err(self.replaced(target, None)),
            None => Ok(()),
        }
    }

    /// The error of a plan for the rejects. A target that does not exist any more has lost the rows of the run.
    pub fn explained(&self, error: PlanError) -> Error {
        match &error {
            PlanError::Target { target, .. } if self.0.gone.contains(target) => {
                self.replaced(target, None)
            }
            _ => error.into(),
        }
    }

    fn replaced(&self, target: &str, by: Option<RunName>) -> Error {
        Error::Replaced {
            run: self.0.record.name.clone(),
            target: target.to_owned(),
            by,
        }
    }
}
