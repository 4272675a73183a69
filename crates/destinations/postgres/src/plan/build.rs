//! Makes a plan: reads files and catalog, changes nothing.

use std::collections::BTreeSet;

use inrush_package::{LoadOrder, Package};

use super::flow_request::FlowRequest;
use super::privileges::{self, SchemaNeed};
use super::routing::KeyScans;
use super::{
    Earlier, FlowPlan, Plan, disk, earlier, flow, index_rebuild, limits, long_units, replace,
    target, work_items,
};
use crate::engine::plan::error::PlanError;
use crate::engine::plan::identity;
use crate::engine::plan::options::PlanOptions;
use crate::quote::qualified;
use crate::server_facts::{self, ServerFacts};
use crate::{DatabaseAddress, Session, catalog, ledger};

/// Names the package and its targets in this database, as its plan does.
pub async fn run_key(session: &Session, package: &Package) -> Result<String, PlanError> {
    Ok(run_key_of(package, &target_names(session, package).await?))
}

/// Schema and name of each flow's target.
async fn target_names(
    session: &Session,
    package: &Package,
) -> Result<Vec<(String, String)>, PlanError> {
    let mut names = Vec::new();
    for flow in &package.flows {
        let name = flow.parsed_table()?;
        let schema = match name.schema {
            Some(schema) => schema,
            None => catalog::default_schema(session, &name.name).await?,
        };
        names.push((schema, name.name));
    }
    Ok(names)
}

fn run_key_of(package: &Package, names: &[(String, String)]) -> String {
    let targets: Vec<String> = names
        .iter()
        .map(|(schema, name)| qualified(schema, name))
        .collect();
    identity::run_key(&package.name, &targets)
}

