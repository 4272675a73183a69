//! Existing tables, read from the catalog.

use arrow_schema::DataType;
use inrush_destination::{Result, TargetColumn, TargetFacts, TargetName};
use inrush_rows::column_type::ColumnType;

use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;
use crate::types;

const DOING: &str = "cannot read the catalog";

/// A relation of this name, and the spelling of its name in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// `table`, `view` or another word of the database, in lower case.
    pub kind: String,
    /// The name as the catalog spells it.
    pub name: String,
}

/// The relation of this name; `None` if there is none.
pub fn kind(
    session: &mut AdbcSession,
    quirks: &Quirks,
    schema: Option<&str>,
    name: &str,
) -> Result<Option<CatalogEntry>> {
    let statement = match quirks.vendor {
        Vendor::DuckDb => format!(
            "SELECT table_type, table_name FROM information_schema.tables \
             WHERE table_catalog = current_database() AND lower(table_schema) = lower({}) \
             AND lower(table_name) = lower({})",
            sql::text(schema.unwrap_or("main")),
            sql::text(name)
        ),
        Vendor::Sqlite => format!(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') \
             AND name = {} COLLATE NOCASE",
            sql::text(name)
        ),
        Vendor::Postgres => format!(
            "SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' \
             WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' WHEN 'S' THEN 'sequence' \
             ELSE 'relation of another kind' END, c.relname::text \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = {} AND c.relname = {}",
            sql::text(schema.unwrap_or("public")),
            sql::text(name)
        ),
        Vendor::Other => {
            let known = session.connection().table_schema(schema, name);
            return Ok(known.is_ok().then(|| CatalogEntry {
                kind: "table".to_owned(),
                name: name.to_owned(),
            }));
        }
    };
    let rows = session.rows(DOING, &statement)?;
    let mut found: Vec<CatalogEntry> = rows
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(kind), Some(name)]) => Some(CatalogEntry {
                kind: kind.to_lowercase().replace("base table", "table"),
                name,
            }),
            _ => None,
        })
        .collect();
    found.sort_by_key(|found| found.name != name);
    Ok(found.into_iter().next())
}

/// True if the schema exists.
pub fn schema_exists(session: &mut AdbcSession, schema: &str) -> Result<bool> {
    let statement = format!(
        "SELECT count(*) FROM information_schema.schemata WHERE schema_name = {}",
        sql::text(schema)
    );
    Ok(session.number(DOING, &statement)?.unwrap_or(0) > 0)
}

/// The table; `None` if there is none.
pub fn target(
    session: &mut AdbcSession,
    quirks: &Quirks,
    name: &TargetName,
) -> Result<Option<TargetFacts>> {
    let Some(found) = kind(session, quirks, name.schema.as_deref(), &name.name)? else {
        return Ok(None);
    };
    let obstacle = (found.kind != "table").then(|| {
        (
            format!("{} is a {}, not a table", name.sql, found.kind),
            "name a table, or a table that does not exist yet".to_owned(),
        )
    });
    let columns = columns(session, quirks, name, &found.name)?;
    let has_rows = obstacle.is_none() && rows_up_to(session, name, 1)? > 0;
    Ok(Some(TargetFacts {
        columns,
        has_rows,
        partitioned_by: Vec::new(),
        takes_new_bounds: false,
        obstacle,
        notes: Vec::new(),
    }))
}

/// The number of rows of a table; counting ends at `most`.
pub fn rows_up_to(session: &mut AdbcSession, name: &TargetName, most: u64) -> Result<u64> {
    let statement = format!(
        "SELECT count(*) FROM (SELECT 1 AS one FROM {} LIMIT {most}) AS counted",
        name.sql
    );
    let doing = format!("cannot count the rows of {}", name.sql);
    Ok(session.number(&doing, &statement)?.unwrap_or(0))
}

/// Bytes that a table uses; 0 if there is no such table, `None` if the database does not report it.
pub fn table_bytes(
    session: &mut AdbcSession,
    quirks: &Quirks,
    schema: Option<&str>,
    name: &str,
) -> Result<Option<u64>> {
    let Some(statement) = quirks.table_bytes else {
        return Ok(None);
    };
    if kind(session, quirks, schema, name)?.is_none() {
        return Ok(Some(0));
    }
    if quirks.vendor == Vendor::DuckDb {
        // Rows that are still in SQLite's log have no size; closing the file would write them. If they cannot be
        // written now, the size is unknown.
        let _ = session.run("cannot write a checkpoint", "CHECKPOINT");
    }
    let table = match schema {
        Some(schema) => format!("{}.{}", sql::identifier(schema), sql::identifier(name)),
        // SQLite lists its tables by their names without a schema.
        None => name.to_owned(),
    };
    let statement = statement.replace("{}", &sql::text(&table));
    match session.number("cannot measure a staging table", &statement) {
        // Not every build of SQLite has `dbstat`.
        Err(_) if quirks.vendor == Vendor::Sqlite => Ok(None),
        measured => measured,
    }
}

