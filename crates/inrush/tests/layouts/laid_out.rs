//! A destination that lays out its units as a test says, and keeps its rows in a folder of Parquet files. If the test says
//! so, it fails at a commit, refuses to publish, or changes a value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Int32Array, RecordBatch};
use inrush_destination::{
    Abilities, Ability, Address, CancelRun, ColumnForm, CommittedRecord, CompleteUnit, CountedUnit,
    Destination, Error, Layout, LoadMethod, NewRun, OpenRun, PastRun, PublishStep, Published,
    PublishesInto, ResolvedType, Result, RowsInSource, RunLedger, RunRecord, SplitFacts,
    StagedRows, StagedSums, StreamSetup, TargetFacts, TargetName, TargetPlan, TrialPlace,
    UndoRequest, UndoneRun, UnitPart, UnitRecord, UnitStream, Written,
};
use inrush_rows::ids::{RunKey, UnitKey};

use super::trial_place::{TrialHere, TrialSeen};

/// Bytes of text of a split, and of a commit of a fed file: small, so that a small file has several splits.
const UNIT_BYTES: u64 = 64 << 10;

/// The actions of another process while a run is planned.
pub type Meanwhile = Box<dyn FnOnce() + Send>;

/// An answer of `lay_out`.
pub type LayOut = Box<dyn Fn(&[SplitFacts<'_>]) -> Layout + Send + Sync>;

/// The settings of a test for the destination, and the destination's observations.
pub struct Scene {
    /// Lays out the units.
    pub lay_out: LayOut,
    /// True if the destination claims that it can reject single rows.
    pub rejects_refused: bool,
    /// If true, the destination refuses a row when it is asked to publish, once.
    pub refuses_publish: AtomicBool,
    /// The number of commits that succeed before one fails.
    pub commits_left: AtomicUsize,
    /// If true, it changes the number in the first row of the next batch, once.
    pub changes_a_value: AtomicBool,
    /// The number of rows that the destination takes in one call. It leaves the rest of the batch.
    pub rows_at_once: AtomicUsize,
    /// The records that streams have begun, with their units.
    pub begun: Mutex<Vec<Begun>>,
    /// The records that were committed.
    pub committed: Mutex<Vec<UnitKey>>,
    /// Transactions that were begun, and neither committed nor rolled back.
    pub open: AtomicUsize,
    /// The number of units that are finished before a call to finish one fails.
    pub finishes_left: AtomicUsize,
    /// If true, the destination counts the rows of each unit, and not of each target.
    pub counts_units: AtomicBool,
    /// A flaw: if the destination counts the rows of units, it misses one row of the first unit.
    pub misses_a_row: AtomicBool,
    /// The trial loads of preflights, if the destination has a place for them.
    pub trials: Mutex<Option<Vec<TrialSeen>>>,
    /// The steps of all units, in their order.
    pub steps: Mutex<Vec<UnitStep>>,
    /// Called once, after the runs were read from the ledger, and before they are returned.
    pub meanwhile: Mutex<Option<Meanwhile>>,
    /// A flaw: commits of a process that has joined a run are lost without an error.
    pub joined_commits_are_lost: bool,
}

/// A step of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitStep {
    /// The record with this key was committed.
    Committed(UnitKey),
    /// The unit was finished.
    Finished(UnitKey),
    /// The destination counted its staged rows.
    Counted,
}

/// A record that a stream has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub record: UnitKey,
    pub unit: UnitKey,
    pub publishes_into: PublishesInto,
    pub method: LoadMethod,
}

/// The scenes of all tests, by their folders: the engine opens a destination by a function without a state.
static SCENES: Mutex<BTreeMap<PathBuf, Arc<Scene>>> = Mutex::new(BTreeMap::new());

/// Sets the scene of a folder.
pub fn set(folder: &Path, scene: Scene) -> Arc<Scene> {
    let scene = Arc::new(scene);
    let mut scenes = SCENES.lock().expect("no test has failed with it");
    scenes.insert(folder.to_owned(), Arc::clone(&scene));
    scene
}

/// Opens the destination of a folder.
pub fn open(address: &Address<'_>) -> Result<Box<dyn Destination>> {
    let inner = inrush_parquet::open(address, &address.folder.join("lake"))?;
    let scenes = SCENES.lock().expect("no test has failed with it");
    let scene = Arc::clone(&scenes[address.folder]);
    let mut abilities = inner.abilities().clone();
    abilities.unit_bytes = UNIT_BYTES;
    if scene.rejects_refused {
        abilities.can.insert(Ability::RejectRefused);
    }
    Ok(Box::new(LaidOut {
        inner,
        scene,
        abilities,
    }))
}

