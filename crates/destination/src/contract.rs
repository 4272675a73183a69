//! The traits of a destination: what the engine asks of it, step by step.
//!
//! ```text
//! Destination::open      connect; nothing is changed
//!   target, resolve_type   what stands there, for the plan
//!   runs, units            what earlier runs of the package did
//!   begin -> OpenRun       the run's lock is held, the run is in the ledger, staging stands
//!     cancel_handle          ends what is under way, from another thread
//!     open_stream -> UnitStream   one for each of the engine's threads
//!       begin(Quick | Careful), write*, commit | abort
//!     staged_rows            the destination's own count
//!     publish                readers see all rows; the run is marked as switched
//! ```
//!
//! # Quick, then careful
//!
//! A unit is begun with [`LoadMethod::Quick`] at first. A destination that has
//! [`Ability::RejectRefused`](crate::Ability::RejectRefused) may then answer [`Error::RowsRefused`](crate::Error::RowsRefused):
//! from `write` or `commit`, where its staging has the constraints of the target, or from `publish`, where only the target has
//! them. The engine takes back what it loaded (`abort`, or `forget` with all units of the target), reads the same rows again
//! and begins with [`LoadMethod::Careful`]: one stream, the units in the order of the files. `write` then says which rows of a
//! batch the target would refuse; each becomes a reject at its place in the file. So of rows with the same key the first one
//! stays. A refusal after a careful load ends the run.
//!
//! Every call may block. An implementation holds no thread of the engine's but the caller's; it may
//! have threads of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_rows::ids::{RunKey, UnitKey};

use crate::abilities::Abilities;
use crate::error::Result;
use crate::ledger_records::{NewRun, PastRun, RunRecord, UnitRecord};
use crate::rows_not_taken::Written;
use crate::target::{ResolvedType, TargetFacts, TargetName, TargetPlan};

/// A database, or whatever else rows are loaded into, reached.
pub trait Destination: Send + Sync {
    /// Product, version and place, for plans and reports: never with a secret in it.
    fn describe(&self) -> String;

    /// Its abilities, and the promises that it does not keep.
    fn abilities(&self) -> &Abilities;

    /// The full name of a table that a package calls `[schema.]name`.
    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName>;

    /// The type that a package calls so, as columns of new tables get it.
    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType>;

    /// The table as it is; none where there is none.
    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>>;

    /// The runs of a package that the ledger knows, the oldest first. Without a key, those of all
    /// packages.
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>>;

    /// Passes each unit that the ledger has of a run to `see`, in any order. A run may have a hundred
    /// thousand units: no more than a few thousand are in memory at a time. `see` calls nothing of the destination.
    ///
    /// Of a run that [`begin`](Destination::begin) has taken over, the ledger has only the units that
    /// stand in staging as they were committed.
    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()>;

    /// A run of the package that the ledger does not know, and that has put one of these units into a target that still
    /// has it, as the target itself tells. Where targets tell nothing of runs, there is none.
    fn unknown_run(
        &self,
        _run_key: &RunKey,
        _target: &TargetName,
        _unit_keys: &[&UnitKey],
    ) -> Result<Option<String>> {
        Ok(None)
    }

    /// Takes the lock of the run's key, enters the run into the ledger, or takes over the one that
    /// stopped (`NewRun::takes_over`), and makes the staging of all targets where it does not stand. Units of
    /// that run whose rows are not in staging any more are taken out of the ledger.
    /// A run that another process holds is refused with [`Error::Held`](crate::Error::Held).
    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>>;

    /// Gives a stopped run up: its staging is removed, and the ledger says so.
    fn discard(&self, run: &PastRun) -> Result<()>;

    /// Bytes that the staged rows of a stopped run take, where the destination can tell
    /// ([`Ability::StagedBytes`](crate::Ability::StagedBytes)).
    fn staged_bytes(&self, _run: &RunRecord) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The URL of another destination of the same kind in a folder, into which a preflight loads its sample; both are
    /// removed afterwards. None where there can be no such destination.
    fn scratch(&self, _folder: &Path) -> Option<String> {
        None
    }
}

/// A run that holds its lock. Dropped, it lets go of it, and leaves what is committed.
pub trait OpenRun: Send + Sync {
    /// The run as the ledger has it.
    fn record(&self) -> &RunRecord;

    /// Takes units out of staging and ledger. What cannot be taken out alone goes together with
    /// others: all keys that are gone come back. No stream has a unit of their targets open.
    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>>;

    /// A stream of its own for one thread.
    fn open_stream(&self) -> Result<Box<dyn UnitStream + '_>>;

    /// The destination's own count of the rows in staging, for each target in the plan's order.
    fn staged_rows(&self) -> Result<Vec<u64>>;

    /// Makes all staged rows part of their targets and marks the run as switched, in one step for
    /// each group of targets that its abilities say. `reached` is told of the steps on the way.
    ///
    /// Where a target refuses rows, nothing is published, and [`Error::RowsRefused`](crate::Error::RowsRefused) says which
    /// target it was, if a careful load can find these rows.
    fn publish(&self, reached: &dyn Fn(PublishStep)) -> Result<Published>;

    /// True if the run is switched. Asked after a [`publish`](OpenRun::publish) that failed: its reply may have been
    /// lost.
    fn is_switched(&self) -> Result<bool>;

    /// A handle that ends what is under way in this run. It is not used once the run is dropped.
    fn cancel_handle(&self) -> Arc<dyn CancelRun>;
}

/// Ends what is under way in a run.
pub trait CancelRun: Send + Sync {
    /// Makes the calls of the run and of its streams that are under way end soon, with
    /// [`Error::Interrupted`](crate::Error::Interrupted). Does not wait for that. Called from any thread, once or more.
    fn cancel(&self);
}

/// How the rows of a unit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMethod {
    /// The quickest way. A row that the destination refuses fails the unit, or the publish.
    Quick,
    /// So that single rows can be refused. Only one unit of a target is loaded so at a time, in the order of the files. A
    /// destination without [`Ability::RejectRefused`](crate::Ability::RejectRefused) is not asked for it.
    Careful,
}

/// The way of one thread into staging.
pub trait UnitStream {
    /// Begins a unit of the target with this index. No other unit of the run has its key.
    fn begin(&mut self, target: usize, key: &UnitKey, method: LoadMethod) -> Result<()>;

    /// Takes rows: 1 to the batch's own number of them. Those that are not taken come back by their places in the batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<Written>;

    /// Commits the rows of the unit together with its record, and returns the destination's own count
    /// of them. Where that is not `record.rows_loaded`, nothing is committed, and
    /// [`Error::Count`](crate::Error::Count) says so. Nothing of the unit counts before; all of it is
    /// safe from any crash after.
    fn commit(&mut self, record: &UnitRecord) -> Result<u64>;

    /// Takes back what was written of the unit.
    fn abort(&mut self) -> Result<()>;
}

/// Steps on the way of [`OpenRun::publish`], for tests that end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishStep {
    /// Some of the work is done, and nothing is to be seen of it.
    Under,
    /// All is ready to be committed.
    BeforeCommit,
    /// It is committed.
    Committed,
    /// The run is recorded as switched, and leftovers of staging are about to be removed, where that is a step of its own.
    Tidying,
}

/// The result of a publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Rows in each target after it, in the plan's order, where that is known.
    pub rows: Vec<Option<u64>>,
    /// Partitions of each target that were written, by their names.
    pub partitions: BTreeMap<usize, Vec<String>>,
    /// Notes for the user.
    pub notes: Vec<String>,
}
