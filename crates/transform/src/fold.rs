//! Differences between texts that a lookup can ignore: case, accents and blanks.

use unicode_normalization::UnicodeNormalization;

/// The differences that are ignored when texts are compared. Two texts are equal if their folded forms have the same
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// Upper and lower case, by Unicode's rules without a language.
    pub case: bool,
    /// Accents: the marks that become separate characters when Unicode decomposes a letter.
    pub accents: bool,
    /// Blanks at both ends, and the number and kind of blanks elsewhere.
    pub blanks: bool,
}

impl Folds {
    /// True if nothing is ignored.
    pub fn is_none(self) -> bool {
        self == Folds::default()
    }

    /// Appends the folded form of a text.
    pub(crate) fn append(self, text: &str, form: &mut Vec<u8>) {
        if !self.blanks {
            return self.append_word(text, form);
        }
        for (at, word) in text.split_whitespace().enumerate() {
            if at > 0 {
                form.push(b' ');
            }
            self.append_word(word, form);
        }
    }

    fn append_word(self, word: &str, form: &mut Vec<u8>) {
        match self.accents && !word.is_ascii() {
            true => self.append_case(word.nfd().filter(|letter| !is_accent(*letter)), form),
            false => self.append_case(word.chars(), form),
        }
    }

    fn append_case(self, letters: impl Iterator<Item = char>, form: &mut Vec<u8>) {
        let mut push =
            |letter: char| form.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        for letter in letters {
            match self.case {
                false => push(letter),
                true if letter.is_ascii() => push(letter.to_ascii_lowercase()),
                // The letter is converted to upper case first, because in upper case the forms of a letter are equal,
                // such as the two forms of sigma, or sharp s and ss.
                true => letter
                    .to_uppercase()
                    .flat_map(char::to_lowercase)
                    .for_each(&mut push),
            }
        }
    }
}

/// True for the marks of Unicode's blocks of combining diacritical marks. In many other scripts, marks are vowels.
fn is_accent(letter: char) -> bool {
    matches!(letter,
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(words: &[&str], text: &str) -> String {
        let folds = Folds {
            case: words.contains(&"case"),
            accents: words.contains(&"accents"),
            blanks: words.contains(&"blanks"),
        };
        let mut form = Vec::new();
        folds.append(text, &mut form);
        String::from_utf8(form).expect("folded text is text")
    }

    #[test]
    fn only_what_is_named_is_ignored() {
        for (words, one, other, is_equal) in [
            (&["case"][..], "Straße", "STRASSE", true),
            (&["case"], "ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς", true),
            (&["case"], "É", "é", true),
            (&["case"], "é", "e", false),
            (&["case"], "a ", "A", false),
            (&["accents"], "Müller", "Mu\u{308}ller", true),
            (&["accents"], "café", "cafe", true),
            (&["accents"], "é", "E", false),
            (&["accents"], "ø", "o", false),
            // The vowels of Hindi are marks; with another vowel it is another word.
            (&["accents"], "कि", "क", false),
            (&["blanks"], "  a \t b\u{a0}", "a b", true),
            (&["blanks"], "ab", "a b", false),
            (&["blanks"], " ", "", true),
            (
                &["case", "accents", "blanks"],
                " ÉCOLE  d'Été ",
                "ecole D'ETE",
                true,
            ),
            (&["case", "accents"], "İ", "i", true),
            (&[], "a", "A", false),
        ] {
            let same = folded(words, one) == folded(words, other);
            assert_eq!(same, is_equal, "{words:?}: {one:?} and {other:?}");
        }
    }
}
