//! Makes a plan: reads files and catalog, changes nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use inrush_scan::Dialect;

use super::columns::{self, Known};
use super::error::PlanError;
use super::privileges::{self, SchemaNeed};
use super::switch_statements::expression;
use super::target::{self, Asked};
use super::{Earlier, FlowPlan, KeyKind, KeyPlan, Plan, bounds, earlier, identity, limits, units};
use crate::column::{Column, ColumnType};
use crate::convert::{KeyValue, convert_one};
use crate::destination::postgres::guests::ServerFacts;
use crate::destination::postgres::quote::qualified;
use crate::destination::postgres::ranges::{self, PartitionRange};
use crate::destination::postgres::staging::Model;
use crate::destination::postgres::{Address, Session, catalog, guests};
use crate::ledger;
use crate::package::{Bounds, ColumnDetail, Flow, Package};
use crate::source::{self, Preview, Shard, SourceFile};

/// What a plan needs to know beside the package.
#[derive(Clone, Debug)]
pub struct PlanOptions<'a> {
    /// Relative paths of files start here.
    pub folder: &'a Path,
    /// Streams where the package does not say; usually the number of cores.
    pub streams_default: usize,
    /// Load anew what a run has loaded already.
    pub again: bool,
}

/// Makes the plan of a resolved package. The session is left with no transaction open.
pub async fn build(
    session: &Session,
    address: &Address,
    package: &Package,
    options: &PlanOptions<'_>,
) -> Result<Plan, PlanError> {
    let server = guests::inspect(session, address).await?;
    let mut names = Vec::new();
    for flow in &package.flows {
        let name = flow.parsed_table()?;
        let schema = match name.schema {
            Some(schema) => schema,
            None => catalog::default_schema(session, &name.name).await?,
        };
        names.push((schema, name.name));
    }
    let targets: Vec<String> = names
        .iter()
        .map(|(schema, name)| qualified(schema, name))
        .collect();
    let run_key = identity::run_key(&package.name, &targets);

    let mut flows = Vec::new();
    let mut notes = Vec::new();
    for (flow, (schema, table)) in package.flows.iter().zip(&names) {
        let planner = FlowPlanner {
            session,
            package,
            options,
            flow,
            run_key: &run_key,
            schema,
            table,
        };
        flows.push(planner.plan(&mut notes).await?);
    }

    let streams_wanted = package
        .run
        .streams
        .map_or(options.streams_default, usize::from)
        .max(1);
    units::share_long_ones(&mut flows, streams_wanted);
    let streams = streams_wanted.min(units::work(&flows).len()).max(1);
    limits::check_connections(&server, streams)?;
    let locks_needed = limits::locks_needed(&flows);
    limits::check_locks(&server, locks_needed)?;
    let privileges = find_privileges(session, package, &server, &flows).await?;
    refuse_published_schemas(session, package, &server, &flows).await?;

    let stands = ledger::exists(session, &package.run.ledger_schema).await?
        && catalog::schema_exists(session, &package.run.staging_schema).await?;
    let setup = if stands {
        Vec::new()
    } else {
        ledger::setup_statements(&package.run.ledger_schema, &package.run.staging_schema)
    };
    let earlier = earlier::find(
        session,
        &package.run.ledger_schema,
        &package.run.staging_schema,
        &run_key,
        &flows,
        options.again,
    )
    .await?;
    if !matches!(earlier, Earlier::Loaded(_)) {
        refuse_filled_targets(package, &flows)?;
        refuse_leftovers(session, package, &flows, &earlier).await?;
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
    );
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
        locks_needed,
        earlier,
        notes,
    };
    plan.plan_hash = identity::digest([plan.statements().join("\n").as_str()]);
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

/// Makes the plan of one flow.
struct FlowPlanner<'a> {
    session: &'a Session,
    package: &'a Package,
    options: &'a PlanOptions<'a>,
    flow: &'a Flow,
    run_key: &'a str,
    schema: &'a str,
    table: &'a str,
}

