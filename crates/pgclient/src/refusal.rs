//! A server's refusal of a row, and which refusals are caused by the row itself.

use tokio_postgres::error::{DbError, SqlState};

use super::quote::qualified;

/// A refusal with all fields of the server's message, so that the refused row can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalFacts {
    /// SQLSTATE.
    pub code: String,
    /// The message alone.
    pub message: String,
    /// Its detail, such as the key that already exists.
    pub detail: Option<String>,
    /// The server's own hint.
    pub hint: Option<String>,
    /// The table that refused, as SQL names it; it may be a partition of the table to which the row was sent.
    pub table: Option<String>,
    /// The constraint that the row breaks.
    pub constraint: Option<String>,
    /// The column with the error.
    pub column: Option<String>,
    /// The domain that refused the value.
    pub data_type: Option<String>,
    /// The server's CONTEXT, unchanged.
    pub context: Option<String>,
    /// The function of the server's own code that refused. Unlike the message, it is not translated.
    pub routine: Option<String>,
}

impl From<&DbError> for RefusalFacts {
    fn from(error: &DbError) -> RefusalFacts {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        RefusalFacts {
            code: error.code().code().to_owned(),
            message: error.message().to_owned(),
            detail: owned(error.detail()),
            hint: owned(error.hint()),
            table: error
                .schema()
                .zip(error.table())
                .map(|(schema, table)| qualified(schema, table)),
            constraint: owned(error.constraint()),
            column: owned(error.column()),
            data_type: owned(error.datatype()),
            context: owned(error.where_()),
            routine: owned(error.routine()),
        }
    }
}

/// Classes of SQLSTATE that PostgreSQL itself uses. If a trigger or a function raises a code of another class, it
/// refuses the row.
const KNOWN_CLASSES: &[&str] = &[
    "00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "22", "23",
    "24", "25", "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "40", "42",
    "44", "53", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX",
];

impl RefusalFacts {
    /// True if the refusal is about the row, not about the server, the connection or the statement: another row may be
    /// accepted.
    pub fn is_of_a_row(&self) -> bool {
        // A COPY that is not in the form that the server reads is this program's fault.
        let is_form = self.code == SqlState::BAD_COPY_FILE_FORMAT.code()
            || self.code == SqlState::INVALID_BINARY_REPRESENTATION.code();
        if is_form {
            return false;
        }
        match self.code.get(..2) {
            // Data exceptions, violated constraints, errors of triggers, views with CHECK OPTION.
            Some("22" | "23" | "09" | "44" | "P0") => true,
            // A row, or an index entry, larger than a page; JSON too deep or too large.
            Some("54") => matches!(self.code.as_str(), "54000" | "54001"),
            Some(class) => !KNOWN_CLASSES.contains(&class),
            None => false,
        }
    }

    /// The number of the row of a COPY into `table` that the server refused, from 1. The text around the number is in
    /// the server's language, so only the name and the number are read; a function's own message comes before them.
    pub fn copy_row(&self, table: &str) -> Option<u64> {
        let rest = self.after_copy(table)?;
        let start = rest.find(|c: char| c.is_ascii_digit())?;
        let digits = &rest[start..];
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    }

    /// The column that a COPY into `table` was at, one of `columns`.
    pub fn copy_column<'a>(
        &self,
        table: &str,
        columns: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let rest = self.after_copy(table)?;
        let rest = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        // `, column NAME`, then the end or `: "value"`; the word `column` may be translated.
        let (_, named) = rest.strip_prefix(", ")?.split_once(' ')?;
        columns
            .filter(|name| {
                named
                    .strip_prefix(*name)
                    .is_some_and(|after| after.is_empty() || after.starts_with(':'))
            })
            .max_by_key(|name| name.len())
    }

    fn after_copy(&self, table: &str) -> Option<&str> {
        let context = self.context.as_deref()?;
        let beginning = format!("COPY {table}, ");
        let at = context.rfind(&beginning)?;
        Some(&context[at + beginning.len()..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(code: &str, context: &str) -> RefusalFacts {
        RefusalFacts {
            code: code.to_owned(),
            context: Some(context.to_owned()),
            ..RefusalFacts::default()
        }
    }

    #[test]
    fn rows_are_found_in_the_context() {
        for (context, row, column) in [
            ("COPY t, line 12", Some(12), None),
            ("COPY t, line 12, column a", Some(12), Some("a")),
            ("COPY t, line 3, column a b: \"x: y\"", Some(3), Some("a b")),
            ("COPY t, line 3, column a: null input", Some(3), Some("a")),
            ("COPY t, Zeile 7, Spalte a b: »x«", Some(7), Some("a b")),
            ("COPY t, line 4: \"1\t2, column a\"", Some(4), None),
            (
                "PL/pgSQL function f(int) line 3 at RAISE\nCOPY t, line 9",
                Some(9),
                None,
            ),
            (
                "JSON data, line 1: {\"a\":...\nCOPY t, line 2, column a",
                Some(2),
                Some("a"),
            ),
            ("COPY other, line 2", None, None),
            ("SQL statement \"INSERT INTO t\"", None, None),
        ] {
            let facts = facts("22000", context);
            assert_eq!(facts.copy_row("t"), row, "{context}");
            let columns = ["a", "a b", "b"];
            assert_eq!(
                facts.copy_column("t", columns.into_iter()),
                column,
                "{context}"
            );
        }
    }

    #[test]
    fn only_what_is_a_rows_own_fault_is_a_reject() {
        for (code, is_of_a_row) in [
            ("22P02", true),
            ("22P05", true),
            ("22003", true),
            ("23502", true),
            ("23505", true),
            ("23514", true),
            ("23P01", true),
            ("P0001", true),
            ("P0004", true),
            ("45000", true),
            ("ZZ123", true),
            ("54000", true),
            ("22P04", false),
            ("22P03", false),
            ("25006", false),
            ("40P01", false),
            ("42501", false),
            ("42883", false),
            ("53100", false),
            ("54011", false),
            ("55P03", false),
            ("57014", false),
            ("XX000", false),
            ("", false),
        ] {
            assert_eq!(facts(code, "").is_of_a_row(), is_of_a_row, "{code}");
        }
    }
}
