//! Finds out whether rows can change without a write that the server's snapshot shows, because they are another
//! server's rows, or depend on the time. The state of such an input proves nothing.

use std::path::Path;

use inrush_pgclient::BlockingSession;
use inrush_pgclient::quote::literal;
use inrush_source::SourceError;

use crate::error::of_session;
use crate::explained::Explained;
use crate::read_relations::ReadRelations;
use crate::snapshot::{CATALOG_NAMES, USER_NAMES};

/// Functions of PostgreSQL that are STABLE only because they depend on the settings of a session, which are the same in
/// each run. The list also has names of types, because a plan contains texts such as `numeric(10,2)`.
const DEPEND_ON_SETTINGS: &[&str] = &[
    "array_to_json",
    "array_to_string",
    "concat",
    "concat_ws",
    "date",
    "date_part",
    "date_trunc",
    "extract",
    "format",
    "generate_series",
    "interval",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "json_populate_record",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "make_timestamptz",
    "money",
    "numeric",
    "pg_typeof",
    "quote_literal",
    "quote_nullable",
    "row_to_json",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "timezone",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
    "to_timestamp",
    "to_tsquery",
    "to_tsvector",
];

/// Words of a plan for the time of the transaction, which are written without a parenthesis.
const TIMES: [&str; 5] = [
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
];

/// Texts that the server replaces by the current time when it parses a statement, so that the plan has only the time.
const LITERALS_OF_TIME: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Why rows can change unseen, in words; `None` if each change is a write of this server. `select` reads them, and `written` is
/// the SQL that the user has written.
pub fn why(
    session: &mut BlockingSession,
    input: &Path,
    read: &ReadRelations,
    select: &str,
    written: Option<&str>,
) -> Result<Option<String>, SourceError> {
    if let Some(table) = &read.foreign {
        return Ok(Some(format!(
            "the rows of the foreign table {table} come from another server, which does not share the snapshot"
        )));
    }
    if let Some(sequence) = &read.sequence {
        return Ok(Some(format!(
            "the numbers of the sequence {sequence} are not part of a snapshot"
        )));
    }
    if written.is_none() && !read.has_views {
        return Ok(None);
    }
    if let Some(word) = written.and_then(literal_of_time) {
        return Ok(Some(format!("'{word}' is a different time in each run")));
    }
    let failed = |error| of_session(input, error);
    let doing = "asking whether rows depend on the time";
    session.query(USER_NAMES, doing).map_err(failed)?;
    let explained = Explained::of(session, input, select)?;
    session.query(CATALOG_NAMES, doing).map_err(failed)?;
    if let Some(word) = TIMES.iter().find(|word| explained.has_word(word)) {
        return Ok(Some(format!("{word} is a different time in each run")));
    }
    if explained.has_removed_partitions() {
        return Ok(Some(
            "the time of a run decides which partitions are read".to_owned(),
        ));
    }
    let called: Vec<String> = explained.called().map(literal).collect();
    if called.is_empty() {
        return Ok(None);
    }
    let known: Vec<String> = DEPEND_ON_SETTINGS
        .iter()
        .map(|name| literal(name))
        .collect();
    let sql = format!(
        "SELECT min(oid::pg_catalog.regproc::text) FROM pg_catalog.pg_proc \
         WHERE proname IN ({}) AND (provolatile = 'v' OR provolatile = 's' \
           AND NOT (pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND proname IN ({})))",
        called.join(", "),
        known.join(", ")
    );
    let found = session.query(&sql, "asking which functions are stable");
    let function = found.map_err(failed)?.first();
    Ok(function.map(|function| {
        format!("{function}() may return a different value in each run, as it is not IMMUTABLE")
    }))
}

/// A literal that begins with a word such as `now`.
fn literal_of_time(written: &str) -> Option<&'static str> {
    let lower = written.to_lowercase();
    LITERALS_OF_TIME.into_iter().find(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let before = lower[..at].trim_end();
            let after = &lower[at + word.len()..];
            before.ends_with('\'') && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_the_time_are_found() {
        assert_eq!(literal_of_time("at < 'NOW'"), Some("now"));
        assert_eq!(literal_of_time("at >= date ' today 10:00'"), Some("today"));
        for plain in [
            "now_or_never = 'x'",
            "v = 'nowhere'",
            "v = 'not now'",
            "today > 3",
        ] {
            assert_eq!(literal_of_time(plain), None, "{plain}");
        }
    }
}
