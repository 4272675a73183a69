//! Reads the catalog when a source is opened: relations, columns, the primary key, the range of an incremental load,
//! and the ranges of a key.

use std::path::Path;
use std::sync::Arc;

use inrush_pgclient::quote::identifier;
use inrush_pgclient::{BlockingSession, FieldDescription};
use inrush_rows::sql_text::{alone, in_parentheses, without_semicolon};
use inrush_source::{
    FoundRange, KeyRanges, RangesMark, SourceError, TableStructure, choose_columns, never_the_same,
};

use crate::columns::{self, Column};
use crate::database::Found;
use crate::error::{of_session, unsuitable};
use crate::explained::Explained;
use crate::keys::{self, KeyAsked};
use crate::relations::{self, ColumnFacts, Relation, Table};
use crate::since;
use crate::snapshot::{CATALOG_NAMES, USER_NAMES};
use crate::structure::{self, StructureAsked};
use crate::unseen_changes;
use crate::{Rows, Settings};

/// The facts that the catalog has about an input.
pub(crate) struct Looked {
    /// The relations that are read one by one.
    pub relations: Vec<Relation>,
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// The columns of the table's primary key, if all of them are read as values.
    pub primary_key: Vec<String>,
    /// The ranges of the key, if the rows are cut by one.
    pub keys: Option<Arc<KeyRanges>>,
    /// The borders of the ranges, without their snapshot, if each range is an input.
    pub ranges: Option<RangesMark>,
    /// The indexes and partitions that a new target gets from the table, if they are asked for.
    pub structure: Option<TableStructure>,
    /// Notes for the plan.
    pub notes: Vec<String>,
    /// The range of an incremental load.
    pub since: Option<FoundRange>,
    /// Conditions on the rows, each safe to be joined with others by AND.
    pub conditions: Vec<String>,
    /// Why the rows can change without a write that the snapshot shows; `None` if they cannot, or if they are declared
    /// stable.
    pub changes_unseen: Option<String>,
}

/// Looks at a table or a query that was found, in the transaction of the snapshot. `transactions` are the transactions
/// that the snapshot shows.
pub(crate) fn look(
    keeper: &mut BlockingSession,
    name: &Path,
    found: &Found,
    settings: &Settings,
    transactions: &str,
) -> Result<Looked, SourceError> {
    let (mut relations, notes) = match (&found.table, &settings.rows) {
        (Some(table), _) => {
            let (relations, note) = relations::relations_of(keeper, table)?;
            (relations, note.into_iter().collect())
        }
        (None, Rows::Query(query)) => (vec![of_query(without_semicolon(query))], Vec::new()),
        (None, Rows::Table { .. }) => (Vec::new(), Vec::new()),
    };
    let from = match &found.table {
        Some(table) => table.sql.clone(),
        None => relations
            .first()
            .map_or_else(String::new, |one| one.from.clone()),
    };
    let mut found_columns = columns_of(keeper, name, &from, found.table.as_ref(), settings)?;
    let columns = std::mem::take(&mut found_columns.read);
    let mut primary_key = match &found.table {
        Some(table) => relations::primary_key(keeper, table)?,
        None => Vec::new(),
    };
    let mut notes = notes;
    if let Some(table) = &found.table
        && !primary_key.is_empty()
        && relations::has_inheritors(keeper, table)?
    {
        notes.push(format!(
            "a new target gets no primary key: the primary key of {} does not cover the rows of its child tables",
            table.name
        ));
        primary_key.clear();
    }
    let is_read = |name: &String| {
        let column = columns.iter().find(|column| column.name == *name);
        column.is_some_and(|column| !column.is_text)
    };
    let mut key_left_out = None;
    if !primary_key.iter().all(is_read) {
        key_left_out = Some(format!(
            "the primary key ({}): not all of its columns are copied as they are",
            primary_key.join(", ")
        ));
        primary_key.clear();
    }
    let structure = match &found.table {
        Some(table) if settings.structure != StructureAsked::default() => {
            let mut found = structure::find(keeper, table, &columns, settings.structure)?;
            found.left_out.extend(key_left_out);
            Some(found)
        }
        _ => None,
    };
    let filter = settings.filter.as_deref();
    let changes_unseen = match settings.is_stable {
        true => None,
        false => {
            let list: Vec<String> = columns.iter().map(Column::expression).collect();
            let conditions: Vec<String> = filter.map(in_parentheses).into_iter().collect();
            let condition = where_clause(&conditions);
            let select = format!("SELECT {} FROM {from}{condition}", list.join(", "));
            let written = match &settings.rows {
                Rows::Query(query) => Some(format!("{query} {condition}")),
                Rows::Table { .. } => filter.map(str::to_owned),
            };
            unseen_changes::why(keeper, name, &found.read, &select, written.as_deref())?
        }
    };
    // Nothing proves that rows are where a stopped run has seen them.
    let unproven = changes_unseen.is_some().then(never_the_same);
    let transactions = unproven.as_deref().unwrap_or(transactions);
    let since = match (&settings.since, &found.bound) {
        (Some(asked), Some(bound)) => {
            let read = since::Read {
                table: found.table.as_ref(),
                relations: &found.read,
                from: &from,
                filter,
                input: name,
                transactions,
            };
            Some(since::find_range(
                keeper,
                asked,
                bound,
                &read,
                &mut relations,
            )?)
        }
        _ => None,
    };
    let range = since.as_ref().map(|found| found.condition.clone());
    let conditions: Vec<String> = filter
        .map(in_parentheses)
        .into_iter()
        .chain(range)
        .collect();
    let mut looked = Looked {
        relations,
        columns,
        primary_key,
        keys: None,
        ranges: None,
        structure,
        notes,
        since,
        conditions,
        changes_unseen,
    };
    let Some(column) = &settings.split_by else {
        return Ok(looked);
    };
    if let (Some(table), false) = (&found.read.foreign, settings.is_stable) {
        return Err(unsuitable(
            name,
            format!(
                "it reads the foreign table {table} with several sessions (`split_by`), and each session sees it at another moment: \
                 rows that change in between might be read twice or never"
            ),
            "leave `split_by` out; or set `stable = true` (--stable) if nobody writes to it during the load",
        ));
    }
    let failed = |error| of_session(name, error);
    keeper
        .query(USER_NAMES, "looking for the ranges of the key")
        .map_err(failed)?;
    let select = format!("SELECT * FROM {from}{}", where_clause(&looked.conditions));
    let explained = Explained::of_ranges(keeper, name, &select)?;
    explained.refuse_order(name)?;
    explained.refuse_volatile(keeper, name)?;
    let filter = (!looked.conditions.is_empty()).then(|| looked.conditions.join(" AND "));
    let asked = KeyAsked {
        input: name,
        column,
        from: &from,
        filter: filter.as_deref(),
        fields: &found_columns.all,
        not_null: found_columns.has_no_null(column),
        takes_nulls: settings.split_nulls,
    };
    let stored_bytes: u64 = looked.relations.iter().map(|one| one.size_bytes).sum();
    let size_bytes = match stored_bytes {
        0 => explained.bytes,
        stored => stored,
    };
    let (keys, borders) = match &settings.proven {
        Some(proven) => {
            let found = keys::find_lasting(keeper, &asked, &explained, size_bytes, proven)?;
            (found.0, Some(found.1))
        }
        None => (keys::find(keeper, &asked, &explained)?, None),
    };
    looked.relations = vec![Relation {
        name: name.display().to_string(),
        from,
        pages: None,
        // Each range has at least one byte.
        size_bytes: size_bytes.max(keys.count()),
    }];
    if found.table.is_none() {
        looked.notes.push(
            "the query is run once for each split: its rows must depend on the tables alone, not on random() or the time"
                .to_owned(),
        );
    }
    looked.keys = Some(Arc::new(keys));
    looked.ranges = borders;
    Ok(looked)
}

