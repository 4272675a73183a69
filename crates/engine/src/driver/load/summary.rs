//! Gathers what happened in a run into a destination that is reached by the contract, and writes the report of it.

use std::collections::BTreeSet;

use inrush_destination::Published;

use super::prepare::ContractRun;
use crate::driver::plan::{ContractEarlier, ContractFlow, ContractPlan, UnitAccounts};
use crate::error::Error;
use crate::ledger::Account;
use crate::meter::Meter;
use crate::pipeline::RunOptions;
use crate::pipeline::report_facts::{About, Done, Gathering};
use crate::plan::{PlannedFlow, UnitPlace};
use crate::report::{PartitionReport, RunReport, ServerReport, TableReport, UnitReport};

/// What is gathered while a run goes on.
pub struct ContractSummary {
    /// What is gathered of every run.
    pub gathering: Gathering,
    published: Published,
    /// What the ledger said before everything was published.
    verified: Option<UnitAccounts>,
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
    pub fn verified(&mut self, accounts: UnitAccounts) {
        self.verified = Some(accounts);
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
        run: &ContractRun,
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
            .map(|(index, flow)| self.table_report(index, flow, accounts.total(index)))
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
        let (name, accounts) = match &plan.earlier {
            ContractEarlier::Loaded { run, accounts } => (run.name.clone(), accounts.as_slice()),
            _ => (String::new(), [].as_slice()),
        };
        let flows = plan.flows.iter().zip(accounts);
        let tables = flows
            .map(|(flow, account)| table_report(flow, *account))
            .collect();
        self.gathering
            .already_loaded(about(plan), options, name, tables)
    }

    /// The accounts of units that are committed: as the ledger said, or where it was not asked any more, as this attempt
    /// knows.
    fn accounts(&mut self, run: &ContractRun) -> UnitAccounts {
        if let Some(verified) = self.verified.take() {
            return verified;
        }
        let mut accounts = run.kept.accounts().clone();
        for loaded in &self.gathering.loaded {
            accounts.add((loaded.flow, loaded.unit), &loaded.account);
        }
        accounts
    }

    fn unit_reports(&self, run: &ContractRun, accounts: &UnitAccounts) -> Vec<UnitReport> {
        let flows = &run.plan.flows;
        let pieces = self.gathering.loaded.iter();
        let loaded: BTreeSet<UnitPlace> = pieces.map(|own| (own.flow, own.unit)).collect();
        let mut reports = Vec::with_capacity(flows.iter().map(|flow| flow.units.len()).sum());
        let mut firsts = Vec::new();
        for (flow_index, flow) in flows.iter().enumerate() {
            firsts.push(reports.len());
            for (unit_index, unit) in flow.units.iter().enumerate() {
                let place = (flow_index, unit_index);
                let account = accounts.get(place);
                let finished = match run.fed_files.get((flow_index, unit_index, 0)) {
                    None => account.is_some(),
                    Some(fed) => fed.is_committed(),
                };
                // Of a file that is fed, only reading it to its end tells that all of it was kept.
                let kept = finished && !loaded.contains(&place) && run.kept.has(place);
                let account = account.unwrap_or_default();
                reports.push(UnitReport {
                    flow: flow.reading.name.clone(),
                    unit: unit.number,
                    files: vec![unit.split.file.path.display().to_string()],
                    staging_table: String::new(),
                    shared: unit.split.is_fed,
                    straight: false,
                    kept,
                    finished,
                    careful: false,
                    account,
                    // Rows are committed only where the destination's count is this.
                    rows_counted: finished.then_some(account.rows_loaded),
                    meter: Meter::default(),
                });
            }
        }
        self.gathering.add_meters(&mut reports, &firsts);
        reports
    }

    fn table_report(&self, index: usize, flow: &ContractFlow, account: Account) -> TableReport {
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
        stored_bytes: flow.stored_bytes(),
        partitions: Vec::new(),
        rows_updated: None,
        changes: Vec::new(),
    }
}
