//! Identifiers and literals in SQL, always quoted.

pub use inrush_rows::sql_text::{identifier, literal};

/// `schema.table`, both quoted.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// The beginning of a text, with at most this number of bytes.
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
    fn both_parts_of_a_name_are_quoted() {
        assert_eq!(qualified("my schema", "größe"), "\"my schema\".\"größe\"");
    }
}
