//! Gathers what happened, and writes the report of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::RunOptions;
use super::context::PreparedRun;
use super::results::{Loaded, StreamResult};
use crate::column_policy::ColumnChanges;
use crate::error::Error;
use crate::ledger::{Account, LedgerError, ShardRecord, UnitRecord};
use crate::meter::Meter;
use crate::plan::{Earlier, FlowPlan, Plan, Publish};
use crate::plural::counted;
use crate::reject::Reject;
use crate::report::{
    self, ColumnChangesReport, Outcome, PartitionReport, Phases, Prediction, REPORT_VERSION,
    RejectReport, RunReport, ServerReport, StreamReport, TableReport, UnitReport,
};
use crate::source::Shard;
use crate::switch::TargetTask;

/// Rejects that stand in the report itself.
pub const REJECTS_SHOWN: usize = 20;

/// How long the ledger is waited for at the end.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(5);

/// What is gathered while a run goes on.
pub struct Summary {
    started: Instant,
    started_at: String,
    /// Seconds of each phase.
    pub phases: Phases,
    streams: Vec<StreamReport>,
    loaded: Vec<Loaded>,
    /// The first rejects of what was not finished.
    rejects: Vec<Reject>,
    notes: Vec<String>,
    partitions: BTreeMap<usize, Vec<PartitionReport>>,
    updated: BTreeMap<usize, u64>,
    /// What the ledger said before the switch.
    verified: Option<(Vec<UnitRecord>, Vec<ShardRecord>)>,
}

impl Summary {
    /// Begins with the run.
    pub fn begin() -> Summary {
        Summary {
            started: Instant::now(),
            started_at: now(),
            phases: Phases::default(),
            streams: Vec::new(),
            loaded: Vec::new(),
            rejects: Vec::new(),
            notes: Vec::new(),
            partitions: BTreeMap::new(),
            updated: BTreeMap::new(),
            verified: None,
        }
    }

    /// The whole account was checked by these.
    pub fn verified(&mut self, units: Vec<UnitRecord>, shards: Vec<ShardRecord>) {
        self.verified = Some((units, shards));
    }

    /// The plan is made and the run is in the ledger.
    pub fn planned(&mut self, run: &PreparedRun) {
        self.phases.plan_s = self.started.elapsed().as_secs_f64();
        self.notes.extend(run.plan.notes.iter().cloned());
        if let Earlier::Stopped { dropped, .. } = &run.plan.earlier
            && *dropped > 0
        {
            self.notes.push(format!(
                "loaded anew: {} of the stopped attempt, whose files or settings had changed",
                counted(*dropped as u64, "unit")
            ));
        }
    }

    /// The streams waited in all for their rate and for replicas.
    pub fn paced(&mut self, waited: Duration) {
        if waited > Duration::ZERO {
            self.notes.push(format!(
                "the streams waited {:.1} s in all, as `rate_bytes_max`, `replica_lag_bytes_max` or \
                 `slot_bytes_max` ask for",
                waited.as_secs_f64()
            ));
        }
    }

    /// A stream came to its end.
    pub fn stream_ended(&mut self, result: StreamResult) -> Option<Error> {
        self.streams.push(StreamReport {
            stream: self.streams.len() + 1,
            pieces: result.loaded.len(),
            meter: result.meter,
            ended_s: result.ended_s,
        });
        self.rejects.extend(result.rejects);
        self.loaded(result.loaded);
        result.error
    }

    /// Rows were rejected at the switch.
    pub fn rejected(&mut self, rejects: Vec<Reject>) {
        self.rejects.extend(rejects);
    }

    /// Pieces of work are committed.
    pub fn loaded(&mut self, loaded: Vec<Loaded>) {
        self.loaded.extend(loaded);
    }

    /// Pieces whose rows count: of a unit that was loaded as a whole only the last time, and nothing
    /// that several streams had committed before.
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

    fn rejects_shown(&self) -> Vec<RejectReport> {
        self.pieces()
            .flat_map(|loaded| &loaded.rejects)
            .chain(&self.rejects)
            .take(REJECTS_SHOWN)
            .map(RejectReport::from)
            .collect()
    }

