//! Escapes in well-formed JSON that databases refuse, because they cannot hold such characters.
//!
//! `"\ud800"` is half of a pair that encodes one character. PostgreSQL's `json` and SQLite keep it as text; DuckDB and
//! `jsonb` refuse it, and `jsonb` refuses `\u0000`, too. In the database one such value fails the whole statement
//! without naming a row, so these escapes are found before a value is sent. DuckDB accepts everything else that the
//! converter accepts as JSON, and keeps it as it is written (tested with 2.0: numbers such as `1e999`, equal keys,
//! 100,000 levels).

/// An escape that a database cannot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEscape {
    /// The character's number.
    pub code: u16,
    /// The number of bytes before it.
    pub at: usize,
}

impl BadEscape {
    /// Why a row with it is refused: the end of a sentence that begins with the name of its column. `product` is the
    /// database that refuses it.
    pub fn reason(&self, product: &str) -> String {
        let (what, fix) = match self.code {
            0 => ("a NUL", "remove it, or load the value as json or text"),
            _ => (
                "half of a surrogate pair, not a character",
                "likely the export cut a text in the middle of a character; write \\ufffd instead, or load it as text",
            ),
        };
        let (code, at) = (self.code, self.at);
        format!(
            "has the escape \\u{code:04x} after {at} bytes of its JSON, which is {what}: {product} refuses it; {fix}"
        )
    }
}

/// The first escape of a well-formed document that is half of a pair, or is NUL unless `takes_nul` is set.
pub fn bad_escape(text: &str, takes_nul: bool) -> Option<BadEscape> {
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += next;
        let Some(code) = escape(text, at) else {
            // Another escape, of one ASCII character, such as `\\`.
            at += 2;
            continue;
        };
        let is_pair = |low: Option<u16>| low.is_some_and(|low| (0xDC00..0xE000).contains(&low));
        at += match code {
            0xD800..0xDC00 if is_pair(escape(text, at + 6)) => 12,
            0xD800..0xE000 => return Some(BadEscape { code, at }),
            0 if !takes_nul => return Some(BadEscape { code, at }),
            _ => 6,
        };
    }
    None
}

/// The number in the `\uXXXX` at this position.
fn escape(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_found() {
        for (text, expected) in [
            (r#""\ud800""#, Some((0xD800, 1))),
            (r#""\udc00""#, Some((0xDC00, 1))),
            (r#""\uD800\uD800""#, Some((0xD800, 1))),
            (r#""\udc00\ud800""#, Some((0xDC00, 1))),
            (r#""\ud800\u0041""#, Some((0xD800, 1))),
            (r#""\ud800x\udc00""#, Some((0xD800, 1))),
            (r#""\ud83d\ude00\ude00""#, Some((0xDE00, 13))),
            (r#"{"\ud800": 1}"#, Some((0xD800, 2))),
            (r#""ä\n\\\ud800""#, Some((0xD800, 7))),
            (r#""\\ud800""#, None),
            (r#""\\\\ud800""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\uD83D\uDE00 \u00e4\uffff\ue000\ud7ff""#, None),
            (r#""\u0000""#, None),
            (r#"[1, "ä"]"#, None),
            ("\"\\u12", None),
            ("\\", None),
            ("\\uäöü", None),
        ] {
            let found = bad_escape(text, true).map(|bad| (bad.code, bad.at));
            assert_eq!(found, expected, "{text}");
        }
        let nul = bad_escape(r#"{"a": "\\u0000\u0000"}"#, false);
        assert_eq!(nul, Some(BadEscape { code: 0, at: 14 }));
        assert_eq!(bad_escape(r#""\\u0000""#, false), None);
    }
}
