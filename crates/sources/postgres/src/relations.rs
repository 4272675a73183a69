//! The relations that hold the rows of a table: itself, or its partitions.

use std::path::Path;

use inrush_pgclient::BlockingSession;
use inrush_pgclient::quote::{literal, qualified};
use inrush_source::{ColumnCollation, SourceError};

use crate::error::{FIX_OF_ROW_SECURITY, input_error, of_session};
use crate::listing;

/// A table as it was found.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its OID.
    pub oid: u32,
    /// Schema and name, quoted for SQL.
    pub sql: String,
    /// Schema and name, for people.
    pub name: String,
}

/// A relation whose rows are read by one SELECT.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Schema and name, for people.
    pub name: String,
    /// The text after FROM.
    pub from: String,
    /// The number of its pages, if its rows have a place in them.
    pub pages: Option<u64>,
    /// The number of bytes that it takes on the server's disk, with its TOAST table; 0 if it has no storage of its
    /// own.
    pub size_bytes: u64,
}

/// Finds a table by its name. A name without a schema is looked up as in the user's own sessions.
pub fn find_table(
    session: &mut BlockingSession,
    schema: Option<&str>,
    name: &str,
) -> Result<Table, SourceError> {
    let shown = match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_owned(),
    };
    let input = Path::new(&shown);
    let schema_asked = schema;
    let schema = match schema {
        Some(schema) => format!("n.nspname = {}", literal(schema)),
        None => "pg_catalog.pg_table_is_visible(c.oid)".to_owned(),
    };
    let sql = format!(
        "SET search_path = DEFAULT; \
         SELECT c.oid, n.nspname, c.relname \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relname = {} AND {schema} AND c.relkind IN ('r', 'p', 'v', 'm', 'f'); \
         SET search_path = pg_catalog",
        literal(name)
    );
    let found = session
        .query(&sql, "looking for the table")
        .map_err(|error| of_session(input, error))?;
    let row: Option<Vec<String>> = found
        .rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().collect());
    match row.as_deref() {
        Some([oid, schema, name]) => Ok(Table {
            oid: oid.parse().unwrap_or_default(),
            sql: qualified(schema, name),
            name: format!("{schema}.{name}"),
        }),
        _ => Err(input_error(
            input,
            "the database has no table or view of this name",
            listing::instead_of(session, schema_asked, name),
        )),
    }
}

/// What the catalog says about a column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// True if no row of the table has NULL in it: the server enforces this for all rows that are read.
    pub not_null: bool,
    /// Its collation, if it differs from the collation of its type.
    pub collation: Option<ColumnCollation>,
    /// Its type as it is declared: for a domain, the name of the domain, although the server describes rows with its
    /// base type.
    pub declared: String,
}

/// The relations that hold the rows of a table, as a table `tree` of SQL with their OIDs: itself and all of its children.
fn tree(table: &Table) -> String {
    format!(
        "WITH RECURSIVE tree AS ( \
           SELECT {}::oid AS oid \
           UNION \
           SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.oid \
           WHERE NOT i.inhdetachpending \
         )",
        table.oid
    )
}

/// The columns of a table.
///
/// NOT NULL guarantees nothing for the rows of a foreign table, for rows that are older than a constraint that is NOT
/// VALID, and for children whose own column is nullable.
pub fn columns_of(
    session: &mut BlockingSession,
    table: &Table,
) -> Result<Vec<ColumnFacts>, SourceError> {
    let sql = format!(
        "{tree}, nullable AS ( \
           SELECT own.attname FROM tree JOIN pg_catalog.pg_class AS r ON r.oid = tree.oid \
           JOIN pg_catalog.pg_attribute AS own ON own.attrelid = r.oid \
           WHERE r.relkind <> 'p' AND (r.relkind <> 'r' OR NOT own.attnotnull OR EXISTS ( \
             SELECT FROM pg_catalog.pg_constraint AS k \
             WHERE k.conrelid = r.oid AND k.contype = 'n' AND NOT k.convalidated AND own.attnum = ANY (k.conkey))) \
         ) \
         SELECT a.attname, a.attnotnull AND NOT EXISTS (SELECT FROM nullable AS o WHERE o.attname = a.attname), \
                n.nspname, c.collname, pg_catalog.format_type(a.atttypid, a.atttypmod) \
         FROM pg_catalog.pg_attribute AS a \
         JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
         LEFT JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation AND a.attcollation <> t.typcollation \
         LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.collnamespace \
         WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped",
        tree = tree(table),
        oid = table.oid
    );
    let found = session
        .query(&sql, "asking for the columns of the table")
        .map_err(|error| of_session(Path::new(&table.name), error))?;
    let facts = |row: Vec<Option<String>>| {
        let [column, not_null, schema, collation, declared] = <[_; 5]>::try_from(row).ok()?;
        let column = column?;
        let collation = schema.zip(collation).map(|(schema, name)| ColumnCollation {
            column: column.clone(),
            schema,
            name,
        });
        Some(ColumnFacts {
            name: column,
            not_null: not_null.as_deref() == Some("t"),
            collation,
            declared: declared.unwrap_or_default(),
        })
    };
    Ok(found.rows.into_iter().filter_map(facts).collect())
}