struct LaidOut {
    inner: Box<dyn Destination>,
    scene: Arc<Scene>,
    abilities: Abilities,
}

impl Destination for LaidOut {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName> {
        self.inner.target_name(schema, name)
    }

    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType> {
        self.inner.resolve_type(type_name)
    }

    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>> {
        self.inner.target(name)
    }

    fn lay_out(&self, _: &TargetPlan, splits: &[SplitFacts<'_>]) -> Result<Layout> {
        Ok((self.scene.lay_out)(splits))
    }

    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>> {
        let inner = self.inner.begin(run, targets)?;
        let scene = Arc::clone(&self.scene);
        Ok(Box::new(LaidOutRun {
            inner,
            scene,
            loses_commits: false,
        }))
    }

    fn join(
        &self,
        run: &RunRecord,
        targets: &[TargetPlan],
        joiner: &str,
    ) -> Result<Box<dyn OpenRun>> {
        let scene = Arc::clone(&self.scene);
        Ok(Box::new(LaidOutRun {
            inner: self.inner.join(run, targets, joiner)?,
            loses_commits: scene.joined_commits_are_lost,
            scene,
        }))
    }

    fn sum_forms(&self, target: &TargetPlan) -> Result<Vec<ColumnForm>> {
        self.inner.sum_forms(target)
    }

    fn trial_place(&self, targets: &[TargetPlan]) -> Result<Option<Box<dyn TrialPlace + '_>>> {
        let trials = self.scene.trials.lock().expect("no stream has panicked");
        let place = trials
            .is_some()
            .then(|| TrialHere::new(&self.scene, targets));
        Ok(place.map(|place| Box::new(place) as _))
    }
}

impl RunLedger for LaidOut {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        let runs = self.inner.runs(run_key)?;
        if let Some(meanwhile) = self.scene.due() {
            meanwhile();
        }
        Ok(runs)
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        self.inner.units(run, see)
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        self.inner.is_held(run)
    }

    fn unknown_run(
        &self,
        run_key: &RunKey,
        target: &TargetName,
        unit_keys: &[&UnitKey],
    ) -> Result<Option<String>> {
        self.inner.unknown_run(run_key, target, unit_keys)
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        self.inner.discard(run)
    }

    fn undo(
        &self,
        request: &UndoRequest<'_>,
        reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        self.inner.undo(request, reached)
    }
}

struct LaidOutRun {
    inner: Box<dyn OpenRun>,
    scene: Arc<Scene>,
    loses_commits: bool,
}

impl OpenRun for LaidOutRun {
    fn record(&self) -> &RunRecord {
        self.inner.record()
    }

    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        self.inner.forget(keys)
    }

    fn open_stream<'r>(&'r self, stream: &StreamSetup<'r>) -> Result<Box<dyn UnitStream + 'r>> {
        let inner = self.inner.open_stream(stream)?;
        let scene = &*self.scene;
        Ok(Box::new(LaidOutStream {
            inner,
            scene,
            loses_commits: self.loses_commits,
            splits_left: 0,
            split: None,
        }))
    }

    fn shut_out(&self) -> Result<()> {
        self.inner.shut_out()
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        self.inner.units(see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        self.scene.note(UnitStep::Counted);
        match self.scene.counts_units.load(Ordering::SeqCst) {
            true => self.counted_units(),
            false => self.inner.staged_rows(),
        }
    }

    fn staged_sums(&self, target: usize, forms: &[ColumnForm]) -> Result<StagedSums> {
        self.inner.staged_sums(target, forms)
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        source: &mut dyn RowsInSource,
    ) -> Result<Published> {
        if self.scene.refuses_publish.swap(false, Ordering::SeqCst) {
            return Err(Error::RowsRefused {
                target: 0,
                doing: "publishing".to_owned(),
                message: "the test says so".to_owned(),
                hint: None,
            });
        }
        self.inner.publish(reached, source)
    }

    fn is_switched(&self) -> Result<bool> {
        self.inner.is_switched()
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.inner.cancel_handle()
    }
}

impl LaidOutRun {
    /// The rows of each unit that one stream has filled. The key of such a unit is the key of its record.
    fn counted_units(&self) -> Result<StagedRows> {
        let mut counted = BTreeMap::new();
        self.inner.units(&mut |record| {
            let CommittedRecord::Unit(unit) = record else {
                panic!("the ledger has records of transactions");
            };
            counted.insert(unit.key, unit.rows_loaded);
        })?;
        if self.scene.misses_a_row.load(Ordering::SeqCst) {
            let rows = counted.values_mut().find(|rows| **rows > 0);
            *rows.expect("a unit has rows") -= 1;
        }
        let unit = |(key, rows)| {
            let unit = CountedUnit {
                is_finished: true,
                is_careful: false,
                rows: Some(rows),
            };
            (key, unit)
        };
        Ok(StagedRows::OfUnits(counted.into_iter().map(unit).collect()))
    }
}

