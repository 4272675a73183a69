//! Brackets and quotes that an expression opens and does not close. DuckDB's parser says only near which word it
//! stopped.

use std::ops::Range;

use crate::error::StepErrorKind;
use crate::expression::Fault;

/// The reason why DuckDB has refused to read a text, if it is a bracket, a quote or a comment; otherwise `None`. The
/// fault marks the part that is not closed, or the bracket that closes nothing.
pub(crate) fn fault(text: &str) -> Option<Fault> {
    let bytes = text.as_bytes();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        at += match bytes[at] {
            // The end of `$tag$...$tag$` is not searched, so nothing is known of the brackets after it.
            b'$' => return None,
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => match rest.find("*/") {
                Some(end) => end + 2,
                None => return Some(said(at..at + 2, "the comment", "`*/`")),
            },
            b'\'' => {
                let escapes = at > 0 && bytes[at - 1].eq_ignore_ascii_case(&b'e');
                match length_of_quoted(rest, '\'', escapes) {
                    Some(length) => length,
                    None => return Some(said(at..at + 1, "the text that begins here", "`'`")),
                }
            }
            b'"' => match length_of_quoted(rest, '"', false) {
                Some(length) => length,
                None => return Some(said(at..at + 1, "the name that begins here", "`\"`")),
            },
            b'(' | b'[' | b'{' => {
                open.push(at);
                1
            }
            byte @ (b')' | b']' | b'}') => {
                let Some(opened) = open.pop() else {
                    return Some(closes_nothing(at, byte));
                };
                if closing(bytes[opened]) != byte {
                    return Some(not_closed(opened, bytes[opened]));
                }
                1
            }
            _ => 1,
        };
        // A character of several bytes is passed whole.
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    let opened = open.pop()?;
    Some(not_closed(opened, bytes[opened]))
}

/// The length of a quoted text with its quotes; `None` if it is not closed. A quote is written twice inside it.
fn length_of_quoted(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = rest.next() {
        if character == '\\' && escapes {
            rest.next();
        } else if character == quote && rest.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

fn closing(bracket: u8) -> u8 {
    match bracket {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

fn not_closed(at: usize, bracket: u8) -> Fault {
    let what = format!("the `{}`", char::from(bracket));
    let closing = format!("`{}`", char::from(closing(bracket)));
    said(at..at + 1, &what, &closing)
}

fn closes_nothing(at: usize, bracket: u8) -> Fault {
    let kind = StepErrorKind::Unclosed {
        what: format!("the `{}` closes nothing", char::from(bracket)),
        hint: "remove it, or open the bracket before it".to_owned(),
    };
    (Some(at..at + 1), kind)
}

fn said(range: Range<usize>, what: &str, closing: &str) -> Fault {
    let kind = StepErrorKind::Unclosed {
        what: format!("{what} is not closed"),
        hint: format!("add {closing}"),
    };
    (Some(range), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_named_with_its_place() {
        for (text, expected) in [
            ("(id + 1", Some((0, "the `(` is not closed", "add `)`"))),
            (
                "coalesce(a, (b)",
                Some((8, "the `(` is not closed", "add `)`")),
            ),
            ("a[1", Some((1, "the `[` is not closed", "add `]`"))),
            ("(a + b]", Some((0, "the `(` is not closed", "add `)`"))),
            (
                "id + 1)",
                Some((
                    6,
                    "the `)` closes nothing",
                    "remove it, or open the bracket before it",
                )),
            ),
            (
                "a = 'b",
                Some((4, "the text that begins here is not closed", "add `'`")),
            ),
            (
                "a = 'b''",
                Some((4, "the text that begins here is not closed", "add `'`")),
            ),
            (
                r"a = e'b\'",
                Some((5, "the text that begins here is not closed", "add `'`")),
            ),
            (
                "\"a b",
                Some((0, "the name that begins here is not closed", "add `\"`")),
            ),
            ("a /* b", Some((2, "the comment is not closed", "add `*/`"))),
            (
                "'\u{20ac}(' || (b -- )",
                Some((10, "the `(` is not closed", "add `)`")),
            ),
            ("a = ')' + \"(\" /* ( */ (b) -- (", None),
            ("a +", None),
            ("$$($$ + )", None),
            ("", None),
        ] {
            let found = fault(text).map(|(range, kind)| match kind {
                StepErrorKind::Unclosed { what, hint } => (range, what, hint),
                other => unreachable!("{other}"),
            });
            let expected = expected.map(|(at, what, hint)| {
                let length = if what.contains("comment") { 2 } else { 1 };
                (Some(at..at + length), what.to_owned(), hint.to_owned())
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = [
            "(", ")", "[", "}", "'", "\"", "--", "/*", "*/", "\n", "\u{20ac}", "e'", "\\", "a",
        ];
        for one in parts {
            for two in parts {
                for three in parts {
                    fault(&format!("{one}{two}{three}"));
                }
            }
        }
    }
}
