//! DuckDB's messages: their first sentence, and the part of an expression that they mark.

use std::ops::Range;

use crate::error::StepErrorKind;
use crate::expression::Fault;

/// DuckDB's message about an expression that it cannot bind. The expression begins on the second line of the statement.
pub(crate) fn types_fault(message: &str, text: &str) -> Fault {
    let range = carets(message, text);
    let message = message_without_place(message);
    let message = message.split(". You might need").next().unwrap_or(&message);
    (
        range,
        StepErrorKind::Types {
            message: message.to_owned(),
        },
    )
}

/// The first sentence of a message of DuckDB: without its kind, its place and advice about settings.
pub(crate) fn message_without_place(message: &str) -> String {
    let message = message.split("\n\nLINE ").next().unwrap_or(message);
    let message = message.split(". Use TRY(").next().unwrap_or(message);
    let message = match message.split_once(" Error: ") {
        // The kinds have one or two words: `Conversion`, `Invalid Input`.
        Some((kind, rest)) if kind.split(' ').count() <= 3 => rest,
        _ => message,
    };
    message.lines().next().unwrap_or_default().trim().to_owned()
}

/// The part of an expression under which DuckDB's message has carets.
fn carets(message: &str, text: &str) -> Option<Range<usize>> {
    let mut lines = message
        .lines()
        .skip_while(|line| !line.starts_with("LINE "));
    let (shown, marks) = (lines.next()?, lines.next()?);
    let (number, line) = shown.strip_prefix("LINE ")?.split_once(": ")?;
    let number: usize = number.parse().ok()?;
    let before: usize = shown.len() - line.len();
    let column = marks.find('^')?.checked_sub(before)?;
    let width = marks.chars().filter(|mark| *mark == '^').count();
    let mut start = 0;
    let mut own = text.split('\n');
    for _ in 0..number.checked_sub(2)? {
        start += own.next()?.len() + 1;
    }
    // A long line is shortened, and then its columns are not those of the expression.
    let own = own.next().filter(|own| *own == line)?;
    let at = |column: usize| {
        own.char_indices()
            .nth(column)
            .map_or(own.len(), |(at, _)| at)
    };
    Some(start + at(column)..start + at(column + width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_carets_of_duckdb_are_found_in_the_expression() {
        let message = "Binder Error: no\n\nLINE 3: + b\n          ^";
        assert_eq!(carets(message, "a\n+ b"), Some(4..5));
        assert_eq!(carets(message, "a\n+ c"), None);
        assert_eq!(carets("no place", "a"), None);
        let umlaut = "Binder Error: no\n\nLINE 2: \u{e4} + b\n            ^";
        assert_eq!(carets(umlaut, "\u{e4} + b"), Some(5..6));
    }

    #[test]
    fn messages_are_one_sentence() {
        for (message, sentence) in [
            (
                "Conversion Error: Could not convert string 'b' to INT32\n\nLINE 2: x::int\n         ^",
                "Could not convert string 'b' to INT32",
            ),
            (
                "Invalid Input Error: Division by zero in expression (1 // 0). Use TRY(...) to return NULL",
                "Division by zero in expression (1 // 0)",
            ),
            ("Out of Range Error: Overflow!", "Overflow!"),
            ("something", "something"),
        ] {
            assert_eq!(message_without_place(message), sentence);
        }
    }
}
