//! JSON: its form is checked, its text stays as it is written. What `jsonb` refuses besides
//! (`\u0000`, halves of surrogate pairs) is the server's to say.

use serde::de::IgnoredAny;

use super::error::ValueError;
use super::views::{Built, Kept, TextCheck};

/// Converts JSON documents.
pub(super) struct Json;

impl TextCheck for Json {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        // Read this way a document may be nested as deep as it likes: how deep is too deep is
        // the server's to say.
        match serde_json::from_str::<IgnoredAny>(field) {
            Ok(_) => Ok(Kept::Whole),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(text: &str) -> bool {
        Json.check(text, &mut Built::at_end_of(&mut String::new()))
            .is_ok()
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
    fn deep_nesting_is_not_refused() {
        let depth = 100_000;
        assert!(is_json(&("[".repeat(depth) + &"]".repeat(depth))));
    }
}
