//! Makes a plan: reads the files and the catalog, and changes nothing.

use std::sync::Arc;

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_package::{LoadOrder, Package, ServerCopy};
use inrush_plan::PlanError;
use inrush_plan::lineage::{self, RunLineage};
use inrush_plan::load_plan::ServerReport;
use inrush_plan::long_units::share_among;
use inrush_plan::outputs;
use inrush_plan::since::sentences_if_all;
use inrush_plan::{LedgerRecords, MemoryBound, PlanFacts, PlanOptions, abilities, identity};
use inrush_plan::{earlier::EarlierWork, package_runs::PackageRuns};
use inrush_rows::ids::RunKey;

use super::flow_request::FlowRequest;
use super::privileges::{self, Privilege};
use super::routing::KeyScans;
use super::{
    DiskFacts, Earlier, FED_TRANSACTION_BYTES, FlowPlan, Plan, disk, earlier, flow, index_rebuild,
    is_all_straight, limits, members, obstacles, replace_mode, statistics, target,
};
use crate::ledger::FoundLineage;
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;
use crate::server_facts::{self, ServerFacts};
use crate::server_ledger::ServerLedger;
use crate::{DatabaseAddress, Session, catalog, fast_copy, ledger};

/// The key by which the ledger identifies the package and its targets in this database.
pub async fn run_key(session: &Session, package: &Package) -> Result<RunKey, PlanFailure> {
    Ok(run_key_of(package, &target_names(session, package).await?))
}

/// Schema and name of each flow's target. Two flows with the same target are refused, even if they write its name
/// differently.
async fn target_names(
    session: &Session,
    package: &Package,
) -> Result<Vec<(String, String)>, PlanFailure> {
    let mut names = Vec::new();
    for flow in &package.flows {
        let name = flow.parsed_table()?;
        let schema = match name.schema {
            Some(schema) => schema,
            None => catalog::default_schema(session, &name.name).await?,
        };
        for name in [&schema, &name.name] {
            if name.len() > POSTGRES_NAME_BYTES_MAX {
                return Err(PlanError::Mismatch {
                    flow: flow.shown_name().to_owned(),
                    what: format!(
                        "the name `{name}` has {} bytes, and a name of PostgreSQL has at most {POSTGRES_NAME_BYTES_MAX}",
                        name.len()
                    ),
                    hint: "choose a shorter name; the server would truncate it".to_owned(),
                }
                .into());
            }
        }
        let target = (schema, name.name);
        if let Some(first) = names.iter().position(|known| *known == target) {
            return Err(PlanError::Mismatch {
                flow: flow.shown_name().to_owned(),
                what: format!(
                    "its target {}.{} is also the target of flow {}",
                    target.0,
                    target.1,
                    package.flows[first].shown_name()
                ),
                hint: "load all rows of a table by one flow, or name another table".to_owned(),
            }
            .into());
        }
        names.push(target);
    }
    Ok(names)
}

fn run_key_of(package: &Package, names: &[(String, String)]) -> RunKey {
    let targets: Vec<String> = names
        .iter()
        .map(|(schema, name)| qualified(schema, name))
        .collect();
    identity::run_key(&package.name, &targets)
}

/// Makes the plan of a resolved package. The session has no open transaction afterwards. The results of passes over the
/// files are kept in `key_scans`, which all plans of a run share.
pub async fn build(
    session: &Session,
    address: &DatabaseAddress,
    package: &Package,
    options: &PlanOptions<'_>,
    key_scans: &KeyScans,
) -> Result<Plan, PlanFailure> {
    abilities::require(package, options, &crate::abilities::abilities())?;
    let mut server = server_facts::inspect(session, address).await?;
    if package.run.server_copy != ServerCopy::Plain {
        server.fast_copy = fast_copy::find(session, server.is_utf8).await?;
    }
    // Limits the wait for another session's lock on a target.
    let lock_timeout = package.run.lock_timeout_ms;
    session
        .execute(&format!("SET lock_timeout = {lock_timeout}"), "planning")
        .await?;
    let names = target_names(session, package).await?;
    let run_key = run_key_of(package, &names);
    let asked = ServerLedger::of_plan(session, &package.run.ledger_schema, options.stop);
    let request = PlanRequest {
        session,
        address,
        package,
        options,
        key_scans,
        server: &server,
        run_key: &run_key,
        runs: PackageRuns::new(&asked, &run_key),
    };

    let mut notes = Vec::new();
    let flows = request.flows(&names, &mut notes).await?;
    options.or_note(members::refuse_targets(&flows))?;
    let SharedFlows {
        mut flows,
        streams,
        locks_needed,
    } = request.share(flows)?;
    let privileges = request.privileges(&flows).await?;
    let (setup, keeps_lineage) = request.setup(&flows).await?;
    let EarlierWork {
        run: earlier,
        left_out,
        loaded_notes,
    } = request.earlier(&mut flows, &privileges, &mut notes).await?;
    request.refuse_obstacles(&flows, &earlier).await?;
    notes.extend(request.wal_note());
    request.refuse_blind().await?;
    let memory = request.memory(&flows, streams, &earlier);
    let disk = request.disk(&flows, &earlier).await?;
    let mut plan = Plan {
        facts: Arc::new(PlanFacts {
            package: package.name.clone(),
            package_hash: package.hash(),
            plan_hash: String::new(),
            lineage: RunLineage::default(),
            run_key,
            destination: address.describe(),
            settings: package.run.clone(),
            streams,
            memory,
            batch_rows: package.run.batch_rows as usize,
            fed_bytes: FED_TRANSACTION_BYTES,
            nothing_new: sentences_if_all(&flows),
            left_out,
            notes,
            loaded_notes,
            server_report: ServerReport {
                version: server.version.clone(),
                settings: server.settings.clone(),
            },
            ledger_records: LedgerRecords::Units,
            reloads_units_alone: true,
            paced_by: "`rate_bytes_max`, `replica_lag_bytes_max` or `slot_bytes_max` ask",
            targets_digest: None,
        }),
        server,
        setup,
        keeps_lineage,
        flows,
        privileges,
        disk,
        locks_needed,
        earlier,
    };
    let readings = plan.flows.iter_mut().map(|flow| &mut flow.reading);
    outputs::settle(package, readings.collect())?;
    let analyzed = plan
        .flows
        .iter()
        .map(|flow| statistics::of_target(&plan, flow).is_some());
    for (flow, is_analyzed) in analyzed.collect::<Vec<bool>>().into_iter().enumerate() {
        plan.flows[flow].is_analyzed = is_analyzed;
    }
    let plan_hash = identity::digest_of_lines(|see| plan.each_line(see));
    let facts = Arc::make_mut(&mut plan.facts);
    facts.lineage = lineage::of_flows(&plan.flows, package);
    facts.plan_hash = plan_hash;
    session.execute("SET lock_timeout = 0", "planning").await?;
    Ok(plan)
}

