//! Careful loads for databases in which queries find the refused rows. A batch is written into a separate table, the
//! trial. Each test is a query that finds rows of the trial which a constraint of the target refuses.

use std::collections::BTreeMap;

use inrush_rows::reject::RejectCode;

use crate::error::{Error, Result};
use crate::rows_not_taken::RefusedRow;
use crate::sharers::{Sharer, refuse_sharers};

/// The beginning of a careful load's error messages.
pub const LOOKING_FOR_REFUSED: &str = "cannot look for rows that a constraint refuses";

/// A query that finds rows of the trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialTest {
    /// The query.
    pub query: String,
    /// The meaning of its rows.
    pub finds: Finds,
    /// The reason for a refusal.
    pub cause: RefusalCause,
}

/// The meaning of the rows that the query of a test returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    /// Each is the number of a row that is refused, whatever the other rows in the batch are.
    Refused,
    /// Each is the number of a row that shares a key with other rows of the batch, and a number that identifies the
    /// key.
    Sharing,
}

/// Why a row is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCause {
    /// The index of the column, if the fault is in one column.
    pub column: Option<usize>,
    /// The kind of reject.
    pub code: RejectCode,
    /// The constraint, and how to fix the row.
    pub reason: String,
}

/// The rows of the batch that the target would refuse, in their order. `rows_of` runs a query and returns its rows as
/// texts.
pub fn refused_rows(
    tests: &[TrialTest],
    mut rows_of: impl FnMut(&str) -> Result<Vec<Vec<Option<String>>>>,
) -> Result<Vec<RefusedRow>> {
    let mut refused: BTreeMap<usize, &RefusalCause> = BTreeMap::new();
    let mut sharing: Vec<Sharer<&RefusalCause>> = Vec::new();
    for (key, test) in tests.iter().enumerate() {
        for row in rows_of(&test.query)? {
            let row: Vec<usize> = row.into_iter().map(number).collect::<Result<_>>()?;
            match (test.finds, row.as_slice()) {
                (Finds::Refused, [row]) => {
                    refused.entry(*row).or_insert(&test.cause);
                }
                (Finds::Sharing, [row, value]) => sharing.push(Sharer {
                    row: *row,
                    key: (key, *value),
                    cause: &test.cause,
                }),
                _ => {}
            }
        }
    }
    refuse_sharers(sharing, &mut refused);
    let row = |(row, cause): (usize, &RefusalCause)| RefusedRow {
        row,
        column: cause.column,
        code: cause.code,
        reason: cause.reason.clone(),
    };
    Ok(refused.into_iter().map(row).collect())
}

fn number(text: Option<String>) -> Result<usize> {
    let number = text.as_deref().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::Refused {
        doing: LOOKING_FOR_REFUSED.to_owned(),
        message: format!("expected the number of a row, but got {text:?}"),
        hint: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(query: &str, finds: Finds) -> TrialTest {
        TrialTest {
            query: query.to_owned(),
            finds,
            cause: RefusalCause {
                column: None,
                code: RejectCode::CheckViolated,
                reason: query.to_owned(),
            },
        }
    }

    fn refused(answers: &[(&str, Finds, &[&[&str]])]) -> Result<Vec<(usize, String)>> {
        let tests: Vec<TrialTest> = answers
            .iter()
            .map(|(query, finds, _)| test(query, *finds))
            .collect();
        let rows = refused_rows(&tests, |query| {
            let (.., rows) = answers.iter().find(|(of, ..)| *of == query).expect(query);
            let row = |row: &&[&str]| row.iter().map(|text| Some((*text).to_owned())).collect();
            Ok(rows.iter().map(row).collect())
        })?;
        Ok(rows.into_iter().map(|row| (row.row, row.reason)).collect())
    }

    /// The first row of a key stays, unless another test refuses it.
    #[test]
    fn rows_are_refused_once_and_in_their_order() {
        let found = refused(&[
            ("a check", Finds::Refused, &[&["7"], &["2"]]),
            ("another", Finds::Refused, &[&["7"]]),
            (
                "a key",
                Finds::Sharing,
                &[&["2", "2"], &["5", "2"], &["9", "2"]],
            ),
        ]);
        let expected = [(2, "a check"), (7, "a check"), (9, "a key")];
        let expected = expected.map(|(row, reason)| (row, reason.to_owned()));
        assert_eq!(found.expect("numbers"), expected);
    }

    #[test]
    fn a_row_that_is_no_number_is_an_error() {
        let error = refused(&[("a check", Finds::Refused, &[&["x"]])]).expect_err("no number");
        assert!(error.to_string().contains("\"x\""), "{error}");
    }
}
