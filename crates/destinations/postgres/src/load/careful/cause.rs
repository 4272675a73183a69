//! The cause of a server's refusal of a row: a stable code, the column that caused it, and a text for the person who
//! fixes the row.

use inrush_rows::reject::RejectCode;

use crate::RefusalFacts;
use crate::staging::BOUNDS_CHECK;

/// The cause of a refusal, for a reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCause {
    /// The stable name of the cause.
    pub code: RejectCode,
    /// The column that caused it, if there is one.
    pub column: Option<String>,
    /// What is wrong, and the fix.
    pub reason: String,
}

/// The facts about the table that the row was sent to.
#[derive(Clone, Copy, Debug)]
pub struct RefusedTable<'a> {
    /// The table's name, as the server reports it.
    pub table: &'a str,
    /// The target's name, which replaces it in messages.
    pub target: &'a str,
    /// The flow's columns.
    pub columns: &'a [String],
    /// The definition of the violated constraint, if it was looked up.
    pub definition: Option<&'a str>,
}

/// The cause of a refusal.
pub fn cause(facts: &RefusalFacts, place: &RefusedTable<'_>) -> RefusalCause {
    let names = || place.columns.iter().map(String::as_str);
    let column = facts
        .column
        .as_deref()
        .filter(|column| names().any(|name| name == *column))
        .or_else(|| facts.copy_column(place.table, names()))
        .map(str::to_owned);
    let (code, reason) = match facts.code.as_str() {
        "23514" => check(facts, place),
        "23505" => (
            RejectCode::DuplicateKey,
            format!(
                "an earlier row of the files has the same key, or the target had it before {}; the \
                 first row is loaded. Remove this row, or fix its key",
                in_brackets(facts, place)
            ),
        ),
        "23P01" => (
            RejectCode::ExclusionViolated,
            format!(
                "it conflicts with an earlier row of the files, or with a row that was in the \
                 target before {}; the first row is loaded. Remove this row, or fix it",
                in_brackets(facts, place)
            ),
        ),
        "23503" => (
            RejectCode::ForeignKeyMissing,
            format!(
                "it refers to a row that does not exist {}; load the table that it refers to \
                 first, or fix the row",
                in_brackets(facts, place)
            ),
        ),
        "23502" => (
            RejectCode::NullNotAllowed,
            match &facts.data_type {
                Some(domain) => {
                    format!("the value is NULL, but the domain {domain} allows no NULL")
                }
                None => format!(
                    "the value is NULL, but NULL is not allowed ({})",
                    said(facts, place)
                ),
            },
        ),
        "54001" => (
            RejectCode::TooLarge,
            format!(
                "a value, such as JSON, is nested deeper than the server reads: {}",
                said(facts, place)
            ),
        ),
        code if code.starts_with("54") => (
            RejectCode::TooLarge,
            format!(
                "the row, or its entry in an index, is larger than the server can store: {}",
                said(facts, place)
            ),
        ),
        code if code.starts_with("22") || code.starts_with("23") => (
            RejectCode::ValueRefused,
            format!(
                "the server refuses the value: {}{}",
                said(facts, place),
                match code {
                    "22P05" => {
                        "; use the type json (not jsonb) or bytea, which can store it, or fix the value"
                    }
                    _ => "",
                }
            ),
        ),
        _ => (
            RejectCode::Raised,
            format!(
                "a trigger or function of the target refuses the row: {}",
                said(facts, place)
            ),
        ),
    };
    RefusalCause {
        code,
        column,
        reason,
    }
}

fn check(facts: &RefusalFacts, place: &RefusedTable<'_>) -> (RejectCode, String) {
    match (&facts.constraint, &facts.data_type) {
        (Some(name), None) if name == BOUNDS_CHECK => (
            RejectCode::OutsidePartition,
            "its key is outside the partition that its file or range is loaded into; each file or \
             range must lie within one partition: cut the files by the key, split a table by it, or declare wider \
             `bounds`"
                .to_owned(),
        ),
        // The server names no constraint for the bounds of a partition.
        (None, None) => (
            RejectCode::OutsidePartition,
            format!("it fits no partition: {}", said(facts, place)),
        ),
        (_, Some(_)) => (
            RejectCode::CheckViolated,
            format!("the server refuses the value: {}", said(facts, place)),
        ),
        (Some(name), None) => (
            RejectCode::CheckViolated,
            match place.definition {
                Some(definition) => format!(
                    "it breaks the constraint \"{name}\" of the target, {definition}; fix the \
                     row or the constraint"
                ),
                None => format!(
                    "it breaks the constraint \"{name}\" of the target; fix the row or the \
                     constraint"
                ),
            },
        ),
    }
}

