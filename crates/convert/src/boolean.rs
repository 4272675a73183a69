//! Booleans: PostgreSQL's words and their unique prefixes.

use super::error::ValueError;
use super::kernel::{Kernel, Window, trim};

/// Converts booleans.
pub(super) struct Boolean;

impl Kernel for Boolean {
    type Native = bool;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<bool> {
        if length == 1 {
            return match window[0] {
                b't' | b'T' | b'1' | b'y' | b'Y' => Some(true),
                b'f' | b'F' | b'0' | b'n' | b'N' => Some(false),
                _ => None,
            };
        }
        if length == 4 && window[..4].eq_ignore_ascii_case(b"true") {
            return Some(true);
        }
        if length == 5 && window[..5].eq_ignore_ascii_case(b"false") {
            return Some(false);
        }
        None
    }

    fn exact(&self, field: &[u8]) -> Result<bool, ValueError> {
        let text = trim(field);
        let begins = |word: &str, length_min: usize| {
            (length_min..=word.len()).contains(&text.len())
                && word.as_bytes()[..text.len()].eq_ignore_ascii_case(text)
        };
        if begins("true", 1) || begins("yes", 1) || begins("on", 2) || text == b"1" {
            Ok(true)
        } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == b"0" {
            Ok(false)
        } else if text.is_empty() {
            Err(ValueError::syntax(
                "not a boolean; the field is empty: if that means NULL, set null = \"\" in the \
                 format",
            ))
        } else {
            Err(ValueError::syntax(
                "not a boolean; write true or false (also t, f, yes, no, y, n, on, off, 1, 0, \
                 in any case), or declare the file's own true_words and false_words for the column",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::both_paths;
    use super::*;

    #[test]
    fn words_and_their_beginnings() {
        for text in [
            "t", "tr", "tru", "true", "TRUE", "y", "ye", "yes", "on", "On", "1", " t ", "\ttrue\n",
        ] {
            assert_eq!(both_paths(&Boolean, text), Ok(true), "{text:?}");
        }
        for text in [
            "f", "fa", "fals", "false", "False", "n", "no", "of", "off", "0", " F",
        ] {
            assert_eq!(both_paths(&Boolean, text), Ok(false), "{text:?}");
        }
        for text in ["", " ", "o", "10", "truee", "ja", "2", "-1", "yess", "t f"] {
            assert!(both_paths(&Boolean, text).is_err(), "{text:?}");
        }
    }
}
