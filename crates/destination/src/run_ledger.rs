//! A destination's ledger: the records of its runs, and what stopped or finished runs have left.
//!
//! The engine reads it while it plans, and for `inrush status`, `lineage`, `cleanup` and `undo`.

use inrush_rows::ids::{RunKey, UnitKey};

use crate::error::Result;
use crate::ledger_records::{LoadedInput, PastRun, Replaced, RunRecord, UnitRecord, UnitTotal};
use crate::publishing::PublishStep;
use crate::target::TargetName;
use crate::undo::{UndoRequest, UndoneRun};

/// The runs that a destination knows, and their remains.
pub trait RunLedger: Send + Sync {
    /// The runs of a package that the ledger knows, the oldest first. Without a key, the runs of all packages.
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>>;

    /// Calls `see` with each unit of a run in the ledger, in any order. A run may have a hundred thousand units, so at
    /// most a few thousand are in memory at a time. `see` makes no call of the destination.
    ///
    /// After [`begin`](crate::Destination::begin) has resumed a run, the ledger has only those of its units whose rows
    /// are in staging as they were committed.
    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()>;

    /// Calls `see` with each unit of a run and the sums over its records, in any order, if the server can add them up.
    /// `false` if it cannot: then nothing was seen, and the engine adds up the records of [`units`](RunLedger::units).
    fn unit_totals(&self, _run: &RunRecord, _see: &mut dyn FnMut(UnitTotal)) -> Result<bool> {
        Ok(false)
    }

    /// Calls `see` with the target and the state of each input of which a run has loaded rows. Only states that begin
    /// with `beginning` are passed, each with its target at least once. The states are texts of the engine, which the
    /// ledger keeps with each record. `false` if the server cannot find them: then nothing was seen, and the engine
    /// looks for them in the records of [`units`](RunLedger::units).
    fn input_states(
        &self,
        _run: &RunRecord,
        _beginning: &str,
        _see: &mut dyn FnMut(&str, &str),
    ) -> Result<bool> {
        Ok(false)
    }

    /// Calls `see` with each input that switched runs of a package have loaded, all inputs of a run before those of the
    /// next older one. An input is left out if its rows were taken out of the target since, as far as the server knows
    /// this for single inputs. `false` if the server cannot find them: then nothing was seen, and the engine reads the
    /// records of [`units`](RunLedger::units) of these runs.
    fn loaded_inputs(&self, _run_key: &RunKey, _see: &mut dyn FnMut(LoadedInput)) -> Result<bool> {
        Ok(false)
    }

    /// True if a process, on whichever host, holds the lock of the run's key to load this run. `None` if the
    /// destination has no such lock, so that nothing shows whether the run's last holder is alive. Nothing is changed,
    /// and other processes can take the lock meanwhile.
    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>>;

    /// The text of [`NewRun::lineage`](crate::NewRun::lineage) with which the run was begun, or resumed last. `None` if
    /// it was not kept: the destination keeps none, or an older version of Inrush has begun the run.
    fn lineage(&self, _run: &RunRecord) -> Result<Option<String>> {
        Ok(None)
    }

    /// A run of the package that the ledger does not know. According to a record in the target itself, it loaded one of
    /// these units, and the target still has the unit. `None` if targets keep no such records.
    fn unknown_run(
        &self,
        _run_key: &RunKey,
        _target: &TargetName,
        _unit_keys: &[&UnitKey],
    ) -> Result<Option<String>> {
        Ok(None)
    }

    /// Finds out whether the rows that a switched run has loaded into a target were taken out since. `None` if they were not, or
    /// if the ledger has no more about it than [`PastRun::gone`].
    fn replaced(&self, _run: &RunRecord, _target: &str) -> Result<Option<Replaced>> {
        Ok(None)
    }

    /// Bytes that the staged rows of a stopped run take, if the destination can tell
    /// ([`Ability::StagedBytes`](crate::Ability::StagedBytes)).
    fn staged_bytes(&self, _run: &RunRecord) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The staging tables of a stopped run, as SQL names them; none if its staging is not tables.
    fn staging_tables(&self, _run: &RunRecord) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Gives up a stopped run: removes its staging, and records this in the ledger. If another process holds the run,
    /// fails with [`Error::Held`](crate::Error::Held).
    fn discard(&self, run: &PastRun) -> Result<()>;

    /// Takes the rows of a switched run out of its targets again, and records this in the ledger
    /// ([`Ability::Undo`](crate::Ability::Undo)). Then each target is as if the run had never been published. If this
    /// is impossible for one of them, fails and changes nothing. Calls `reached` at each step on the way. If the
    /// process is killed on the way, the same call completes the undo. `None` without the ability: nothing was changed.
    fn undo(
        &self,
        _request: &UndoRequest<'_>,
        _reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        Ok(None)
    }
}
