//! Trial tables: created as in a run, filled, and rolled back.
//!
//! They are created by the plan's own statements under other names, so that two preflights at the same time do not wait
//! for each other. They are never committed: if this process or its connection ends, the server rolls them back.

use std::borrow::Cow;
use std::sync::Arc;

use inrush_plan::lineage::RunLineage;
use inrush_plan::{LoadFlow, PlanFacts};

use crate::plan::unit_steps;
use crate::plan::{FlowCopy, FlowPlan, NewUnit, Plan, WireForm};
use crate::quote::{identifier, literal, qualified};
use crate::staging::{self, CopyForm, Model, NewColumn};
use crate::{PostgresError, Session, catalog, fast_copy};

/// The beginning of the names of trial tables and schemas.
const NAME: &str = "inrush_preflight";

/// The place in which trial tables are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The existing staging schema.
    Staging,
    /// A new schema that is rolled back with the trial tables, because there is no staging schema yet.
    OwnSchema,
    /// Temporary tables, if the role may create no others. They write no WAL, and do not use shared buffers.
    Temporary,
}

impl Ground {
    /// The best choice that the role may use; `None` if it may not create any table.
    pub async fn find(
        session: &Session,
        staging_schema: &str,
    ) -> Result<Option<Ground>, PostgresError> {
        let stands = catalog::schema_exists(session, staging_schema).await?;
        let rows = session
            .query(
                "SELECT coalesce((SELECT has_schema_privilege(oid, 'CREATE') \
                                  AND has_schema_privilege(oid, 'USAGE') \
                                  FROM pg_namespace WHERE nspname = $1), false), \
                        has_database_privilege(current_database(), 'CREATE'), \
                        has_database_privilege(current_database(), 'TEMPORARY')",
                &[&staging_schema],
                "asking where tables may be made",
            )
            .await?;
        let (in_staging, schemas, temporary): (bool, bool, bool) =
            (rows[0].get(0), rows[0].get(1), rows[0].get(2));
        Ok(if stands && in_staging {
            Some(Ground::Staging)
        } else if !stands && schemas {
            Some(Ground::OwnSchema)
        } else {
            temporary.then_some(Ground::Temporary)
        })
    }
}

/// A unit under another name.
pub struct Trial {
    /// The plan, without flows, and with the schema where the tables are created.
    pub plan: Plan,
    /// The flow.
    pub flow: FlowPlan,
    /// The unit.
    pub unit: NewUnit,
    /// Its table has the properties of the run's table.
    pub is_faithful: bool,
}

impl Trial {
    /// A unit for one connection to measure.
    pub fn new(plan: &Plan, flow: usize, unit: usize, ground: &Ground, number: usize) -> Trial {
        let flow = &plan.flows[flow];
        let mut unit = NewUnit {
            load: flow.units[unit].clone(),
            statements: flow.statements[unit].clone(),
        };
        let token = std::process::id();
        let (schema, table) = match ground {
            Ground::Staging => (
                plan.settings.staging_schema.clone(),
                format!("{NAME}_{token}_{number}"),
            ),
            Ground::OwnSchema => (format!("{NAME}_{token}_{number}"), NAME.to_owned()),
            Ground::Temporary => ("pg_temp".to_owned(), NAME.to_owned()),
        };
        let is_straight = flow.is_straight();
        let is_faithful = *ground != Ground::Temporary;
        if is_faithful && !is_straight {
            rename(&mut unit, &plan.settings.staging_schema, &schema, &table);
        } else {
            // The unit has no staging table, or the role may not create the table of the plan.
            unit.statements.create = create(flow, &schema, &table, is_faithful);
            let names: Vec<&str> = flow.columns.iter().map(|c| c.name.as_str()).collect();
            let form = match flow.wire {
                WireForm::Binary(_) => CopyForm::Binary,
                WireForm::Text { .. } => CopyForm::Text,
            };
            unit.statements.copy_alone = staging::copy_in(&schema, &table, &names, form, false);
            unit.statements
                .copy_shared
                .clone_from(&unit.statements.copy_alone);
            unit.statements.measure = staging::measure(&schema, &table, None);
            unit.statements.verify = None;
            unit.statements.ready = Vec::new();
        }
        if *ground == Ground::OwnSchema {
            let make = format!("CREATE SCHEMA {}", identifier(&schema));
            unit.statements.create.insert(0, make);
        }
        unit.load.staging_table = table;
        // Other flows and units are not needed here, and there may be many.
        let mut own = without_flows(plan);
        own.settings.staging_schema = schema;
        let mut flow = without_units(flow);
        if is_straight || !is_faithful {
            // The plan has asked the extension about another table.
            flow.server_copy = FlowCopy::Plain {
                reason: "the tried table is another one".to_owned(),
                fix: None,
            };
        }
        Trial {
            plan: own,
            flow,
            unit,
            is_faithful,
        }
    }

