//! The traits of a destination, in the order in which the engine calls them.
//!
//! ```text
//! Destination::open      connect; nothing is changed
//!   target, resolve_type   the table as it is now, for the plan
//!   lay_out                the load units of a flow, for the plan
//!   steps                  what the run will do, for the plan
//!   hazards                what a preflight reports about the destination
//!   trial_place -> TrialPlace   where a preflight loads its sample (`trial_load.rs`)
//!   RunLedger              the runs that the destination knows
//!     runs, units            what earlier runs of the package did
//!     is_held                whether a process has the lock of a run
//!     undo                   the rows of a published run are taken out again
//!   begin -> OpenRun       the run's lock is held, the run is in the ledger, staging exists
//!   join -> OpenRun        another process holds the lock; this one loads some of the units
//!     cancel_handle          ends the calls in progress, from another thread
//!     sampler -> SessionSampler   asks the server what the sessions of streams do
//!     member_numbers         numbers for the members that lookups add
//!     watch -> LoadWatch     pauses the streams while a standby, for example, is too far behind
//!     begin_streams          right before the streams: begins a shared transaction
//!     roll_back              rolls the shared transaction back after a failure
//!     open_stream -> UnitStream   one for each of the engine's threads
//!       begin(Quick | Careful), take_steps?, (begin_split, write*, end_split)*, commit | abort | give_up
//!         record                 after some splits and the last one, if the ledger keeps their records
//!       finish                 a unit that several streams have filled is complete
//!     units                  the records that the streams have committed
//!     staged_rows            the destination's own count
//!     staged_sums            its own sums of columns, where the package asks for them
//!     shut_out               processes that joined the run commit nothing any more
//!     publish                readers see all rows; the run is marked as switched
//!       RowsInSource           finds rows that a target refuses only now, and takes them as rejects
//!     is_switched, published   after a publish that failed
//!     prepare_reload         the units that are loaded again if a target has refused rows
//!     analyze                the statistics of each target are updated, where the package asks for that
//!     units_at_end           the units for the report, if the publish changes their records
//!     stored_way             how the rows of a unit were stored, if there was a choice
//!     close                  the connections end
//! ```
//!
//! # Units and records
//!
//! [`Destination::lay_out`] puts the splits of a flow into load units. One stream loads a unit in one transaction, or
//! several streams do, split by split. If a file cannot be read from its middle, each stream takes ranges of it. Each
//! transaction commits one [`UnitRecord`]. So a unit has one record, or several with keys of their own: a [`UnitPart`]
//! names both keys.
//!
//! The rows of a transaction come split by split. A destination whose ledger has a record of each split says so
//! ([`UnitStream::keeps_splits`]), and gets them as typed records. All others get them as text of the engine in
//! [`UnitRecord::detail`].
//!
//! # Quick, then careful
//!
//! A unit is begun with [`LoadMethod::Quick`] at first. A destination that has
//! [`Ability::RejectRefused`](crate::Ability::RejectRefused) may then return [`Error::RowsRefused`](crate::Error::RowsRefused):
//! from `write` or `commit` if its staging has the constraints of the target, or from `publish` if only the target has them. The
//! engine removes the loaded rows (`abort`, or `forget` with all units of the target), reads the same rows again and begins with
//! [`LoadMethod::Careful`]: one stream, the units in the order of the files. `write` then returns the rows of a batch that the
//! target would refuse, and each becomes a reject. So the first of several rows with the same key is kept. A refusal after a
//! careful load ends the run.
//!
//! Every call may block. An implementation uses only the caller's thread of the engine; it may also have its own
//! threads.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_rows::finding::Finding;
use inrush_rows::ids::{FileKey, UnitKey};

