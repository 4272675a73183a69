//! Lists the tables of a database: for patterns of names, and for messages about a table that does not exist.

use std::path::Path;

use inrush_pgclient::quote::literal;
use inrush_pgclient::{BlockingSession, DatabaseAddress};
use inrush_rows::cancel::Stop;
use inrush_rows::sql_text::quoted_where_needed;
use inrush_rows::suggest::suggestion;
use inrush_source::SourceError;

use crate::error::{input_error, of_session};
use crate::snapshot::open_keeper;

/// The most tables that a message names.
const SHOWN_MAX: usize = 10;
/// The most tables that a pattern may match.
const TABLES_MAX: usize = 1_000_000;
/// The most tables in which a similar name is looked for.
const SEARCHED_MAX: usize = 10_000;

/// A pattern of the names of tables: `sales.*`. In a part without quotes, `*` matches any characters and `?` one
/// character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePattern {
    text: String,
    /// The pattern of the schema for LIKE; `None` means the tables of the search path.
    schema: Option<String>,
    name: String,
}

impl TablePattern {
    /// Reads a name that has `*` or `?` outside of quotes; `None` if it has none, so that it names one table.
    pub fn read(text: &str) -> Option<TablePattern> {
        let mut parts = vec![String::new()];
        let (mut is_quoted, mut is_pattern) = (false, false);
        let mut characters = text.trim().chars().peekable();
        while let Some(c) = characters.next() {
            let part = parts.last_mut()?;
            match c {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    part.push('"');
                }
                '"' => is_quoted = !is_quoted,
                '.' if !is_quoted => parts.push(String::new()),
                '*' | '?' if !is_quoted => {
                    is_pattern = true;
                    part.push(if c == '*' { '%' } else { '_' });
                }
                '%' | '_' | '\\' => part.extend(['\\', c]),
                _ if is_quoted => part.push(c),
                _ => part.push(c.to_ascii_lowercase()),
            }
        }
        let name = parts.pop()?;
        // A name with more parts than schema and table is a mistake, which is reported when the name is read.
        (is_pattern && parts.len() < 2).then(|| TablePattern {
            text: text.to_owned(),
            schema: parts.pop(),
            name,
        })
    }
}

/// Schema and name of the tables that each pattern matches, in the order of the patterns and of the names, each table
/// once. Partitions, views, tables without columns, and the tables in the schemas of the server and in the schemas
/// `without` are left out. A pattern that matches nothing is refused.
pub fn tables_like(
    address: &DatabaseAddress,
    patterns: &[TablePattern],
    without: &[&str],
    stop: &Stop,
) -> Result<Vec<(String, String)>, SourceError> {
    let place = address.describe();
    let failed = |error| of_session(Path::new(&place), error);
    let mut session = open_keeper(address, stop).map_err(failed)?;
    let mut found: Vec<(String, String)> = Vec::new();
    for pattern in patterns {
        let schema = match &pattern.schema {
            Some(schema) => format!("n.nspname LIKE {}", literal(schema)),
            None => "pg_catalog.pg_table_is_visible(c.oid)".to_owned(),
        };
        let condition = format!("c.relname LIKE {} AND {schema}", literal(&pattern.name));
        let tables = list(&mut session, &condition, without, TABLES_MAX).map_err(failed)?;
        if tables.is_empty() {
            let all = list(&mut session, "true", without, SEARCHED_MAX).map_err(failed)?;
            return Err(input_error(
                Path::new(&pattern.text),
                format!("no table of {place} matches this pattern"),
                there_is(&all),
            ));
        }
        for table in tables {
            if !found.contains(&table) {
                found.push(table);
            }
        }
    }
    Ok(found)
}

/// Advice on what to write in place of a name that the database does not have. If the search fails, there is no advice.
pub fn instead_of(session: &mut BlockingSession, schema: Option<&str>, name: &str) -> String {
    const FORM: &str = "name an existing table, with its schema (sales.orders); names without double quotes are read \
                        in lower case";
    let Ok(all) = list(session, "true", &[], SEARCHED_MAX) else {
        return FORM.to_owned();
    };
    let of_name = all.iter().filter(|(_, other)| other == name);
    let same: Vec<(String, String)> = of_name.cloned().collect();
    if !same.is_empty() {
        return format!("is {} meant?", shown(&same));
    }
    let names = all
        .iter()
        .filter(|(other, _)| schema.is_none_or(|schema| schema == other));
    match suggestion(name, names.map(|(_, name)| name.as_str())) {
        Some(near) => {
            let near: Vec<(String, String)> =
                all.into_iter().filter(|(_, it)| *it == near).collect();
            format!("is {} meant?", shown(&near))
        }
        None => FORM.to_owned(),
    }
}

fn list(
    session: &mut BlockingSession,
    condition: &str,
    without: &[&str],
    count_max: usize,
) -> Result<Vec<(String, String)>, inrush_pgclient::SessionError> {
    let without: Vec<String> = without.iter().map(|schema| literal(schema)).collect();
    let without = match without.is_empty() {
        true => String::new(),
        false => format!("AND n.nspname NOT IN ({})", without.join(", ")),
    };
    let found = session.query(
        &format!(
            "SET search_path = DEFAULT; \
             SELECT n.nspname, c.relname FROM pg_catalog.pg_class AS c \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p') \
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = c.oid) \
               AND EXISTS (SELECT FROM pg_catalog.pg_attribute AS a \
                           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) \
               AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' {without} AND {condition} \
             ORDER BY 1, 2 LIMIT {count_max}; \
             SET search_path = pg_catalog"
        ),
        "looking for tables",
    )?;
    let row = |row: Vec<Option<String>>| match <[Option<String>; 2]>::try_from(row) {
        Ok([Some(schema), Some(name)]) => Some((schema, name)),
        _ => None,
    };
    Ok(found.rows.into_iter().filter_map(row).collect())
}

/// Words for the tables that a database has, for a user who looks for one.
fn there_is(tables: &[(String, String)]) -> String {
    match tables.is_empty() {
        true => "the database has no tables: is it the right one?".to_owned(),
        false => format!("it has {}", shown(tables)),
    }
}

fn shown(tables: &[(String, String)]) -> String {
    let names = tables.iter().take(SHOWN_MAX);
    let names: Vec<String> = names
        .map(|(schema, name)| {
            let (schema, name) = (quoted_where_needed(schema), quoted_where_needed(name));
            format!("{schema}.{name}")
        })
        .collect();
    match tables.len().saturating_sub(SHOWN_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_lists_can_be_copied() {
        let tables = [("sales", "orders"), ("sales", "Odd one"), ("1st", "a\"b")];
        let tables = tables.map(|(schema, name)| (schema.to_owned(), name.to_owned()));
        assert_eq!(
            shown(&tables),
            r#"sales.orders, sales."Odd one", "1st"."a""b""#
        );
    }

    #[test]
    fn patterns_are_told_from_names() {
        let read =
            |text: &str| TablePattern::read(text).map(|pattern| (pattern.schema, pattern.name));
        let of =
            |schema: Option<&str>, name: &str| Some((schema.map(str::to_owned), name.to_owned()));
        assert_eq!(read("Sales.*"), of(Some("sales"), "%"));
        assert_eq!(read("ord?r_*"), of(None, "ord_r\\_%"));
        assert_eq!(read("\"A.b\"\"%\".x*"), of(Some("A.b\"\\%"), "x%"));
        for name in ["sales.orders", "\"odd*\"", "s.\"?\"", "", "a.b.*"] {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
