//! Reads DuckDB's messages about expressions: what is wrong, a hint in our own words, and the part of the expression
//! that they mark.

use std::ops::Range;

use inrush_rows::suggest::suggestion;

use crate::error::StepErrorKind;
use crate::expression::Fault;

/// The most forms of a function that a hint names.
const FORMS_SHOWN: usize = 4;

/// Types that expressions often name.
const TYPES: &str = "BIGINT BLOB BOOLEAN DATE DECIMAL DOUBLE HUGEINT INTEGER SMALLINT TEXT TIME TIMESTAMP TIMESTAMPTZ VARCHAR";

/// Types of DuckDB that are left out of hints, because columns of a flow rarely or never have them.
const UNUSUAL: &str = "TINYINT SMALLINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT FLOAT BIGNUM TIMESTAMP_NS \
                       TIMESTAMPTZ_NS";

/// DuckDB's message about an expression that it cannot bind. The expression begins on the second line of the statement.
pub(crate) fn types_fault(message: &str, text: &str) -> Fault {
    let (said, hint) = told(message);
    let kind = StepErrorKind::Types {
        message: said,
        hint,
    };
    (carets(message, text), kind)
}

/// What a message says, and how to fix it.
fn told(message: &str) -> (String, String) {
    // DuckDB's names for the types of constants in the expression.
    let sentence = message_without_place(message)
        .replace("INTEGER_LITERAL", "INTEGER")
        .replace("STRING_LITERAL", "VARCHAR");
    let sentence = sentence
        .split(". You might need")
        .next()
        .unwrap_or(&sentence);
    let quoted = |start: &str, quote: char| {
        let (name, _) = sentence.strip_prefix(start)?.split_once(quote)?;
        Some(name)
    };
    if let Some(call) = quoted(
        "No function matches the given name and argument types '",
        '\'',
    ) && let Some(called) = Form::read(call)
    {
        let (name, types) = (&called.name, called.types());
        let what = match called.parameters.is_empty() {
            true => format!("`{name}` needs a value"),
            false => format!("`{name}` cannot be used with ({types})"),
        };
        return (what, hint_of_forms(&called, message));
    }
    if let Some(name) = quoted("extract specifier \"", '"') {
        return (
            format!("a date has no part {name:?}"),
            "write one such as 'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute' or 'second'"
                .to_owned(),
        );
    }
    if let Some((name, _)) = sentence
        .strip_prefix("Type with name ")
        .and_then(|rest| rest.split_once(" does not exist"))
    {
        // DuckDB's own suggestion is not used: for INTEGR it is JSON.
        let near = suggestion(name, TYPES.split_ascii_whitespace());
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "write a type of DuckDB, such as INTEGER, DECIMAL(18,2), VARCHAR, DATE or TIMESTAMP"
                    .to_owned()
            }
        };
        return (format!("there is no type `{name}`"), hint);
    }
    let hint = match sentence.contains("explicit cast") {
        true => "CAST one of the values, as in CAST(a AS INTEGER)",
        false => "correct this part of the expression as DuckDB's message says",
    };
    (sentence.to_owned(), hint.to_owned())
}

/// A function with the types of its parameters, from a call or from DuckDB's list of functions.
struct Form {
    name: String,
    parameters: Vec<String>,
}

impl Form {
    /// Reads `round(VARCHAR, INTEGER_LITERAL)`, or `round(x DOUBLE, "precision" INTEGER) -> DOUBLE`.
    fn read(text: &str) -> Option<Form> {
        let is_known = text.contains(") -> ");
        let text = text.split(") -> ").next()?;
        let (name, parameters) = text.split_once('(')?;
        let parameters = match is_known {
            true => parameters,
            false => parameters.strip_suffix(')')?,
        };
        // A decimal has a comma in its type: DECIMAL(10,2).
        let parameters = parameters
            .split(", ")
            .filter(|own| !["", "/"].contains(own));
        let parameters = parameters.map(|own| {
            let type_name = match is_known {
                true => own.split_once(' ').map_or(own, |(_, type_name)| type_name),
                false => own,
            };
            type_name.to_owned()
        });
        Some(Form {
            name: name.trim().trim_matches('"').to_owned(),
            parameters: parameters.collect(),
        })
    }

    fn types(&self) -> String {
        self.parameters.join(", ")
    }

    /// True if none of its types is a list or unusual.
    fn is_usual(&self) -> bool {
        let is_unusual = |own: &String| {
            own.contains('[') || UNUSUAL.split_ascii_whitespace().any(|name| name == own)
        };
        !self.parameters.iter().any(is_unusual)
    }

    /// True if one of its parameters has the same type as in the call.
    fn shares_type(&self, called: &Form) -> bool {
        let mut pairs = self.parameters.iter().zip(&called.parameters);
        pairs.any(|(own, other)| own == other.split('(').next().unwrap_or(other))
    }
}