use crate::abilities::{Abilities, Ability};
use crate::committed::{CommittedRecord, StagedRows, StoredWay, UnitAtEnd};
use crate::error::{Error, Result};
use crate::expected_load::ExpectedLoad;
use crate::given_steps::GivenSteps;
use crate::layout::{Filling, Layout, PublishesInto, SplitFacts};
use crate::ledger_records::{NewRun, RunRecord, UnitRecord};
use crate::loading::{LoadWatch, StreamSetup};
use crate::members::{MemberNumbers, MembersPlan};
use crate::publishing::{PublishStep, Published, ReloadedUnits, RowsInSource};
use crate::rows_not_taken::Written;
use crate::run_ledger::RunLedger;
use crate::sampling::SessionSampler;
use crate::split_record::SplitRecord;
use crate::steps::{RunSteps, StepsRequest};
use crate::sums::{ColumnForm, ExactSum, StagedSums};
use crate::target::{ResolvedType, TargetFacts, TargetName, TargetPlan};
use crate::trial_load::TrialPlace;

/// An open connection to a database, or to another place that rows are loaded into.
pub trait Destination: RunLedger {
    /// Product, version and location, for plans and reports, without secrets.
    fn describe(&self) -> String;

    /// Its abilities, and the promises that it cannot keep.
    fn abilities(&self) -> &Abilities;

    /// The full name of a table that a package names `[schema.]name`.
    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName>;

    /// The type that a column of a new table gets for this type name of a package.
    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType>;

    /// The table as it is now; `None` if it does not exist.
    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>>;

    /// Puts the splits of a flow into load units. The default is one unit for each split, which any number of streams may
    /// fill.
    ///
    /// Each split is in exactly one unit, and each unit has at least one split. A destination with
    /// [`Ability::RejectRefused`](crate::Ability::RejectRefused) keeps the order of the splits. The result depends only
    /// on the arguments and on the target, so that a stopped run finds its units again, with any number of streams.
    fn lay_out(&self, _target: &TargetPlan, splits: &[SplitFacts<'_>]) -> Result<Layout> {
        Ok(Layout::one_unit_each(
            splits.len(),
            Filling::OneOrSeveral,
            || PublishesInto::Target,
        ))
    }

    /// Refuses a target into which rows cannot be merged as `target.merge` says: for example, one without a unique index on
    /// the key. Called for the plan of a target with [`WriteMode::Upsert`](crate::WriteMode::Upsert), whose columns the
    /// engine has checked. Nothing is changed.
    fn check_merge(&self, _target: &TargetPlan) -> Result<()> {
        Err(Ability::Upsert.refused())
    }

    /// Refuses a table to which members cannot be added as `members` says: for example, one without a unique index on the key.
    /// Nothing is changed.
    fn check_members(&self, _members: &MembersPlan) -> Result<()> {
        Err(Ability::AddMembers.refused())
    }

    /// True if it can evaluate the steps of a flow itself, with the same library as the engine.
    fn evaluates_steps(&self) -> bool {
        false
    }

    /// Why it cannot evaluate these steps, as the end of a sentence after `because`. `None` if it can evaluate them; then its
    /// streams take them ([`UnitStream::take_steps`]). Only asked if it [evaluates steps](Destination::evaluates_steps). Nothing
    /// is changed.
    fn refuses_steps(&self, _steps: &GivenSteps) -> Result<Option<String>> {
        Ok(None)
    }

    /// The steps of a planned run, for `inrush check`. The run performs exactly these steps, in this order, as long as
    /// no row is refused and nothing is loaded again. The plan and the run make the text of a step by the same
    /// function. Nothing is changed. The default shows none.
    fn steps(&self, _request: &StepsRequest<'_>) -> Result<RunSteps> {
        Ok(RunSteps::default())
    }

    /// Takes the lock of the run's key. Enters the run into the ledger, or resumes the stopped one
    /// (`NewRun::takes_over`), and creates the staging of each target that has none. Units of a resumed run whose rows
    /// are not in staging any more are removed from the ledger. If another process holds the run, fails with
    /// [`Error::Held`](crate::Error::Held).
    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>>;

    /// Opens a run that another process has begun and holds, to load some of its units from here
    /// ([`Ability::SeveralHosts`](crate::Ability::SeveralHosts)). `run` is its record as that process has it; the targets
    /// must be those of [`begin`](Destination::begin). `joiner` is this process, in words. Nothing is changed, and nothing is
    /// removed.
    ///
    /// In place of the lock there is a fence. Once the run was taken over (its epoch has changed), published or
    /// discarded, or after [`OpenRun::shut_out`], `commit` commits nothing and fails with
    /// [`Error::ShutOut`](crate::Error::ShutOut). [`OpenRun::forget`] and [`OpenRun::publish`] of such a run are
    /// refused.
    fn join(
        &self,
        _run: &RunRecord,
        _targets: &[TargetPlan],
        _joiner: &str,
    ) -> Result<Box<dyn OpenRun>> {
        Err(Ability::SeveralHosts.refused())
    }

    /// The form in which it sums up each column of a target, in the order of the columns. This is the form of the
    /// column's type ([`ColumnForm::new`]), or [`ColumnForm::Opaque`] if the destination has no exact sum for the type.
    /// Only asked of a destination with [`Ability::VerifySums`](crate::Ability::VerifySums).
    fn sum_forms(&self, target: &TargetPlan) -> Result<Vec<ColumnForm>> {
        Ok(vec![ColumnForm::Opaque; target.columns.len()])
    }

    /// Problems that would stop or disturb a run into these targets, and notes, for a preflight. Asked twice: first
    /// without the volume of the load, for problems that do not depend on it; then with the volume, for problems that
    /// do. A query that the role may not run, or that gets no answer, becomes a note. Nothing is changed.
    fn hazards(&self, _targets: &[TargetPlan], _expected: &ExpectedLoad) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    /// The place in which a preflight loads its sample into tables like these targets. `None` if this destination has none
    /// of its own: then the engine tries the load in a [`scratch`](Destination::scratch) destination.
    fn trial_place(&self, _targets: &[TargetPlan]) -> Result<Option<Box<dyn TrialPlace + '_>>> {
        Ok(None)
    }

