//! Checks SQL of a user before it becomes a part of a statement.
//!
//! A user's query or condition is put in parentheses. If its text closed them, the rest of the text could be further
//! statements, and the server would run them: SQL Server has no read-only transactions, and a batch may commit
//! anything. The check is made before anything is sent.

/// True if the text closes each parenthesis, quote, bracket and comment that it opens, and no other. Then nothing in it
/// can end the parentheses around it, and the SQL after it does not become a part of a literal or comment in it.
pub fn is_whole(text: &str) -> bool {
    // Whether a carriage return alone ends a comment is not documented. The text must be whole both ways.
    closes_all(text, &['\n']) == Some(true) && closes_all(text, &['\n', '\r']) == Some(true)
}

/// Like [`is_whole`], if line comments end at one of these characters. `None` if a text, a name or a comment does not
/// end.
fn closes_all(text: &str, line_ends: &[char]) -> Option<bool> {
    let mut open = 0_usize;
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        rest = match one {
            '(' => {
                open += 1;
                &rest[1..]
            }
            ')' => match open.checked_sub(1) {
                None => return Some(false),
                Some(left) => {
                    open = left;
                    &rest[1..]
                }
            },
            // A doubled quote is read as the end of one literal or name and the start of another. Here this gives the
            // same result.
            '\'' | '"' => after(&rest[1..], &[one])?,
            '[' => after_name(&rest[1..])?,
            '-' if rest.starts_with("--") => after(rest, line_ends).unwrap_or_default(),
            '/' if rest.starts_with("/*") => after_comment(rest)?,
            other => &rest[other.len_utf8()..],
        };
    }
    Some(open == 0)
}

/// The text after the first of these characters, which are all of one byte.
fn after<'a>(text: &'a str, ends: &[char]) -> Option<&'a str> {
    let end = text.find(ends)?;
    Some(&text[end + 1..])
}

/// The text after a name in brackets. A bracket in the name is doubled.
fn after_name(text: &str) -> Option<&str> {
    let mut rest = after(text, &[']'])?;
    while let Some(more) = rest.strip_prefix(']') {
        rest = after(more, &[']'])?;
    }
    Some(rest)
}

/// The rest of a text after the comment at its start. A comment may contain other comments.
fn after_comment(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        rest = &rest[rest.find(['/', '*'])?..];
        if let Some(inner) = rest.strip_prefix("/*") {
            depth += 1;
            rest = inner;
        } else if let Some(behind) = rest.strip_prefix("*/") {
            depth -= 1;
            rest = behind;
            if depth == 0 {
                return Some(rest);
            }
        } else {
            rest = &rest[1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_whole_are_found() {
        for text in [
            ")",
            "SELECT 1 AS a) AS x; DELETE FROM t; SELECT 1 AS a FROM (SELECT 1 AS a",
            "id < 10) OR (id > 20",
            "'it''s') OR (1 = 1",
            "[a]]b]) OR (1 = 1",
            "\"a\"\"(\" = 1) OR (1 = 1",
            "/* ( /* */ ( */ ) OR (1 = 1",
            "-- (\n) OR (1 = 1",
            "-- (\r) OR (1 = 1",
            "-- \r (\n) OR (1 = 1",
            "é) OR (1 = 1",
            "(id = 1",
            "'never ended",
            "[never ended",
            "/* never /* ended */",
        ] {
            assert!(!is_whole(text), "{text}");
        }
    }

    #[test]
    fn whole_parts_are_taken() {
        for text in [
            "",
            "SELECT COUNT(*) FROM (SELECT (1) AS a) AS f",
            "note = ')' OR note = 'it''s)' OR [a)] = 1 OR [a]])] = 1 OR \"b)\" = 1",
            "id = 1 -- )",
            "id = 1 /* ) /* ) */ ) */",
            "id - 1 = 2 / 3 * 4",
        ] {
            assert!(is_whole(text), "{text}");
        }
    }
}