    /// The switch is committed.
    pub fn switched(&mut self, targets: &[TargetTask]) {
        for target in targets {
            if let Some(count) = target.rows_updated {
                self.updated.insert(target.flow, count);
            }
            let attached = target
                .units
                .iter()
                .filter(|unit| unit.attached)
                .filter_map(|unit| {
                    Some(PartitionReport {
                        name: unit.partition_name.clone()?,
                        lower: unit.lower.clone(),
                        upper: unit.upper.clone(),
                    })
                });
            self.partitions.insert(target.flow, attached.collect());
        }
    }

    /// Something that a user should know.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// The report of a run that was carried out or stopped; rows are those that the ledger has.
    pub async fn report(
        &mut self,
        run: &PreparedRun,
        options: &RunOptions<'_>,
        error: Option<&Error>,
    ) -> RunReport {
        let read = async {
            let units = run.ledger.units(&run.control, run.fence.run_id).await?;
            let shards = run.ledger.shards(&run.control, run.fence.run_id).await?;
            Ok::<_, LedgerError>((units, shards))
        };
        // A stop does not wait for a server that says nothing.
        let read = tokio::time::timeout(LEDGER_TIMEOUT, read).await;
        let (units, shards) = match (read, self.verified.take()) {
            (Ok(Ok(read)), _) => read,
            // The server went away after the switch: what was switched was read before.
            (_, Some(verified)) => verified,
            _ => {
                self.note(
                    "the ledger could not be read at the end; rows are those of units that were \
                     kept from before"
                        .to_owned(),
                );
                (
                    run.units_kept.values().cloned().collect(),
                    run.shards_kept.values().cloned().collect(),
                )
            }
        };
        let unit_reports = self.unit_reports(run, &units, &shards);
        let tables = self.table_reports(run, &unit_reports);
        let mut account = Account::default();
        for table in &tables {
            account.add(&table.account);
        }
        let outcome = match error {
            None => Outcome::Loaded,
            Some(Error::Interrupted) => Outcome::Interrupted,
            Some(_) => Outcome::Failed,
        };
        let exit_status = match error {
            None if account.rows_rejected > 0 => 3,
            None => 0,
            Some(error) => error.exit_status(),
        };
        self.phases.total_s = self.started.elapsed().as_secs_f64();
        RunReport {
            run: run.record.name.clone(),
            outcome,
            exit_status,
            error: error.map(ToString::to_string),
            resumed: run.resumed,
            prediction: prediction(run, options),
            account,
            tables,
            units: unit_reports,
            streams: self.streams.clone(),
            rejects: self.rejects_shown(),
            ..self.frame(&run.plan, options)
        }
    }

    /// The report of a run that had nothing left to do.
    pub fn already_loaded(
        &self,
        plan: &Plan,
        accounts: &[Account],
        options: &RunOptions<'_>,
    ) -> RunReport {
        let mut account = Account::default();
        let mut tables = Vec::new();
        for (flow, loaded) in plan.flows.iter().zip(accounts) {
            account.add(loaded);
            tables.push(table_report(flow, *loaded, Vec::new()));
        }
        let run = match &plan.earlier {
            Earlier::Loaded(run) => run.name.clone(),
            _ => String::new(),
        };
        RunReport {
            run,
            outcome: Outcome::AlreadyLoaded,
            account,
            tables,
            ..self.frame(plan, options)
        }
    }

    /// What every report says, whatever happened.
    fn frame(&self, plan: &Plan, options: &RunOptions<'_>) -> RunReport {
        RunReport {
            report_version: REPORT_VERSION,
            inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
            run: String::new(),
            package: plan.package.clone(),
            package_hash: plan.package_hash.clone(),
            plan_hash: plan.plan_hash.clone(),
            outcome: Outcome::Loaded,
            exit_status: 0,
            error: None,
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
            destination: plan.destination.clone(),
            server: ServerReport {
                version: plan.server.version.clone(),
                settings: plan.server.settings.clone(),
            },
            machine: report::machine(),
            embedded: options.embedded.clone(),
        }
    }

