//! Gathers what happened in a run into a destination that is reached by the contract, and writes the report of it.

use std::collections::BTreeMap;

use inrush_destination::Published;

use super::prepare::PreparedRun;
use crate::contract::plan::{ContractFlow, ContractPlan, Earlier, shard_of};
use crate::error::Error;
use crate::ledger::{Account, ShardRecord};
use crate::pipeline::RunOptions;
use crate::pipeline::gathering::{About, Done, Gathering};
use crate::report::{PartitionReport, RunReport, ServerReport, TableReport, UnitReport};

/// What is gathered while a run goes on.
pub struct ContractSummary {
    /// What is gathered of every run.
    pub gathering: Gathering,
    published: Published,
    /// What the ledger said before everything was published, by the keys of units.
    verified: Option<BTreeMap<String, ShardRecord>>,
}

impl ContractSummary {
    /// Begins with the run.
    pub fn begin() -> ContractSummary {
        ContractSummary {
            gathering: Gathering::begin(),
            published: Published::default(),
            verified: None,
        }
    }

    /// The whole account was checked by these.
    pub fn verified(&mut self, shards: BTreeMap<String, ShardRecord>) {
        self.verified = Some(shards);
    }

    /// Everything is published.
    pub fn published(&mut self, published: Published) {
        for note in &published.notes {
            self.gathering.note(note.clone());
        }
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
        let tables = run
            .plan
            .flows
            .iter()
            .enumerate()
            .map(|(index, flow)| self.table_report(index, flow, &accounts))
            .collect();
        let done = Done {
            run: run.open.record().name.clone(),
            run_key: &run.plan.run_key,
            streams: run.plan.streams,
            resumed: run.resumed,
            tables,
            units,
            error,
        };
        self.gathering.report(about(&run.plan), options, done)
    }

    /// The report of a run that had nothing left to do: the one that had done it.
    pub fn already_loaded(&self, plan: &ContractPlan, options: &RunOptions<'_>) -> RunReport {
        let (name, units) = match &plan.earlier {
            Earlier::Loaded(run) => (run.record.name.clone(), run.units.as_slice()),
            _ => (String::new(), [].as_slice()),
        };
        let table = |flow: &ContractFlow| {
            let mut loaded = Account::default();
            // By target and not by unit: what the plan would make of the files today may differ.
            let own = units
                .iter()
                .filter(|unit| unit.target == flow.reading.target);
            for shard in own.filter_map(|unit| shard_of(&unit.detail)) {
                loaded.add(&shard.account);
            }
            table_report(flow, loaded)
        };
        let tables = plan.flows.iter().map(table).collect();
        self.gathering
            .already_loaded(about(plan), options, name, tables)
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
        for loaded in &self.gathering.loaded {
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
        let meters = self.gathering.meters();
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
            changes: self.gathering.changes(index),
            ..table_report(flow, account)
        }
    }
}

fn about(plan: &ContractPlan) -> About<'_> {
    About {
        package: &plan.package,
        package_hash: &plan.package_hash,
        plan_hash: &plan.plan_hash,
        destination: &plan.destination,
        server: ServerReport {
            version: plan.destination.clone(),
            settings: Vec::new(),
        },
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
