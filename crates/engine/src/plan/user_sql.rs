//! SQL statements of the user, which a package gives for its destination.

use inrush_package::OneOrMany;

/// Statements of a package, each without its semicolon.
pub fn statements(texts: &Option<OneOrMany>) -> Vec<String> {
    let texts = texts.iter().flat_map(OneOrMany::patterns);
    texts
        .map(|text| text.trim().trim_end_matches(';').trim_end().to_owned())
        .collect()
}