    /// The URL of another destination of the same kind in a folder, into which a preflight loads its sample; both are
    /// removed afterwards. `None` if there can be no such destination.
    fn scratch(&self, _folder: &Path) -> Option<String> {
        None
    }
}

/// A run that holds its lock, or that this process has joined. When it is dropped, it releases the lock and keeps what is
/// committed.
pub trait OpenRun: Send + Sync {
    /// The run as the ledger has it.
    fn record(&self) -> &RunRecord;

    /// Removes units from staging and the ledger. If a unit cannot be removed alone, others are removed with it. Returns the keys
    /// of all removed units. No stream has a unit of their targets open.
    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>>;

    /// Gives the numbers of the members that lookups add. Only asked of a destination with
    /// [`Ability::AddMembers`](crate::Ability::AddMembers), for targets with [`members`](TargetPlan::members).
    fn member_numbers(&self) -> Option<Arc<dyn MemberNumbers>> {
        None
    }

    /// A watch over the load, if the package asks for one. It looks once before the streams begin.
    fn watch(&self) -> Result<Option<Box<dyn LoadWatch + '_>>> {
        Ok(None)
    }

    /// Called right before the streams begin, once the kept units are known: creates what the streams share. A destination with
    /// [`Ability::OneTransaction`](crate::Ability::OneTransaction) begins the transaction of a load without staging, in which its
    /// one stream loads and which [`publish`](OpenRun::publish) commits. Returns the targets, by their indices, in the order in
    /// which they must be loaded; `None` if any order will do.
    fn begin_streams(&self) -> Result<Option<Vec<usize>>> {
        Ok(None)
    }

    /// Rolls back the transaction of a load without staging that has failed. Called once all streams have ended, also
    /// if the transaction was not begun or is rolled back already. An error is not reported, because closing the
    /// connection has the same effect.
    fn roll_back(&self) {}

    /// A stream for one thread.
    fn open_stream<'r>(&'r self, stream: &StreamSetup<'r>) -> Result<Box<dyn UnitStream + 'r>>;

    /// Asks the server what the [sessions of streams](UnitStream::session_number) do; `None` if there is no server, or if it
    /// cannot be asked. It connects when it is first asked, so that it never takes the last connection from the streams.
    fn sampler(&self) -> Option<Box<dyn SessionSampler>> {
        None
    }

    /// After this call, no process that [joined](Destination::join) the run can commit, and the ledger has everything
    /// that these processes have committed. A destination that no process can join has nothing to do.
    fn shut_out(&self) -> Result<()> {
        Ok(())
    }

    /// Calls `see` with each record of the run, in any order, once all streams have ended. These are the records that
    /// [`RunLedger::units`] returns, and the records in the transaction of a load without staging, which only the run itself
    /// sees. At most a few thousand are in memory at a time. `see` makes no call of the destination.
    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()>;

    /// The destination's own count of the rows in staging, of each target or of each unit. Called after
    /// [`units`](OpenRun::units), and before each [`publish`](OpenRun::publish) that follows a change of staging. The counts of
    /// units may be those that the ledger has from their commits. Then a unit whose rows may have changed since its commit is
    /// counted again, and the call fails if the rows have changed.
    fn staged_rows(&self) -> Result<StagedRows>;

    /// The destination's own sums of the rows that are staged for a target, by its index. It reads the values as they are stored.
    /// `forms` are those that [`Destination::sum_forms`] returned. Only asked of a destination with
    /// [`Ability::VerifySums`](crate::Ability::VerifySums).
    fn staged_sums(&self, target: usize, _forms: &[ColumnForm]) -> Result<StagedSums> {
        Err(Error::Unsuitable {
            what: format!("the sums of the rows that are staged for target {target} are not known"),
            hint: Ability::VerifySums.text().fix.to_owned(),
        })
    }

    /// Makes all staged rows part of their targets and marks the run as switched, in one step for each group of targets
    /// that the abilities name. Calls `reached` at each step on the way.
    ///
    /// If a target refuses rows, nothing is published. If a careful load can find these rows, the call fails with
    /// [`Error::RowsRefused`](crate::Error::RowsRefused), which names the target. A destination may then copy the rows of this
    /// target one by one in the next publish: `source` finds the rows that the target refuses, and takes them as rejects.
    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        source: &mut dyn RowsInSource,
    ) -> Result<Published>;

    /// Prepares to load units of a target again, carefully, because the last [`publish`](OpenRun::publish) has failed with
    /// [`Error::RowsRefused`](crate::Error::RowsRefused) for it. Returns these units; the other ones are in the order of the
    /// source already. The stream that is opened next loads them. Fails if the next publish would not find the rows.
    fn prepare_reload(&self, _target: usize) -> Result<ReloadedUnits> {
        Ok(ReloadedUnits::All)
    }

    /// True if the run is switched. Called after a [`publish`](OpenRun::publish) that failed, because its reply may
    /// have been lost.
    fn is_switched(&self) -> Result<bool>;

    /// The result of a publish that returned an error although the run is switched, as far as this process knows it.
    fn published(&self) -> Published {
        Published::default()
    }

    /// Updates the statistics of a target, by its index. Called for each target after a [`publish`](OpenRun::publish)
    /// that succeeded, if the package asks for it. The rows are already published: an error becomes a note, and a run
    /// that is killed here is complete, so the call is not repeated. Only asked of a destination with
    /// [`Ability::Analyze`](crate::Ability::Analyze).
    fn analyze(&self, _target: usize) -> Result<()> {
        Err(Ability::Analyze.refused())
    }

    /// The units as the ledger has them when the run ends, whether it has failed or not, for the report. `None` if a publish
    /// does not change records: then the engine knows the units that were verified, or that it has loaded. A call that gets
    /// no answer fails after a few seconds, also if the run was asked to stop.
    fn units_at_end(&self) -> Result<Option<Vec<UnitAtEnd>>> {
        Ok(None)
    }

    /// How the destination has stored the rows of a unit in this attempt, for the report. `None` if it had no choice, or if
    /// this attempt has not begun the unit. `target` and `unit` are indexes, as in [`UnitPart`].
    fn stored_way(&self, _target: usize, _unit: usize) -> Option<StoredWay> {
        None
    }

    /// A handle that ends the calls in progress in this run. It is not used after the run is dropped.
    fn cancel_handle(&self) -> Arc<dyn CancelRun>;

    /// Ends the run's connections, after all other calls. Without this call, dropping the run ends them too.
    fn close(self: Box<Self>) {}
}

