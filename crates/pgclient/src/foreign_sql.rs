//! Checks pieces of SQL that another server has written before they become parts of statements. A source server must
//! not be able to run statements on the destination server.

/// True if a text is a part of one statement and ends within it: its quotes and parentheses are closed, and outside of
/// quotes it has no `;`, no comment and no dollar quote.
pub fn is_part_of_statement(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut rest = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                let has_escapes = c == '\'' && matches!(before, 'e' | 'E');
                if !skip_quoted(&mut rest, c, has_escapes) {
                    return false;
                }
            }
            ';' | '$' | '\0' => return false,
            '-' if rest.peek() == Some(&'-') => return false,
            '/' if rest.peek() == Some(&'*') => return false,
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
        before = c;
    }
    depth == 0
}

/// Reads up to the closing quote. Two quotes in a row are a quote within the text. Returns false if there is no closing
/// quote.
fn skip_quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    quote: char,
    has_escapes: bool,
) -> bool {
    while let Some(c) = rest.next() {
        if c == '\\' && has_escapes {
            rest.next();
        } else if c == quote {
            if rest.peek() != Some(&quote) {
                return true;
            }
            rest.next();
        }
    }
    false
}

/// The plain values in the bound of a partition, each as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundValues {
    /// `DEFAULT`
    Default,
    /// `FOR VALUES FROM (1, 'a') TO (MAXVALUE, MAXVALUE)`: the lower and the upper end.
    Range(Vec<String>, Vec<String>),
    /// `FOR VALUES IN ('x', NULL)`
    List(Vec<String>),
    /// `FOR VALUES WITH (modulus 4, remainder 0)`
    Hash,
}

/// The values of a partition's bound, if its ends are plain values, without calls of functions.
pub fn bound_values(text: &str) -> Option<BoundValues> {
    if text == "DEFAULT" {
        return Some(BoundValues::Default);
    }
    let rest = text.strip_prefix("FOR VALUES ")?;
    if let Some(hash) = rest.strip_prefix("WITH (modulus ") {
        let (modulus, remainder) = hash.strip_suffix(')')?.split_once(", remainder ")?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        return (is_number(modulus) && is_number(remainder)).then_some(BoundValues::Hash);
    }
    if let Some(list) = rest.strip_prefix("IN (") {
        let (values, end) = values(list)?;
        return end.is_empty().then_some(BoundValues::List(values));
    }
    let (lower, rest) = values(rest.strip_prefix("FROM (")?)?;
    let (upper, end) = values(rest.strip_prefix(" TO (")?)?;
    end.is_empty().then_some(BoundValues::Range(lower, upper))
}

/// A list of plain values, and the text after its closing parenthesis.
fn values(list: &str) -> Option<(Vec<String>, &str)> {
    let mut found = Vec::new();
    let mut rest = list;
    loop {
        let after = after_value(rest)?;
        found.push(rest[..rest.len() - after.len()].to_owned());
        if let Some(end) = after.strip_prefix(')') {
            return Some((found, end));
        }
        rest = after.strip_prefix(", ")?;
    }
}

/// The text after a plain value.
fn after_value(text: &str) -> Option<&str> {
    let has_escapes = text.starts_with("E'");
    let quoted = text.strip_prefix('E').filter(|_| has_escapes);
    if let Some(inside) = quoted.unwrap_or(text).strip_prefix('\'') {
        let mut rest = inside.chars().peekable();
        if !skip_quoted(&mut rest, '\'', has_escapes) {
            return None;
        }
        let left: usize = rest.map(char::len_utf8).sum();
        return Some(&text[text.len() - left..]);
    }
    for word in ["MINVALUE", "MAXVALUE", "NULL", "true", "false"] {
        if let Some(rest) = text.strip_prefix(word) {
            return Some(rest);
        }
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return None;
    }
    Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || ".-+eE".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_servers_are_parts_of_statements() {
        for text in [
            "USING btree (id)",
            "USING btree (lower(\"odd \"\"; name\"), b DESC NULLS LAST) INCLUDE (c) WITH (fillfactor='70')",
            "USING gin (t public.gin_trgm_ops) WHERE (note <> 'a; -- '' (b')",
            "USING btree (((a -> 'x'::text))) WHERE (b = E'\\'; DROP')",
            "UNIQUE NULLS NOT DISTINCT (a, b) DEFERRABLE INITIALLY DEFERRED",
            "RANGE (date_trunc('month'::text, day), id)",
        ] {
            assert!(is_part_of_statement(text), "{text}");
        }
        for text in [
            "USING btree (id); DROP TABLE x",
            "USING btree (id) -- ",
            "USING btree (id /* */)",
            "USING btree (id",
            "USING btree id) (",
            "USING btree (id) WHERE (a = 'b)",
            "USING btree (id) WHERE (a = 'b\\'; DROP TABLE x; --')",
            "USING btree (id) WHERE (a = \"b)",
            "USING btree ((do $$ $$))",
        ] {
            assert!(!is_part_of_statement(text), "{text}");
        }
    }

    #[test]
    fn bounds_are_values() {
        for text in [
            "DEFAULT",
            "FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
            "FOR VALUES FROM (1, MINVALUE) TO ('-5', MAXVALUE)",
            "FOR VALUES FROM (-5.5) TO (1e+10)",
            "FOR VALUES IN ('it''s', E'a\\'b', NULL, true)",
            "FOR VALUES WITH (modulus 4, remainder 0)",
        ] {
            assert!(bound_values(text).is_some(), "{text}");
        }
        for text in [
            "",
            "FOR VALUES FROM (pg_sleep(1)) TO (2)",
            "FOR VALUES FROM (1) TO (2) PARTITION BY RANGE (a)",
            "FOR VALUES FROM (1) TO (2); DROP TABLE x",
            "FOR VALUES IN ('a'::text)",
            "FOR VALUES IN ('a' || 'b')",
            "FOR VALUES IN ()",
            "FOR VALUES WITH (modulus 4, remainder f())",
            "FOR VALUES IN ('a",
        ] {
            assert!(bound_values(text).is_none(), "{text}");
        }
        let texts = |values: &[&str]| values.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(
            bound_values("FOR VALUES IN ('it''s', E'a\\'b', NULL)"),
            Some(BoundValues::List(texts(&["'it''s'", "E'a\\'b'", "NULL"])))
        );
        assert_eq!(
            bound_values("FOR VALUES FROM (1, MINVALUE) TO ('-5', MAXVALUE)"),
            Some(BoundValues::Range(
                texts(&["1", "MINVALUE"]),
                texts(&["'-5'", "MAXVALUE"])
            ))
        );
    }
}
