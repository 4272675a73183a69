//! Collects the facts of a run while it works, for any destination, and makes its report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inrush_plan::Reading;
use inrush_plan::ledger::Account;
use inrush_plan::load_plan::PlanFacts;
use inrush_plan::step_tally::StepTally;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::exit_status::ExitStatus;
use inrush_rows::ids::{RunKey, RunName};
use inrush_rows::pace::Pace;
use inrush_rows::reject::Reject;
use inrush_transform::outcome::StepCount;
use inrush_verdict::Measurements;

use crate::error::Error;
use crate::event::Event;
use crate::pipeline::RunOptions;
use crate::pipeline::results::{Loaded, LoadedPieces, REJECTS_SHOWN, StreamResult};
use crate::pipeline::stream_threads::StreamsOutcome;
use crate::report::{
    self, ColumnChangesReport, Outcome, Phases, Prediction, REPORT_VERSION, RejectReport,
    RunReport, ServerReport, StepReport, StreamReport, TableReport, UnitReport,
};
use crate::shares::share_result::ShareResult;

/// Collects the facts.
pub struct Gathering {
    started: Instant,
    started_at: String,
    /// Seconds of each phase.
    pub phases: Phases,
    streams: Vec<StreamReport>,
    /// Pieces of work that are committed.
    pub loaded: LoadedPieces,
    /// The first rejects of unfinished work.
    rejects: Vec<Reject>,
    notes: Vec<String>,
    measurements: Option<Measurements>,
}

/// The facts about the work that was done.
pub struct Done<'a> {
    /// The run's name.
    pub run: RunName,
    /// Identifies the package and its targets.
    pub run_key: &'a RunKey,
    /// Streams.
    pub streams: usize,
    /// The run resumed an earlier one.
    pub resumed: bool,
    /// One for each flow.
    pub tables: Vec<TableReport>,
    /// One for each unit.
    pub units: Vec<UnitReport>,
    /// The error, if the run failed.
    pub error: Option<&'a Error>,
}

impl Gathering {
    /// Begins when the run begins.
    pub fn begin() -> Gathering {
        Gathering {
            started: Instant::now(),
            started_at: now(),
            phases: Phases::default(),
            streams: Vec::new(),
            loaded: LoadedPieces::default(),
            rejects: Vec::new(),
            notes: Vec::new(),
            measurements: None,
        }
    }

