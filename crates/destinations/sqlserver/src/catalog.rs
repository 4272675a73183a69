//! Existing tables, read from the catalog.

use inrush_destination::{Error, Result, TargetColumn, TargetFacts, TargetName};

use crate::added_partitions;
use crate::columnstore;
use crate::connection::SqlSession;
use crate::moved_rows::listed;
use crate::partitions::Partitioning;
use crate::shape::TableShape;
use crate::sql;
use crate::types::CatalogType;

const DOING: &str = "cannot read the catalog";

/// An object of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// Its kind in words; `table` for a table of rows.
    pub kind: String,
    /// Its name as the catalog spells it.
    pub name: String,
}

/// The object of this name; `None` if there is none.
pub fn entry(session: &mut SqlSession, schema: &str, name: &str) -> Result<Option<CatalogEntry>> {
    let question = format!(
        "SELECT o.name, o.type FROM sys.objects o WHERE o.object_id = OBJECT_ID({})",
        sql::text(&sql::table(schema, name))
    );
    let Some(row) = session.rows(DOING, &question)?.into_iter().next() else {
        return Ok(None);
    };
    let mut values = row.into_iter().map(Option::unwrap_or_default);
    let (name, kind) = (
        values.next().unwrap_or_default(),
        values.next().unwrap_or_default(),
    );
    let kind = match kind.trim_end() {
        "U" => "table",
        "V" => "view",
        "SN" => "synonym",
        "IF" | "TF" | "FT" => "function",
        "P" | "PC" => "procedure",
        "ET" => "external table",
        _ => "object of another kind",
    };
    Ok(Some(CatalogEntry {
        kind: kind.to_owned(),
        name,
    }))
}

/// True if there is a table of this name.
pub fn is_table(session: &mut SqlSession, name: &TargetName) -> Result<bool> {
    let found = entry(session, schema_of(name)?, &name.name)?;
    Ok(found.is_some_and(|found| found.kind == "table"))
}

/// The schema of this name, as the catalog spells it; `None` if there is none.
pub fn schema(session: &mut SqlSession, name: &str) -> Result<Option<String>> {
    let question = format!(
        "SELECT name FROM sys.schemas WHERE name = {}",
        sql::text(name)
    );
    Ok(session
        .rows(DOING, &question)?
        .into_iter()
        .flatten()
        .next()
        .flatten())
}

/// The table; `None` if there is none.
pub fn target(session: &mut SqlSession, name: &TargetName) -> Result<Option<TargetFacts>> {
    let schema = schema_of(name)?;
    let Some(found) = entry(session, schema, &name.name)? else {
        return Ok(None);
    };
    if found.kind != "table" {
        return Ok(Some(TargetFacts {
            columns: Vec::new(),
            has_rows: false,
            partitioned_by: Vec::new(),
            takes_new_bounds: false,
            obstacle: Some((
                format!("{} is a {}, not a table", name.sql, found.kind),
                "name a table, or a table that does not exist yet".to_owned(),
            )),
            notes: Vec::new(),
        }));
    }
    let partitioning = Partitioning::of_table(session, &name.sql)?;
    let columns = columns(session, name)?;
    let takes_new_bounds = partitioning
        .as_ref()
        .is_some_and(|own| added_partitions::can_be_added(own, &columns));
    Ok(Some(TargetFacts {
        columns,
        has_rows: has_rows(session, name)?,
        takes_new_bounds,
        partitioned_by: partitioning.into_iter().map(|own| own.column).collect(),
        obstacle: obstacle(session, name)?,
        notes: notes(session, name)?,
    }))
}

/// The schema of a target. Names of this destination always have one.
pub fn schema_of(name: &TargetName) -> Result<&str> {
    name.schema.as_deref().ok_or_else(|| Error::Unsuitable {
        what: format!("the table {} has no schema", name.sql),
        hint: "write SCHEMA.TABLE".to_owned(),
    })
}

/// True if the table has a row. For a plan: it ignores rows that another session is changing, and does not wait for
/// them.
pub fn has_rows(session: &mut SqlSession, name: &TargetName) -> Result<bool> {
    look_for_rows(session, name, " WITH (READCOMMITTEDLOCK, READPAST)")
}

/// True if the table has a row; waits for transactions that change it.
pub fn has_rows_for_certain(session: &mut SqlSession, name: &TargetName) -> Result<bool> {
    look_for_rows(session, name, "")
}

fn look_for_rows(session: &mut SqlSession, name: &TargetName, hint: &str) -> Result<bool> {
    let doing = format!("cannot check whether {} has rows", name.sql);
    Ok(session
        .number(&doing, &format!("SELECT TOP (1) 1 FROM {}{hint}", name.sql))?
        .is_some())
}

