//! Finds the reasons why an expression failed for rows of a batch.
//!
//! DuckDB gives a reason only if a statement fails, so a statement for each row is needed. An expression has the same
//! result for the same values, so rows with equal values share one statement.

use std::collections::HashMap;

use crate::error::RunError;

/// The reasons of one expression that are known so far, by the values of the columns that it names.
#[derive(Default)]
pub(crate) struct Reasons {
    known: HashMap<Vec<Option<String>>, String>,
}

impl Reasons {
    /// The reason for these values; `ask` is called if it is not known.
    pub(crate) fn of(
        &mut self,
        values: Vec<Option<String>>,
        ask: impl FnOnce() -> Result<String, RunError>,
    ) -> Result<String, RunError> {
        if let Some(known) = self.known.get(&values) {
            return Ok(known.clone());
        }
        let reason = ask()?;
        self.known.insert(values, reason.clone());
        Ok(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_equal_values_is_asked_once() {
        let mut reasons = Reasons::default();
        let asked = std::cell::Cell::new(0);
        let mut of = |values: &[Option<&str>]| {
            let own = values.iter().map(|value| value.map(str::to_owned));
            let ask = || {
                asked.set(asked.get() + 1);
                Ok(format!("{values:?}"))
            };
            reasons.of(own.collect(), ask).expect("a reason")
        };
        // A text that looks like two values, or like NULL, differs from them.
        let cases: [&[Option<&str>]; 4] = [
            &[Some("n/a"), Some("1")],
            &[Some("n/a, 1")],
            &[None],
            &[Some("NULL")],
        ];
        for _ in 0..1_000 {
            for values in cases {
                assert_eq!(of(values), format!("{values:?}"));
            }
        }
        assert_eq!(asked.get(), cases.len());
    }
}
