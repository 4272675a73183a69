//! Gathers what happened in a run into PostgreSQL, and writes the report of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use inrush_rows::ids::{RunName, UnitKey};
use inrush_rows::plural::counted;

use super::context::PreparedRun;
use crate::engine::error::Error;
use crate::engine::ledger::Account;
use crate::engine::pipeline::RunOptions;
use crate::engine::pipeline::flow_reports::{self, UnitEnd};
use crate::engine::pipeline::report_facts::{About, Done, Gathering};
use crate::engine::pipeline::results::LoadedPieces;
use crate::engine::plan::UnitPlace;
use crate::engine::report::{PartitionReport, RunReport, ServerReport, TableReport, UnitReport};
use crate::ledger::{LedgerError, UnitAccounts, UnitRow};
use crate::plan::{Earlier, Plan};
use crate::switch::TargetTask;

/// How long the ledger is waited for at the end.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(5);

/// What is gathered while a run goes on.
pub struct Summary {
    /// What is gathered of every run.
    pub gathering: Gathering,
    partitions: BTreeMap<usize, Vec<PartitionReport>>,
    updated: BTreeMap<usize, u64>,
    /// What the ledger said before the switch.
    verified: Option<(Vec<UnitRow>, UnitAccounts)>,
}

impl Summary {
    /// Begins with the run.
    pub fn begin() -> Summary {
        Summary {
            gathering: Gathering::begin(),
            partitions: BTreeMap::new(),
            updated: BTreeMap::new(),
            verified: None,
        }
    }

    /// The whole account was checked by these.
    pub fn verified(&mut self, units: Vec<UnitRow>, accounts: UnitAccounts) {
        self.verified = Some((units, accounts));
    }

    /// The plan is made and the run is in the ledger.
    pub fn planned(&mut self, run: &PreparedRun) {
        self.gathering.planned(&run.plan.notes);
        if let Earlier::Stopped { dropped, .. } = &run.plan.earlier
            && *dropped > 0
        {
            self.note(format!(
                "loaded again: {} of the stopped attempt, because files or settings had changed",
                counted(*dropped as u64, "unit")
            ));
        }
    }

    /// Pieces of work are committed.
    pub fn loaded(&mut self, loaded: LoadedPieces) {
        self.gathering.loaded.add_all(loaded);
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
        self.gathering.note(text);
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
            let accounts = run.ledger.accounts(&run.control, run.fence.run_id).await?;
            Ok::<_, LedgerError>((units, accounts))
        };
        // A stop does not wait for a server that says nothing.
        let read = tokio::time::timeout(LEDGER_TIMEOUT, read).await;
        // What was verified in a transaction that was not committed is not there.
        let is_undone = run.plan.is_one_transaction() && error.is_some();
        let verified = self.verified.take().filter(|_| !is_undone);
        let (units, accounts) = match (read, verified) {
            (Ok(Ok(read)), _) => read,
            // The server went away after the switch: what was switched was read before.
            (_, Some(verified)) => verified,
            _ => {
                self.note(
                    "the ledger could not be read at the end; the report has only the rows of \
                     units kept from earlier attempts"
                        .to_owned(),
                );
                (
                    run.units_kept.values().cloned().collect(),
                    run.splits_kept.accounts(),
                )
            }
        };
        let units = self.unit_reports(run, &units, &accounts);
        let tables = self.table_reports(run, &units);
        let done = Done {
            run: run.record.name.clone(),
            run_key: &run.plan.run_key,
            streams: run.plan.streams,
            resumed: run.resumed,
            tables,
            units,
            error,
        };
        self.gathering.report(about(&run.plan), options, done)
    }

    /// The report of a run that had nothing left to do.
    pub fn already_loaded(
        &self,
        plan: &Plan,
        accounts: &[Account],
        options: &RunOptions<'_>,
    ) -> RunReport {
        let flows = plan.flows.iter().zip(accounts);
        let tables = flows.map(|(flow, loaded)| flow_reports::of_target(flow, *loaded));
        let run = match &plan.earlier {
            Earlier::Loaded(run) => run.name.clone(),
            _ => RunName::new(""),
        };
        self.gathering
            .already_loaded(about(plan), options, run, tables.collect())
    }

    fn unit_reports(
        &self,
        run: &PreparedRun,
        units: &[UnitRow],
        accounts: &UnitAccounts,
    ) -> Vec<UnitReport> {
        let records: BTreeMap<&UnitKey, &UnitRow> = units
            .iter()
            .map(|record| (&record.unit_key, record))
            .collect();
        let pieces = self.gathering.loaded.iter();
        let careful: BTreeSet<UnitPlace> = pieces
            .filter(|loaded| loaded.is_careful)
            .map(|loaded| (loaded.flow, loaded.unit))
            .collect();
        flow_reports::of_units(&self.gathering, &run.plan.flows, |place, unit| {
            let record = records.get(&unit.key);
            let kept = run.units_kept.get(&unit.key);
            let counted = record.and_then(|record| record.rows_counted);
            let is_careful =
                record.is_some_and(|record| record.careful) || careful.contains(&place);
            UnitEnd {
                server_copy: run.stored_ways.report(place, is_careful),
                staging_table: unit.staging_table.clone(),
                is_kept: kept.is_some_and(|kept| kept.finished),
                is_finished: record.is_some_and(|record| record.finished),
                // The ledger says it of units that one stream has loaded as a whole.
                is_careful,
                account: accounts.of_unit(&unit.key),
                rows_counted: counted.map(|count| count as u64),
            }
        })
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
                TableReport {
                    partitions,
                    rows_updated: self.updated.get(&flow_index).copied(),
                    changes: self.gathering.changes(flow_index),
                    ..flow_reports::of_target(flow, account)
                }
            })
            .collect()
    }
}

fn about(plan: &Plan) -> About<'_> {
    About {
        package: &plan.package,
        package_hash: &plan.package_hash,
        plan_hash: &plan.plan_hash,
        destination: &plan.destination,
        server: ServerReport {
            version: plan.server.version.clone(),
            settings: plan.server.settings.clone(),
        },
    }
}