    /// Called when the plan is made and the run is in the ledger.
    pub fn planned<'n>(&mut self, notes: impl Iterator<Item = &'n String>) {
        self.phases.plan_s = self.started.elapsed().as_secs_f64();
        self.notes.extend(notes.cloned());
    }

    /// Adds a note for the user.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Called when all streams have ended. Adds a note about how long the pace has delayed them; `asked` names the
    /// settings and ends with "asks" or "ask".
    pub fn paced(&mut self, pace: &Pace, asked: &str) {
        let waited = pace.waited();
        if waited > Duration::ZERO {
            let waited_s = waited.as_secs_f64();
            self.note(format!(
                "the streams waited {waited_s:.1} s in all, because {asked} for it"
            ));
        }
    }

    /// Adds rejects that belong to no piece of work.
    pub fn rejected(&mut self, rejects: Vec<Reject>) {
        self.rejects.extend(rejects);
    }

    /// Called when all streams have ended.
    pub fn streams_ended(&mut self, ended: StreamsOutcome) -> Option<Error> {
        for result in ended.results {
            self.stream_ended(result);
        }
        let server = ended.measurements.server.as_ref();
        if let Some(reason) = server.and_then(|server| server.not_sampled.as_ref()) {
            let note =
                format!("It is not known what the destination's sessions waited for: {reason}.");
            // Streams may run again, for rows that the target refused.
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.measurements = Some(ended.measurements);
        ended.error
    }

    fn stream_ended(&mut self, result: StreamResult) {
        self.streams.push(StreamReport {
            stream: self.streams.len() + 1,
            pieces: result.loaded.count(),
            meter: result.meter,
            ended_s: result.ended_s,
        });
        self.rejects.extend(result.rejects);
        self.loaded.add_all(result.loaded);
    }

    /// The facts of a share that this process has loaded, to be sent to the process that makes the report.
    pub fn share(self, by: String) -> ShareResult {
        ShareResult {
            by,
            streams: self.streams,
            loaded: self.loaded,
            notes: self.notes,
            measurements: self.measurements,
        }
    }

    /// Adds the facts of a share that another process has loaded. What limited a load is measured on each host, so a load by
    /// several has no verdict.
    pub fn add_share(&mut self, share: usize, result: ShareResult) {
        for stream in result.streams {
            self.streams.push(StreamReport {
                stream: self.streams.len() + 1,
                ..stream
            });
        }
        self.loaded.add_all(result.loaded);
        let by = format!("share {share} ({})", result.by);
        let notes = result.notes.into_iter();
        self.notes.extend(notes.map(|note| format!("{by}: {note}")));
        self.measurements = None;
    }

    /// Adds the time of each unit to the units' reports, which are in the order of the plan. `firsts` has for each flow
    /// the index of its first unit.
    pub fn add_meters(&self, reports: &mut [UnitReport], firsts: &[usize]) {
        for loaded in &self.loaded {
            let report = &mut reports[firsts[loaded.flow] + loaded.unit];
            report.meter.add(&loaded.meter);
        }
    }

    /// The pieces whose rows count. If a unit was finally loaded as a whole, only that last attempt counts, and not the
    /// splits that several streams had committed before.
    fn pieces(&self) -> impl Iterator<Item = &Loaded> {
        let whole: BTreeMap<(usize, usize), usize> = self
            .loaded
            .iter()
            .enumerate()
            .filter(|(_, loaded)| loaded.is_whole)
            .map(|(index, loaded)| ((loaded.flow, loaded.unit), index))
            .collect();
        let counts = move |index, loaded: &Loaded| {
            let last = whole.get(&(loaded.flow, loaded.unit));
            last.is_none_or(|last| *last == index)
        };
        let pieces = self.loaded.iter().enumerate();
        pieces.filter_map(move |(index, loaded)| counts(index, loaded).then_some(loaded))
    }

    /// The columns of a flow in which values were changed.
    pub fn changes(&self, flow: usize) -> Vec<ColumnChangesReport> {
        let mut changes: BTreeMap<&str, ColumnChanges> = BTreeMap::new();
        let own = self.pieces().filter(|loaded| loaded.flow == flow);
        for (column, more) in own.flat_map(|loaded| &loaded.changes) {
            changes.entry(column).or_default().add(more);
        }
        let report = |(column, changes): (&str, ColumnChanges)| ColumnChangesReport {
            column: column.to_owned(),
            changes,
        };
        changes.into_iter().map(report).collect()
    }

    /// How many rows each step of a flow got, kept and rejected, for the rows that this attempt committed.
    pub fn steps(&self, flow: usize, reading: &Reading) -> Vec<StepReport> {
        let Some(steps) = &reading.steps else {
            return Vec::new();
        };
        let mut tally = StepTally {
            counts: vec![StepCount::default(); steps.planned.steps.len()],
            ..StepTally::default()
        };
        for loaded in self.pieces().filter(|loaded| loaded.flow == flow) {
            tally.add(&loaded.steps);
        }
        let steps = steps.planned.steps.iter().enumerate();
        steps
            .map(|(at, step)| StepReport::of(step, at, &tally))
            .collect()
    }

    fn rejects_shown(&self) -> Vec<RejectReport> {
        self.pieces()
            .flat_map(|loaded| loaded.rejects.iter().cloned())
            .chain(self.rejects.iter().map(RejectReport::from))
            .take(REJECTS_SHOWN)
            .collect()
    }

    /// The report of a run that has loaded something or was stopped.
    pub fn report(
        &mut self,
        facts: &PlanFacts,
        server: ServerReport,
        options: &RunOptions<'_>,
        done: Done<'_>,
    ) -> RunReport {
        let account = total(&done.tables);
        let outcome = match done.error {
            None => Outcome::Loaded,
            Some(Error::Interrupted) => Outcome::Interrupted,
            Some(_) => Outcome::Failed,
        };
        let exit_status = done
            .error
            .map_or_else(|| status_of_loaded(&account), Error::exit_status);
        self.phases.total_s = self.started.elapsed().as_secs_f64();
        let prediction = prediction(&done, options);
        let measurements = self.measurements.take().map(|measured| Measurements {
            stored: super::unit_reports::stored(&done.units),
            ..measured
        });
        RunReport {
            run: done.run,
            outcome,
            exit_status,
            error: done.error.map(ToString::to_string),
            hint: done.error.and_then(|error| options.hint_for(error)),
            resumed: done.resumed,
            prediction,
            account,
            tables: done.tables,
            units: done.units,
            streams: self.streams.clone(),
            rejects: self.rejects_shown(),
            verdict: measurements
                .as_ref()
                .filter(|_| !inrush_verdict::is_too_short(self.phases.load_s))
                .map(inrush_verdict::verdict),
            measurements,
            ..self.frame(facts, server, options)
        }
    }

    /// The report of a run that had nothing left to do. It has the exit status of the run that has loaded the files.
    pub fn already_loaded(
        &self,
        facts: &PlanFacts,
        server: ServerReport,
        options: &RunOptions<'_>,
        run: RunName,
        tables: Vec<TableReport>,
    ) -> RunReport {
        let account = total(&tables);
        RunReport {
            run,
            outcome: Outcome::AlreadyLoaded,
            exit_status: status_of_loaded(&account),
            account,
            tables,
            ..self.frame(facts, server, options)
        }
    }

    /// The fields that every report has.
    fn frame(
        &self,
        facts: &PlanFacts,
        server: ServerReport,
        options: &RunOptions<'_>,
    ) -> RunReport {
        RunReport {
            report_version: REPORT_VERSION,
            inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
            run: RunName::new(""),
            package: facts.package.clone(),
            package_hash: facts.package_hash.clone(),
            plan_hash: facts.plan_hash.clone(),
            outcome: Outcome::Loaded,
            nothing_new: None,
            exit_status: ExitStatus::Clean,
            error: None,
            hint: None,
            replays: options.replays.clone(),
            resumed: false,
            started_at: self.started_at.clone(),
            finished_at: now(),
            phases: self.phases,
            prediction: None,
            account: Account::default(),
            tables: Vec::new(),
            units: Vec::new(),
            streams: Vec::new(),
            rejects: Vec::new(),
            notes: self.notes.clone(),
            destination: facts.destination.clone(),
            server,
            machine: report::machine(),
            embedded: options.embedded.clone(),
            measurements: None,
            verdict: None,
        }
    }
}

