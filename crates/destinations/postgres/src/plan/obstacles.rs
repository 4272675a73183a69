//! Obstacles: reasons why a plan could not run.

use std::collections::BTreeSet;

use inrush_package::Package;
use inrush_plan::earlier::Earlier;
use inrush_plan::{LoadUnit, PlanError};

use super::{FlowPlan, ServerWork};
use crate::ledger::Ledger;
use crate::plan::failure::PlanFailure;
use crate::quote::qualified;
use crate::server_facts::ServerFacts;
use crate::{Session, catalog};

/// Refuses schemas whose tables are published as soon as they are created.
pub async fn refuse_published_schemas(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<(), PlanFailure> {
    // Rows that are written directly are published when they commit.
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
                    "is published by \"{publication}\": subscribers never see rows that a \
                     table got before it was attached"
                ),
                hint: "load into a schema that is not published, or narrow the publication"
                    .to_owned(),
            }
            .into());
        }
    }
    Ok(())
}

/// Refuses existing staging tables that belong to no run in the ledger.
pub async fn refuse_leftovers(
    session: &Session,
    package: &Package,
    flows: &[FlowPlan],
    earlier: &Earlier<ServerWork>,
) -> Result<(), PlanFailure> {
    // Units that the plan does not need any more are dropped before their names are used.
    let work = earlier.work();
    let is_known = |unit: &LoadUnit| {
        work.is_some_and(|work| {
            work.kept.contains(&unit.key) || work.tables.contains(&unit.staging_table)
        })
    };
    let names: Vec<String> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .filter(|unit| !is_known(unit))
        .map(|unit| unit.staging_table.clone())
        .collect();
    let staging_schema = &package.run.staging_schema;
    let mut standing = catalog::relation_names(session, staging_schema, Some(&names)).await?;
    if !standing.is_empty()
        && let Earlier::Unpublished { run, .. } = earlier
    {
        // The run may be in progress, and may have committed these since the plan has read its units.
        let ledger = Ledger::new(&package.run.ledger_schema);
        let units = ledger.units(session, run.run_id).await?;
        let own = units.iter().filter(|unit| unit.stands);
        let own: BTreeSet<&str> = own.map(|unit| unit.staging_table.as_str()).collect();
        standing.retain(|name| !own.contains(name.as_str()));
    }
    if let Some(first) = standing.first() {
        return Err(PlanError::Target {
            target: format!("staging table {}", qualified(staging_schema, first)),
            what: format!(
                "exists already, and no run in the ledger created it (number of such tables: {})",
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
        }
        .into());
    }
    Ok(())
}

/// Refuses declared bounds that overlap existing partitions. If the load is already done, its own partitions are not an
/// obstacle.
pub fn refuse_overlap(flow: &FlowPlan) -> Result<(), PlanError> {
    match &flow.overlap {
        None => Ok(()),
        Some(overlap) => Err(PlanError::Target {
            target: flow.target(),
            what: overlap.clone(),
            hint: "choose bounds that do not overlap existing partitions".to_owned(),
        }),
    }
}
