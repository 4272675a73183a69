//! Values of parameters in `pre_sql` and `post_sql`.
//!
//! `{day:literal}` is the value as a quoted text, `{region:identifier}` as a quoted name; no value can end the quotes.
//! `{day}` inserts the value unchanged. A value from the package itself may be any SQL, because its author also wrote
//! the statement. A value from a command may only be a number, or part of a text in plain quotes.

use inrush_rows::sql_text::{identifier, literal};

use super::error::PackageFaultKind;
use super::sql_lexer::{SqlLexer, SqlPlace, ValueKind, Word};

/// The value in quotes, as a form (`literal` or `identifier`) requires.
fn quoted(parameter: &str, form: &str, value: &str) -> Result<String, PackageFaultKind> {
    if value.contains('\0') {
        return Err(fault(
            parameter,
            value,
            "a text in SQL cannot hold a NUL",
            "give it another value",
        ));
    }
    match form {
        "literal" => Ok(literal(value)),
        "identifier" if value.is_empty() => Err(fault(
            parameter,
            value,
            "a name is empty",
            "give it the name of a table, a column or a schema",
        )),
        "identifier" => Ok(identifier(value)),
        _ => Err(PackageFaultKind::Conflict {
            conflict: format!("`{{{parameter}:{form}}}`: a value has no form `{form}`"),
            mend: format!(
                "write {{{parameter}:literal}} for a text, or {{{parameter}:identifier}} for a name"
            ),
        }),
    }
}

/// A statement into which values are inserted.
pub(super) struct StatementText {
    lexer: SqlLexer,
    /// How much of the text the lexer has read, in bytes.
    read: usize,
}

impl StatementText {
    pub(super) fn new() -> StatementText {
        StatementText {
            lexer: SqlLexer::new(),
            read: 0,
        }
    }

    /// Appends the value of `{parameter}` to the text so far. `is_given`: a command gave the value.
    pub(super) fn push_bare(
        &mut self,
        parameter: &str,
        value: &str,
        is_given: bool,
        text: &mut String,
    ) -> Result<(), PackageFaultKind> {
        self.read_to_end(text);
        let start = text.len();
        text.push_str(value);
        if !is_given {
            return Ok(());
        }
        let kind = bare_kind(self.lexer.place(), value, &text[..start])
            .map_err(|(cause, mend)| fault(parameter, value, cause, &mend(parameter)))?;
        match kind {
            Some(kind) => self.lexer.read_value(value, kind, parameter),
            None => self.lexer.read(value),
        }
        self.read = text.len();
        Ok(())
    }

    /// Appends the quoted value of `{parameter:form}` to the text so far.
    pub(super) fn push_quoted(
        &mut self,
        parameter: &str,
        form: &str,
        value: &str,
        text: &mut String,
    ) -> Result<(), PackageFaultKind> {
        let quoted = quoted(parameter, form, value)?;
        self.read_to_end(text);
        // After these letters a quote would begin another kind of text: `E'...'`, `U&'...'`.
        let is_prefix = match self.lexer.place() {
            SqlPlace::Plain(Word::Letters(Some(letter))) => "bBeEnNxX".contains(letter),
            _ => text.ends_with("U&") || text.ends_with("u&"),
        };
        let place = match self.lexer.place() {
            SqlPlace::Plain(_)
                if is_prefix || text.ends_with(['\'', '"']) || self.lexer.continues_text() =>
            {
                "directly behind a text, a name or a letter that would change its meaning"
            }
            SqlPlace::Plain(Word::NumberAndLetters | Word::Number) => "directly behind a number",
            SqlPlace::Plain(_) => {
                let kind = match form {
                    "literal" => ValueKind::Text,
                    _ => ValueKind::Name,
                };
                text.push_str(&quoted);
                self.lexer.read_value(&quoted, kind, parameter);
                self.read = text.len();
                return Ok(());
            }
            place => name_of(place),
        };
        Err(PackageFaultKind::Conflict {
            conflict: format!("`{{{parameter}:{form}}}` has its own quotes, but it is {place}"),
            mend: format!(
                "write {{{parameter}:{form}}} alone, with blanks around it and without quotes; to make it part of a \
                 longer text, join them: 'before ' || {{{parameter}:literal}}"
            ),
        })
    }