fn columns(
    session: &mut AdbcSession,
    quirks: &Quirks,
    name: &TargetName,
    spelled: &str,
) -> Result<Vec<TargetColumn>> {
    // For each column: name, type, NOT NULL, whether it has a DEFAULT, whether it is computed.
    let statement = match quirks.vendor {
        Vendor::DuckDb => format!(
            "SELECT column_name, data_type, is_nullable = 'NO', column_default IS NOT NULL, \
             coalesce(is_generated = 'ALWAYS', false) FROM information_schema.columns \
             WHERE table_catalog = current_database() AND lower(table_schema) = lower({}) \
             AND table_name = {} ORDER BY ordinal_position",
            sql::text(name.schema.as_deref().unwrap_or("main")),
            sql::text(spelled)
        ),
        Vendor::Sqlite => format!(
            "SELECT name, type, CASE WHEN \"notnull\" THEN 'true' ELSE 'false' END, \
             CASE WHEN dflt_value IS NULL THEN 'false' ELSE 'true' END, \
             CASE WHEN hidden IN (2, 3) THEN 'true' ELSE 'false' END \
             FROM pragma_table_xinfo({}) WHERE hidden <> 1 ORDER BY cid",
            sql::text(spelled)
        ),
        Vendor::Postgres => format!(
            "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, \
             (a.atthasdef AND a.attgenerated = '') OR a.attidentity = 'd', \
             a.attgenerated <> '' OR a.attidentity = 'a' \
             FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = {} AND c.relname = {} AND a.attnum > 0 AND NOT a.attisdropped \
             ORDER BY a.attnum",
            sql::text(name.schema.as_deref().unwrap_or("public")),
            sql::text(spelled)
        ),
        Vendor::Other => return Ok(columns_by_arrow(session, name)),
    };
    let rows = session.rows(DOING, &statement)?;
    let parse = |row: Vec<Option<String>>| {
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        let mut next = || values.next().unwrap_or_default();
        let (name, sql) = (next(), next());
        let (not_null, has_default, generated) = (next(), next(), next());
        TargetColumn {
            column_type: types::of_column(quirks.vendor, &sql),
            name,
            sql,
            not_null: not_null == "true",
            has_default: has_default == "true" && generated != "true",
            generated: generated == "true",
        }
    };
    Ok(rows.into_iter().map(parse).collect())
}

/// The columns of a table as the driver describes them, for a database with an unknown catalog.
fn columns_by_arrow(session: &mut AdbcSession, name: &TargetName) -> Vec<TargetColumn> {
    let connection = session.connection();
    let schema = connection.table_schema(name.schema.as_deref(), &name.name);
    let Ok(schema) = schema else {
        return Vec::new();
    };
    let column = |field: &arrow_schema::FieldRef| {
        let column_type = of_arrow(field.data_type());
        let sql = column_type
            .as_ref()
            .and_then(|column_type| types::sql_of(Vendor::Other, column_type));
        TargetColumn {
            name: field.name().clone(),
            sql: sql.unwrap_or_else(|| field.data_type().to_string()),
            column_type,
            not_null: !field.is_nullable(),
            has_default: false,
            generated: false,
        }
    };
    schema.fields().iter().map(column).collect()
}

fn of_arrow(data_type: &DataType) -> Option<ColumnType> {
    Some(match data_type {
        DataType::Boolean => ColumnType::Bool,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 => ColumnType::Int64,
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        },
        DataType::Date32 => ColumnType::Date,
        DataType::Time64(_) => ColumnType::Time { fraction_digits: 6 },
        DataType::Timestamp(_, None) => ColumnType::Timestamp { fraction_digits: 6 },
        DataType::Timestamp(_, Some(_)) => ColumnType::TimestampTz { fraction_digits: 6 },
        DataType::Decimal128(precision, scale) if (0..=*precision as i8).contains(scale) => {
            ColumnType::Decimal {
                precision: *precision,
                scale: *scale as u8,
            }
        }
        _ => return None,
    })
}
