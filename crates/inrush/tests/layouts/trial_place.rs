//! A destination with a place of its own for the trial loads of a preflight (clause D-54 of docs/specs/destination.md): the engine
//! measures there, with the streams of the plan, and everything is given back. Nothing is written to the destination itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use inrush::preflight::{PreflightOptions, PreflightReport, PreflightStep, StepFound};
use inrush_destination::{
    AfterRows, Error, Result, StreamSetup, TargetPlan, TrialLoad, TrialPlace, TrialScope,
    TrialStream, Written,
};
use inrush_engine::driver::Driver;

use super::laid_out::{self, Scene, open};
use super::{Files, one_stream_each_pair, package, scene};

/// A trial load that the destination has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialSeen {
    scope: TrialScope,
    streams: usize,
    /// Rows that its streams were given.
    rows: u64,
    is_published: bool,
}

/// The place of trial loads: it counts their rows.
pub struct TrialHere<'a> {
    scene: &'a Scene,
    targets: usize,
    /// Streams that are not dropped yet.
    open: AtomicUsize,
}

impl<'a> TrialHere<'a> {
    pub fn new(scene: &'a Scene, targets: &[TargetPlan]) -> TrialHere<'a> {
        TrialHere {
            scene,
            targets: targets.len(),
            open: AtomicUsize::new(0),
        }
    }
}

impl TrialPlace for TrialHere<'_> {
    fn note(&self) -> Option<String> {
        Some("the rows of the trial are only counted".to_owned())
    }

    fn begin(&self, target: usize, scope: TrialScope) -> Result<Box<dyn TrialLoad + '_>> {
        assert!(target < self.targets, "the plan has no target {target}");
        let is_over = self.open.load(Ordering::SeqCst) == 0;
        assert!(is_over, "a stream of an earlier trial is still open");
        Ok(Box::new(CountedTrial {
            place: self,
            seen: Mutex::new(TrialSeen {
                scope,
                streams: 0,
                rows: 0,
                is_published: false,
            }),
        }))
    }
}

struct CountedTrial<'a> {
    place: &'a TrialHere<'a>,
    seen: Mutex<TrialSeen>,
}

impl TrialLoad for CountedTrial<'_> {
    fn open_stream<'s>(&'s self, _: &StreamSetup<'s>) -> Result<Box<dyn TrialStream + 's>> {
        self.seen.lock().expect("no stream has panicked").streams += 1;
        self.place.open.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(CountedStream {
            trial: self,
            rows: None,
        }))
    }

    fn publish(&self) -> Result<Option<f64>> {
        self.seen
            .lock()
            .expect("no stream has panicked")
            .is_published = true;
        Ok(None)
    }
}

impl Drop for CountedTrial<'_> {
    fn drop(&mut self) {
        let seen = self.seen.lock().expect("no stream has panicked").clone();
        let mut trials = self
            .place
            .scene
            .trials
            .lock()
            .expect("no stream has panicked");
        trials.as_mut().expect("there is a place").push(seen);
    }
}

struct CountedStream<'a> {
    trial: &'a CountedTrial<'a>,
    /// The rows of the open unit.
    rows: Option<u64>,
}

impl TrialStream for CountedStream<'_> {
    fn begin(&mut self, _: usize) -> Result<()> {
        assert_eq!(self.rows, None, "a unit is open");
        self.rows = Some(0);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<Written> {
        *self.rows.as_mut().expect("no unit is open") += batch.num_rows() as u64;
        Ok(Written::default())
    }

    fn finish(&mut self, rows: u64) -> Result<AfterRows> {
        let counted = self.rows.expect("no unit is open");
        if counted != rows {
            return Err(Error::Refused {
                doing: "counting the rows of a trial".to_owned(),
                message: format!("{counted} and not {rows}"),
                hint: None,
            });
        }
        self.trial.seen.lock().expect("no stream has panicked").rows += rows;
        Ok(AfterRows::default())
    }
}

impl Drop for CountedStream<'_> {
    fn drop(&mut self) {
        self.trial.place.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn step(report: &PreflightReport, step: PreflightStep) -> &StepFound {
    let mut steps = report.steps.iter();
    let found = steps.find(|found| found.step == step);
    found.unwrap_or_else(|| panic!("{step:?} is not reported: {report:?}"))
}

#[test]
fn a_preflight_measures_in_the_place_of_the_destination() {
    let files = Files::new(false);
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    *scene.trials.lock().expect("nobody has it") = Some(Vec::new());
    let (package, options) = (package(2), files.options());
    let mut report = PreflightReport::begin(&package, &options);
    Driver::of_contract(open)
        .preflight(
            &package,
            &options,
            &PreflightOptions::default(),
            &mut report,
        )
        .expect("all can be read");

    for measured in [PreflightStep::Destination, PreflightStep::Together] {
        let found = step(&report, measured);
        assert!(
            found.one_bytes_s.is_some_and(|speed| speed > 0.0),
            "{report:?}"
        );
        assert!(
            found.all_bytes_s.is_some_and(|speed| speed > 0.0),
            "{report:?}"
        );
    }
    assert!(report.prediction.is_some(), "{report:?}");
    let texts: Vec<&String> = report.findings.iter().map(|found| &found.what).collect();
    let notes = report.steps.iter().filter_map(|found| found.note.as_ref());
    let is_told = texts
        .into_iter()
        .chain(notes)
        .any(|text| text.contains("are only counted"));
    assert!(is_told, "{report:?}");

    let trials = scene.trials.lock().expect("nobody has it").clone();
    let trials = trials.expect("there is a place");
    for (scope, streams, is_published) in [
        (TrialScope::Rows, 1, false),
        (TrialScope::Rows, 2, false),
        (TrialScope::Units, 1, false),
        (TrialScope::UnitsAndPublish, 2, true),
    ] {
        let mut own = trials.iter().filter(|trial| trial.scope == scope);
        let found = own.find(|trial| trial.streams == streams);
        let found = found.unwrap_or_else(|| panic!("{scope:?} by {streams}: {trials:?}"));
        assert_eq!(found.is_published, is_published, "{trials:?}");
        assert!(scope == TrialScope::Rows || found.rows > 0, "{trials:?}");
    }
    assert!(
        scene.begun.lock().expect("nobody has it").is_empty(),
        "a unit of the destination itself was begun"
    );
    assert!(!files.path().join("lake").join("t").exists());
}
