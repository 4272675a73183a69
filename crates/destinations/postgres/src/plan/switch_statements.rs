//! The statements of the switch: the plan writes them, the switch runs them.

use inrush_rows::column::Column;

use super::key_index::KeyIndex;
use super::versions::VersionRows;
use super::{FlowPlan, Publish, UnitPlan, routing};
use crate::quote::{identifier, literal, qualified};
use crate::staging::{self, BOUNDS_CHECK, UnitBounds, Upper};
use inrush_rows::ids::UnitKey;

/// A unit of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitTask {
    /// Its key.
    pub key: UnitKey,
    /// Its staging table.
    pub staging_table: String,
    /// The partition that it becomes.
    pub partition_name: Option<String>,
    /// Its first key as an SQL expression; `None` if unbounded.
    pub lower: Option<String>,
    /// One past its last key as an SQL expression; `None` if unbounded.
    pub upper: Option<String>,
    /// True if it becomes a partition. A unit without rows becomes one only if its bounds were declared, because they
    /// cannot be derived from data.
    pub attached: bool,
}

impl UnitTask {
    /// A unit that does not become a partition, or for which that is not known yet.
    pub fn of(unit: UnitPlan<'_>) -> UnitTask {
        UnitTask {
            key: unit.key.clone(),
            staging_table: unit.staging_table.clone(),
            partition_name: unit.partition_name().map(str::to_owned),
            lower: None,
            upper: None,
            attached: false,
        }
    }

    /// The unit as a partition with these bounds.
    pub fn attached(self, (lower, upper): (Option<String>, Option<String>)) -> UnitTask {
        UnitTask {
            lower,
            upper,
            attached: true,
            ..self
        }
    }
}

/// Bounds that are known before the rows, as SQL expressions: the first key, and one past the last one.
pub fn declared(bounds: &UnitBounds) -> (Option<String>, Option<String>) {
    let upper = bounds.upper.as_ref().map(|upper| match upper {
        Upper::Exclusive(value) | Upper::Inclusive(value) => expression(value),
    });
    (bounds.lower.as_deref().map(expression), upper)
}

/// One step of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchStep {
    /// A statement about tables alone.
    Metadata(String),
    /// A statement that copies rows. The number of copied rows must be equal to the number of loaded rows.
    CopyRows(CopyRows),
}

/// A statement that copies rows of a staging table into a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRows {
    /// The INSERT, up to the staging table's name.
    pub insert: String,
    /// The clause after the row condition, for rows whose key exists.
    pub conflict: String,
}

impl CopyRows {
    /// The statement for all rows.
    pub fn all(&self) -> String {
        format!("{}{}", self.insert, self.conflict)
    }

    /// The statement for the rows that meet a condition.
    pub fn only(&self, condition: &str) -> String {
        format!("{} WHERE {condition}{}", self.insert, self.conflict)
    }
}

/// The statement that creates a target; `None` if the target exists.
pub fn create_target(flow: &FlowPlan) -> Option<String> {
    match (&flow.publish, &flow.key) {
        (Publish::CreatePartitioned { columns }, Some(key)) => Some(format!(
            "{} PARTITION BY RANGE ({})",
            staging::create_table(&flow.schema, &flow.table, columns),
            identifier(&key.column)
        )),
        _ => None,
    }
}

/// The rows of a unit that are merged as versions; `None` if its target keeps no versions. They are merged before the
/// unit's other steps. `run` is the run's number in SQL.
pub fn version_rows<'a>(
    flow: &'a FlowPlan,
    staging_schema: &str,
    unit: &UnitTask,
    run: impl ToString,
) -> Option<VersionRows<'a>> {
    let Publish::Upsert {
        key,
        versions: Some(versions),
        ..
    } = &flow.publish
    else {
        return None;
    };
    Some(VersionRows {
        versions,
        target: flow.target(),
        staging: qualified(staging_schema, &unit.staging_table),
        loaded: &flow.columns,
        key,
        run: run.to_string(),
    })
}