/// The forms of a function that are nearest to a call, from DuckDB's list.
fn hint_of_forms(called: &Form, message: &str) -> String {
    let lines = message.lines().filter(|line| line.starts_with('\t'));
    let forms: Vec<Form> = lines
        .filter_map(Form::read)
        .filter(Form::is_usual)
        .collect();
    let of_length = |form: &&Form| form.parameters.len() == called.parameters.len();
    let mut near: Vec<&Form> = forms.iter().filter(of_length).collect();
    let has_length = !near.is_empty();
    if !has_length {
        near = forms.iter().collect();
    }
    if near.iter().any(|form| form.shares_type(called)) {
        near.retain(|form| form.shares_type(called));
    }
    let mut shown: Vec<String> = Vec::new();
    for form in near {
        let form = format!("({})", form.types());
        if !shown.contains(&form) && shown.len() < FORMS_SHOWN {
            shown.push(form);
        }
    }
    let name = &called.name;
    if shown.is_empty() {
        return format!("DuckDB's manual says with which types `{name}` can be used");
    }
    let shown = shown.join(" or ");
    match has_length {
        true => {
            format!("`{name}` can be used with {shown}: CAST a value, as in CAST(a AS INTEGER)")
        }
        false => format!("`{name}` can be used with {shown}"),
    }
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
    // DuckDB shortens a long line. Then the positions in it differ from the positions in the expression.
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
    fn a_message_about_types_has_a_hint_of_its_own() {
        let no_function = |call: &str, forms: &[&str]| {
            format!(
                "Binder Error: No function matches the given name and argument types '{call}'. You might need to add explicit \
                 type casts.\n\tCandidate functions:\n\t{}\n\n\nLINE 2: x",
                forms.join("\n\t")
            )
        };
        let round = [
            "round(x TINYINT) -> TINYINT",
            "round(x INTEGER) -> INTEGER",
            "round(x INTEGER, \"precision\" INTEGER) -> INTEGER",
            "round(x FLOAT, \"precision\" INTEGER) -> FLOAT",
            "round(x DOUBLE) -> DOUBLE",
            "round(x DOUBLE, \"precision\" INTEGER) -> DOUBLE",
        ];
        let plus = [
            "\"+\"(x INTEGER, /) -> INTEGER",
            "\"+\"(\"left\" INTEGER, \"right\" INTEGER, /) -> INTEGER",
            "\"+\"(\"left\" DATE, \"right\" INTEGER, /) -> DATE",
            "\"+\"(\"left\" DATE, \"right\" INTERVAL, /) -> TIMESTAMP",
            "\"+\"(*args ANY[]) -> ANY[]",
        ];
        for (message, what, hint) in [
            (
                no_function("round(VARCHAR, INTEGER_LITERAL)", &round),
                "`round` cannot be used with (VARCHAR, INTEGER)",
                "`round` can be used with (INTEGER, INTEGER) or (DOUBLE, INTEGER): CAST a value, as in CAST(a AS INTEGER)",
            ),
            (
                no_function("round(DECIMAL(10,2), INTEGER_LITERAL, STRING_LITERAL)", &round),
                "`round` cannot be used with (DECIMAL(10,2), INTEGER, VARCHAR)",
                "`round` can be used with (INTEGER, INTEGER) or (DOUBLE, INTEGER)",
            ),
            (
                no_function("round()", &round),
                "`round` needs a value",
                "`round` can be used with (INTEGER) or (INTEGER, INTEGER) or (DOUBLE) or (DOUBLE, INTEGER)",
            ),
            (
                no_function("+(DATE, DECIMAL(10,2))", &plus),
                "`+` cannot be used with (DATE, DECIMAL(10,2))",
                "`+` can be used with (DATE, INTEGER) or (DATE, INTERVAL): CAST a value, as in CAST(a AS INTEGER)",
            ),
            (
                "Catalog Error: Type with name INTEGR does not exist!\nDid you mean \"JSON\"?\n\nLINE 2: x".to_owned(),
                "there is no type `INTEGR`",
                "did you mean `INTEGER`?",
            ),
            (
                "Conversion Error: extract specifier \"yeer\" not recognized".to_owned(),
                "a date has no part \"yeer\"",
                "write one such as 'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute' or 'second'",
            ),
            (
                "Binder Error: Cannot mix values of type DATE and INTEGER in CASE expression - an explicit cast is required".to_owned(),
                "Cannot mix values of type DATE and INTEGER in CASE expression - an explicit cast is required",
                "CAST one of the values, as in CAST(a AS INTEGER)",
            ),
            (
                "Binder Error: something else".to_owned(),
                "something else",
                "correct this part of the expression as DuckDB's message says",
            ),
        ] {
            assert_eq!(told(&message), (what.to_owned(), hint.to_owned()));
        }
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
