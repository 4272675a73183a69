//! Finishes runs that a crash stopped after some of their tables were exchanged, or before their staging was removed.
//!
//! Readers already see the rows of such a run in one of its tables, so it must be finished. The next process that opens
//! the folder finishes it, or removes its staging, before it plans anything else.

use inrush_destination::{Error, Result, RunState};

use crate::ledger::Root;
use crate::lock::Lock;
use crate::options::Options;
use crate::publish;
use crate::run::{ParquetRun, remove_staging};

/// Publishes the remaining tables of each such run and removes its staging, unless a living process has locked the run.
pub(super) fn finish_published(root: &Root, options: &Options) -> Result<()> {
    for seen in root.stored_runs()? {
        let is_untidy = match seen.record.state {
            RunState::Loading => seen.publishing.is_some() && root.is_in_a_table(&seen)?,
            RunState::Switched => root.staging(seen.record.run_id).exists(),
            RunState::Discarded | RunState::Undone => false,
        };
        if !is_untidy {
            continue;
        }
        let lock = Lock::take(
            &root.run_lock(&seen.record.run_key),
            &format!("package {:?}", seen.record.package),
            &format!("process {}, which finishes it", std::process::id()),
        );
        let lock = match lock {
            Ok(lock) => lock,
            // The run is still in progress.
            Err(Error::Held { .. }) => continue,
            Err(error) => return Err(error),
        };
        // Another process may have finished it before this one got the lock.
        let Some(mut stored) = root.stored_run(seen.record.run_id)? else {
            continue;
        };
        match (stored.record.state, stored.publishing.take()) {
            (RunState::Loading, Some(plans)) => {
                let run = ParquetRun::half_published(root, options, stored, plans, lock)?;
                publish::publish(&run, &|_| {})?;
            }
            (RunState::Switched, _) => remove_staging(root, stored.record.run_id)?,
            _ => {}
        }
    }
    Ok(())
}