/// The steps that make one unit part of its target.
pub fn publish_unit(flow: &FlowPlan, staging_schema: &str, unit: &UnitTask) -> Vec<SwitchStep> {
    use SwitchStep::Metadata;
    let staging = qualified(staging_schema, &unit.staging_table);
    let target = flow.target();
    let (schema, table) = (&flow.schema, &flow.table);
    match &flow.publish {
        Publish::CreatePartitioned { .. } | Publish::Attach if !unit.attached => {
            vec![Metadata(format!("DROP TABLE {staging}"))]
        }
        Publish::CreatePartitioned { .. } | Publish::Attach => {
            let name = unit
                .partition_name
                .as_deref()
                .expect("a unit of a partitioned flow has a partition name");
            let partition = qualified(schema, name);
            let mut statements = moved(&staging, schema, &unit.staging_table, name);
            statements.extend(furnished(flow, name));
            statements.push(Metadata(format!(
                "ALTER TABLE {target} ATTACH PARTITION {partition} FOR VALUES FROM ({}) TO ({})",
                unit.lower.as_deref().unwrap_or("MINVALUE"),
                unit.upper.as_deref().unwrap_or("MAXVALUE"),
            )));
            // The partition's own bound replaces the CHECK now.
            statements.push(Metadata(format!(
                "ALTER TABLE {partition} DROP CONSTRAINT {}",
                identifier(BOUNDS_CHECK)
            )));
            statements
        }
        Publish::Route(route) => {
            routing::statements::switch(flow, route, staging_schema, &unit.staging_table, false)
        }
        Publish::Straight(_) => Vec::new(),
        Publish::Swap => {
            let mut statements = moved(&staging, schema, &unit.staging_table, table);
            let swap = flow.replace.iter().flat_map(|replace| &replace.swap);
            let dress = swap.flat_map(|swap| &swap.dress);
            statements.extend(dress.cloned().map(Metadata));
            statements
        }
        Publish::Upsert {
            versions: Some(_), ..
        } => vec![Metadata(format!("DROP TABLE {staging}"))],
        Publish::Upsert {
            key,
            versions: None,
            ..
        } => {
            let columns: Vec<String> = flow.columns.iter().map(|c| c.name.clone()).collect();
            vec![
                SwitchStep::CopyRows(merge(&target, &staging, &columns, key)),
                Metadata(format!("DROP TABLE {staging}")),
            ]
        }
        Publish::Rename { primary_key } => {
            let mut statements = moved(&staging, schema, &unit.staging_table, table);
            statements.extend(primary_key.iter().map(|key| {
                Metadata(format!(
                    "ALTER TABLE {target} RENAME CONSTRAINT {} TO {}",
                    identifier(&staging::primary_key_name(&unit.staging_table)),
                    identifier(&key.name)
                ))
            }));
            let indexes = flow.new_indexes.iter();
            let indexes = indexes.map(|index| index.rename(schema, &unit.staging_table));
            statements.extend(indexes.map(Metadata));
            statements.extend(grants(flow, &target));
            statements
        }
        Publish::Insert => {
            vec![
                SwitchStep::CopyRows(insert_rows(&target, &staging, names(&flow.columns))),
                Metadata(format!("DROP TABLE {staging}")),
            ]
        }
    }
}

/// Gives a partition the properties of its target that LIKE has not given to its staging table.
pub fn furnished(flow: &FlowPlan, name: &str) -> Vec<SwitchStep> {
    use SwitchStep::Metadata;
    let schema = &flow.schema;
    let partition = qualified(schema, name);
    let mut statements: Vec<SwitchStep> = grants(flow, &partition).collect();
    if let Some(facts) = &flow.facts {
        for column in facts.numbered(&flow.columns) {
            // From now on the parent numbers the column.
            statements.push(Metadata(staging::drop_default(schema, name, &column.name)));
        }
        if let Some(words) = facts.replica_identity_words() {
            statements.push(Metadata(format!(
                "ALTER TABLE {partition} REPLICA IDENTITY {words}"
            )));
        }
        // LIKE does not copy the owner; the owner of the target must own its partitions.
        statements.push(Metadata(format!(
            "ALTER TABLE {partition} OWNER TO {}",
            identifier(&facts.owner)
        )));
    }
    statements
}