impl FlowPlanner<'_> {
    async fn plan(&self, notes: &mut Vec<String>) -> Result<FlowPlan, PlanError> {
        let name = self
            .flow
            .name
            .clone()
            .unwrap_or_else(|| self.table.to_owned());
        let facts = catalog::target(self.session, self.schema, self.table).await?;
        let partition_by = self.flow.partition_column()?;
        let asked = Asked {
            schema: self.schema,
            table: self.table,
            mode: self.flow.mode,
            partition_by: partition_by.as_deref(),
        };
        notes.extend(target::check(&asked, facts.as_ref())?);

        let files: Vec<Arc<SourceFile>> = source::resolve_as(
            self.flow.files.patterns(),
            self.options.folder,
            self.flow.format.compression,
        )?
        .into_iter()
        .map(Arc::new)
        .collect();
        let first_name = files[0].path.to_string_lossy().into_owned();
        let dialect = self.flow.format.dialect(&first_name)?;
        let header = first_header(&files, &dialect)?;

        let key_name = facts
            .as_ref()
            .and_then(|facts| facts.partitioning.as_ref())
            .and_then(|partitioning| partitioning.key.first().cloned().flatten())
            .or(partition_by);
        let details: Vec<ColumnDetail> = self.flow.column_details()?;
        let target = qualified(self.schema, self.table);
        let known = Known {
            flow: &name,
            target: &target,
            details: &details,
            header: header.as_deref(),
            facts: facts.as_ref(),
            key: key_name.as_deref(),
        };
        let resolved = columns::resolve(self.session, &known).await?;
        let key = match &key_name {
            Some(column) => Some(self.key_plan(&name, column, &resolved, facts.as_ref())?),
            None => None,
        };

        let model = match &facts {
            Some(_) => Model::Target {
                schema: self.schema.to_owned(),
                name: self.table.to_owned(),
            },
            None => Model::Columns(resolved.new_columns.clone()),
        };
        let publish = target::publish(facts.as_ref(), key_name.as_deref(), resolved.new_columns);
        let file_names: Vec<String> = files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect();
        let intervals = match &key {
            Some(key) if !matches!(self.flow.bounds, Bounds::Word(_)) => {
                let column = &resolved.columns[key.column_index];
                let first_keys = first_keys(&name, &files, &dialect, column)?;
                bounds::place(
                    self.session,
                    &name,
                    key,
                    &self.flow.bounds,
                    &first_keys,
                    &file_names,
                )
                .await?
            }
            _ => Vec::new(),
        };
        if let (Some(key), Some(facts)) = (&key, &facts) {
            self.refuse_overlap(key, facts, &intervals).await?;
        }
        let shards: Vec<Shard> = files.into_iter().map(Shard::whole).collect();
        let shape = format!(
            "{dialect:?} {:?} {:?} {:?} {target} {:?}",
            resolved.columns, resolved.type_sql, resolved.wire, key_name
        );
        let taken = self.taken_names().await?;
        let units = units::group(
            &units::Common {
                flow: &name,
                table: self.table,
                run_key: self.run_key,
                shape: &shape,
                staging_schema: &self.package.run.staging_schema,
                model: &model,
                columns: &resolved.columns,
                wire: &resolved.wire,
                key: key.as_ref(),
                facts: facts.as_ref(),
                publish: &publish,
                taken: &taken,
                freeze: self.package.run.freeze,
            },
            shards,
            &intervals,
        )?;
        Ok(FlowPlan {
            name,
            schema: self.schema.to_owned(),
            table: self.table.to_owned(),
            facts,
            publish,
            model,
            field_count: resolved.columns.len(),
            columns: resolved.columns,
            column_types: resolved.type_sql,
            header,
            dialect,
            wire: resolved.wire,
            key,
            units,
            reject_rows_max: self.flow.rejects.rows_max,
        })
    }

    fn key_plan(
        &self,
        flow: &str,
        column: &str,
        resolved: &columns::ResolvedColumns,
        facts: Option<&catalog::TargetFacts>,
    ) -> Result<KeyPlan, PlanError> {
        let mismatch = |what: String, hint: &str| PlanError::Mismatch {
            flow: flow.to_owned(),
            what,
            hint: hint.to_owned(),
        };
        let column_index = resolved
            .columns
            .iter()
            .position(|known| known.name == column)
            .ok_or_else(|| {
                mismatch(
                    format!("the files have no column `{column}`, which is the partition key"),
                    "partition_by names one of the columns of the files",
                )
            })?;
        let kind = match &resolved.columns[column_index].column_type {
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => KeyKind::Integer,
            ColumnType::Date => KeyKind::Date,
            ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => KeyKind::Timestamp,
            ColumnType::Text { characters_max, .. } => KeyKind::Text {
                characters_max: *characters_max,
            },
            _ => {
                return Err(mismatch(
                    format!(
                        "the partition key `{column}` has the type {}",
                        resolved.type_sql[column_index]
                    ),
                    "keys are integers, dates, timestamps or texts",
                ));
            }
        };
        Ok(KeyPlan {
            column: column.to_owned(),
            column_index,
            collation: facts
                .and_then(|facts| facts.columns.iter().find(|known| known.name == column))
                .and_then(|known| known.collation.clone()),
            type_sql: resolved.type_sql[column_index].clone(),
            kind,
            rule: bounds::rule(&self.flow.bounds),
        })
    }

    /// Refuses declared bounds that partitions of the target have already.
    async fn refuse_overlap(
        &self,
        key: &KeyPlan,
        facts: &catalog::TargetFacts,
        intervals: &[bounds::Interval],
    ) -> Result<(), PlanError> {
        let asked: Vec<PartitionRange> = intervals
            .iter()
            .map(|interval| PartitionRange {
                label: format!("[{}, {})", interval.lower, interval.upper),
                lower: Some(expression(&interval.lower)),
                upper: Some(expression(&interval.upper)),
            })
            .collect();
        let existing = ranges::existing(facts);
        let found =
            ranges::overlap(self.session, &key.comparable_type(), &asked, &existing).await?;
        match found {
            None => Ok(()),
            Some((asked, existing)) => Err(PlanError::Target {
                target: qualified(self.schema, self.table),
                what: format!("has the partition {existing}, which overlaps the asked-for {asked}"),
                hint: "choose bounds that leave the existing partitions alone".to_owned(),
            }),
        }
    }

    /// Names of the target's schema that partitions cannot have.
    async fn taken_names(&self) -> Result<BTreeSet<String>, PlanError> {
        let rows = self
            .session
            .query(
                "SELECT c.relname::text FROM pg_class c \
                 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1",
                &[&self.schema],
                "reading the names that are taken",
            )
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// The header of the first file that has one; files without a byte have none.
fn first_header(
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
) -> Result<Option<Vec<String>>, PlanError> {
    if !dialect.header {
        return Ok(None);
    }
    for file in files {
        if let Some(header) = Preview::read(file, dialect, 0)?.header {
            return Ok(Some(header));
        }
    }
    Ok(None)
}

/// The key of each file's first row; none where it has no row.
fn first_keys(
    flow: &str,
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    column: &Column,
) -> Result<Vec<Option<KeyValue>>, PlanError> {
    let mut keys = Vec::with_capacity(files.len());
    for file in files {
        let preview = Preview::read(file, dialect, 1)?;
        let key = match preview.records.first() {
            None => None,
            Some(record) => {
                let text = record.fields.get(column.field_index).cloned().flatten();
                let value = convert_one(column, text.as_deref().unwrap_or_default());
                Some(value.map_err(|error| {
                    PlanError::Mismatch {
                        flow: flow.to_owned(),
                        what: format!(
                            "{}: the first row has the key {}: {error}",
                            record.location,
                            text.as_deref().unwrap_or("NULL")
                        ),
                        hint:
                            "with declared bounds the first row's key tells which partition a file \
                           goes to"
                                .to_owned(),
                    }
                })?)
            }
        };
        keys.push(key);
    }
    Ok(keys)
}

async fn find_privileges(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<Vec<privileges::Privilege>, PlanError> {
    let mut needs = vec![
        SchemaNeed {
            schema: &package.run.ledger_schema,
            needed_for: "the ledger",
            made: true,
        },
        SchemaNeed {
            schema: &package.run.staging_schema,
            needed_for: "staging tables",
            made: true,
        },
    ];
    for flow in flows {
        if needs.iter().all(|need| need.schema != flow.schema) {
            needs.push(SchemaNeed {
                schema: &flow.schema,
                needed_for: "the target",
                made: false,
            });
        }
    }
    let mut found = privileges::on_schemas(session, &server.role, &server.database, &needs).await?;
    found.extend(privileges::on_ledger(session, &server.role, &package.run.ledger_schema).await?);
    for flow in flows {
        if let Some(facts) = &flow.facts {
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

async fn refuse_published_schemas(
    session: &Session,
    package: &Package,
    server: &ServerFacts,
    flows: &[FlowPlan],
) -> Result<(), PlanError> {
    let schemas: BTreeSet<&str> = flows
        .iter()
        .map(|flow| flow.schema.as_str())
        .chain([package.run.staging_schema.as_str()])
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
    let kept = match earlier {
        Earlier::Stopped { kept, .. } => kept.clone(),
        _ => BTreeSet::new(),
    };
    let names: Vec<String> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .filter(|unit| !kept.contains(&unit.key))
        .map(|unit| unit.staging_table.clone())
        .collect();
    let standing =
        catalog::existing_relations(session, &package.run.staging_schema, &names).await?;
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

/// Refuses targets that have rows where none may be.
fn refuse_filled_targets(package: &Package, flows: &[FlowPlan]) -> Result<(), PlanError> {
    for (flow, planned) in package.flows.iter().zip(flows) {
        let asked = Asked {
            schema: &planned.schema,
            table: &planned.table,
            mode: flow.mode,
            partition_by: None,
        };
        target::check_empty(&asked, planned.facts.as_ref())?;
    }
    Ok(())
}
