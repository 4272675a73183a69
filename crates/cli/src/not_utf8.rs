//! Refuses arguments that are not UTF-8, names them, and says how to fix them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::errors::CommandError;

/// Why the command was not run. `words` is the whole command line, beginning with the program's name; at least one word
/// is not UTF-8.
pub fn refused(words: &[OsString]) -> CommandError {
    let odd: Vec<String> = words
        .iter()
        .enumerate()
        .filter_map(|(index, word)| {
            Some((index, word, std::str::from_utf8(word.as_bytes()).err()?))
        })
        .map(|(index, word, error)| {
            let at = error.valid_up_to();
            format!(
                "argument {index} ({}) is not UTF-8 at its byte {} (0x{:02x})",
                shown(word),
                at + 1,
                word.as_bytes()[at]
            )
        })
        .collect();
    let of_options = |index: &usize| {
        let option = |word: &OsString| word.as_bytes().starts_with(b"--");
        option(&words[*index]) || index.checked_sub(1).is_some_and(|at| option(&words[at]))
    };
    let is_of_options = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.to_str().is_none())
        .all(|(index, _)| of_options(&index));
    let hint = match is_of_options {
        true => {
            "the value of an option is text in UTF-8: the terminal or the script probably has another encoding"
        }
        false => {
            "the ledger and reports keep file names as text, so a file's name must be UTF-8: \
               rename it, give it a second name (ln OLD NEW), or send it to standard input (inrush \
               load - < FILE)"
        }
    };
    CommandError::Usage {
        what: odd.join("; "),
        hint: hint.to_owned(),
    }
}

/// An argument as a shell reads it, on one line: bytes that are not characters, and control characters, are escaped.
fn shown(word: &OsStr) -> String {
    let mut shown = String::from("$'");
    for chunk in word.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => shown.extend(['\\', character]),
                character if character.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        shown.push_str(&format!("\\x{byte:02x}"));
                    }
                }
                character => shown.push(character),
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn the_argument_its_place_and_its_bytes_are_told() {
        let words: Vec<OsString> = [
            b"inrush".to_vec(),
            b"load".to_vec(),
            b"caf\xe9's.csv".to_vec(),
            b"--to".to_vec(),
            b"\x1b[31m\xff".to_vec(),
        ]
        .map(OsString::from_vec)
        .into();
        let text = refused(&words).to_string();
        for part in [
            "argument 2 ($'caf\\xe9\\'s.csv') is not UTF-8 at its byte 4 (0xe9)",
            "argument 4 ($'\\x1b[31m\\xff') is not UTF-8 at its byte 6 (0xff)",
            "a file's name must be UTF-8",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn the_hint_for_a_value_of_an_option_does_not_speak_of_files() {
        for words in [
            [b"inrush".as_slice(), b"load", b"--table", b"t\xff"],
            [b"inrush".as_slice(), b"load", b"x.csv", b"--table=t\xff"],
        ] {
            let words = words.map(|word| OsString::from_vec(word.to_vec()));
            let text = refused(&words).to_string();
            assert!(text.contains("the value of an option is text"), "{text}");
            assert!(!text.contains("file"), "{text}");
        }
    }
}
