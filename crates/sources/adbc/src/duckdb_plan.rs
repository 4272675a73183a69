//! Finds out from DuckDB's plan of a query whether the query returns the same rows when it is run again.

use std::path::Path;

use adbc_core::error::Result as AdbcResult;
use inrush_source::{SourceError, chosen_rows};

use crate::columns::literal;
use crate::error::Refused;
use crate::session::Session;
use crate::{Rows, Settings};

/// The operators without inputs whose rows come from the database's file or from the query itself.
const OF_THE_FILE: &str = "'SEQ_SCAN', 'INDEX_SCAN', 'TABLE_SCAN', 'COLUMN_DATA_SCAN', 'DUMMY_SCAN', 'EMPTY_RESULT', 'CTE_SCAN', \
    'REC_CTE_SCAN', 'DELIM_SCAN', 'EXPRESSION_SCAN', 'RANGE', 'GENERATE_SERIES', 'UNNEST'";

/// Functions of the time that are called without parentheses.
const TIMES: [&str; 5] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
];

/// The reason, in words, why the rows can change although the database's file does not: they are read from other files,
/// or they depend on the time. `None` if they cannot change.
pub fn why_changes_unseen(
    session: &mut Session,
    from: &str,
    settings: &Settings,
    refused: Refused<'_>,
) -> Result<Option<String>, SourceError> {
    let doing = "asking for the plan of the query";
    let failed = |error: &_| refused(doing, error);
    // The optimizer would put constants in place of some operators, such as the number of rows of a file or the current
    // time.
    session
        .run("PRAGMA disable_optimizer")
        .map_err(|error| failed(&error))?;
    let plan = plan_of(session, from);
    session
        .run("PRAGMA enable_optimizer")
        .map_err(|error| failed(&error))?;
    let plan = plan.map_err(|error| failed(&error))?;
    let mut ask = |sql: &str| session.rows(sql).map_err(|error| failed(&error));
    let other = ask(&format!(
        "SELECT min(trim(value->>'name')) FROM json_tree({}) WHERE type = 'OBJECT' \
         AND json_array_length(value->'children') = 0 AND trim(value->>'name') NOT IN ({OF_THE_FILE})",
        literal(&plan)
    ))?;
    if let Some(operator) = other.into_iter().flatten().flatten().next() {
        return Ok(Some(format!(
            "its rows are not only those of the database's file ({operator})"
        )));
    }
    let rows = &settings.rows;
    let hidden = ask(
        "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL \
         SELECT function_name, macro_definition FROM duckdb_functions() \
         WHERE function_type IN ('macro', 'table_macro') AND NOT internal",
    )?;
    let mut written = match rows {
        Rows::Query(query) => query.clone(),
        Rows::Table { .. } => String::new(),
    };
    if let Some(filter) = &settings.filter {
        written.push_str(filter);
    }
    let text = with_views(rows, format!("{plan}\n{written}"), hidden);
    if let Some(word) = TIMES.iter().find(|word| has_word(&text, word)) {
        return Ok(Some(format!("{word} is a different time in each run")));
    }
    let functions = ask(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() \
         WHERE function_type = 'scalar' AND stability <> 'CONSISTENT' ORDER BY 1",
    )?;
    let mut functions = functions.into_iter().flatten().flatten();
    Ok(functions
        .find(|name| calls(&text, name))
        .map(|name| format!("{name}() may return a different value in each run")))
}