/// The event at the end of a run.
pub fn finished(report: &RunReport, path: Option<String>) -> Event {
    Event::Finished {
        run: report.run.clone(),
        outcome: match report.outcome {
            Outcome::Loaded => "loaded",
            Outcome::AlreadyLoaded if report.nothing_new.is_some() => "nothing_new",
            Outcome::AlreadyLoaded => "already_loaded",
            Outcome::Failed => "failed",
            Outcome::Interrupted => "interrupted",
        }
        .to_owned(),
        account: report.account,
        report: path,
    }
}

/// The prediction of a preflight for this run. A resumed run has less work than predicted, and a failed run did not do
/// all of its work, so neither gets one.
fn prediction(done: &Done<'_>, options: &RunOptions<'_>) -> Option<Prediction> {
    if done.resumed || done.error.is_some() {
        return None;
    }
    let stored_bytes = done.tables.iter().map(|table| table.stored_bytes).sum();
    report::find_prediction(
        &options.runs_folder,
        done.run_key,
        done.streams,
        stored_bytes,
    )
}

/// The exit status of rows that are in their targets.
fn status_of_loaded(account: &Account) -> ExitStatus {
    match account.rows_rejected {
        0 => ExitStatus::Clean,
        _ => ExitStatus::Rejects,
    }
}

fn total(tables: &[TableReport]) -> Account {
    let mut account = Account::default();
    for table in tables {
        account.add(&table.account);
    }
    account
}

/// The current time, RFC 3339.
fn now() -> String {
    jiff::Timestamp::now().to_string()
}
