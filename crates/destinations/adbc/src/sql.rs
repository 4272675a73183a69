//! SQL texts: quoted names and literals, and splitting the user's text into statements.

pub use inrush_rows::sql_text::identifier;
use inrush_rows::sql_text::take_identifier;

/// A quoted text. A backslash stands for itself; unknown databases are checked for that.
pub fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// Quoted names, separated by commas.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(identifier).collect();
    quoted.join(", ")
}

/// The schema and the name in `"schema"."name"` or `"name"`, as [`identifier`] writes them.
pub fn parse_names(text: &str) -> Option<(Option<String>, String)> {
    let (first, rest) = take_identifier(text)?;
    match rest.strip_prefix('.') {
        None => rest.is_empty().then_some((None, first)),
        Some(rest) => {
            let (second, rest) = take_identifier(rest)?;
            rest.is_empty().then_some((Some(first), second))
        }
    }
}

/// The statements of a text, without their semicolons. Some drivers run the first statement and silently ignore the
/// others.
pub fn statements(text: &str) -> Vec<&str> {
    // The body of a trigger has semicolons of its own.
    if first_words(text).iter().any(|word| word == "trigger") {
        return vec![text.trim().trim_end_matches(';')];
    }
    let bytes = text.as_bytes();
    let mut statements = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => at = after(bytes, at + 1, &[quote]),
            b'-' if bytes[at..].starts_with(b"--") => at = after(bytes, at, b"\n"),
            b'/' if bytes[at..].starts_with(b"/*") => at = after(bytes, at + 2, b"*/"),
            b'$' => at = after_dollar(bytes, at),
            b';' => {
                statements.push(&text[begin..at]);
                at += 1;
                begin = at;
            }
            _ => at += 1,
        }
    }
    statements.push(&text[begin..]);
    statements
        .into_iter()
        .map(str::trim)
        .filter(|statement| !first_words(statement).is_empty())
        .collect()
}

/// The first word of a statement that would end its transaction, or begin another; `None` for other statements.
pub fn ends_transaction(statement: &str) -> Option<String> {
    let words = first_words(statement);
    let first = words.first()?;
    let ends = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
    ];
    ends.contains(&first.as_str()).then(|| first.to_uppercase())
}

/// The position after the next `end`; the end of the text if there is none.
fn after(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.windows(end.len())
        .position(|window| window == end)
        .map_or(bytes.len(), |place| from + place + end.len())
}

/// The position after the token that begins at `at`: a word, a comment, a quoted text, or one other character.
pub fn after_token(bytes: &[u8], at: usize) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    match bytes[at] {
        quote @ (b'\'' | b'"' | b'`') => after(bytes, at + 1, &[quote]),
        b'[' => after(bytes, at + 1, b"]"),
        b'-' if bytes[at..].starts_with(b"--") => after(bytes, at, b"\n"),
        b'/' if bytes[at..].starts_with(b"/*") => after(bytes, at + 2, b"*/"),
        byte if is_word(&byte) => at + bytes[at..].iter().take_while(|byte| is_word(byte)).count(),
        _ => at + 1,
    }
}

/// True if a statement or an expression contains this name, quoted or not. Texts and comments are ignored.
pub fn mentions(statement: &str, name: &str) -> bool {
    let bytes = statement.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = after_token(bytes, at);
        let token = &statement[at..end];
        let bare = match bytes[at] {
            b'"' | b'`' | b'[' => token
                .get(1..token.len().saturating_sub(1))
                .unwrap_or_default(),
            _ => token,
        };
        if bare.replace("\"\"", "\"").eq_ignore_ascii_case(name) {
            return true;
        }
        at = end;
    }
    false
}

/// The position after a dollar-quoted text, `$$..$$` or `$tag$..$tag$`; after the dollar sign if no such text begins
/// there.
fn after_dollar(bytes: &[u8], at: usize) -> usize {
    let tag = bytes[at + 1..]
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .map(|length| at + 1 + length);
    match tag {
        Some(close) if bytes[close] == b'$' => after(bytes, close + 1, &bytes[at..=close]),
        _ => at + 1,
    }
}

/// The first words, up to four, in lower case, without comments.
fn first_words(statement: &str) -> Vec<String> {
    let bytes = statement.as_bytes();
    let mut at = 0;
    let mut words = Vec::new();
    while at < bytes.len() && words.len() < 4 {
        if bytes[at..].starts_with(b"--") {
            at = after(bytes, at, b"\n");
        } else if bytes[at..].starts_with(b"/*") {
            at = after(bytes, at + 2, b"*/");
        } else if bytes[at].is_ascii_whitespace() {
            at += 1;
        } else {
            let length = bytes[at..]
                .iter()
                .position(|byte| !byte.is_ascii_alphanumeric())
                .unwrap_or(bytes.len() - at)
                .max(1);
            words.push(String::from_utf8_lossy(&bytes[at..at + length]).to_lowercase());
            at += length;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(identifier("a \"b\" ü"), "\"a \"\"b\"\" ü\"");
        assert_eq!(text("it's \\"), "'it''s \\'");
        assert_eq!(names(["a", "b"]), "\"a\", \"b\"");
        let odd = "a.\"b";
        assert_eq!(parse_names(&identifier(odd)), Some((None, odd.to_owned())));
        let both = format!("{}.{}", identifier("s"), identifier(odd));
        assert_eq!(
            parse_names(&both),
            Some((Some("s".to_owned()), odd.to_owned()))
        );
        assert_eq!(parse_names("s.t"), None);
        assert_eq!(parse_names("\"s\".\"t\" x"), None);
    }

    #[test]
    fn statements_are_told_apart() {
        let cases: [(&str, &[&str]); 8] = [
            ("a; b", &["a", "b"]),
            ("a;\n-- c; d\n;", &["a"]),
            ("select ';' || \";\" ; x", &["select ';' || \";\"", "x"]),
            ("a /* ; */; b", &["a /* ; */", "b"]),
            ("do $x$ ; $$ ; $x$; y", &["do $x$ ; $$ ; $x$", "y"]),
            ("select $1; 'open ; x", &["select $1", "'open ; x"]),
            (
                "create trigger t begin x; y; end;",
                &["create trigger t begin x; y; end"],
            ),
            (" ; ; ", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(statements(text), expected, "{text}");
        }
    }

    #[test]
    fn names_in_an_expression_are_found() {
        for yes in ["b > 0", "a < B", "\"b\" = 1", "[b]+`c`", "lower(b)", "t.b"] {
            assert!(mentions(yes, "b"), "{yes}");
        }
        for no in [
            "bb > 0",
            "a < 'b'",
            "a /* b */",
            "\"a b\"",
            "a -- b",
            "[",
            "",
        ] {
            assert!(!mentions(no, "b"), "{no}");
        }
    }

    #[test]
    fn what_ends_the_transaction_is_found() {
        assert_eq!(
            ends_transaction("/* x */ Commit"),
            Some("COMMIT".to_owned())
        );
        assert_eq!(
            ends_transaction("begin transaction"),
            Some("BEGIN".to_owned())
        );
        assert_eq!(ends_transaction("delete from commit"), None);
        assert_eq!(ends_transaction(""), None);
    }
}