/// Ends the calls in progress in a run.
pub trait CancelRun: Send + Sync {
    /// Makes the calls in progress in the run and its streams end soon, with
    /// [`Error::Interrupted`](crate::Error::Interrupted). Does not wait until they have ended. May be called from any
    /// thread, more than once.
    fn cancel(&self);
}

/// How the rows of a unit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMethod {
    /// The fastest way. If the destination refuses a row, the unit or the publish fails.
    Quick,
    /// A slower way that can refuse single rows. Only one unit of a target at a time is loaded like this, in the order
    /// of the files. A destination without [`Ability::RejectRefused`](crate::Ability::RejectRefused) is never asked for
    /// it.
    Careful,
}

/// A load unit, or the part of it that one record commits, as a stream begins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitPart<'a> {
    /// Index of the target among those of the run.
    pub target: usize,
    /// Index of the unit among those of its target, as [`Destination::lay_out`] returned them.
    pub unit: usize,
    /// Key of the record that will commit it. No other record of the run has it.
    pub record_key: &'a UnitKey,
    /// Key of the unit. It is the record's own key if the record commits all of the unit.
    pub unit_key: &'a UnitKey,
    /// The target or partition that the unit is published into, as [`Destination::lay_out`] returned it.
    pub publishes_into: &'a PublishesInto,
    /// The number of splits whose rows follow, one after the other. It is 1 for a split that is fed, even if many ranges of it
    /// are loaded, and 0 for a partition that gets no rows.
    pub splits: usize,
}

