//! Gathers what happened in a run into a destination that is reached by the contract, and writes the report of it.

use inrush_rows::ids::RunName;
use std::collections::BTreeSet;

use inrush_destination::Published;

use super::prepare::ContractRun;
use crate::driver::plan::{ContractEarlier, ContractFlow, ContractPlan, UnitAccounts};
use crate::error::Error;
use crate::ledger::Account;
use crate::pipeline::RunOptions;
use crate::pipeline::flow_reports::{self, UnitEnd};
use crate::pipeline::report_facts::{About, Done, Gathering};
use crate::plan::UnitPlace;
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
            _ => (RunName::new(""), [].as_slice()),
        };
        let flows = plan.flows.iter().zip(accounts);
        let tables = flows
            .map(|(flow, account)| flow_reports::of_target(flow, *account))
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
        let pieces = self.gathering.loaded.iter();
        let loaded: BTreeSet<UnitPlace> = pieces.map(|own| (own.flow, own.unit)).collect();
        flow_reports::of_units(&self.gathering, &run.plan.flows, |place, _| {
            let account = accounts.get(place);
            // Of a file that is fed, only reading it to its end tells that all of it was kept.
            let is_finished = match run.fed_files.get((place.0, place.1, 0)) {
                None => account.is_some(),
                Some(fed) => fed.is_committed(),
            };
            let account = account.unwrap_or_default();
            UnitEnd {
                server_copy: None,
                staging_table: String::new(),
                is_kept: is_finished && !loaded.contains(&place) && run.kept.has(place),
                is_finished,
                is_careful: false,
                account,
                // Rows are committed only where the destination's count is this.
                rows_counted: is_finished.then_some(account.rows_loaded),
            }
        })
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
            ..flow_reports::of_target(flow, account)
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
