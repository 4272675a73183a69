//! Finds the expressions of the CHECKs in a `CREATE TABLE` statement. SQLite stores them nowhere else.

use crate::sql::after_token;

/// The expressions, without their brackets, in the order of the text.
pub fn of_create_table(statement: &str) -> Vec<String> {
    let bytes = statement.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = after_token(bytes, at);
        let is_check = statement[at..end].eq_ignore_ascii_case("check");
        at = end;
        if is_check
            && let Some(begin) = next_bracket(bytes, at)
            && let Some(close) = closing_bracket(bytes, begin)
        {
            found.push(statement[begin + 1..close].trim().to_owned());
            at = close + 1;
        }
    }
    found
}

/// The position of the next bracket, if only blanks and comments come before it.
fn next_bracket(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        let is_comment = bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*");
        match bytes[at] {
            b'(' => return Some(at),
            byte if byte.is_ascii_whitespace() || is_comment => at = after_token(bytes, at),
            _ => return None,
        }
    }
    None
}

/// The bracket that closes the one at `begin`.
fn closing_bracket(bytes: &[u8], begin: usize) -> Option<usize> {
    let (mut at, mut depth) = (begin, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
        at = after_token(bytes, at);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_among_names_texts_and_comments() {
        let cases: [(&str, &[&str]); 7] = [
            ("CREATE TABLE t (a int CHECK (a > 0))", &["a > 0"]),
            (
                "CREATE TABLE t(a check(a in (1, 2) and b <> ')'), b text, constraint c CHECK /* ( */ (b > (a)))",
                &["a in (1, 2) and b <> ')'", "b > (a)"],
            ),
            (
                "CREATE TABLE \"check (a)\" (\"check\" int, [check] int, `check` int)",
                &[],
            ),
            (
                "CREATE TABLE t (a text DEFAULT 'check (1)') -- check (2)",
                &[],
            ),
            (
                "CREATE TABLE t (checked int, a int check\n-- x\n(a = 'it''s'))",
                &["a = 'it''s'"],
            ),
            ("CREATE TABLE t (a int CHECK (a > 0", &[]),
            ("", &[]),
        ];
        for (statement, expected) in cases {
            assert_eq!(of_create_table(statement), expected, "{statement}");
        }
    }
}
