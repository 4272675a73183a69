//! Gathers what happened, and writes the report of it.

use std::collections::BTreeMap;
use std::time::Instant;

use inrush_destination::Published;

use super::prepare::PreparedRun;
use crate::column_policy::ColumnChanges;
use crate::error::Error;
use crate::ledger::{Account, ShardRecord};
use crate::meter::Meter;
use crate::pipeline::RunOptions;
use crate::pipeline::results::{Loaded, StreamResult};
use crate::pipeline::summary::{REJECTS_SHOWN, now};
use crate::plan::ContractPlan;
use crate::plan::contract::{ContractFlow, Earlier, shard_of};
use crate::reject::Reject;
use crate::report::{
    self, ColumnChangesReport, Outcome, PartitionReport, Phases, Prediction, REPORT_VERSION,
    RejectReport, RunReport, ServerReport, StreamReport, TableReport, UnitReport,
};

/// What is gathered while a run goes on.
pub struct ContractSummary {
    started: Instant,
    started_at: String,
    /// Seconds of each phase.
    pub phases: Phases,
    streams: Vec<StreamReport>,
    loaded: Vec<Loaded>,
    /// The first rejects of what was not finished.
    rejects: Vec<Reject>,
    notes: Vec<String>,
    published: Published,
    /// What the ledger said before everything was published, by the keys of units.
    verified: Option<BTreeMap<String, ShardRecord>>,
}

impl ContractSummary {
    /// Begins with the run.
    pub fn begin() -> ContractSummary {
        ContractSummary {
            started: Instant::now(),
            started_at: now(),
            phases: Phases::default(),
            streams: Vec::new(),
            loaded: Vec::new(),
            rejects: Vec::new(),
            notes: Vec::new(),
            published: Published::default(),
            verified: None,
        }
    }

    /// The plan is made and the run is in the ledger.
    pub fn planned(&mut self, run: &PreparedRun) {
        self.phases.plan_s = self.started.elapsed().as_secs_f64();
        self.notes.extend(run.plan.notes.iter().cloned());
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
        self.loaded.extend(result.loaded);
        result.error
    }

    /// The whole account was checked by these.
    pub fn verified(&mut self, shards: BTreeMap<String, ShardRecord>) {
        self.verified = Some(shards);
    }

    /// Everything is published.
    pub fn published(&mut self, published: Published) {
        self.notes.extend(published.notes.iter().cloned());
        self.published = published;
    }

    /// The report of a run that was carried out or stopped.
    pub fn report(
        &mut self,
        run: &PreparedRun,
        options: &RunOptions<'_>,
        error: Option<&Error>,
    ) -> RunReport {
        let accounts = self.accounts(run);
        let units = self.unit_reports(run, &accounts);
        let tables: Vec<TableReport> = run
            .plan
            .flows
            .iter()
            .enumerate()
            .map(|(index, flow)| self.table_report(index, flow, &accounts))
            .collect();
        let mut account = Account::default();
        for table in &tables {
            account.add(&table.account);
        }
        let outcome = match error {
            None => Outcome::Loaded,
            Some(Error::Interrupted) => Outcome::Interrupted,
            Some(_) => Outcome::Failed,
        };
        self.phases.total_s = self.started.elapsed().as_secs_f64();
        let rejects = self.loaded.iter().flat_map(|loaded| &loaded.rejects);
        RunReport {
            run: run.open.record().name.clone(),
            outcome,
            exit_status: match error {
                None if account.rows_rejected > 0 => 3,
                None => 0,
                Some(error) => error.exit_status(),
            },
            error: error.map(ToString::to_string),
            resumed: run.resumed,
            prediction: prediction(run, options),
            account,
            tables,
            units,
            streams: self.streams.clone(),
            rejects: rejects
                .chain(&self.rejects)
                .take(REJECTS_SHOWN)
                .map(RejectReport::from)
                .collect(),
            ..self.frame(&run.plan, options)
        }
    }

    /// The report of a run that had nothing left to do.
    pub fn already_loaded(&self, plan: &ContractPlan, options: &RunOptions<'_>) -> RunReport {
        let Earlier::Loaded(run) = &plan.earlier else {
            return self.frame(plan, options);
        };
        let mut account = Account::default();
        let mut tables = Vec::new();
        for flow in &plan.flows {
            let mut loaded = Account::default();
            // By target and not by unit: what the plan would make of the files today may differ.
            let own = run
                .units
                .iter()
                .filter(|unit| unit.target == flow.reading.target);
            for shard in own.filter_map(|unit| shard_of(&unit.detail)) {
                loaded.add(&shard.account);
            }
            account.add(&loaded);
            tables.push(table_report(flow, loaded));
        }
        RunReport {
            run: run.record.name.clone(),
            outcome: Outcome::AlreadyLoaded,
            account,
            tables,
            ..self.frame(plan, options)
        }
    }

