//! Quotes names and texts for SQL, so that they cannot end the quotes, and puts a user's SQL into longer statements.

/// A name as a quoted SQL identifier; it may contain any characters.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name for a list that users read and copy. It is in quotes only if SQL would read it differently without them.
pub fn quoted_where_needed(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match begins && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => identifier(name),
    }
}

/// The name in double quotes at the beginning of a text, and the text after its closing quote. `None` if the text does
/// not begin with a quote, or no quote closes the name. [`identifier`] writes what this reads.
pub fn take_identifier(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut name = String::new();
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

/// A string literal of PostgreSQL that means the same for both values of `standard_conforming_strings`.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        // The blank separates the E from a letter before it.
        true => format!(" E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// SQL of a user as a part of a longer statement. The line feeds end a comment at its end, which would otherwise hide
/// the text that follows.
pub fn in_parentheses(sql: &str) -> String {
    format!("(\n{sql}\n)")
}

/// Like [`in_parentheses`], but without the parentheses. Only a complete part parses in both forms: `a) OR (b` parses
/// only in parentheses.
pub fn alone(sql: &str) -> String {
    format!("\n{sql}\n")
}

/// A query without the `;` at its end.
pub fn without_semicolon(query: &str) -> &str {
    query.trim_end().trim_end_matches(';').trim_end()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_texts_cannot_end_their_quotes() {
        assert_eq!(identifier("a\"; go --"), "\"a\"\"; go --\"");
        assert_eq!(literal("O'Brien"), "'O''Brien'");
        assert_eq!(literal("a\\'b"), " E'a\\\\''b'");
    }

    #[test]
    fn a_query_is_a_part_of_a_longer_statement() {
        let query = without_semicolon("SELECT 1 -- all ; \n");
        assert_eq!(query, "SELECT 1 -- all");
        assert_eq!(in_parentheses(query), "(\nSELECT 1 -- all\n)");
    }

    #[test]
    fn a_name_without_both_quotes_is_none() {
        for text in ["", "a", "\"a", "\"a\"\"", " \"a\""] {
            assert_eq!(take_identifier(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_as_it_was_written(name in ".{0,20}", behind in "[^\"].{0,5}|") {
            let text = format!("{}{behind}", identifier(&name));
            prop_assert_eq!(take_identifier(&text), Some((name, behind.as_str())));
        }
    }
}
