//! Keeps DuckDB's answers about expressions, so that all plans of a run ask each question only once.
//!
//! A flow with outputs is planned once for each of them, each time with the conditions of all outputs. Without the kept
//! answers, the time of planning would grow with the square of the number of outputs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::expression::Expression;

/// Answers by the text that DuckDB was asked. Refusals are not kept: they end the plan.
#[derive(Default)]
pub(crate) struct Answers {
    /// Expressions by their text.
    pub(crate) expressions: Known<Expression>,
    /// Types of results by the statement that describes them.
    pub(crate) types: Known<String>,
}

/// Answers of one kind.
pub(crate) struct Known<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known(Mutex::default())
    }
}

impl<T: Clone> Known<T> {
    /// The answer to a text; `ask` is called only if the answer is not known.
    pub(crate) fn of<E>(&self, text: &str, ask: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if let Some(known) = self.locked().get(text) {
            return Ok(known.clone());
        }
        // Two threads may both ask, and get the same answer.
        let answer = ask()?;
        self.locked().insert(text.to_owned(), answer.clone());
        Ok(answer)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_asked_once_unless_it_is_refused() {
        let known = Known::default();
        let mut asked = 0;
        for (answer, expected) in [(Err(()), Err(())), (Ok(1), Ok(1)), (Ok(2), Ok(1))] {
            let found = known.of("a", || {
                asked += 1;
                answer
            });
            assert_eq!(found, expected);
        }
        assert_eq!(asked, 2);
        assert_eq!(known.of("b", || Ok::<_, ()>(3)), Ok(3));
    }
}
