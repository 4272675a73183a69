//! Identifiers and literals in SQL, always quoted.

/// An identifier as SQL takes it, whatever characters it holds.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `schema.table`, both quoted.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// A string literal that reads the same whatever `standard_conforming_strings` says.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

/// The beginning of a text that has at most so many bytes.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_cannot_end_their_quotes() {
        assert_eq!(
            identifier("a\"; drop table x --"),
            "\"a\"\"; drop table x --\""
        );
        assert_eq!(qualified("my schema", "größe"), "\"my schema\".\"größe\"");
        assert_eq!(literal("O'Brien"), "'O''Brien'");
        assert_eq!(literal("a\\'b"), " E'a\\\\''b'");
    }
}
