//! The user's SQL statements in a package.

use inrush_package::OneOrMany;

/// Statements of a package, each without its semicolon.
pub fn statements(texts: &Option<OneOrMany>) -> Vec<String> {
    let texts = texts.iter().flat_map(OneOrMany::patterns);
    texts
        .map(|text| text.trim().trim_end_matches(';').trim_end().to_owned())
        .collect()
}