/// The inputs of the plan.
struct PlanRequest<'a> {
    session: &'a Session,
    address: &'a DatabaseAddress,
    package: &'a Package,
    options: &'a PlanOptions<'a>,
    key_scans: &'a KeyScans,
    server: &'a ServerFacts,
    run_key: &'a RunKey,
    runs: PackageRuns<'a>,
}

/// The flows after their long units were cut into pieces for several streams.
struct SharedFlows {
    flows: Vec<FlowPlan>,
    streams: usize,
    /// The number of locks that the switch holds at its end.
    locks_needed: u64,
}

impl PlanRequest<'_> {
    /// The plan of each flow.
    async fn flows(
        &self,
        names: &[(String, String)],
        notes: &mut Vec<String>,
    ) -> Result<Vec<FlowPlan>, PlanFailure> {
        let mut flows = Vec::new();
        for (flow, (schema, table)) in self.package.flows.iter().zip(names) {
            let request = FlowRequest {
                session: self.session,
                server: self.server,
                package: self.package,
                options: self.options,
                key_scans: self.key_scans,
                flow,
                runs: &self.runs,
                schema,
                table,
            };
            let planned = flow::plan(&request, notes).await;
            let Some(mut planned) = self.options.or_note(planned)? else {
                continue;
            };
            if self.package.run.order == LoadOrder::Package {
                planned.turn = flows.len();
            }
            notes.extend(index_rebuild::note(&planned));
            flows.push(planned);
        }
        Ok(flows)
    }

    fn streams_wanted(&self) -> usize {
        match self.package.run.staging {
            true => self.options.streams,
            // A single transaction needs a single session.
            false => 1,
        }
    }

    /// Cuts long units into pieces for several streams, and computes the number of locks of the switch.
    fn share(&self, mut flows: Vec<FlowPlan>) -> Result<SharedFlows, PlanError> {
        let streams_wanted = self.streams_wanted();
        let streams = share_among(&mut flows, streams_wanted)?;
        let options = self.options;
        options.or_note(limits::check_connections(self.server, streams))?;
        let locks_needed = limits::locks_needed(&flows);
        options.or_note(limits::check_locks(self.server, locks_needed))?;
        Ok(SharedFlows {
            flows,
            streams,
            locks_needed,
        })
    }

    /// The most memory of the load with this number of streams.
    fn memory(&self, flows: &[FlowPlan], streams: usize, earlier: &Earlier) -> MemoryBound {
        let is_resumed = matches!(earlier, Earlier::Stopped { .. });
        limits::memory(flows, &self.package.run, streams, is_resumed)
    }

    /// The privileges that the flows need.
    async fn privileges(&self, flows: &[FlowPlan]) -> Result<Vec<Privilege>, PlanFailure> {
        let (session, package, server) = (self.session, self.package, self.server);
        let found = privileges::find(session, package, server, flows).await;
        let found = self.options.or_note(found)?.unwrap_or_default();
        let published = obstacles::refuse_published_schemas(session, package, server, flows);
        self.options.or_note(published.await)?;
        Ok(found)
    }

    /// Statements that create the ledger and the staging schema if they are missing, or alter a ledger of an older
    /// version; and whether the ledger keeps the lineage of the run.
    async fn setup(&self, flows: &[FlowPlan]) -> Result<(Vec<String>, bool), PlanFailure> {
        let (ledger_schema, staging_schema) = self.schemas();
        let tables = ledger::find(self.session, ledger_schema).await?;
        let stands = tables.are_complete
            && (is_all_straight(flows)
                || catalog::schema_exists(self.session, staging_schema).await?);
        let mut statements = match stands {
            true => Vec::new(),
            false => ledger::setup_statements(ledger_schema, staging_schema),
        };
        if stands && tables.lineage == FoundLineage::Missing {
            statements.push(ledger::lineage_statement(ledger_schema));
        }
        if tables.are_older {
            let lock_timeout_ms = self.package.run.lock_timeout_ms;
            statements.extend(ledger::alter_statements(ledger_schema, lock_timeout_ms));
        }
        let adds = flows.iter().any(|flow| !flow.members.is_empty());
        if adds && !ledger::has_members(self.session, ledger_schema).await? {
            statements.push(ledger::members_statement(ledger_schema));
        }
        Ok((statements, tables.lineage != FoundLineage::Closed))
    }

    /// The work of an earlier run of the package. If only some of the flows are loaded already, these flows are
    /// removed.
    async fn earlier(
        &self,
        flows: &mut Vec<FlowPlan>,
        privileges: &[Privilege],
        notes: &mut Vec<String>,
    ) -> Result<EarlierWork<Earlier>, PlanFailure> {
        // A role that may not read the ledger sees this in the list of privileges.
        let is_readable = privileges
            .iter()
            .all(|privilege| privilege.held || privilege.needed_for != privileges::FOR_LEDGER);
        if !is_readable {
            return Ok(EarlierWork::of(Earlier::None));
        }
        let (session, options) = (self.session, self.options);
        let found = earlier::find(
            session,
            self.schemas(),
            &self.runs,
            &self.package.hash(),
            flows,
            options,
            notes,
        )
        .await?;
        // A replay must match the run whose rejects it loads.
        let is_asked_again = options.again || options.from.is_some() || options.is_replay;
        if matches!(found.run, Earlier::None) && !is_asked_again {
            let (ledger_schema, _) = self.schemas();
            let lost = earlier::refuse_lost_ledger(session, ledger_schema, self.run_key, flows);
            options.or_note(lost.await)?;
        }
        Ok(found)
    }

    /// If there is something to load, refuses targets that must be empty and have rows, and names that are taken.
    async fn refuse_obstacles(
        &self,
        flows: &[FlowPlan],
        earlier: &Earlier,
    ) -> Result<(), PlanFailure> {
        if matches!(earlier, Earlier::Loaded(_)) {
            return Ok(());
        }
        let (session, options) = (self.session, self.options);
        for flow in flows {
            let filled = target::check_empty(&flow.target(), flow.mode, flow.facts.as_ref());
            options.or_note(filled)?;
            options.or_note(obstacles::refuse_overlap(flow))?;
        }
        let (ledger_schema, staging_schema) = self.schemas();
        for flow in flows {
            let names =
                replace_mode::refuse_taken_names(session, ledger_schema, staging_schema, flow);
            options.or_note(names.await)?;
        }
        if !options.unlocked {
            let leftovers = obstacles::refuse_leftovers(session, self.package, flows, earlier);
            options.or_note(leftovers.await)?;
        }
        Ok(())
    }

    fn wal_note(&self) -> Option<String> {
        let wal_level = &self.server.wal_level;
        (wal_level != "minimal" && self.package.run.freeze).then(|| {
            format!(
                "the server runs with wal_level = {wal_level}, so every row is also written to the \
                 WAL; with wal_level = minimal it would not be"
            )
        })
    }

    /// Refuses a limit on the lag of replicas if this role cannot see the replicas.
    async fn refuse_blind(&self) -> Result<(), PlanFailure> {
        if self.package.run.replica_lag_bytes_max.is_some() {
            let seen = server_facts::refuse_blind(self.session, &self.server.role).await;
            self.options.or_note(seen.map_err(PlanFailure::from))?;
        }
        Ok(())
    }

    /// The server's disk, if it must have enough space.
    async fn disk(
        &self,
        flows: &[FlowPlan],
        earlier: &Earlier,
    ) -> Result<Option<DiskFacts>, PlanFailure> {
        let disk = disk::look(self.session, self.address, flows).await?;
        // It is not known how much of a stopped run's data is stored already.
        if self.package.run.disk_check
            && matches!(earlier, Earlier::None)
            && let Some(disk) = &disk
        {
            self.options.or_note(disk.require_room())?;
        }
        Ok(disk)
    }

    /// The schema of the ledger, and the schema of the staging tables.
    fn schemas(&self) -> (&str, &str) {
        let run = &self.package.run;
        (&run.ledger_schema, &run.staging_schema)
    }
}

impl Plan {
    /// Refuses the plan if privileges are missing. A printed plan lists them without being refused.
    pub fn require_privileges(&self) -> Result<(), PlanError> {
        if matches!(self.earlier, Earlier::Loaded(_)) {
            return Ok(());
        }
        privileges::require(&self.server.role, &self.privileges)
    }
}
