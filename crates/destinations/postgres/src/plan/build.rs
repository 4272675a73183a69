//! Makes a plan: what this planner does at each step of [`inrush_plan::build`]. It reads the files and the catalog, and changes nothing.

use std::sync::Arc;

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_destination::{Abilities, RunRecord};
use inrush_package::{Flow, Package, ServerCopy};
use inrush_plan::build::{self, Built, DestinationFacts, FlowToPlan, TargetPlanner};
use inrush_plan::earlier::Earlier;
use inrush_plan::load_plan::ServerReport;
use inrush_plan::{LedgerRecords, MemoryBound, PlanError, PlanOptions, identity};
use inrush_rows::ids::RunKey;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::flow_request::FlowRequest;
use super::privileges::{self, Privilege};
use super::routing::KeyScans;
use super::{
    DiskFacts, FED_TRANSACTION_BYTES, FlowPlan, Plan, ServerWork, disk, earlier, flow,
    index_rebuild, is_all_straight, limits, members, obstacles, replace_mode, statistics, target,
};
use crate::ledger::FoundLineage;
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;
use crate::server_facts::{self, ServerFacts};
use crate::server_ledger::ServerLedger;
use crate::{DatabaseAddress, Session, catalog, fast_copy, ledger};

/// The key by which the ledger identifies the package and its targets in this database.
pub async fn run_key(session: &Session, package: &Package) -> Result<RunKey, PlanFailure> {
    let mut targets = Vec::with_capacity(package.flows.len());
    for flow in &package.flows {
        let (schema, table) = target_name(session, flow).await?;
        targets.push(qualified(&schema, &table));
    }
    Ok(identity::run_key(&package.name, &targets))
}

/// Schema and name of a flow's target.
async fn target_name(session: &Session, flow: &Flow) -> Result<(String, String), PlanFailure> {
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
    Ok((schema, name.name))
}

/// Makes the plan of a resolved package. Called in a runtime. The session has no open transaction afterwards. The results of passes
/// over the files are kept in `key_scans`, which all plans of a run share.
pub fn build(
    session: &Session,
    address: &DatabaseAddress,
    package: &Package,
    options: &PlanOptions<'_>,
    key_scans: &KeyScans,
) -> Result<Plan, PlanFailure> {
    let server = wait(options, look_at_server(session, address, package))?;
    let mut planner = ServerTargets {
        session,
        address,
        package,
        options,
        key_scans,
        server,
        abilities: crate::abilities::abilities(),
        privileges: Vec::new(),
        setup: Vec::new(),
        keeps_lineage: false,
        locks_needed: 0,
        disk: None,
    };
    let ledger = ServerLedger::of_plan(session, &package.run.ledger_schema, options.stop);
    let Built {
        facts,
        flows,
        earlier,
    } = build::build(&mut planner, &ledger, package, options)?;
    let mut plan = Plan {
        facts: Arc::new(facts),
        server: planner.server,
        setup: planner.setup,
        keeps_lineage: planner.keeps_lineage,
        flows,
        privileges: planner.privileges,
        disk: planner.disk,
        locks_needed: planner.locks_needed,
        earlier,
    };
    let analyzed = plan
        .flows
        .iter()
        .map(|flow| statistics::of_target(&plan, flow).is_some());
    for (flow, is_analyzed) in analyzed.collect::<Vec<bool>>().into_iter().enumerate() {
        plan.flows[flow].is_analyzed = is_analyzed;
    }
    plan.plan_hash = identity::digest_of_lines(|see| plan.each_line(see));
    wait(options, async {
        Ok(session.execute("SET lock_timeout = 0", "planning").await?)
    })?;
    Ok(plan)
}

/// The facts of the server. From now on the session waits only for a limited time for another session's lock on a target.
async fn look_at_server(
    session: &Session,
    address: &DatabaseAddress,
    package: &Package,
) -> Result<ServerFacts, PlanFailure> {
    let mut server = server_facts::inspect(session, address).await?;
    if package.run.server_copy != ServerCopy::Plain {
        server.fast_copy = fast_copy::find(session, server.is_utf8).await?;
    }
    let lock_timeout = package.run.lock_timeout_ms;
    session
        .execute(&format!("SET lock_timeout = {lock_timeout}"), "planning")
        .await?;
    Ok(server)
}

/// Waits for the server, until the run is asked to stop. A part of the plan that waits in this way may itself be waited for.
pub fn wait<T>(
    options: &PlanOptions<'_>,
    asking: impl Future<Output = Result<T, PlanFailure>>,
) -> Result<T, PlanFailure> {
    let asking = options.stop.unless_asked(asking);
    let answer = block_in_place(|| Handle::current().block_on(asking));
    answer.unwrap_or(Err(PlanFailure::Asked(
        inrush_destination::Error::Interrupted,
    )))
}

/// Plans the targets in a server.
struct ServerTargets<'a> {
    session: &'a Session,
    address: &'a DatabaseAddress,
    package: &'a Package,
    options: &'a PlanOptions<'a>,
    key_scans: &'a KeyScans,
    server: ServerFacts,
    abilities: Abilities,
    // The following are found by the steps, and become parts of the plan.
    privileges: Vec<Privilege>,
    setup: Vec<String>,
    keeps_lineage: bool,
    locks_needed: u64,
    disk: Option<DiskFacts>,
}