/// Refuses a query whose rows may differ when it is run again: with a LIMIT, a sample, or functions such as random().
/// DuckDB's plan has the operators and the conditions, but only the names of computed columns. So the functions of the
/// query and of the views that it names are checked, too. `setting` is the setting that needs the same rows each time.
pub fn refuse_chosen_rows(
    session: &mut Session,
    input: &Path,
    from: &str,
    rows: &Rows,
    setting: &str,
    refused: Refused<'_>,
) -> Result<(), SourceError> {
    let doing = "asking for the plan of the query";
    let parts = explained(session, from).map_err(|error| refused(doing, &error))?;
    let mut called = String::new();
    for (key, text) in parts {
        let is_operator = |word: &str| key == "name" && text.split('_').any(|own| own == word);
        if is_operator("LIMIT") || is_operator("TOP") {
            return Err(chosen_rows(input, "a LIMIT", setting));
        }
        if is_operator("SAMPLE") || key == "Sample Method" {
            return Err(chosen_rows(input, "a sample", setting));
        }
        called.push_str(&text.to_lowercase());
        called.push('\n');
    }
    let mut ask = |sql: &str| {
        let rows = session.rows(sql);
        rows.map_err(|error| refused(doing, &error))
    };
    let functions = ask(
        "SELECT DISTINCT function_name, stability FROM duckdb_functions() \
         WHERE function_type = 'scalar' AND stability <> 'CONSISTENT'",
    )?;
    let written = match rows {
        Rows::Query(query) => ask(&format!(
            "SELECT DISTINCT (value->>'$') || '(' FROM json_tree(json_serialize_sql({})) WHERE key = 'function_name'",
            literal(query)
        ))?,
        Rows::Table { .. } => Vec::new(),
    };
    let written: Vec<String> = written.into_iter().flatten().flatten().collect();
    let views = ask("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal")?;
    let written = with_views(rows, written.join("\n"), views);
    for function in functions {
        let mut function = function.into_iter().map(Option::unwrap_or_default);
        let name = function.next().unwrap_or_default().to_lowercase();
        let is_volatile = function.next().as_deref() == Some("VOLATILE");
        if calls(&called, &name) || (is_volatile && calls(&written, &name)) {
            let what = format!("the function {name}()");
            return Err(chosen_rows(input, &what, setting));
        }
    }
    Ok(())
}

/// The texts of the plan of a query, each with its key. The texts of an operator come after the texts of its inputs.
pub fn explained(session: &mut Session, from: &str) -> AdbcResult<Vec<(String, String)>> {
    let plan = plan_of(session, from)?;
    let parts = session.rows(&format!(
        "SELECT key, value->>'$' FROM json_tree({}) WHERE type = 'VARCHAR' ORDER BY id",
        literal(&plan)
    ))?;
    let parts = parts.into_iter().map(|part| {
        let mut part = part.into_iter().map(Option::unwrap_or_default);
        (
            part.next().unwrap_or_default(),
            part.next().unwrap_or_default(),
        )
    });
    Ok(parts.collect())
}

/// The plan of a query, in JSON.
fn plan_of(session: &mut Session, from: &str) -> AdbcResult<String> {
    let plan = session.rows(&format!("EXPLAIN (FORMAT json) SELECT * FROM {from}"))?;
    Ok(plan
        .into_iter()
        .filter_map(|row| row.into_iter().nth(1)?)
        .collect())
}

/// Adds to a text the definitions of all views whose names occur in the query or in another view that is added. The
/// result is in lower case.
fn with_views(rows: &Rows, functions: String, views: Vec<Vec<Option<String>>>) -> String {
    let mut views: Vec<(String, String)> = views
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter().flatten();
            Some((row.next()?.to_lowercase(), row.next()?.to_lowercase()))
        })
        .collect();
    let mut names = match rows {
        Rows::Table { name, .. } => name.to_lowercase(),
        Rows::Query(query) => query.to_lowercase(),
    };
    let mut text = functions.to_lowercase();
    while let Some(at) = views.iter().position(|(name, _)| has_word(&names, name)) {
        let (_, sql) = views.swap_remove(at);
        names.push_str(&sql);
        text.push('\n');
        text.push_str(&sql);
    }
    text
}

/// True if a text calls a function; both are in lower case.
fn calls(text: &str, name: &str) -> bool {
    let call = format!("{name}(");
    let mut found = text.match_indices(&call);
    found.any(|(at, _)| !text[..at].ends_with(is_of_word))
}

/// True if a text has a word.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_of_word) && !text[at + word.len()..].starts_with(is_of_word)
    })
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