/// Makes the plan of a resolved package. The session is left with no transaction open. What passes over the files find
/// is kept in `key_scans`: the same ones for each plan of a run.
pub async fn build(
    session: &Session,
    address: &DatabaseAddress,
    package: &Package,
    options: &PlanOptions<'_>,
    key_scans: &KeyScans,
) -> Result<Plan, PlanError> {
    let server = server_facts::inspect(session, address).await?;
    // Somebody's lock on a target is not waited for without an end.
    let lock_timeout = package.run.lock_timeout_ms;
    session
        .execute(&format!("SET lock_timeout = {lock_timeout}"), "planning")
        .await?;
    let names = target_names(session, package).await?;
    let run_key = run_key_of(package, &names);

    let mut flows = Vec::new();
    let mut notes = Vec::new();
    for (flow, (schema, table)) in package.flows.iter().zip(&names) {
        let request = FlowRequest {
            session,
            server: &server,
            package,
            options,
            key_scans,
            flow,
            run_key: &run_key,
            schema,
            table,
        };
        let Some(mut planned) = options.or_note(flow::plan(&request, &mut notes).await)? else {
            continue;
        };
        if package.run.order == LoadOrder::Package {
            planned.turn = flows.len();
        }
        notes.extend(index_rebuild::note(&planned));
        flows.push(planned);
    }

    let streams_wanted = package
        .run
        .streams
        .map_or(options.streams_default, usize::from)
        .max(1);
    // One transaction is one session.
    let streams_wanted = match package.run.staging {
        true => streams_wanted,
        false => 1,
    };
    long_units::share(&mut flows, streams_wanted)?;
    let streams = streams_wanted
        .min(work_items::all(&flows, streams_wanted).len())
        .max(1);
    options.or_note(limits::check_connections(&server, streams))?;
    let locks_needed = limits::locks_needed(&flows);
    options.or_note(limits::check_locks(&server, locks_needed))?;
    let privileges = find_privileges(session, package, &server, &flows).await;
    let privileges = options.or_note(privileges)?.unwrap_or_default();
    options.or_note(refuse_published_schemas(session, package, &server, &flows).await)?;

    let stands = ledger::exists(session, &package.run.ledger_schema).await?
        && (is_all_straight(&flows)
            || catalog::schema_exists(session, &package.run.staging_schema).await?);
    let setup = if stands {
        Vec::new()
    } else {
        ledger::setup_statements(&package.run.ledger_schema, &package.run.staging_schema)
    };
    // A role that may not read the ledger is told so by the privileges.
    let readable = privileges
        .iter()
        .all(|privilege| privilege.held || privilege.needed_for != privileges::FOR_LEDGER);
    let earlier = if readable {
        earlier::find(
            session,
            &package.run.ledger_schema,
            &package.run.staging_schema,
            &run_key,
            &flows,
            options,
            &mut notes,
        )
        .await?
    } else {
        Earlier::None
    };
    // A replay is held to the run whose rejects it loads.
    if matches!(earlier, Earlier::None) && readable && !options.again && !options.is_replay {
        let schema = &package.run.ledger_schema;
        let lost = earlier::refuse_lost_ledger(session, schema, &run_key, &flows);
        options.or_note(lost.await)?;
    }
    if !matches!(earlier, Earlier::Loaded(_)) {
        for flow in &flows {
            let filled = target::check_empty(&flow.target(), flow.mode, flow.facts.as_ref());
            options.or_note(filled)?;
            options.or_note(refuse_overlap(flow))?;
        }
        let (ledger_schema, staging_schema) =
            (&package.run.ledger_schema, &package.run.staging_schema);
        for flow in &flows {
            let names = replace::refuse_taken_names(session, ledger_schema, staging_schema, flow);
            options.or_note(names.await)?;
        }
        if !options.unlocked {
            options.or_note(refuse_leftovers(session, package, &flows, &earlier).await)?;
        }
    }
    if server.wal_level != "minimal" && package.run.freeze {
        notes.push(format!(
            "the server runs with wal_level = {}, so every row is written to the WAL as well; \
             with minimal it would not be",
            server.wal_level
        ));
    }
    let memory = limits::memory(
        &flows,
        package.run.chunk_bytes,
        package.run.batch_rows,
        streams,
        matches!(earlier, Earlier::Stopped { .. }),
    );
    if package.run.replica_lag_bytes_max.is_some() {
        let seen = server_facts::refuse_blind(session, &server.role).await;
        options.or_note(seen.map_err(PlanError::from))?;
    }
    let disk = disk::look(session, address, &flows).await?;
    // What a stopped run has stored already cannot be told from here.
    if package.run.disk_check
        && matches!(earlier, Earlier::None)
        && let Some(disk) = &disk
    {
        options.or_note(disk.require_room())?;
    }
    let mut plan = Plan {
        package: package.name.clone(),
        package_hash: package.hash(),
        plan_hash: String::new(),
        run_key,
        destination: address.describe(),
        server,
        settings: package.run.clone(),
        streams,
        setup,
        flows,
        privileges,
        memory,
        disk,
        locks_needed,
        earlier,
        notes,
    };
    plan.plan_hash = identity::digest_of_lines(|see| plan.each_statement(see));
    session.execute("SET lock_timeout = 0", "planning").await?;
    Ok(plan)
}

impl Plan {
    /// Refuses the plan where privileges are missing; printed plans tell without refusing.
    pub fn require_privileges(&self) -> Result<(), PlanError> {
        if matches!(self.earlier, Earlier::Loaded(_)) {
            return Ok(());
        }
        privileges::require(&self.server.role, &self.privileges)
    }
}