/// A unit that several streams have filled, and whose records are all committed.
#[derive(Clone, Copy, Debug)]
pub struct CompleteUnit<'a> {
    /// Index of the target among those of the run.
    pub target: usize,
    /// Index of the unit among those of its target, as [`Destination::lay_out`] returned them.
    pub unit: usize,
    /// Its key.
    pub key: &'a UnitKey,
    /// Its inputs that were fed to several streams.
    pub fed: &'a [FedEnd],
}

/// An input that was fed to several streams.
#[derive(Clone, Debug)]
pub struct FedEnd {
    /// The key of the input in records of splits.
    pub file_key: FileKey,
    /// The number of bytes of its text. `None` if this process has not read it to its end: then an earlier attempt has.
    pub text_end: Option<u64>,
}

impl<'a> UnitPart<'a> {
    /// The whole first unit of a target, with one split, that is published together with all others.
    pub fn whole(target: usize, key: &'a UnitKey) -> UnitPart<'a> {
        UnitPart {
            target,
            unit: 0,
            record_key: key,
            unit_key: key,
            publishes_into: &PublishesInto::Target,
            splits: 1,
        }
    }
}

/// The rows that a transaction has written so far, for a destination that keeps records of splits.
#[derive(Debug)]
pub struct WrittenSplits {
    /// The records of the splits that are written since the last call.
    pub records: Vec<SplitRecord>,
    /// The rows of the whole transaction.
    pub rows: u64,
    /// Their sums, if the unit is verified by sums; `None` if those of a split are not known.
    pub sums: Option<Vec<ExactSum>>,
}

/// The connection of one thread to staging.
pub trait UnitStream {
    /// The number of its session on the server, for [`OpenRun::sampler`]; `None` if it has none. A stream that connects again has
    /// another one.
    fn session_number(&self) -> Option<i32> {
        None
    }