/// A stream that checks the order of the driver's calls: the rows of a unit come split by split, and there are as many
/// splits as were announced.
struct LaidOutStream<'a> {
    inner: Box<dyn UnitStream + 'a>,
    scene: &'a Scene,
    loses_commits: bool,
    /// The number of splits of the open unit that are left, and the name of the split whose rows are being written.
    splits_left: usize,
    split: Option<String>,
}

impl UnitStream for LaidOutStream<'_> {
    fn begin(&mut self, unit: &UnitPart<'_>, method: LoadMethod) -> Result<()> {
        let mut begun = self.scene.begun.lock().expect("no stream has panicked");
        begun.push(Begun {
            record: unit.record_key.clone(),
            unit: unit.unit_key.clone(),
            publishes_into: unit.publishes_into.clone(),
            method,
        });
        self.scene.open.fetch_add(1, Ordering::SeqCst);
        (self.splits_left, self.split) = (unit.splits, None);
        self.inner.begin(unit, method)
    }

    fn begin_split(&mut self, name: &str) -> Result<()> {
        assert_eq!(self.split, None, "{name} begins within another split");
        assert!(self.splits_left > 0, "{name} was not announced");
        self.split = Some(name.to_owned());
        Ok(())
    }

    fn end_split(&mut self) -> Result<()> {
        assert!(self.split.take().is_some(), "no split has begun");
        self.splits_left -= 1;
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, refused_max: u64) -> Result<Written> {
        assert!(self.split.is_some(), "rows of no split");
        let rows = self.scene.rows_at_once.load(Ordering::SeqCst);
        if rows < batch.num_rows() {
            return Ok(Written {
                rest: Some(rows),
                ..self.inner.write(&batch.slice(0, rows), refused_max)?
            });
        }
        match self.scene.changes_a_value.swap(false, Ordering::SeqCst) {
            true => self.inner.write(&changed(batch), refused_max),
            false => self.inner.write(batch, refused_max),
        }
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        assert_eq!(
            (self.splits_left, &self.split),
            (0, &None),
            "rows are missing"
        );
        take(&self.scene.commits_left, "committing a unit")?;
        if self.loses_commits {
            self.inner.abort()?;
            return Ok(record.rows_loaded);
        }
        let rows = self.inner.commit(record)?;
        self.scene.open.fetch_sub(1, Ordering::SeqCst);
        let mut committed = self.scene.committed.lock().expect("no stream has panicked");
        committed.push(record.key.clone());
        self.scene.note(UnitStep::Committed(record.key.clone()));
        Ok(rows)
    }

    fn finish(&mut self, unit: &CompleteUnit<'_>) -> Result<()> {
        take(&self.scene.finishes_left, "finishing a unit")?;
        self.scene.note(UnitStep::Finished(unit.key.clone()));
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.scene.open.fetch_sub(1, Ordering::SeqCst);
        self.inner.abort()
    }
}

impl Scene {
    /// The actions of the other process, unless they were already taken.
    fn due(&self) -> Option<Meanwhile> {
        let mut meanwhile = self.meanwhile.lock().expect("no stream has panicked");
        meanwhile.take()
    }

    fn note(&self, step: UnitStep) {
        self.steps
            .lock()
            .expect("no stream has panicked")
            .push(step);
    }
}

/// Takes one of the calls that are left, or fails.
fn take(left: &AtomicUsize, doing: &str) -> Result<()> {
    let one_less = |left: usize| left.checked_sub(1);
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Refused {
            doing: doing.to_owned(),
            message: "the test says so".to_owned(),
            hint: None,
        }),
    }
}

/// A batch whose first row has another number in the first column.
fn changed(batch: &RecordBatch) -> RecordBatch {
    let numbers = batch.column(0).as_primitive::<Int32Type>();
    let numbers = numbers.values().iter().enumerate();
    let changed: Int32Array = numbers
        .map(|(row, number)| {
            if row == 0 {
                number + 1_000_000
            } else {
                *number
            }
        })
        .collect();
    let mut columns = batch.columns().to_vec();
    columns[0] = Arc::new(changed);
    RecordBatch::try_new(batch.schema(), columns).expect("the columns keep their types")
}