/// The rows of a query as a relation.
fn of_query(query: &str) -> Relation {
    Relation {
        name: "the query".to_owned(),
        from: format!("{} AS q", in_parentheses(query)),
        pages: None,
        size_bytes: 0,
    }
}

/// The columns of an input.
struct FoundColumns {
    /// The columns to read, with their types.
    read: Vec<Column>,
    /// All columns.
    all: Vec<FieldDescription>,
    /// The columns of the table in the catalog; none for a query.
    of_table: Vec<ColumnFacts>,
}

impl FoundColumns {
    /// True if the catalog says that a column has no NULL.
    fn has_no_null(&self, name: &str) -> bool {
        let mut known = self.of_table.iter();
        known.any(|column| column.name == *name && column.not_null)
    }
}

/// The columns to read, with their types, and all others.
fn columns_of(
    keeper: &mut BlockingSession,
    name: &Path,
    from: &str,
    table: Option<&Table>,
    settings: &Settings,
) -> Result<FoundColumns, SourceError> {
    let failed = |error| of_session(name, error);
    let doing = format!("asking for the columns of {}", name.display());
    // Names in the query mean what they mean in the user's own sessions. No other statement runs in between.
    keeper.query(USER_NAMES, &doing).map_err(failed)?;
    if let Some(filter) = &settings.filter {
        parse_condition(keeper, name, from, filter)?;
    }
    let describe = |keeper: &mut BlockingSession, list: &str| {
        let sql = format!("SELECT {list} FROM {from} LIMIT 0");
        keeper.query(&sql, &doing).map_err(failed)
    };
    let all = describe(keeper, "*")?;
    let mut names: Vec<String> = Vec::with_capacity(all.fields.len());
    for field in &all.fields {
        if names.contains(&field.name) {
            return Err(unsuitable(
                name,
                format!("two of its columns are called {}", identifier(&field.name)),
                "give each column of the query a name of its own (AS)",
            ));
        }
        names.push(field.name.clone());
    }
    let chosen = choose_columns(name, &names, &settings.columns)?;
    let field = |(chosen, _): &(String, bool)| {
        all.fields
            .iter()
            .find(|field| field.name == *chosen)
            .cloned()
    };
    let fields: Vec<_> = chosen.iter().filter_map(field).collect();
    keeper.query(CATALOG_NAMES, &doing).map_err(failed)?;
    let of_table = match table {
        Some(table) => relations::columns_of(keeper, table)?,
        None => Vec::new(),
    };
    let columns = columns::resolve(keeper, name, &chosen, &of_table, &fields)?;
    Ok(FoundColumns {
        read: columns,
        all: all.fields,
        of_table,
    })
}

/// Refuses a text that is not one condition.
///
/// The server parses the text twice: in parentheses, where only a condition is valid, and without them, where a closing
/// parenthesis without a partner is an error. Otherwise `a) OR (b` would change the meaning of the conditions that are
/// joined to it.
pub fn parse_condition(
    session: &mut BlockingSession,
    input: &Path,
    from: &str,
    filter: &str,
) -> Result<(), SourceError> {
    for condition in [in_parentheses(filter), alone(filter)] {
        session
            .parse(
                &format!("SELECT FROM {from} WHERE {condition}"),
                "parsing the condition `where`",
            )
            .map_err(|error| of_session(input, error))?;
    }
    Ok(())
}

/// WHERE and the conditions, or nothing.
pub fn where_clause(conditions: &[String]) -> String {
    match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    }
}