    /// Refuses a statement in which a value would continue the text before it.
    pub(super) fn finish(&mut self, text: &str) -> Result<(), PackageFaultKind> {
        self.read_to_end(text);
        match self.lexer.merged() {
            None => Ok(()),
            Some(parameter) => Err(PackageFaultKind::Conflict {
                conflict: format!(
                    "the value of `{parameter}` would become one word with the text after it in the statement"
                ),
                mend: format!("write a blank, an operator or a comma after `{{{parameter}...}}`"),
            }),
        }
    }

    fn read_to_end(&mut self, text: &str) {
        self.lexer.read(&text[self.read..]);
        self.read = text.len();
    }
}

type Refusal = (&'static str, fn(&str) -> String);

/// Checks a value from a command that is inserted unchanged. Returns its kind if it is a token of its own, and `None`
/// if it is part of a text or a name.
fn bare_kind(place: SqlPlace, value: &str, before: &str) -> Result<Option<ValueKind>, Refusal> {
    let is_digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match place {
        SqlPlace::Text if !value.contains(['\'', '\\', '\0']) => Ok(None),
        SqlPlace::Text => Err((
            "the value contains a quote or a backslash, which could end the text around it",
            |parameter| {
                format!(
                    "write {{{parameter}:literal}} without quotes in place of '{{{parameter}}}' ({{{parameter}:identifier}} \
                     for a name)"
                )
            },
        )),
        // `sales_{year}`
        SqlPlace::Plain(Word::Letters(_)) if is_digits => Ok(None),
        SqlPlace::Plain(Word::Number) if is_digits => Ok(Some(ValueKind::Number)),
        SqlPlace::Plain(Word::None) if is_number(value, before) => Ok(Some(ValueKind::Number)),
        SqlPlace::Plain(_) => Err((
            "without quotes the value could change the statement; only a number is allowed there",
            |parameter| {
                format!(
                    "write {{{parameter}:literal}} in the statement for a text in quotes, or \
                     {{{parameter}:identifier}} for a name; a number has digits, at most one \
                     point, and a minus sign only after a blank, a comma, `(`, `=`, `<` or `>`"
                )
            },
        )),
        SqlPlace::Name => Err((
            "the value is in a name in double quotes, which it could end",
            |parameter| {
                format!(
                    "write {{{parameter}:identifier}} for the whole name, or {{{parameter}:literal}} for a text"
                )
            },
        )),
        SqlPlace::Comment => Err((
            "the value is in a comment, which it could end",
            |parameter| {
                format!(
                    "leave {{{parameter}}} out of the comment; in the statement write {{{parameter}:literal}} for a text, \
                     {{{parameter}:identifier}} for a name"
                )
            },
        )),
        SqlPlace::Escapes | SqlPlace::Dollar | SqlPlace::Unclear => Err((
            "the value is in E'...' or $$...$$, or in a place that servers read differently",
            |parameter| {
                format!(
                    "write {{{parameter}:literal}} outside of them, as in E'before\\n' || {{{parameter}:literal}}, or \
                     {{{parameter}:identifier}} for a name"
                )
            },
        )),
    }
}

/// True if a value is a number, and the text before it does not change that.
fn is_number(value: &str, before: &str) -> bool {
    let unsigned = value.strip_prefix('-');
    let digits = unsigned.unwrap_or(value);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = match digits.split_once('.') {
        None => is_digits(digits),
        Some((whole, part)) => !before.ends_with('.') && is_digits(whole) && is_digits(part),
    };
    let operator = before.trim_end_matches(OPERATORS);
    let may_have_sign = match &before[operator.len()..] {
        "" => before.ends_with([' ', '\t', '\n', '\r', '(', ',', '[']) || before.is_empty(),
        comparison => comparison.chars().all(|c| matches!(c, '<' | '>' | '=')),
    };
    is_number && (unsigned.is_none() || may_have_sign)
}

/// The characters of PostgreSQL's operators.
const OPERATORS: &[char] = &[
    '+', '-', '*', '/', '<', '>', '=', '~', '!', '@', '#', '%', '^', '&', '|', '`', '?',
];

/// The part of a statement, in words.
fn name_of(place: SqlPlace) -> &'static str {
    match place {
        SqlPlace::Plain(_) => "between words",
        SqlPlace::Text => "in '...'",
        SqlPlace::Escapes => "in E'...'",
        SqlPlace::Name => "in \"...\"",
        SqlPlace::Dollar => "in $$...$$",
        SqlPlace::Comment => "in a comment",
        SqlPlace::Unclear => "in a place that servers read differently",
    }
}