    /// What every report says, whatever happened.
    fn frame(&self, plan: &ContractPlan, options: &RunOptions<'_>) -> RunReport {
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
                version: plan.destination.clone(),
                settings: Vec::new(),
            },
            machine: report::machine(),
            embedded: None,
        }
    }

    /// The accounts of units that are committed, by their keys: as the ledger said, or where it was
    /// not asked any more, as this attempt knows.
    fn accounts(&self, run: &PreparedRun) -> BTreeMap<String, Account> {
        if let Some(verified) = &self.verified {
            let accounts = verified.iter();
            return accounts
                .map(|(key, shard)| (key.clone(), shard.account))
                .collect();
        }
        let kept = run.kept.iter();
        let mut accounts: BTreeMap<String, Account> = kept
            .map(|(key, (_, shard))| (key.clone(), shard.account))
            .collect();
        for loaded in &self.loaded {
            let unit = &run.plan.flows[loaded.flow].units[loaded.unit];
            accounts.insert(unit.key.clone(), loaded.account);
        }
        accounts
    }

    fn unit_reports(
        &self,
        run: &PreparedRun,
        accounts: &BTreeMap<String, Account>,
    ) -> Vec<UnitReport> {
        let meters: BTreeMap<(usize, usize), Meter> = self
            .loaded
            .iter()
            .map(|loaded| ((loaded.flow, loaded.unit), loaded.meter))
            .collect();
        let mut reports = Vec::new();
        for (flow_index, flow) in run.plan.flows.iter().enumerate() {
            for (unit_index, unit) in flow.units.iter().enumerate() {
                let account = accounts.get(&unit.key).copied();
                reports.push(UnitReport {
                    flow: flow.reading.name.clone(),
                    unit: unit.number,
                    files: vec![unit.shard.file.path.display().to_string()],
                    staging_table: String::new(),
                    shared: false,
                    straight: false,
                    kept: run.kept.contains_key(&unit.key),
                    finished: account.is_some(),
                    careful: false,
                    account: account.unwrap_or_default(),
                    // A unit is committed only where the destination's count is this.
                    rows_counted: account.map(|account| account.rows_loaded),
                    meter: meters
                        .get(&(flow_index, unit_index))
                        .copied()
                        .unwrap_or_default(),
                });
            }
        }
        reports
    }

    fn table_report(
        &self,
        index: usize,
        flow: &ContractFlow,
        accounts: &BTreeMap<String, Account>,
    ) -> TableReport {
        let mut account = Account::default();
        for own in flow.units.iter().filter_map(|unit| accounts.get(&unit.key)) {
            account.add(own);
        }
        let mut changes: BTreeMap<&str, ColumnChanges> = BTreeMap::new();
        let own = self.loaded.iter().filter(|loaded| loaded.flow == index);
        for (column, more) in own.flat_map(|loaded| &loaded.changes) {
            changes.entry(column).or_default().add(more);
        }
        let partitions = self.published.partitions.get(&index);
        TableReport {
            partitions: partitions
                .into_iter()
                .flatten()
                .map(|name| PartitionReport {
                    name: name.clone(),
                    lower: None,
                    upper: None,
                })
                .collect(),
            changes: changes
                .into_iter()
                .map(|(column, changes)| ColumnChangesReport {
                    column: column.to_owned(),
                    changes,
                })
                .collect(),
            ..table_report(flow, account)
        }
    }
}

fn table_report(flow: &ContractFlow, account: Account) -> TableReport {
    TableReport {
        flow: flow.reading.name.clone(),
        target: flow.reading.target.clone(),
        account,
        stored_bytes: flow.shards().map(|shard| shard.size_bytes()).sum(),
        partitions: Vec::new(),
        rows_updated: None,
        changes: Vec::new(),
    }
}

/// What a preflight has left for this run. One that goes on where another stopped has less to do.
fn prediction(run: &PreparedRun, options: &RunOptions<'_>) -> Option<Prediction> {
    let plan = &run.plan;
    let shards = plan.flows.iter().flat_map(ContractFlow::shards);
    let stored_bytes = shards.map(|shard| shard.size_bytes()).sum();
    let folder = &options.runs_folder;
    match run.resumed {
        true => None,
        false => report::find_prediction(folder, &plan.run_key, plan.streams, stored_bytes),
    }
}
