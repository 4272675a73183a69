//! Values of parameters in `pre_sql` and `post_sql`.
//!
//! `{day:literal}` is the value as a text in quotes, `{region:identifier}` as a name in quotes; whatever the value holds,
//! it stays in them. `{day}` inserts it as it is: a value of the package itself may be any SQL, because its author wrote
//! the statement too, but a value that a command gives must not be able to end the text or name that it stands in.

use super::error::PackageFaultKind;
use super::name::quoted as identifier;

/// The value in the quotes that a form asks for.
pub(super) fn quoted(parameter: &str, form: &str, value: &str) -> Result<String, PackageFaultKind> {
    if value.contains('\0') {
        return Err(fault(
            parameter,
            value,
            "a text in SQL cannot hold a NUL",
            "give it another value",
        ));
    }
    match form {
        "literal" => Ok(literal(value)),
        "identifier" if value.is_empty() => Err(fault(
            parameter,
            value,
            "a name is empty",
            "give it the name of a table, a column or a schema",
        )),
        "identifier" => Ok(identifier(value)),
        _ => Err(PackageFaultKind::Conflict {
            conflict: format!("`{{{parameter}:{form}}}`: a value has no form `{form}`"),
            mend: format!(
                "write {{{parameter}:literal}} for a text, or {{{parameter}:identifier}} for a name"
            ),
        }),
    }
}

/// A text that reads the same whatever the server makes of backslashes.
fn literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!(" E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// Refuses a value that goes into a statement as it is and may be more than a value there. `before` is the statement up to
/// it: in quotes, a blank between words is harmless.
pub(super) fn check_bare(
    parameter: &str,
    value: &str,
    is_given: bool,
    before: &str,
) -> Result<(), PackageFaultKind> {
    let is_in_quotes = before.matches('\'').count() % 2 == 1;
    let is_harmless = value
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | ' '))
        && !value.contains("--")
        && (is_in_quotes || !(value.contains(' ') && value.contains(char::is_alphabetic)));
    if is_harmless || !is_given {
        return Ok(());
    }
    Err(fault(
        parameter,
        value,
        "`{...}` inserts it as it is, where it could change the statement",
        &format!(
            "write {{{parameter}:literal}} in the statement for a text in quotes, or {{{parameter}:identifier}} for a name; \
             as it is, a value has letters, digits, _, -, ., : and blanks between numbers"
        ),
    ))
}

/// A form where no statement is.
pub(super) fn misplaced(name: &str, parameter: &str, path: &str) -> PackageFaultKind {
    let setting = path.rsplit('.').next().unwrap_or(path);
    PackageFaultKind::Conflict {
        conflict: format!("`{{{name}}}` stands in `{setting}`, which is no SQL"),
        mend: format!("write {{{parameter}}}: only pre_sql and post_sql need values in quotes"),
    }
}

fn fault(parameter: &str, value: &str, cause: &str, mend: &str) -> PackageFaultKind {
    PackageFaultKind::Value {
        setting: format!("--set {parameter}"),
        value: value.to_owned(),
        cause: cause.to_owned(),
        mend: mend.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_cannot_leave_their_quotes() {
        for (form, value, expected) in [
            ("literal", "2024-01-01", "'2024-01-01'"),
            ("literal", "x'; DROP TABLE t --", "'x''; DROP TABLE t --'"),
            ("literal", "a\\'b", " E'a\\\\''b'"),
            ("identifier", "Odd \"name", "\"Odd \"\"name\""),
        ] {
            assert_eq!(quoted("day", form, value).as_deref(), Ok(expected));
        }
        for (form, value) in [("literal", "a\0b"), ("identifier", ""), ("text", "a")] {
            assert!(quoted("day", form, value).is_err(), "{form} {value:?}");
        }
    }

    #[test]
    fn a_bare_value_is_nothing_but_a_value() {
        for (value, before, is_taken) in [
            ("2024-01-01", "day = ", true),
            ("2024-01-01 10:00:00.5", "day = ", true),
            ("größe_1", "TABLE ", true),
            ("New York", "city = '", true),
            ("1 OR true", "id = ", false),
            ("x' OR 'a'='a", "city = '", false),
            ("1; DROP TABLE t", "id = ", false),
            ("1 --", "id = ", false),
            ("1 /* */", "id = ", false),
            ("a\"b", "TABLE \"", false),
            ("$$", "id = ", false),
            ("a\\", "city = '", false),
            ("1\n", "id = ", false),
        ] {
            assert_eq!(
                check_bare("p", value, true, before).is_ok(),
                is_taken,
                "{value}"
            );
            assert!(check_bare("p", value, false, before).is_ok(), "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_literal_ends_where_it_should(value in "[a-z'\\\\\" \n;-]{0,20}") {
            let literal = quoted("p", "literal", &value).expect("no NUL");
            let (escapes, inside) = match literal.strip_prefix(" E") {
                Some(inside) => (true, inside),
                None => (false, literal.as_str()),
            };
            let inside = inside.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).expect("quotes");
            let mut read = String::new();
            let mut rest = inside.chars();
            while let Some(c) = rest.next() {
                match c {
                    '\'' => prop_assert_eq!(rest.next(), Some('\'')),
                    '\\' if escapes => prop_assert_eq!(rest.next(), Some('\\')),
                    _ => {}
                }
                read.push(c);
            }
            prop_assert_eq!(read, value);
        }
    }
}