/// The columns of a table's primary key, in its order; none if it has none.
pub fn primary_key(
    session: &mut BlockingSession,
    table: &Table,
) -> Result<Vec<String>, SourceError> {
    let sql = format!(
        "SELECT a.attname FROM pg_catalog.pg_constraint AS c, \
           pg_catalog.unnest(c.conkey) WITH ORDINALITY AS k (number, place) \
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid = {oid} AND a.attnum = k.number \
         WHERE c.conrelid = {oid} AND c.contype = 'p' ORDER BY k.place",
        oid = table.oid
    );
    let found = session
        .query(&sql, "asking for the primary key")
        .map_err(|error| of_session(Path::new(&table.name), error))?;
    Ok(found.texts())
}

/// True if other tables inherit from a table, so that a query of the table also returns their rows. Partitions do not
/// count: the keys of the table hold for them.
pub fn has_inheritors(session: &mut BlockingSession, table: &Table) -> Result<bool, SourceError> {
    let sql = format!(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i \
         JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent WHERE c.oid = {} AND c.relkind <> 'p')",
        table.oid
    );
    let found = session
        .query(&sql, "looking for tables that inherit from the table")
        .map_err(|error| of_session(Path::new(&table.name), error))?;
    Ok(found.first().as_deref() == Some("t"))
}

/// The relations that hold a table's rows, in the order of their names, and a note if they cannot be read one by one.
pub fn relations_of(
    session: &mut BlockingSession,
    table: &Table,
) -> Result<(Vec<Relation>, Option<String>), SourceError> {
    let input = Path::new(&table.name);
    let sql = format!(
        "{} \
         SELECT n.nspname, c.relname, \
                c.relkind IN ('r', 'm') AND (SELECT amname FROM pg_catalog.pg_am WHERE oid = c.relam) = 'heap', \
                CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_relation_size(c.oid) ELSE 0 END, \
                CASE WHEN c.reltoastrelid <> 0 THEN pg_catalog.pg_relation_size(c.reltoastrelid) ELSE 0 END, \
                pg_catalog.current_setting('block_size'), \
                pg_catalog.has_table_privilege(c.oid, 'SELECT'), \
                pg_catalog.row_security_active(c.oid) \
         FROM tree JOIN pg_catalog.pg_class AS c ON c.oid = tree.oid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relkind <> 'p' ORDER BY 1, 2",
        tree(table)
    );
    let found = session
        .query(&sql, "looking for the partitions of the table")
        .map_err(|error| of_session(input, error))?;
    let mut relations = Vec::new();
    let mut size_bytes = 0;
    let mut unreadable = None;
    let mut hidden = None;
    for row in found.rows {
        let row: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
        let [
            schema,
            name,
            has_pages,
            main,
            toast,
            page,
            may_read,
            hides_rows,
        ] = &row[..]
        else {
            continue;
        };
        let number = |text: &String| text.parse::<u64>().unwrap_or_default();
        let own_bytes = number(main) + number(toast);
        size_bytes += own_bytes;
        if hides_rows == "t" {
            hidden.get_or_insert_with(|| format!("{schema}.{name}"));
        }
        if may_read == "f" {
            unreadable.get_or_insert_with(|| format!("{schema}.{name}"));
        }
        relations.push(Relation {
            name: format!("{schema}.{name}"),
            from: format!("ONLY {}", qualified(schema, name)),
            pages: (has_pages == "t").then(|| number(main) / number(page).max(1)),
            size_bytes: own_bytes,
        });
    }
    let whole = |size_bytes| {
        vec![Relation {
            name: table.name.clone(),
            from: table.sql.clone(),
            pages: None,
            size_bytes,
        }]
    };
    if relations.is_empty() {
        // A partitioned table without partitions.
        return Ok((whole(0), None));
    }
    let note = unreadable.map(|name| {
        format!(
            "{} is read by one stream, because the user of the connection has no SELECT right on all of {name}: grant it to read in parallel",
            table.name
        )
    });
    if let (None, Some(hidden)) = (&note, hidden) {
        return Err(input_error(
            input,
            format!("row-level security applies to {hidden} for the user of the connection"),
            FIX_OF_ROW_SECURITY,
        ));
    }
    match note {
        Some(note) => Ok((whole(size_bytes), Some(note))),
        None => Ok((relations, None)),
    }
}
