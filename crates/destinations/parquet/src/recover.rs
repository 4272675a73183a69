//! Runs that a crash has stopped between the exchanges of their tables, or before they were tidied.
//!
//! A run that is in one of its tables is switched, as far as its user can tell: whoever opens the
//! folder next brings it to its end, before anything else is planned.

use inrush_destination::{Error, Result, RunState};

use crate::ledger::Root;
use crate::lock::Lock;
use crate::options::Options;
use crate::publish;
use crate::run::ParquetRun;

/// Publishes the rest of all such runs that no living process holds.
pub(super) fn finish_published(root: &Root, options: &Options) -> Result<()> {
    for seen in root.stored_runs()? {
        if seen.record.state != RunState::Loading
            || seen.publishing.is_none()
            || !root.is_in_a_table(&seen)?
        {
            continue;
        }
        let lock = Lock::take(
            &root.run_lock(&seen.record.run_key),
            &format!("package {:?}", seen.record.package),
            &format!("process {}, which ends it", std::process::id()),
        );
        let lock = match lock {
            Ok(lock) => lock,
            // It is at work.
            Err(Error::Held { .. }) => continue,
            Err(error) => return Err(error),
        };
        // It may have come to its end before the lock was free.
        let Some(mut stored) = root.stored_run(seen.record.run_id)? else {
            continue;
        };
        let (RunState::Loading, Some(plans)) = (stored.record.state, stored.publishing.take())
        else {
            continue;
        };
        let run = ParquetRun::half_published(root, options, stored, plans, lock)?;
        publish::publish(&run, &|_| {})?;
    }
    Ok(())
}