async fn find_privileges(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<Vec<privileges::Privilege>, PlanError> {
    let all_straight = is_all_straight(flows);
    let ledger_stands = ledger::exists(session, &package.run.ledger_schema).await?;
    let mut needs = vec![SchemaNeed {
        schema: &package.run.ledger_schema,
        needed_for: privileges::FOR_LEDGER,
        made: true,
        create: !(all_straight && ledger_stands),
    }];
    if !all_straight {
        needs.push(SchemaNeed {
            schema: &package.run.staging_schema,
            needed_for: "staging tables",
            made: true,
            create: true,
        });
    }
    // Those that make tables first: what they need holds for the others too.
    let (straight, others): (Vec<_>, Vec<_>) = flows.iter().partition(|flow| flow.is_straight());
    for flow in others.into_iter().chain(straight) {
        if needs.iter().all(|need| need.schema != flow.schema) {
            needs.push(SchemaNeed {
                schema: &flow.schema,
                needed_for: "the target",
                made: false,
                create: !flow.is_straight(),
            });
        }
    }
    let mut found = privileges::on_schemas(session, &server.role, &server.database, &needs).await?;
    found.extend(privileges::on_ledger(session, &server.role, &package.run.ledger_schema).await?);
    for flow in flows {
        if flow.is_straight() {
            let columns: Vec<String> = flow.columns.iter().map(|c| c.name.clone()).collect();
            let (schema, table) = (&flow.schema, &flow.table);
            found.push(privileges::insert(session, schema, table, &columns, &server.role).await?);
        } else if let Some(facts) = &flow.facts {
            found.push(privileges::ownership(
                &flow.schema,
                &flow.table,
                &facts.owner,
                facts.owned,
                &server.role,
            ));
        }
    }
    Ok(found)
}

fn is_all_straight(flows: &[FlowPlan]) -> bool {
    flows.iter().all(|flow| flow.is_straight())
}

async fn refuse_published_schemas(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<(), PlanError> {
    // What goes straight in is published as it comes.
    let schemas: BTreeSet<&str> = flows
        .iter()
        .filter(|flow| !flow.is_straight())
        .flat_map(|flow| [flow.schema.as_str(), package.run.staging_schema.as_str()])
        .collect();
    for schema in schemas {
        let publications =
            catalog::publications_of_schema(session, schema, server.version_number).await?;
        if let Some(publication) = publications.first() {
            return Err(PlanError::Target {
                target: format!("schema \"{schema}\""),
                what: format!(
                    "is published by \"{publication}\": subscribers never see rows that were \
                     loaded before they were attached"
                ),
                hint: "load into a schema that is not published, or narrow the publication"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses staging tables that stand there and belong to no run of the ledger.
async fn refuse_leftovers(
    session: &Session,
    package: &Package,
    flows: &[FlowPlan],
    earlier: &Earlier,
) -> Result<(), PlanError> {
    // What a plan has no use for any more is dropped before its name is needed.
    let (kept, known) = match earlier {
        Earlier::Stopped { kept, tables, .. } => (kept.clone(), tables.clone()),
        _ => (BTreeSet::new(), BTreeSet::new()),
    };
    let names: Vec<String> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .filter(|unit| !kept.contains(&unit.key) && !known.contains(&unit.staging_table))
        .map(|unit| unit.staging_table.clone())
        .collect();
    let standing =
        catalog::relation_names(session, &package.run.staging_schema, Some(&names)).await?;
    if let Some(first) = standing.first() {
        return Err(PlanError::Target {
            target: format!(
                "staging table {}",
                qualified(&package.run.staging_schema, first)
            ),
            what: format!(
                "stands in the way ({} of them), and no run of the ledger knows it",
                standing.len()
            ),
            hint: standing
                .iter()
                .map(|name| {
                    format!(
                        "DROP TABLE {};",
                        qualified(&package.run.staging_schema, name)
                    )
                })
                .collect::<Vec<_>>()
                .join(" "),
        });
    }
    Ok(())
}

/// Refuses declared bounds that partitions have already: those that this very load has made are no
/// obstacle where it is done.
fn refuse_overlap(flow: &FlowPlan) -> Result<(), PlanError> {
    match &flow.overlap {
        None => Ok(()),
        Some(overlap) => Err(PlanError::Target {
            target: flow.target(),
            what: overlap.clone(),
            hint: "choose bounds that leave the existing partitions alone".to_owned(),
        }),
    }
}