    fn unit_reports(
        &self,
        run: &PreparedRun,
        units: &[UnitRecord],
        shards: &[ShardRecord],
    ) -> Vec<UnitReport> {
        let mut meters: BTreeMap<(usize, usize), Meter> = BTreeMap::new();
        for loaded in &self.loaded {
            let meter = meters.entry((loaded.flow, loaded.unit)).or_default();
            meter.add(&loaded.meter);
        }
        let mut reports = Vec::new();
        for (flow_index, flow) in run.plan.flows.iter().enumerate() {
            for (unit_index, unit) in flow.units.iter().enumerate() {
                let record = units.iter().find(|record| record.unit_key == unit.key);
                let is_careful = |loaded: &Loaded| {
                    (loaded.flow, loaded.unit) == (flow_index, unit_index) && loaded.is_careful
                };
                reports.push(UnitReport {
                    flow: flow.name.clone(),
                    unit: unit.number,
                    files: unit
                        .shards
                        .iter()
                        .map(|shard| shard.file.path.display().to_string())
                        .collect(),
                    staging_table: unit.staging_table.clone(),
                    shared: unit.shared,
                    straight: flow.publish == Publish::Straight,
                    kept: run
                        .units_kept
                        .get(&unit.key)
                        .is_some_and(|kept| kept.finished),
                    finished: record.is_some_and(|record| record.finished),
                    // The ledger says it of units that one stream has loaded as a whole.
                    careful: record.is_some_and(|record| record.careful)
                        || self.loaded.iter().any(is_careful),
                    account: Account::of_unit(shards, &unit.key),
                    rows_counted: record
                        .and_then(|record| record.rows_counted)
                        .map(|count| count as u64),
                    meter: meters
                        .get(&(flow_index, unit_index))
                        .copied()
                        .unwrap_or_default(),
                });
            }
        }
        reports
    }

    fn table_reports(&self, run: &PreparedRun, units: &[UnitReport]) -> Vec<TableReport> {
        run.plan
            .flows
            .iter()
            .enumerate()
            .map(|(flow_index, flow)| {
                let mut account = Account::default();
                for unit in units.iter().filter(|unit| unit.flow == flow.name) {
                    account.add(&unit.account);
                }
                let attached = self.partitions.get(&flow_index);
                let partitions = attached.cloned().unwrap_or_default();
                let mut changes: BTreeMap<&str, ColumnChanges> = BTreeMap::new();
                let own = self.pieces().filter(|loaded| loaded.flow == flow_index);
                for (column, more) in own.flat_map(|loaded| &loaded.changes) {
                    changes.entry(column).or_default().add(more);
                }
                TableReport {
                    rows_updated: self.updated.get(&flow_index).copied(),
                    changes: changes
                        .into_iter()
                        .map(|(column, changes)| ColumnChangesReport {
                            column: column.to_owned(),
                            changes,
                        })
                        .collect(),
                    ..table_report(flow, account, partitions)
                }
            })
            .collect()
    }
}

fn table_report(
    flow: &FlowPlan,
    account: Account,
    partitions: Vec<PartitionReport>,
) -> TableReport {
    TableReport {
        flow: flow.name.clone(),
        target: flow.target(),
        account,
        stored_bytes: flow
            .units
            .iter()
            .flat_map(|unit| &unit.shards)
            .map(|shard| shard.size_bytes())
            .sum(),
        partitions,
        rows_updated: None,
        changes: Vec::new(),
    }
}

/// What a preflight has left for this run. One that goes on where another stopped has less to do.
fn prediction(run: &PreparedRun, options: &RunOptions<'_>) -> Option<Prediction> {
    let plan = &run.plan;
    let units = plan.flows.iter().flat_map(|flow| &flow.units);
    let stored_bytes = units
        .flat_map(|unit| &unit.shards)
        .map(Shard::size_bytes)
        .sum();
    let folder = &options.runs_folder;
    match run.resumed {
        true => None,
        false => report::find_prediction(folder, &plan.run_key, plan.streams, stored_bytes),
    }
}

/// This moment, RFC 3339.
pub fn now() -> String {
    jiff::Timestamp::now().to_string()
}