/// Copies all rows of a table into a target.
pub fn insert_rows<'a>(
    target: &str,
    source: &str,
    columns: impl IntoIterator<Item = &'a str>,
) -> CopyRows {
    let columns: Vec<String> = columns.into_iter().map(identifier).collect();
    let columns = columns.join(", ");
    CopyRows {
        // Without an identity column, `OVERRIDING` has no effect.
        insert: format!(
            "INSERT INTO {target} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {source}"
        ),
        conflict: String::new(),
    }
}

/// The names of columns, for [`insert_rows`].
pub fn names(columns: &[Column]) -> impl Iterator<Item = &str> {
    columns.iter().map(|column| column.name.as_str())
}

/// Merges rows into a target by a key.
pub fn merge(target: &str, source: &str, columns: &[String], key: &[String]) -> CopyRows {
    let others: Vec<&String> = columns.iter().filter(|name| !key.contains(name)).collect();
    // If the key has all columns, setting a key column to itself counts the row as updated.
    let set = match others.is_empty() {
        true => key.iter().take(1).collect(),
        false => others,
    };
    let set: Vec<String> = set
        .into_iter()
        .map(|name| format!("{0} = excluded.{0}", identifier(name)))
        .collect();
    let key: Vec<String> = key.iter().map(|name| identifier(name)).collect();
    CopyRows {
        conflict: format!(
            " ON CONFLICT ({}) DO UPDATE SET {}",
            key.join(", "),
            set.join(", ")
        ),
        ..insert_rows(target, source, columns.iter().map(String::as_str))
    }
}

/// Counts the rows of a unit that will update a row of the target. A NULL is not equal to any key.
pub fn count_updates(target: &str, source: &str, indexes: &[KeyIndex]) -> String {
    let same = indexes.iter().map(|index| index.is_same("t", "s"));
    format!(
        "SELECT count(*) FROM {source} s WHERE EXISTS (SELECT FROM {target} t WHERE {})",
        same.collect::<Vec<_>>().join(" OR ")
    )
}

/// The schema's grants on tables that are created in it.
pub fn grants(flow: &FlowPlan, table: &str) -> impl Iterator<Item = SwitchStep> {
    let statements: Vec<String> = flow
        .default_grants
        .iter()
        .map(|grant| grant.statement(table))
        .collect();
    statements.into_iter().map(SwitchStep::Metadata)
}

/// Moves a staging table into a schema, under a new name. Its staging name is a unique digest, so it cannot conflict
/// with a name in that schema.
pub fn moved(staging: &str, schema: &str, staging_table: &str, name: &str) -> Vec<SwitchStep> {
    vec![
        SwitchStep::Metadata(format!(
            "ALTER TABLE {staging} SET SCHEMA {}",
            identifier(schema)
        )),
        SwitchStep::Metadata(format!(
            "ALTER TABLE {} RENAME TO {}",
            qualified(schema, staging_table),
            identifier(name)
        )),
    ]
}

/// A key as an SQL expression.
pub fn expression(key: &str) -> String {
    literal(key).trim_start().to_owned()
}

/// The lock mode for an existing target in SQL: for the switch or, with direct writes, for the rows.
pub fn lock_mode(flow: &FlowPlan) -> &'static str {
    match &flow.publish {
        Publish::Straight(_) => "ROW EXCLUSIVE",
        Publish::Route(route) => routing::lock_mode(flow, route),
        // The lock waits for sessions that read the target now, and later sessions wait until the tables are exchanged.
        _ if flow
            .replace
            .as_ref()
            .is_some_and(|replace| !replace.by_rows) =>
        {
            "ACCESS EXCLUSIVE"
        }
        // The lock excludes other writers of the target.
        Publish::Insert | Publish::Upsert { .. } => "SHARE ROW EXCLUSIVE",
        // ATTACH takes this lock on the parent.
        _ => "SHARE UPDATE EXCLUSIVE",
    }
}
