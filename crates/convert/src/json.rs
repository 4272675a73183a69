//! JSON: its form is checked, and its text is kept as it is written. The server decides about things that only `jsonb`
//! refuses (`\u0000`, halves of surrogate pairs).

use inrush_rows::reject::RejectCode;
use serde::de::IgnoredAny;

use super::error::ValueError;
use super::json_keys::repeated_key;
use super::views::{Built, Kept, TextCheck};

/// Bytes of a key that a reason quotes.
const QUOTED_BYTES_MAX: usize = 40;

/// Converts JSON documents.
pub(super) struct Json {
    /// True if the destination keeps the members of objects instead of the text. Of repeated keys, it then keeps only
    /// the last one.
    keeps_members: bool,
}

impl Json {
    /// Documents that are kept as they are written.
    pub fn text() -> Json {
        Json {
            keeps_members: false,
        }
    }

    /// Documents that are kept as their members.
    pub fn members() -> Json {
        Json {
            keeps_members: true,
        }
    }
}

impl TextCheck for Json {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        // Read this way, a document may be nested arbitrarily deep; the server decides how deep is too deep.
        match serde_json::from_str::<IgnoredAny>(field) {
            Ok(_) if !self.keeps_members => Ok(Kept::Whole),
            Ok(_) => match repeated_key(field) {
                None => Ok(Kept::Whole),
                Some(key) => Err(repeated(&key)),
            },
            Err(_) if field.trim_ascii().is_empty() => Err(ValueError::syntax(
                "not JSON; the field is empty: if that means NULL, set null = \"\" in the format",
            )),
            Err(error) => Err(ValueError::syntax(format!(
                "not JSON; {error}; likely quotes were lost in the export, or a part of the \
                 document was cut off"
            ))),
        }
    }
}

#[cold]
fn repeated(key: &str) -> ValueError {
    let end = key.floor_char_boundary(QUOTED_BYTES_MAX);
    let more = if end < key.len() { "..." } else { "" };
    ValueError::new(
        RejectCode::FormLost,
        format!(
            "the key {:?}{more} occurs twice in one object, and jsonb keeps the last of its values only; fix the \
             document, or make the column json, which keeps the text",
            &key[..end]
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(json: &Json, text: &str) -> Result<(), ValueError> {
        json.check(text, &mut Built::at_end_of(&mut String::new()))
            .map(drop)
    }

    fn is_json(text: &str) -> bool {
        checked(&Json::text(), text).is_ok()
    }

    #[test]
    fn documents() {
        for text in [
            "null",
            " {\"a\": [1, 2.5e10, true, \"\\u00e4\\n\"]} ",
            "\"text\"",
            "1e999",
            "\"\\u0000\"",
            "\"\\ud800\"",
            "123456789012345678901234567890",
            "[]",
            "{\"a\": 1, \"a\": 2}",
        ] {
            assert!(is_json(text), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "{a: 1}",
            "{'a': 1}",
            "[1,]",
            "01",
            "NaN",
            "tru",
            "[1] 2",
            "\"a\tb\"",
            "\"\\x\"",
            "\"\\u12\"",
            ".5",
            "+1",
        ] {
            assert!(!is_json(text), "{text}");
        }
    }

    #[test]
    fn a_repeated_key_is_a_reject_where_members_are_kept() {
        let error = checked(&Json::members(), "{\"a\": 1, \"a\": 2}").expect_err("a repeated key");
        assert_eq!(error.code, RejectCode::FormLost);
        assert!(
            error.reason.contains("the key \"a\" occurs twice"),
            "{error}"
        );
        let long = "ä".repeat(30);
        let error = checked(
            &Json::members(),
            &format!("{{\"{long}\": 1, \"{long}\": 2}}"),
        );
        let reason = error.expect_err("a repeated key").reason;
        assert!(
            reason.contains(&format!("\"{}\"...", "ä".repeat(20))),
            "{reason}"
        );
        assert_eq!(
            checked(&Json::members(), "{\"a\": 1, \"b\": {\"a\": 2}}"),
            Ok(())
        );
    }

    #[test]
    fn deep_nesting_is_not_refused() {
        let depth = 100_000;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert!(is_json(&text));
        assert_eq!(checked(&Json::members(), &text), Ok(()));
    }
}