/// The condition on `sys.tables` for a table that is replicated, or whose changes are captured.
pub const IS_REPLICATED: &str =
    "is_published = 1 OR is_merge_published = 1 OR is_replicated = 1 OR is_tracked_by_cdc = 1";

/// The text after FROM in a query for the views that are bound to a table by SCHEMABINDING. `object` is the table's name as
/// a text of SQL.
pub fn bound_views(object: &str) -> String {
    format!(
        "sys.sql_expression_dependencies WHERE referenced_id = OBJECT_ID({object}) AND is_schema_bound_reference = 1 AND \
         referencing_id IN (SELECT object_id FROM sys.views)"
    )
}

/// The rows of a table, or of some of its partitions, as the catalog counts them, without reading the table.
pub fn rows_told(session: &mut SqlSession, table: &str, numbers: Option<&[u64]>) -> Result<u64> {
    let of_partitions = match numbers {
        None => String::new(),
        Some([]) => return Ok(0),
        Some(numbers) => format!(" AND p.partition_number IN ({})", listed(numbers)),
    };
    let question = format!(
        "SELECT SUM(p.rows) FROM sys.partitions p WHERE p.object_id = OBJECT_ID({}) AND p.index_id < 2{of_partitions}",
        sql::text(table)
    );
    let rows = session.number(&format!("cannot count the rows of {table}"), &question)?;
    Ok(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0))
}

/// The numbers of a table's partitions that have rows, as the catalog counts them.
pub fn filled_partitions(session: &mut SqlSession, table: &str) -> Result<Vec<String>> {
    let question = format!(
        "SELECT p.partition_number FROM sys.partitions p WHERE p.object_id = OBJECT_ID({}) AND p.index_id < 2 AND p.rows > 0 \
         ORDER BY p.partition_number",
        sql::text(table)
    );
    let rows = session.rows(&format!("cannot read the partitions of {table}"), &question)?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// True if the table has triggers that are not disabled.
pub fn has_triggers(session: &mut SqlSession, table: &str) -> Result<bool> {
    Ok(!triggers(session, table)?.is_empty())
}

fn triggers(session: &mut SqlSession, table: &str) -> Result<Vec<String>> {
    let question = format!(
        "SELECT name FROM sys.triggers WHERE parent_id = OBJECT_ID({}) AND is_disabled = 0 ORDER BY name",
        sql::text(table)
    );
    let found = session.rows(DOING, &question)?;
    Ok(found.into_iter().flatten().flatten().collect())
}

/// True if the server keeps the history of the table's rows.
pub fn is_temporal(session: &mut SqlSession, table: &str) -> Result<bool> {
    let question = format!(
        "SELECT temporal_type FROM sys.tables WHERE object_id = OBJECT_ID({})",
        sql::text(table)
    );
    Ok(session.number(DOING, &question)?.unwrap_or(0) != 0)
}

/// Fails if rows of other tables would be deleted or changed together with those of the table (ON DELETE CASCADE, SET NULL, SET
/// DEFAULT).
pub fn refuse_cascades(session: &mut SqlSession, table: &str) -> Result<()> {
    let question = format!(
        "SELECT name FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID({}) AND delete_referential_action <> 0 AND \
         is_disabled = 0 ORDER BY name",
        sql::text(table)
    );
    let found = session.rows(DOING, &question)?;
    let names: Vec<String> = found.into_iter().flatten().flatten().collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Error::Unsuitable {
            what: format!(
                "removing the rows of {table} would delete or change rows of other tables, because foreign keys have an action ON \
                 DELETE: {}",
                names.join(", ")
            ),
            hint: "drop these foreign keys, and create them again afterwards".to_owned(),
        }),
    }
}

/// Bytes that a table takes; 0 if there is no such table.
pub fn table_bytes(session: &mut SqlSession, schema: &str, name: &str) -> Result<u64> {
    let question = format!(
        "SELECT COALESCE(SUM(a.total_pages), 0) * 8192 FROM sys.partitions p JOIN sys.allocation_units a ON a.container_id = \
         p.hobt_id WHERE p.object_id = OBJECT_ID({})",
        sql::text(&sql::table(schema, name))
    );
    let bytes = session.number("cannot measure a staging table", &question)?;
    Ok(bytes
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(0))
}

