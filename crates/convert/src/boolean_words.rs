//! Booleans in the words that a column declares: these and no others, in any case.

use inrush_rows::column::Column;
use inrush_rows::column_policy::BooleanWords;

use super::error::{ConvertError, ValueError};
use super::kernel::{Kernel, WINDOW_BYTES, Window, trim};

/// Converts the words of one column.
pub(super) struct DeclaredBoolean {
    /// Words in lower case and their meanings.
    words: Vec<(Box<str>, bool)>,
    /// The list of the words for the reasons of rejects.
    shown: String,
}

impl DeclaredBoolean {
    /// The converter of a column that declares its words.
    pub fn new(column: &Column, declared: &BooleanWords) -> Result<DeclaredBoolean, ConvertError> {
        let invalid = |setting: &'static str, reason: String| ConvertError::PolicyInvalid {
            column: column.name.clone(),
            setting,
            reason,
        };
        let mut words: Vec<(Box<str>, bool)> = Vec::new();
        for (setting, list, value) in [
            ("true_words", &declared.true_words, true),
            ("false_words", &declared.false_words, false),
        ] {
            if list.is_empty() {
                return Err(invalid(
                    setting,
                    "the list is empty; the declared words replace all others, so write at least \
                     one"
                    .to_owned(),
                ));
            }
            for word in list {
                let folded = word.trim().to_lowercase();
                match words.iter().find(|(other, _)| **other == *folded) {
                    Some((_, other)) if *other != value => {
                        return Err(invalid(
                            setting,
                            format!("{word:?} is a word for both true and false"),
                        ));
                    }
                    Some(_) => {}
                    None => words.push((folded.into_boxed_str(), value)),
                }
            }
        }
        let quoted = |list: &[String]| {
            list.iter()
                .map(|word| format!("{word:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        Ok(DeclaredBoolean {
            words,
            shown: format!(
                "{} for true, {} for false",
                quoted(&declared.true_words),
                quoted(&declared.false_words)
            ),
        })
    }
}

impl Kernel for DeclaredBoolean {
    type Native = bool;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<bool> {
        if length > WINDOW_BYTES {
            return None;
        }
        let field = &window[..length];
        self.words
            .iter()
            .find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(field))
            .map(|(_, value)| *value)
    }

    fn exact(&self, field: &[u8]) -> Result<bool, ValueError> {
        let text = String::from_utf8_lossy(trim(field)).to_lowercase();
        self.words
            .iter()
            .find(|(word, _)| **word == *text)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                ValueError::syntax(format!(
                    "not one of the column's words: {}; fix the row, or add the word to \
                     true_words or false_words",
                    self.shown
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;

    use super::super::kernel::both_paths;
    use super::*;

    fn kernel(yes: &[&str], no: &[&str]) -> Result<DeclaredBoolean, ConvertError> {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let words = BooleanWords {
            true_words: list(yes),
            false_words: list(no),
        };
        DeclaredBoolean::new(&Column::new("b", ColumnType::Bool, 0), &words)
    }

    #[test]
    fn words_in_any_case() {
        let kernel = kernel(&["ja", "Ä", "1"], &["nein", "", "0"]).expect("words");
        for text in ["ja", "JA", " Ja ", "ä", "Ä", "1"] {
            assert_eq!(both_paths(&kernel, text), Ok(true), "{text:?}");
        }
        for text in ["nein", "NEIN", "", "  ", "0"] {
            assert_eq!(both_paths(&kernel, text), Ok(false), "{text:?}");
        }
        for text in ["j", "true", "t", "yes", "jaa", "ne in"] {
            let error = both_paths(&kernel, text).expect_err(text);
            assert!(error.reason.contains("\"nein\""), "{error}");
        }
    }

    #[test]
    fn words_that_cannot_be() {
        let reason = |yes: &[&str], no: &[&str]| match kernel(yes, no) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{yes:?} and {no:?} are refused"),
        };
        assert!(reason(&["x"], &["X"]).contains("for both true and false"));
        assert!(reason(&[], &["X"]).contains("true_words"));
        assert!(reason(&["X"], &[]).contains("false_words"));
    }
}
