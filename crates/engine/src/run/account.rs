//! Checks the account of a run before the switch: compares the ledger's row counts of its units with the destination's
//! own counts, and the share of rejects with the package's limit.

use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::plan::RunPlan;
use super::prepared::DriverRun;
use super::steps::LoadSteps;
use crate::error::Error;
use crate::ledger::Account;
use crate::plan::PlannedFlow;

/// The ledger's facts about units, which agree with files and destination.
pub struct Verified<'a, S: LoadSteps> {
    steps: &'a S,
    context: RunContext<'a, S::Run>,
    /// The ledger's facts.
    pub committed: CommittedUnits,
}

impl<'a, S: LoadSteps> Verified<'a, S> {
    /// Verifies the whole account of a run.
    pub fn of(steps: &'a S, context: RunContext<'a, S::Run>) -> Result<Verified<'a, S>, Error> {
        let committed = steps.committed(&context)?;
        check(context.run, &committed)?;
        Ok(Verified {
            steps,
            context,
            committed,
        })
    }

    /// Verifies the account again: units were loaded again, and may have fewer rows.
    pub fn again(&mut self) -> Result<(), Error> {
        *self = Verified::of(self.steps, self.context)?;
        Ok(())
    }
}

/// Compares the account of each unit, or of each flow, with the destination's own count.
fn check<R: DriverRun>(run: &R, committed: &CommittedUnits) -> Result<(), Error> {
    for (flow_at, flow) in run.plan.flows().iter().enumerate() {
        let reading = &flow.reading;
        let staged = committed.rows_staged(flow_at);
        let mut whole = Account::default();
        for (unit_at, unit) in flow.units().enumerate() {
            let end = committed.unit(run, (flow_at, unit_at), false);
            whole.add(&end.account);
            let agrees = end.is_finished
                && end.account.holds()
                && end.rows_counted == Some(end.account.rows_loaded);
            if staged.is_none() && !agrees {
                return Err(Error::Verification {
                    what: format!("unit {} of {} in the ledger", unit.number, reading.target),
                    counted: end.rows_counted.unwrap_or(0),
                    sent: end.account.rows_loaded,
                });
            }
        }
        if let Some(counted) = staged
            && counted != whole.rows_loaded
        {
            return Err(Error::Verification {
                what: format!("the staged rows of {}", reading.target),
                counted,
                sent: whole.rows_loaded,
            });
        }
        run.rejects[flow_at].judge_share(
            &reading.name,
            whole.rows_rejected,
            whole.rows_loaded + whole.rows_rejected + whole.rows_filtered,
        )?;
    }
    Ok(())
}