/// The reason why the table cannot be loaded, and the fix.
fn obstacle(session: &mut SqlSession, name: &TargetName) -> Result<Option<(String, String)>> {
    let question = format!(
        "SELECT is_memory_optimized, temporal_type FROM sys.tables WHERE object_id = OBJECT_ID({})",
        sql::text(&name.sql)
    );
    let row = session
        .rows(DOING, &question)?
        .into_iter()
        .next()
        .unwrap_or_default();
    let is = |index: usize, value: &str| row.get(index).and_then(Option::as_deref) == Some(value);
    Ok(if is(0, "1") {
        Some((
            format!(
                "{} is memory-optimized, and cannot be part of the transaction of the switch",
                name.sql
            ),
            "load into a table on disk, and copy the rows yourself".to_owned(),
        ))
    } else if is(1, "1") {
        Some((
            format!("{} is the history of a temporal table", name.sql),
            "load into the current table".to_owned(),
        ))
    } else {
        None
    })
}

fn notes(session: &mut SqlSession, name: &TargetName) -> Result<Vec<String>> {
    let triggers = triggers(session, &name.sql)?;
    let mut notes = Vec::new();
    if !triggers.is_empty() {
        notes.push(format!(
            "{} has triggers, which run once for all rows in the switch: {}",
            name.sql,
            triggers.join(", ")
        ));
    }
    let shape = TableShape::read(session, &name.sql)?;
    if shape.columnstore().is_some() {
        notes.push(columnstore::plan_note(&name.sql));
    }
    Ok(notes)
}

/// A column as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub catalog_type: CatalogType,
    /// NULL is allowed.
    pub is_nullable: bool,
    /// It is an identity column.
    pub is_identity: bool,
    /// The server fills it: a computed column, a period of a temporal table, a rowversion.
    pub is_computed: bool,
    /// It has a DEFAULT.
    pub has_default: bool,
    /// It is encrypted by Always Encrypted.
    pub is_encrypted: bool,
}

/// The columns of a table.
pub fn columns(session: &mut SqlSession, name: &TargetName) -> Result<Vec<TargetColumn>> {
    let found = catalog_columns(session, &name.sql)?;
    let column = |column: CatalogColumn| {
        let is_loaded = !column.is_encrypted;
        TargetColumn {
            column_type: column.catalog_type.column_type().filter(|_| is_loaded),
            sql: column.catalog_type.sql(),
            not_null: !column.is_nullable,
            has_default: (column.has_default || column.is_identity) && !column.is_computed,
            generated: column.is_computed,
            name: column.name,
        }
    };
    Ok(found.into_iter().map(column).collect())
}

/// The identity column of a table.
pub fn identity(session: &mut SqlSession, table: &str) -> Result<Option<String>> {
    let found = catalog_columns(session, table)?;
    Ok(found
        .into_iter()
        .find(|column| column.is_identity)
        .map(|column| column.name))
}

/// The columns of a table, in their order.
pub fn catalog_columns(session: &mut SqlSession, table: &str) -> Result<Vec<CatalogColumn>> {
    let question = format!(
        "SELECT c.name, TYPE_NAME(c.system_type_id), c.max_length, c.precision, c.scale, c.collation_name, c.is_nullable, \
         c.is_identity, CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 OR TYPE_NAME(c.system_type_id) = \
         N'timestamp' THEN 1 ELSE 0 END, CASE WHEN c.default_object_id <> 0 THEN 1 ELSE 0 END, CASE WHEN c.encryption_type IS \
         NULL THEN 0 ELSE 1 END FROM sys.columns c WHERE c.object_id = OBJECT_ID({}) ORDER BY c.column_id",
        sql::text(table)
    );
    let rows = session.rows(DOING, &question)?;
    rows.into_iter()
        .map(|row| {
            let [
                name,
                type_name,
                max_length,
                precision,
                scale,
                collation,
                nullable,
                identity,
                computed,
                default,
                encrypted,
            ] = <[Option<String>; 11]>::try_from(row).map_err(|row| Error::Refused {
                doing: DOING.to_owned(),
                message: format!("expected 11 values for a column, but got {}", row.len()),
                hint: None,
            })?;
            let number = |text: &Option<String>| {
                text.as_deref()
                    .and_then(|text| text.parse::<i64>().ok())
                    .unwrap_or(0)
            };
            let is = |text: &Option<String>| text.as_deref() == Some("1");
            Ok(CatalogColumn {
                name: name.unwrap_or_default(),
                catalog_type: CatalogType {
                    name: type_name.unwrap_or_default(),
                    max_length: number(&max_length),
                    precision: number(&precision) as u8,
                    scale: number(&scale) as u8,
                    collation,
                },
                is_nullable: is(&nullable),
                is_identity: is(&identity),
                is_computed: is(&computed),
                has_default: is(&default),
                is_encrypted: is(&encrypted),
            })
        })
        .collect()
}
