//! Reasons against SWITCH that are properties of the target. The server compares the target with the staging table,
//! which lacks these properties. The reasons are found while planning, so that the rows are copied and no load fails at
//! its end.
//!
//! Each reason has the number of the error with which ALTER TABLE ... SWITCH would fail.

use inrush_destination::Result;

use crate::catalog;
use crate::connection::SqlSession;
use crate::sql;

const DOING: &str = "cannot find out whether rows can be switched into a table";

/// Properties of a table. Each entry has a condition on the table's row in `sys.tables`, and the reason against SWITCH.
const OF_TABLE: [(&str, &str); 4] = [
    ("temporal_type <> 0", "it is a temporal table"),
    // 4941, and the errors of transactional replication and change data capture.
    (
        catalog::IS_REPLICATED,
        "it is replicated, or its changes are captured",
    ),
    // 4993.
    (
        "large_value_types_out_of_row = 1",
        "it has the option 'large value types out of row'",
    ),
    // 4954.
    ("text_in_row_limit <> 0", "it has the option 'text in row'"),
];

/// Views that some servers lack. Each entry has the view, and the reason against SWITCH if the view has a row for the
/// table.
const OF_OPTIONAL_VIEWS: [(&str, &str); 2] = [
    // 4900.
    (
        "sys.change_tracking_tables",
        "its changes are tracked (CHANGE_TRACKING)",
    ),
    // 4918.
    ("sys.fulltext_indexes", "it has a full-text index"),
];

/// The reason against SWITCH, in words that follow "because"; `None` if there is none here.
pub fn find(session: &mut SqlSession, table: &str) -> Result<Option<String>> {
    let of_table = of_table(session, table)?;
    match of_table {
        Some(reason) => Ok(Some(reason)),
        None => of_columns(session, table),
    }
}

fn of_table(session: &mut SqlSession, table: &str) -> Result<Option<String>> {
    let object = sql::text(table);
    let mut questions = vec![
        (
            format!("sys.triggers WHERE parent_id = OBJECT_ID({object}) AND is_disabled = 0"),
            "it has triggers, which a switch does not run",
        ),
        // 4968.
        (
            format!("sys.foreign_keys WHERE parent_object_id = OBJECT_ID({object})"),
            "it has foreign keys",
        ),
        (
            catalog::bound_views(&object),
            "a view with SCHEMABINDING reads it",
        ),
    ];
    for (condition, reason) in OF_TABLE {
        let question =
            format!("sys.tables WHERE object_id = OBJECT_ID({object}) AND ({condition})");
        questions.push((question, reason));
    }
    for (view, reason) in views_that_exist(session)? {
        questions.push((
            format!("{view} WHERE object_id = OBJECT_ID({object})"),
            reason,
        ));
    }
    let counts = questions.iter();
    let counts = counts.map(|(rows, _)| format!("(SELECT COUNT_BIG(*) FROM {rows})"));
    let question = format!("SELECT {}", counts.collect::<Vec<_>>().join(", "));
    let counts = session.rows(DOING, &question)?;
    let counts = counts.into_iter().next().unwrap_or_default();
    let is_any = |count: &Option<String>| count.as_deref().is_some_and(|count| count != "0");
    let mut found = counts.iter().zip(&questions);
    let found = found.find(|(count, _)| is_any(count));
    Ok(found.map(|(_, (_, reason))| (*reason).to_owned()))
}

/// The optional views that this server has.
fn views_that_exist(session: &mut SqlSession) -> Result<Vec<(&'static str, &'static str)>> {
    let ids = OF_OPTIONAL_VIEWS.map(|(view, _)| format!("OBJECT_ID({})", sql::text(view)));
    let found = session.rows(DOING, &format!("SELECT {}", ids.join(", ")))?;
    let found = found.into_iter().next().unwrap_or_default();
    let pairs = OF_OPTIONAL_VIEWS.into_iter().zip(found);
    Ok(pairs
        .filter(|(_, id)| id.is_some())
        .map(|(view, _)| view)
        .collect())
}

fn of_columns(session: &mut SqlSession, table: &str) -> Result<Option<String>> {
    let question = format!(
        "SELECT c.name, TYPE_NAME(c.system_type_id), c.is_rowguidcol, c.is_filestream, c.is_ansi_padded, c.xml_collection_id, \
         c.rule_object_id FROM sys.columns c WHERE c.object_id = OBJECT_ID({}) ORDER BY c.column_id",
        sql::text(table)
    );
    let columns = session.rows(DOING, &question)?;
    Ok(columns.into_iter().find_map(|row| {
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let is = |at: usize| !matches!(text(at), "" | "0");
        // Types without a length have no such property: the catalog says 0 for them, too.
        let can_be_padded = matches!(text(1), "char" | "varchar" | "binary" | "varbinary");
        let reason = if is(2) {
            // 4958.
            "is the ROWGUIDCOL"
        } else if is(3) {
            // 4951.
            "is stored as FILESTREAM"
        } else if can_be_padded && !is(4) {
            // 4952.
            "was made with ANSI_PADDING OFF"
        } else if is(5) {
            // 4987.
            "has an XML schema collection"
        } else if is(6) {
            // 4964.
            "has a rule (sp_bindrule)"
        } else {
            return None;
        };
        Some(format!("column {} {reason}", text(0)))
    }))
}
