//! Identifiers (`name`): at most 63 bytes. PostgreSQL cuts longer ones off, which would change the value.

use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::views::{Built, Kept, TextCheck};

/// The most bytes of an identifier.
const BYTES_MAX: usize = 63;

/// Converts identifiers.
pub(super) struct Name;

impl TextCheck for Name {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        if field.len() <= BYTES_MAX {
            return Ok(Kept::Whole);
        }
        Err(ValueError::new(
            RejectCode::TooLong,
            format!(
                "{} bytes in UTF-8, but name holds {BYTES_MAX}: PostgreSQL would cut off the rest; \
                 shorten the value, or make the column text",
                field.len()
            ),
        ))
    }

    #[inline(always)]
    fn whole_bytes_max(&self) -> Option<usize> {
        Some(BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_not_characters_are_counted() {
        for (text, is_name) in [
            (String::new(), true),
            ("a".repeat(63), true),
            ("a".repeat(64), false),
            ("a".repeat(63) + " ", false),
            ("é".repeat(31) + "a", true),
            ("é".repeat(32), false),
        ] {
            let checked = Name.check(&text, &mut Built::at_end_of(&mut String::new()));
            let code = checked.map(|_| ()).map_err(|error| error.code);
            let expected = if is_name {
                Ok(())
            } else {
                Err(RejectCode::TooLong)
            };
            assert_eq!(code, expected, "{text}");
        }
    }
}