    /// The COPY that fills the table as in a run: by the server extension, if it can store the table.
    pub async fn copy(&self, session: &Session) -> Result<Cow<'_, str>, PostgresError> {
        if let Some(fast) = self
            .flow
            .fast_copy(&self.plan.settings, self.unit.as_plan())
            && let Ok(way) = fast_copy::open(session, &fast.opening).await?
        {
            return Ok(fast.statement(way).into());
        }
        Ok(self.unit.as_plan().copy().into())
    }

    /// Begins the transaction and creates the table.
    pub async fn begin(&self, session: &Session) -> Result<(), PostgresError> {
        let doing = "making a table to be rolled back";
        session.execute("BEGIN", doing).await?;
        session
            .execute(&unit_steps::settings(&self.plan), doing)
            .await?;
        for statement in &self.unit.statements.create {
            session.execute(statement, doing).await?;
        }
        let table = qualified(
            &self.plan.settings.staging_schema,
            &self.unit.load.staging_table,
        );
        self.number_apart(session, &table, doing).await
    }

    /// Numbers that are drawn from a sequence are not rolled back, so the target's own sequences are not used.
    pub async fn number_apart(
        &self,
        session: &Session,
        table: &str,
        doing: &str,
    ) -> Result<(), PostgresError> {
        let schema = &self.plan.settings.staging_schema;
        let rows = session
            .query(
                "SELECT a.attname FROM pg_attribute a \
                 JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
                 WHERE a.attrelid = to_regclass($1) AND a.attgenerated = '' \
                   AND pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'",
                &[&table],
                doing,
            )
            .await?;
        for (number, row) in rows.iter().enumerate() {
            let column: String = row.get(0);
            let other = table.len();
            let sequence = qualified(
                schema,
                &format!("{}_{other}_{number}", self.unit.load.staging_table),
            );
            let statements = format!(
                "CREATE SEQUENCE {sequence}; ALTER TABLE {table} ALTER COLUMN {} SET DEFAULT nextval({})",
                identifier(&column),
                literal(&sequence).trim_start()
            );
            session.execute(&statements, doing).await?;
        }
        Ok(())
    }

    /// Rolls everything back.
    pub async fn roll_back(&self, session: &Session) -> Result<(), PostgresError> {
        session.execute("ROLLBACK", "rolling a table back").await
    }
}

/// A table like the target; if the role cannot create one, a table with the flow's columns.
fn create(flow: &FlowPlan, schema: &str, table: &str, is_faithful: bool) -> Vec<String> {
    if flow.is_straight() && is_faithful {
        // The table gets the target's indexes, because rows that are written directly must also update them.
        return vec![format!(
            "CREATE TABLE {} (LIKE {} INCLUDING ALL)",
            qualified(schema, table),
            flow.target()
        )];
    }
    let types = flow.columns.iter().zip(&flow.column_types);
    let columns = types.map(|(column, type_sql)| NewColumn {
        name: column.name.clone(),
        type_sql: type_sql.clone(),
        not_null: !column.nullable,
        collation: None,
    });
    staging::create_staging(schema, table, &Model::Columns(columns.collect()), None)
}

/// Replaces the names in the statements of a unit: the names of its table, of a routed unit's partitions, of keys and
/// of indexes. All begin with the staging table's name and are quoted there; indexes are named without a schema.
fn rename(unit: &mut NewUnit, from_schema: &str, schema: &str, table: &str) {
    let open = |name: String| name[..name.len() - 1].to_owned();
    let from = open(qualified(from_schema, &unit.load.staging_table));
    let to = open(qualified(schema, table));
    let (from_name, to_name) = (
        open(identifier(&unit.load.staging_table)),
        open(identifier(table)),
    );
    let swap = |text: &mut String| *text = text.replace(&from, &to).replace(&from_name, &to_name);
    unit.statements.create.iter_mut().for_each(swap);
    unit.statements.ready.iter_mut().for_each(swap);
    unit.statements.verify.iter_mut().for_each(swap);
    swap(&mut unit.statements.copy_alone);
    swap(&mut unit.statements.copy_shared);
    swap(&mut unit.statements.measure);
}

fn without_units(flow: &FlowPlan) -> FlowPlan {
    FlowPlan {
        // Its units may be many, so they are not copied.
        load: Arc::new(LoadFlow {
            reading: flow.reading.clone(),
            mode: flow.mode,
            has_rows: flow.has_rows,
            nothing_new: None,
            writes: flow.writes,
            saved_table: flow.saved_table.clone(),
            asked_members: Vec::new(),
            turn: flow.turn,
            sums: flow.sums.clone(),
            keeps_versions: flow.keeps_versions,
            is_analyzed: flow.is_analyzed,
            keeps_pipes: false,
            units: Vec::new(),
        }),
        comparison: Arc::clone(&flow.comparison),
        schema: flow.schema.clone(),
        table: flow.table.clone(),
        facts: flow.facts.clone(),
        publish: flow.publish.clone(),
        replace: None,
        pre_sql: Vec::new(),
        post_sql: Vec::new(),
        model: flow.model.clone(),
        default_grants: Vec::new(),
        new_indexes: flow.new_indexes.clone(),
        indexes: flow.indexes,
        column_types: flow.column_types.clone(),
        wire: flow.wire.clone(),
        native_shapes: flow.native_shapes.clone(),
        rows_pass: flow.rows_pass,
        server_copy: flow.server_copy.clone(),
        key: flow.key.clone(),
        statements: Vec::new(),
        overlap: None,
        members: Vec::new(),
    }
}

fn without_flows(plan: &Plan) -> Plan {
    Plan {
        facts: Arc::new(PlanFacts {
            package_hash: String::new(),
            plan_hash: String::new(),
            lineage: RunLineage::default(),
            notes: Vec::new(),
            ..PlanFacts::clone(&plan.facts)
        }),
        server: plan.server.clone(),
        setup: Vec::new(),
        keeps_lineage: false,
        flows: Vec::new(),
        privileges: Vec::new(),
        disk: None,
        locks_needed: 0,
        earlier: inrush_plan::earlier::Earlier::None,
    }
}
