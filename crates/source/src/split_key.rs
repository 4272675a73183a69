//! Refuses keys that cannot split a table or a query (`split_by`), with the same messages for every database.

use std::path::Path;

use inrush_rows::sql_text::identifier;

use crate::error::{SourceError, input_error};

/// Refuses a name that no column has. `setting` is the setting with the name.
pub fn refuse_unknown_key(
    input: &Path,
    column: &str,
    names: &[String],
    setting: &str,
) -> Result<(), SourceError> {
    if names.iter().any(|name| name == column) {
        return Ok(());
    }
    let names: Vec<String> = names.iter().map(|name| identifier(name)).collect();
    Err(input_error(
        input,
        format!(
            "it has no column {}, which `{setting}` names",
            identifier(column)
        ),
        format!("its columns are {}", names.join(", ")),
    ))
}

/// The refusal of a key that is NULL in a row.
pub fn null_key(input: &Path, column: &str) -> SourceError {
    input_error(
        input,
        format!(
            "the column {}, which `split_by` names, is NULL in at least one row: such a row is in no range of the key",
            identifier(column)
        ),
        "name a column without NULL, or set `split_nulls = true` (--split-nulls): these rows are then read with the first range",
    )
}

/// The refusal of a query that may return different rows for each range. `setting` is the setting that needs the same
/// rows.
pub fn chosen_rows(input: &Path, what: &str, setting: &str) -> SourceError {
    input_error(
        input,
        format!(
            "it has {what}; `{setting}` runs it once for each range, and each run could return other rows"
        ),
        format!("leave `{setting}` out, or write the limit as a condition (WHERE id < ...)"),
    )
}

/// A word of a query that makes its rows depend on more than the tables. It is for databases whose plans cannot be
/// read.
pub fn unsteady_word(query: &str) -> Option<&'static str> {
    const WORDS: [&str; 12] = [
        "LIMIT",
        "FETCH",
        "TOP",
        "SAMPLE",
        "TABLESAMPLE",
        "RANDOM",
        "RAND",
        "UUID",
        "NEWID",
        "NEWSEQUENTIALID",
        "UUID_STRING",
        "GEN_RANDOM_UUID",
    ];
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = query.split(|c: char| !is_part(c));
    let upper = words.map(str::to_uppercase);
    upper
        .into_iter()
        .find_map(|word| WORDS.into_iter().find(|known| *known == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_found_as_words() {
        assert_eq!(unsteady_word("SELECT a FROM t limit 3"), Some("LIMIT"));
        assert_eq!(unsteady_word("SELECT rand() FROM t"), Some("RAND"));
        assert_eq!(unsteady_word("SELECT limits, brand FROM t_top"), None);
    }

    #[test]
    fn a_key_is_one_of_the_columns() {
        let names = ["id".to_owned()];
        assert!(refuse_unknown_key(Path::new("t"), "id", &names, "split_by").is_ok());
        let error =
            refuse_unknown_key(Path::new("t"), "ID", &names, "split_by").expect_err("another name");
        assert!(error.to_string().contains("no column \"ID\""), "{error}");
    }
}