/// The detail, such as `Key (id)=(5) already exists.`, and the definition of the constraint.
fn in_brackets(facts: &RefusalFacts, place: &RefusedTable<'_>) -> String {
    let detail = facts.detail.as_deref().unwrap_or(&facts.message);
    let detail = renamed(detail, place);
    let detail = detail.trim_end_matches('.');
    match (place.definition, &facts.constraint) {
        (Some(definition), _) => format!("({detail}; {definition})"),
        (None, Some(constraint)) => format!("({detail}; constraint \"{constraint}\")"),
        (None, None) => format!("({detail})"),
    }
}

/// The server's texts: message, detail and hint.
fn said(facts: &RefusalFacts, place: &RefusedTable<'_>) -> String {
    let mut text = renamed(&facts.message, place);
    // PostgreSQL's detail shows the whole row, which the reject has already.
    let is_row = matches!(facts.code.as_str(), "23502" | "23514") && facts.constraint.is_some();
    if let (Some(detail), false) = (&facts.detail, is_row || facts.code == "23502") {
        text.push_str("; ");
        text.push_str(renamed(detail, place).trim_end_matches('.'));
    }
    if let Some(hint) = &facts.hint {
        text.push_str(" (");
        text.push_str(hint);
        text.push(')');
    }
    text
}

/// Replaces the staging table's name, which means nothing to the reader of a reject.
fn renamed(text: &str, place: &RefusedTable<'_>) -> String {
    text.replace(
        &format!("\"{}\"", place.table),
        &format!("\"{}\"", place.target),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(facts: RefusalFacts, definition: Option<&str>) -> (RejectCode, Option<String>, String) {
        let columns = ["id".to_owned(), "doc".to_owned()];
        let place = RefusedTable {
            table: "t_0123",
            target: "t",
            columns: &columns,
            definition,
        };
        let cause = cause(&facts, &place);
        (cause.code, cause.column, cause.reason)
    }

    #[test]
    fn causes_are_told_in_words_of_the_target() {
        let text = |text: &str| Some(text.to_owned());
        let facts = RefusalFacts {
            code: "23514".to_owned(),
            message: "new row for relation \"t_0123\" violates check constraint \"positive\""
                .to_owned(),
            detail: text("Failing row contains (1, -5)."),
            constraint: text("positive"),
            context: text("COPY t_0123, line 4"),
            ..RefusalFacts::default()
        };
        let (code, column, reason) = told(facts.clone(), Some("CHECK ((id > 0))"));
        assert_eq!((code, column), (RejectCode::CheckViolated, None));
        assert!(
            reason.contains("\"positive\" of the target, CHECK ((id > 0))"),
            "{reason}"
        );
        let bounds = RefusalFacts {
            constraint: text(BOUNDS_CHECK),
            ..facts.clone()
        };
        assert_eq!(told(bounds, None).0, RejectCode::OutsidePartition);

        let facts = RefusalFacts {
            code: "22P02".to_owned(),
            message: "invalid input syntax for type json".to_owned(),
            detail: text("Token \"x\" is invalid."),
            context: text("JSON data, line 1: x\nCOPY t_0123, line 4, column doc"),
            ..RefusalFacts::default()
        };
        let (code, column, reason) = told(facts, None);
        assert_eq!((code, column), (RejectCode::ValueRefused, text("doc")));
        assert!(
            reason.ends_with("type json; Token \"x\" is invalid"),
            "{reason}"
        );

        let facts = RefusalFacts {
            code: "23505".to_owned(),
            message: "duplicate key value violates unique constraint \"t_0123_pkey\"".to_owned(),
            detail: text("Key (id)=(5) already exists."),
            constraint: text("t_0123_pkey"),
            ..RefusalFacts::default()
        };
        let (code, _, reason) = told(facts, Some("PRIMARY KEY (id)"));
        assert_eq!(code, RejectCode::DuplicateKey);
        assert!(
            reason.contains("(Key (id)=(5) already exists; PRIMARY KEY (id))"),
            "{reason}"
        );
    }
}