    /// Begins a unit, or a part of one.
    fn begin(&mut self, unit: &UnitPart<'_>, method: LoadMethod) -> Result<()>;

    /// From now on the batches of the open unit, which was begun with [`LoadMethod::Quick`], contain rows that have not passed
    /// these steps. The batches have the columns of the steps, and [`write`](UnitStream::write) refuses none of the rows. For a
    /// row that the steps cannot read, or that a step might reject, a later call of the unit fails with
    /// [`Error::StepsFailed`](crate::Error::StepsFailed). Only called if the destination [takes the
    /// steps](Destination::refuses_steps).
    fn take_steps(&mut self, _steps: &GivenSteps) -> Result<()> {
        Err(Error::Unsuitable {
            what: "the destination does not evaluate steps".to_owned(),
            hint: "load without steps".to_owned(),
        })
    }

    /// Called when all rows of a split, or of a range of it, are written. Waits until they have passed the
    /// [steps](UnitStream::take_steps). Returns the number of rows that were added to staging since the last call.
    fn end_steps(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// Begins the rows of a split. `name` is that of its input, for errors.
    fn begin_split(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// Writes rows of a batch, at least its first one if it has any. Returns the rows that were refused, by their
    /// indices in the batch, and the first row that was not handled, if there is one ([`Written::rest`]). A careful
    /// load may stop once `refused_max` rows are refused, because the run ends then.
    fn write(&mut self, batch: &RecordBatch, refused_max: u64) -> Result<Written>;

    /// A block to which rows in the source's own form may be appended, instead of writing batches, and the size at
    /// which it is sent. Only asked if the plan found that both forms are the same. `None` if rows must be written as
    /// batches.
    fn native_block(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        None
    }

    /// Called when this many whole rows were appended to the [block](UnitStream::native_block).
    fn appended(&mut self, _rows: u64) -> Result<()> {
        Ok(())
    }

    /// Called when all rows of the split are written.
    fn end_split(&mut self) -> Result<()> {
        Ok(())
    }

    /// The number of splits after which [`record`](UnitStream::record) is called, if the ledger has a record of each
    /// split. A split that is fed has a record for each of its ranges. `None` if the ledger has no such records: then
    /// they are text in [`UnitRecord::detail`].
    fn keeps_splits(&self) -> Option<usize> {
        None
    }

    /// Takes the records of splits of the open unit whose rows are written. Called after every N splits, where N is
    /// [`keeps_splits`](UnitStream::keeps_splits), and after the last split; never for a unit without splits. The records are
    /// committed with the unit.
    fn record(&mut self, _written: WrittenSplits) -> Result<()> {
        Ok(())
    }

    /// True if the stream itself delays its blocks by the run's rate, and itself reports its work and its waits to the meter.
    fn is_metered(&self) -> bool {
        false
    }

    /// Commits the rows together with their record, and returns the destination's own count of them. If that
    /// differs from `record.rows_loaded`, nothing is committed, and [`Error::Count`](crate::Error::Count) is returned.
    /// Before the commit none of the rows count; after it all of them survive any crash.
    fn commit(&mut self, record: &UnitRecord) -> Result<u64>;

    /// Rolls back what was written since `begin`, and waits until that is done: the same rows are loaded again. After a
    /// [`finish`](UnitStream::finish) that failed, nothing is begun, and there may be nothing to do.
    fn abort(&mut self) -> Result<()>;

    /// Leaves the open unit, because an error or a stop ends the stream. Nothing of the unit may be committed, and its
    /// locks must end soon; the destination decides whether it waits for the rollback.
    fn give_up(&mut self) {
        // The error that ended the stream says more.
        let _ = self.abort();
    }

    /// Finishes a unit that several streams have filled, once all of its records are committed: checks the unit, and
    /// does all work that can be done before the publish, such as building indexes. Called by one stream, while others
    /// load other units; nothing is begun in this stream. A unit that one record commits is finished by its
    /// [`commit`](UnitStream::commit).
    ///
    /// A process may be killed just before this call, or after it. So it is called again for a unit that an earlier
    /// attempt has committed completely. When the engine asks for [`staged_rows`](OpenRun::staged_rows), all units are
    /// finished.
    ///
    /// If it fails, the run ends, and keeps all records. Rows that the target would refuse are not an error here:
    /// [`publish`](OpenRun::publish) fails because of them. (PostgreSQL may return
    /// [`Error::RowsRefused`](crate::Error::RowsRefused): the engine then loads this unit again while other streams load others.)
    fn finish(&mut self, _unit: &CompleteUnit<'_>) -> Result<()> {
        Ok(())
    }
}