impl TargetPlanner for ServerTargets<'_> {
    /// Schema and table.
    type Name = (String, String);
    type Flow = FlowPlan;
    type Work = ServerWork;
    type Error = PlanFailure;

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target(&self, flow: &Flow) -> Result<((String, String), String), PlanFailure> {
        let (schema, table) = wait(self.options, target_name(self.session, flow))?;
        let sql = qualified(&schema, &table);
        Ok(((schema, table), sql))
    }

    fn flow(
        &mut self,
        asked: &FlowToPlan<'_>,
        (schema, table): &(String, String),
        notes: &mut Vec<String>,
    ) -> Result<FlowPlan, PlanFailure> {
        let request = FlowRequest {
            session: self.session,
            server: &self.server,
            package: asked.package,
            options: asked.options,
            key_scans: self.key_scans,
            flow: asked.flow,
            runs: asked.runs,
            schema,
            table,
        };
        let planned = wait(self.options, flow::plan(&request, notes))?;
        notes.extend(index_rebuild::note(&planned));
        Ok(planned)
    }

    fn streams_max(&self, streams: usize) -> usize {
        match self.package.run.staging {
            true => streams,
            // A single transaction needs a single session.
            false => 1,
        }
    }

    /// Computes the number of locks of the switch, and finds the privileges that the flows need.
    fn check_flows(&mut self, flows: &[FlowPlan], streams: usize) -> Result<(), PlanFailure> {
        let options = self.options;
        options.or_note(members::refuse_targets(flows))?;
        options.or_note(limits::check_connections(&self.server, streams))?;
        self.locks_needed = limits::locks_needed(flows);
        options.or_note(limits::check_locks(&self.server, self.locks_needed))?;
        self.privileges = wait(options, self.find_privileges(flows))?;
        (self.setup, self.keeps_lineage) = wait(options, self.find_setup(flows))?;
        Ok(())
    }

    /// False if the role lacks a privilege for the ledger. The plan then lists this privilege as missing.
    fn can_read_ledger(&self) -> bool {
        let mut privileges = self.privileges.iter();
        privileges.all(|privilege| privilege.held || privilege.needed_for != privileges::FOR_LEDGER)
    }

    fn kept_work(
        &mut self,
        run: &RunRecord,
        flows: &[FlowPlan],
        notes: &mut Vec<String>,
    ) -> Result<ServerWork, PlanFailure> {
        let (session, schemas) = (self.session, self.schemas());
        let kept = earlier::kept_work(session, schemas, run, flows, self.options, notes);
        wait(self.options, kept)
    }

    /// Not checked if the user says where the rows begin: then these rows are wanted, whatever the ledger knows.
    fn refuse_lost_ledger(&self, run_key: &RunKey, flows: &[FlowPlan]) -> Result<(), PlanFailure> {
        if self.options.from.is_some() {
            return Ok(());
        }
        let (ledger_schema, _) = self.schemas();
        let lost = earlier::refuse_lost_ledger(self.session, ledger_schema, run_key, flows);
        wait(self.options, lost)
    }

    fn check_targets(
        &mut self,
        flows: &mut [FlowPlan],
        earlier: &Earlier<ServerWork>,
        notes: &mut Vec<String>,
    ) -> Result<(), PlanFailure> {
        let options = self.options;
        wait(options, self.refuse_obstacles(flows, earlier))?;
        notes.extend(self.wal_note());
        wait(options, self.refuse_blind())?;
        self.disk = wait(options, self.find_disk(flows, earlier))?;
        Ok(())
    }

    fn memory(
        &self,
        flows: &[FlowPlan],
        streams: usize,
        earlier: &Earlier<ServerWork>,
    ) -> MemoryBound {
        let is_resumed = earlier.work().is_some();
        limits::memory(flows, &self.package.run, streams, is_resumed)
    }

    fn facts(&self, _: &[FlowPlan]) -> DestinationFacts {
        DestinationFacts {
            destination: self.address.describe(),
            batch_rows: self.package.run.batch_rows as usize,
            fed_bytes: FED_TRANSACTION_BYTES,
            server_report: ServerReport {
                version: self.server.version.clone(),
                settings: self.server.settings.clone(),
            },
            ledger_records: LedgerRecords::Units,
            reloads_units_alone: true,
            paced_by: "`rate_bytes_max`, `replica_lag_bytes_max` or `slot_bytes_max` ask",
            targets_digest: None,
        }
    }
}

impl ServerTargets<'_> {
    /// The privileges that the flows need.
    async fn find_privileges(&self, flows: &[FlowPlan]) -> Result<Vec<Privilege>, PlanFailure> {
        let (session, package, server) = (self.session, self.package, &self.server);
        let found = privileges::find(session, package, server, flows).await;
        let found = self.options.or_note(found)?.unwrap_or_default();
        let published = obstacles::refuse_published_schemas(session, package, server, flows);
        self.options.or_note(published.await)?;
        Ok(found)
    }

    /// Statements that create the ledger and the staging schema if they are missing, or alter a ledger of an older
    /// version; and whether the ledger keeps the lineage of the run.
    async fn find_setup(&self, flows: &[FlowPlan]) -> Result<(Vec<String>, bool), PlanFailure> {
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

    /// If there is something to load, refuses targets that must be empty and have rows, and names that are taken.
    async fn refuse_obstacles(
        &self,
        flows: &[FlowPlan],
        earlier: &Earlier<ServerWork>,
    ) -> Result<(), PlanFailure> {
        if earlier.is_loaded() {
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
    async fn find_disk(
        &self,
        flows: &[FlowPlan],
        earlier: &Earlier<ServerWork>,
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
        if self.earlier.is_loaded() {
            return Ok(());
        }
        privileges::require(&self.server.role, &self.privileges)
    }
}
