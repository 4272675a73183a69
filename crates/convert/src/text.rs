//! Text: characters are counted against the column's limit. Text is never cut, except for blanks that do not count.

use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::views::{Built, Kept, TextCheck};

/// Converts text.
pub(super) struct Text {
    characters_max: Option<u32>,
    blank_padded: bool,
}

impl Text {
    pub fn new(characters_max: Option<u32>, blank_padded: bool) -> Text {
        Text {
            characters_max,
            blank_padded,
        }
    }

    /// The number of bytes of a field that are kept.
    pub fn kept_length(&self, field: &[u8]) -> Result<usize, ValueError> {
        let Some(characters_max) = self.characters_max else {
            return Ok(field.len());
        };
        let characters_max = characters_max as usize;
        if field.len() <= characters_max {
            return Ok(field.len());
        }
        let count = field.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        if count <= characters_max {
            return Ok(field.len());
        }
        let past = field
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte & 0xC0 != 0x80)
            .nth(characters_max)
            .map_or(field.len(), |(at, _)| at);
        let is_blank_past = field[past..].iter().all(|byte| *byte == b' ');
        if self.blank_padded && is_blank_past {
            return Ok(past);
        }
        let hint = if is_blank_past {
            "; the characters past it are blanks: declare trim = \"end\" for the column, or make \
             it wider"
        } else {
            "; shorten the value, make the column wider, or declare on_truncate = \"truncate\""
        };
        Err(ValueError::new(
            RejectCode::TooLong,
            format!("{count} characters, but the column holds {characters_max}{hint}"),
        ))
    }
}

impl TextCheck for Text {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        let length = self.kept_length(field.as_bytes())?;
        Ok(Kept::Part { offset: 0, length })
    }

    #[inline(always)]
    fn whole_bytes_max(&self) -> Option<usize> {
        // Each character has at least one byte.
        Some(self.characters_max.map_or(usize::MAX, |max| max as usize))
    }
}

/// Text of a type without an encoder: the server reads it itself.
pub(super) struct Opaque;

impl TextCheck for Opaque {
    fn check(&self, _field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        Ok(Kept::Whole)
    }

    #[inline(always)]
    fn whole_bytes_max(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! kept {
        ($($name:ident: $max:expr, $padded:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                let kept = Text::new($max, $padded).kept_length($text.as_bytes());
                let expected: Result<&str, RejectCode> = $expected;
                assert_eq!(
                    kept.map(|length| &$text[..length]).map_err(|error| error.code),
                    expected
                );
            })*
        };
    }

    kept! {
        no_limit: None, false, "anything  " => Ok("anything  ");
        at_the_limit: Some(3), false, "abc" => Ok("abc");
        past_the_limit: Some(3), false, "abcd" => Err(RejectCode::TooLong);
        characters_not_bytes: Some(3), false, "äöü" => Ok("äöü");
        characters_past: Some(3), false, "äöüß" => Err(RejectCode::TooLong);
        four_byte_characters: Some(2), false, "🦀🦀" => Ok("🦀🦀");
        varchar_keeps_its_blanks: Some(3), false, "ab " => Ok("ab ");
        varchar_is_not_cut: Some(3), false, "abc  " => Err(RejectCode::TooLong);
        char_is_cut_at_blanks: Some(3), true, "abc  " => Ok("abc");
        char_keeps_blanks_that_fit: Some(3), true, "a    " => Ok("a  ");
        char_with_wide_characters: Some(3), true, "äöü  " => Ok("äöü");
        char_past_the_limit: Some(3), true, "abc d" => Err(RejectCode::TooLong);
        char_tab_is_no_blank: Some(3), true, "abc\t" => Err(RejectCode::TooLong);
        zero_limit: Some(0), false, "" => Ok("");
    }
}
