//! Words of commands that a person copies into a shell.

/// A word, quoted for a shell if that is needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(
            quoted("postgresql://etl@dw:5432/tpch"),
            "postgresql://etl@dw:5432/tpch"
        );
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("postgresql:///x?a=b"), "'postgresql:///x?a=b'");
    }
}
