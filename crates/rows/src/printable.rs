//! Makes text safe for a terminal: file names, headers, messages of servers and other foreign values must not move the
//! cursor, hide the text beside them, or look like lines of Inrush.
//!
//! The command has one printer, which calls [`escaped`] on everything. That leaves line breaks unchanged, because the
//! printer cannot distinguish those of a layout from those of a value. So [`one_line`] is for values, [`indented`] for
//! messages that may have several lines, and [`write_line`] for the lines of a longer text.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The blanks before each further line of a value: no line of Inrush begins with this many.
const CONTINUED: &str = "        ";

/// The text with control and invisible characters written as `\u{1b}`, except line breaks and tabs.
pub fn escaped(text: &str) -> Cow<'_, str> {
    replaced(text, |character| {
        !matches!(character, '\n' | '\t') && is_unsafe(character)
    })
}

/// Like [`escaped`], in one line: line breaks and tabs are written as `\n` and `\t`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_unsafe)
}

/// Like [`escaped`], on several lines: all but the first are indented far to the right, where no line of Inrush begins.
pub fn indented(text: &str) -> Cow<'_, str> {
    match (escaped(text.trim_end_matches('\n')), text.contains('\n')) {
        (clean, false) => clean,
        (clean, true) => Cow::Owned(clean.replace('\n', &format!("\n{CONTINUED}"))),
    }
}

/// Writes one line of a text. Line breaks at its beginning belong to the layout; all others belong to a value.
pub fn write_line(out: &mut impl Write, line: fmt::Arguments<'_>) -> fmt::Result {
    let line = line.to_string();
    let text = line.trim_start_matches('\n');
    out.write_str(&line[..line.len() - text.len()])?;
    out.write_str(&indented(text))?;
    out.write_char('\n')
}

/// One line of a text, with its end; see [`write_line`].
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    write_line(&mut out, format_args!("{text}")).expect("a String takes any text");
    out
}

/// Writes a line by [`write_line`], as `writeln!` does.
#[macro_export]
macro_rules! told {
    ($out:expr, $($part:tt)*) => {
        $crate::printable::write_line($out, format_args!($($part)*))
    };
}

/// JSON with control and invisible characters written as `\u009b`, which has the same meaning in JSON.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    if is_plain(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        // Outside of strings, the only invisible characters of JSON are line breaks and blanks.
        if matches!(character, '\n' | '\t' | '\r') || !is_unsafe(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}").expect("a String takes any text");
        }
    }
    Cow::Owned(out)
}

/// True if a terminal or a reader may mistake a character for something else: controls of C0 and C1, DEL, line and
/// paragraph separators, marks that change the direction of writing, and characters without a width.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// True if every byte is a visible ASCII character or a line end: the usual case.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

fn replaced(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_replaced(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_moves_the_cursor_is_written_out() {
        for (text, expected) in [
            ("orders.csv", "orders.csv"),
            ("größe\n\t日本", "größe\n\t日本"),
            ("a\u{1b}[2K\r0 rejected", "a\\u{1b}[2K\\r0 rejected"),
            ("a\u{9b}2Kb\u{7f}", "a\\u{9b}2Kb\\u{7f}"),
            ("a\u{202e}vsc.b", "a\\u{202e}vsc.b"),
            ("a\u{2028}b\u{200b}c", "a\\u{2028}b\\u{200b}c"),
            ("a\0b\u{8}", "a\\u{0}b\\u{8}"),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
        assert_eq!(one_line("a\n0 rejected\t"), "a\\n0 rejected\\t");
    }

    #[test]
    fn further_lines_of_a_value_stand_to_the_right() {
        assert_eq!(indented("no\nhint: do it\n"), "no\n        hint: do it");
        let mut text = String::new();
        write_line(&mut text, format_args!("\nFlow {}", "a\nFlow b")).expect("a String");
        assert_eq!(text, "\nFlow a\n        Flow b\n");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in "\\PC{0,20}|[\\x00-\\x1f\\x7f-\u{a0}\u{2000}-\u{2070}a-z]{0,20}") {
            prop_assert!(!one_line(&text).contains(is_unsafe));
            prop_assert!(!escaped(&text).replace(['\n', '\t'], "").contains(is_unsafe));
        }

        #[test]
        fn escaped_json_means_the_same(text in "[\\x00-\\x1f\\x7f-\u{a0}\u{2000}-\u{2070}\u{e0000}-\u{e007f}a-z]{0,20}") {
            let json = serde_json::to_string_pretty(&vec![&text]).expect("it is text");
            let escaped = escaped_json(&json);
            prop_assert!(!escaped.replace('\n', "").contains(is_unsafe));
            let read: Vec<String> = serde_json::from_str(&escaped).expect("it is JSON");
            prop_assert_eq!(read, vec![text]);
        }
    }
}