/// The fault of a form in a setting that is not SQL.
pub(super) fn misplaced(name: &str, parameter: &str, path: &str) -> PackageFaultKind {
    let setting = path.rsplit('.').next().unwrap_or(path);
    PackageFaultKind::Conflict {
        conflict: format!("`{{{name}}}` is in `{setting}`, which is not SQL"),
        mend: format!("write {{{parameter}}}: only pre_sql and post_sql need values in quotes"),
    }
}

fn fault(parameter: &str, value: &str, cause: &str, mend: &str) -> PackageFaultKind {
    PackageFaultKind::value(format!("--set {parameter}"), value, cause, mend)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_cannot_leave_their_quotes() {
        for (form, value, expected) in [
            ("literal", "2024-01-01", "'2024-01-01'"),
            ("literal", "x'; DROP TABLE t --", "'x''; DROP TABLE t --'"),
            ("literal", "a\\'b", " E'a\\\\''b'"),
            ("identifier", "Odd \"name", "\"Odd \"\"name\""),
        ] {
            assert_eq!(quoted("day", form, value).as_deref(), Ok(expected));
        }
        for (form, value) in [("literal", "a\0b"), ("identifier", ""), ("text", "a")] {
            assert!(quoted("day", form, value).is_err(), "{form} {value:?}");
        }
    }

    /// `before`, the value, `after`.
    fn put(before: &str, form: Option<&str>, value: &str, after: &str) -> Option<String> {
        let mut text = before.to_owned();
        let mut statement = StatementText::new();
        match form {
            None => statement.push_bare("p", value, true, &mut text).ok()?,
            Some(form) => statement.push_quoted("p", form, value, &mut text).ok()?,
        }
        text.push_str(after);
        statement.finish(&text).ok()?;
        Some(text)
    }

    #[test]
    fn a_bare_value_is_nothing_but_a_value() {
        for (before, value, after, is_taken) in [
            ("day = '", "2024-01-01 10:00", "'", true),
            ("day = '", "2024/01/02", "'", true),
            ("day = '", "a@b.c 50% -- \"$$ /*", "'", true),
            ("day = '", "", "'", true),
            ("city = '", "x' OR 'a'='a", "'", false),
            ("city = '", "a\\", "'", false),
            ("city = '", "a\0", "'", false),
            ("id = ", "12", "", true),
            ("id = ", "1.5", "", true),
            ("id = ", "-1", "", true),
            ("id=", "-1", "", true),
            ("id>=", "-1", "::int", true),
            ("3-", "-1", "", false),
            ("3@", "-1", "", false),
            ("3- ", "-1", "", true),
            ("3-", "1", "", true),
            ("TABLE sales_", "2024", "_eu", true),
            ("TABLE sales_", "1.5", "", false),
            ("n = ", "0", "x10", false),
            ("n = ", "1.5", ".5", false),
            ("n = 0x", "1", "", false),
            ("ym = 2024", "02", "", true),
            ("", "", "", false),
            ("id = ", "id", "", false),
            ("id = ", "1 OR true", "", false),
            ("id = ", "1e5", "", false),
            ("id = ", "١", "", false),
            (
                "/* don't keep */ DELETE FROM t WHERE id = ",
                "1 OR true",
                "",
                false,
            ),
            ("region <> E'it\\'s' AND id = ", "1 OR true", "", false),
            ("SELECT E'", "1", "'", false),
            ("SELECT $$", "1", "$$", false),
            ("SELECT $a", "1", "$ x $a1$", false),
            ("TABLE \"", "a", "\"", false),
            ("-- ", "1", "", false),
            ("/* ", "1", " */", false),
        ] {
            let taken = put(before, None, value, after).is_some();
            assert_eq!(taken, is_taken, "{before}[{value}]{after}");
            let mut text = before.to_owned();
            let own = StatementText::new().push_bare("p", value, false, &mut text);
            assert!(own.is_ok(), "{value}");
        }
    }

    #[test]
    fn a_form_stands_where_its_quotes_are_quotes() {
        for (before, after, is_taken) in [
            ("x = ", " AND y", true),
            ("x=", "::date", true),
            ("date ", "", true),
            ("x = '", "'", false),
            ("x = \"", "\"", false),
            ("x = E'", "'", false),
            ("x = E", "", false),
            ("x = U&", "", false),
            ("x = U&e", "", false),
            ("$$$$e", "", false),
            ("mine", "", true),
            ("x = 'a'", "", false),
            ("x = E'a'\n", "", false),
            ("x = ", "'b'", false),
            ("x = ", "\n'b'", false),
            ("x = ", " -- c\n 'b'", false),
            ("x = ", " 'b'", true),
            ("/* ", " */", false),
            ("$$ ", " $$", false),
        ] {
            let taken = put(before, Some("literal"), "v", after).is_some();
            assert_eq!(taken, is_taken, "{before}[]{after}");
        }
        for (before, after, is_taken) in [
            ("TABLE s.", "", true),
            ("TABLE ", ".t", true),
            ("TABLE \"", "\"", false),
            ("TABLE \"a\"", "", false),
            ("TABLE ", "\"a\"", false),
            ("TABLE U&", "", false),
        ] {
            let taken = put(before, Some("identifier"), "v", after).is_some();
            assert_eq!(taken, is_taken, "{before}[]{after}");
        }
    }

    fn span(text: &str, is_of_it: impl Fn(char) -> bool) -> usize {
        text.find(|c| !is_of_it(c)).unwrap_or(text.len())
    }

    fn is_letter(c: char) -> bool {
        c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
    }

    /// The position after the quote that ends a text or a name.
    fn quoted_end(text: &str, quote: char, escapes: bool) -> Option<usize> {
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if c == '\\' && escapes {
                characters.next();
            } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
                return Some(at + 1);
            }
        }
        None
    }

    /// The position after the quote that continues a text. Between the two quotes are a line end and at most comments.
    fn gap(text: &str) -> Option<usize> {
        let (mut at, mut newline) = (0, false);
        loop {
            let rest = &text[at..];
            if rest.starts_with('\'') {
                return newline.then_some(at + 1);
            }
            newline |= rest.starts_with('\n');
            at += match rest.starts_with("--") {
                true => rest.find('\n')?,
                false => rest.starts_with([' ', '\t', '\n']).then_some(1)?,
            };
        }
    }

    fn tag(text: &str) -> Option<usize> {
        let inside = text.strip_prefix('$')?;
        let end = inside.find('$')?;
        let is_tag = inside[..end]
            .chars()
            .enumerate()
            .all(|(at, c)| is_letter(c) || (at > 0 && c.is_ascii_digit()));
        is_tag.then_some(end + 2)
    }

    /// The kinds of a statement's tokens by the rules of PostgreSQL's `scan.l`, implemented a second time, slowly.
    fn tokens(text: &str) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let mut kind = "other";
            let mut length = rest.chars().next().map_or(1, char::len_utf8);
            let start = usize::from(rest.starts_with(['e', 'E']));
            if rest[start..].starts_with('\'') {
                kind = "text";
                length = start + 1;
                loop {
                    match quoted_end(&rest[length..], '\'', start == 1) {
                        None => {
                            kind = "open";
                            length = rest.len();
                            break;
                        }
                        Some(more) => length += more,
                    }
                    match gap(&rest[length..]) {
                        None => break,
                        Some(gap) => length += gap,
                    }
                }
            } else if rest.starts_with("/*") {
                kind = "comment";
                let mut depth = 0;
                length = 0;
                loop {
                    let at = &rest[length..];
                    if at.is_empty() {
                        kind = "open";
                        break;
                    }
                    if at.starts_with("/*") {
                        depth += 1;
                        length += 2;
                    } else if at.starts_with("*/") {
                        depth -= 1;
                        length += 2;
                    } else {
                        length += at.chars().next().map_or(1, char::len_utf8);
                    }
                    if depth == 0 {
                        break;
                    }
                }
            } else if let Some(tag) = tag(rest) {
                let end = rest[tag..].find(&rest[..tag]);
                kind = if end.is_some() { "dollar" } else { "open" };
                length = end.map_or(rest.len(), |end| tag + end + tag);
            } else if rest.starts_with("--") {
                kind = "comment";
                length = rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix('"') {
                let end = quoted_end(inside, '"', false);
                kind = if end.is_some() { "name" } else { "open" };
                length = end.map_or(rest.len(), |end| end + 1);
            } else if rest.starts_with(is_letter) {
                kind = "word";
                length = span(rest, |c| is_letter(c) || c.is_ascii_digit() || c == '$');
            } else if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                let whole = span(rest, |c| c.is_ascii_digit());
                let part = match rest[whole..].strip_prefix('.') {
                    Some(part) => 1 + span(part, |c| c.is_ascii_digit()),
                    None => 0,
                };
                if whole + part > 1 || whole == 1 {
                    kind = "number";
                    length = whole + part;
                }
            } else if rest.starts_with([' ', '\t', '\n']) {
                kind = "blank";
                length = span(rest, |c| matches!(c, ' ' | '\t' | '\n'));
            }
            // A literal may be inserted with a blank before it.
            if kind != "blank" {
                found.push((kind, rest[..length].to_owned()));
            }
            rest = &rest[length..];
        }
        found
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "'",
            "''",
            "\"",
            "E'",
            "e",
            "\\",
            "\\'",
            "$$",
            "$a$",
            "$a",
            "$",
            "--",
            "-",
            "/*",
            "*/",
            "/",
            "*",
            "\n",
            " ",
            "id",
            "=",
            "1",
            ".",
            ",",
            "(",
            "U&",
            "_",
            "x",
            "'it''s'",
            "/* don't */",
            "\"O'x\"",
        ]);
        prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// With any accepted value, the statement has the same tokens as with a harmless value.
        #[test]
        fn a_value_that_is_taken_is_one_token(
            before in pieces(),
            after in pieces(),
            form in prop::sample::select(vec![None, None, Some("literal"), Some("identifier")]),
            value in prop_oneof![pieces(), "-?[0-9]{1,3}(\\.[0-9])?"],
        ) {
            let Some(text) = put(&before, form, &value, &after) else { return Ok(()) };
            let sign = usize::from(value.starts_with('-') && form.is_none());
            let plain = format!("{before}{}{after}", match form {
                Some("literal") => "'1'",
                Some(_) => "\"1\"",
                None => "1",
            });
            let (mut found, expected) = (tokens(&text), tokens(&plain));
            if sign == 1 && found.len() == expected.len() + 1 {
                let at = found.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(0);
                prop_assert_eq!(&found.remove(at).1, "-");
            }
            prop_assert_eq!(found.len(), expected.len(), "{} | {}", text, plain);
            let different = found.iter().zip(&expected).filter(|(a, b)| a != b);
            prop_assert!(different.clone().count() <= 1, "{} | {}", text, plain);
            for (a, b) in different {
                prop_assert_eq!(a.0, b.0, "{} | {}", text, plain);
            }
        }

        #[test]
        fn a_literal_ends_where_it_should(value in "[a-z'\\\\\" \n;-]{0,20}") {
            let literal = quoted("p", "literal", &value).expect("no NUL");
            let (escapes, inside) = match literal.strip_prefix(" E") {
                Some(inside) => (true, inside),
                None => (false, literal.as_str()),
            };
            let inside = inside.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).expect("quotes");
            let mut read = String::new();
            let mut rest = inside.chars();
            while let Some(c) = rest.next() {
                match c {
                    '\'' => prop_assert_eq!(rest.next(), Some('\'')),
                    '\\' if escapes => prop_assert_eq!(rest.next(), Some('\\')),
                    _ => {}
                }
                read.push(c);
            }
            prop_assert_eq!(read, value);
        }
    }
}
