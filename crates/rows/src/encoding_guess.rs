//! Guesses the encoding of a text, for messages, and for the byte order of declared UTF-16. A guess alone never decides
//! how text is decoded.
//!
//! Legacy encodings are guessed by `chardetng`, which browsers use. `chardetng` does not know UTF-16. NUL bytes show
//! that a text is UTF-16, because they do not occur in the other encodings.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_16BE, UTF_16LE};

use crate::encoding::TextEncoding;

/// Bytes of a text that are examined.
const LOOK_BYTES_MAX: usize = 256 << 10;

/// The first fault of a text that should be UTF-8, and its likely encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The first byte that is not part of a character.
    pub byte: u8,
    /// Bytes of the text before it.
    pub at: usize,
    /// The encoding that the text is likely written in.
    pub likely: TextEncoding,
    /// The line with that byte, decoded in the likely encoding.
    pub line: String,
}

impl NotUtf8 {
    /// Finds the first byte that is not UTF-8; `None` if there is none. A character that the end of the text cuts is
    /// not a fault.
    pub fn find(text: &[u8]) -> Option<NotUtf8> {
        let error = std::str::from_utf8(text).err()?;
        // The end of a sample may cut a character.
        error.error_len()?;
        let at = error.valid_up_to();
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let likely = likely(text);
        Some(NotUtf8 {
            byte: text[at],
            at,
            likely,
            line: line_in(likely, &text[start..]),
        })
    }

    /// The message after a position: the fault, the likely encoding of the text, and the setting that declares it.
    pub fn explain(&self) -> String {
        let name = self.likely.name();
        format!(
            "byte 0x{:02x} is not UTF-8, and no encoding is declared. The text is likely {name}, \
             in which this line reads `{}`; if that is right, declare it: encoding = \"{name}\" in \
             the format (--format encoding={name}). If not, declare the encoding that the file was \
             written in",
            self.byte, self.line
        )
    }
}

/// A UTF-8 text that is declared to be in a single-byte encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadsAsUtf8 {
    /// The first line with a character beyond ASCII.
    pub line: String,
    /// The same line in the declared encoding.
    pub line_as_declared: String,
}

impl ReadsAsUtf8 {
    /// Searches for characters beyond ASCII; `None` if there are none, or if the text is not UTF-8. A character that
    /// the end of the text cuts does not count.
    pub fn find(text: &[u8], declared: TextEncoding) -> Option<ReadsAsUtf8> {
        let valid = match std::str::from_utf8(text) {
            Ok(_) => text,
            Err(error) if error.error_len().is_none() => &text[..error.valid_up_to()],
            Err(_) => return None,
        };
        let at = valid.iter().position(|byte| !byte.is_ascii())?;
        let start = memchr::memrchr(b'\n', &valid[..at]).map_or(0, |end| end + 1);
        Some(ReadsAsUtf8 {
            line: line_in(TextEncoding::Utf8, &valid[start..]),
            line_as_declared: line_in(declared, &valid[start..]),
        })
    }
}

/// The encoding that a text which is not UTF-8 is likely written in.
pub fn likely(text: &[u8]) -> TextEncoding {
    let text = &text[..text.len().min(LOOK_BYTES_MAX)];
    if text.contains(&0)
        && let Some(order) = utf16_order(text)
    {
        return order;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(text, false);
    TextEncoding::Table(detector.guess(None, Utf8Detection::Deny))
}

/// The beginning of a text's first line in an encoding, for a message.
fn line_in(encoding: TextEncoding, text: &[u8]) -> String {
    const BYTES_MAX: usize = 240;
    const CHARACTERS_MAX: usize = 60;
    let bytes = &text[..text.len().min(BYTES_MAX)];
    let decoded = match encoding {
        TextEncoding::Table(table) => table.decode_without_bom_handling(bytes).0,
        TextEncoding::Latin1 => bytes.iter().copied().map(char::from).collect(),
        _ => String::from_utf8_lossy(bytes),
    };
    let line = decoded.lines().next().unwrap_or_default();
    let is_shown = |character: &char| !character.is_control();
    let mut shown: String = line.chars().filter(is_shown).take(CHARACTERS_MAX).collect();
    if line.chars().count() > CHARACTERS_MAX {
        shown.push('\u{2026}');
    }
    shown
}

/// The byte order of a text in UTF-16 without a byte order mark; `None` if it does not show.
///
/// Line ends, commas, semicolons, tabs, bars and quotes show it: read in the wrong order they would be rare characters
/// (U+0A00, U+2C00, U+3B00 ...). If there are none, or as many in either order, the NUL bytes of ASCII characters show
/// it.
pub fn utf16_order(text: &[u8]) -> Option<TextEncoding> {
    let units = || text.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    let is_separator = |byte: u8| matches!(byte, b'\n' | b'\r' | b'\t' | b',' | b';' | b'|' | b'"');
    let little = units().filter(|[low, high]| *high == 0 && is_separator(*low));
    let big = units().filter(|[high, low]| *high == 0 && is_separator(*low));
    let separators = (little.count(), big.count());
    let little = units().filter(|[low, high]| *high == 0 && *low != 0);
    let big = units().filter(|[high, low]| *high == 0 && *low != 0);
    let ascii = (little.count(), big.count());
    let (little, big) = match separators.0 == separators.1 {
        true => ascii,
        false => separators,
    };
    match little.cmp(&big) {
        std::cmp::Ordering::Greater => Some(TextEncoding::Table(UTF_16LE)),
        std::cmp::Ordering::Less => Some(TextEncoding::Table(UTF_16BE)),
        std::cmp::Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(name: &str, text: &str) -> Vec<u8> {
        TextEncoding::parse(name).expect("known").encode(text)
    }

    #[test]
    fn texts_are_told_by_their_encoding() {
        for (name, text) in [
            (
                "windows-1252",
                "id,Gr\u{f6}\u{df}e,Stra\u{df}e\n1,\u{c4}pfel,K\u{e4}se\n2,T\u{fc}r,\u{d6}l\n",
            ),
            (
                "Shift_JIS",
                "\u{756a}\u{53f7},\u{540d}\u{524d}\n1,\u{5c71}\u{7530}\u{592a}\u{90ce}\n2,\u{9234}\u{6728}\u{82b1}\u{5b50}\n",
            ),
            (
                "GBK",
                "\u{7f16}\u{53f7},\u{59d3}\u{540d}\n1,\u{738b}\u{5c0f}\u{660e}\n2,\u{674e}\u{96f7}\n3,\u{97e9}\u{6885}\u{6885}\n",
            ),
            (
                "windows-1251",
                "\u{433}\u{43e}\u{440}\u{43e}\u{434},\u{438}\u{43c}\u{44f}\n\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430},\u{410}\u{43d}\u{43d}\u{430}\n",
            ),
            ("UTF-16LE", "\u{540d},\u{524d}\n\u{4e00},\u{4e00}\n"),
            ("UTF-16BE", "\u{540d},\u{524d}\n\u{4e00},\u{4e00}\n"),
        ] {
            let bytes = encoded(name, text);
            assert_eq!(likely(&bytes).name(), name);
            if let Some(found) = NotUtf8::find(&bytes) {
                let first = text.lines().next().unwrap_or_default();
                assert_eq!(found.line, first, "{name}");
            }
        }
    }

    #[test]
    fn the_place_and_the_setting_are_told() {
        let found = NotUtf8::find(b"id,x\n1,Gr\xf6\xdfe\n2,Stra\xdfe\n").expect("it is not UTF-8");
        assert_eq!((found.byte, found.at), (0xf6, 9));
        let text = found.explain();
        for part in [
            "byte 0xf6",
            "`1,Gr\u{f6}\u{df}e`",
            "encoding = \"windows-1252\"",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert_eq!(NotUtf8::find("Gr\u{f6}\u{df}e".as_bytes()), None);
        // Cut by the end of a sample.
        assert_eq!(NotUtf8::find(b"Gr\xc3"), None);
    }

    #[test]
    fn utf8_shows_under_another_name() {
        let windows = TextEncoding::parse("windows-1252").expect("known");
        let text = "id,x\n1,abc\n2,Zo\u{eb}\n".as_bytes();
        let found = ReadsAsUtf8::find(text, windows).expect("it is UTF-8");
        assert_eq!(found.line, "2,Zo\u{eb}");
        assert_eq!(found.line_as_declared, "2,Zo\u{c3}\u{ab}");
        let found = ReadsAsUtf8::find(text, TextEncoding::Latin1).expect("it is UTF-8");
        assert_eq!(found.line_as_declared, "2,Zo\u{c3}\u{ab}");
        for none in [&b"id,x\n1,abc\n"[..], b"Zo\xeb,\xc3\xab\n", b"Zo\xc3", b""] {
            assert_eq!(ReadsAsUtf8::find(none, windows), None);
        }
        // The end of a sample may cut a character.
        assert!(
            ReadsAsUtf8::find(
                "\u{eb}\u{eb}".as_bytes().split_last().expect("bytes").1,
                windows
            )
            .is_some()
        );
    }

    #[test]
    fn the_byte_order_shows_in_separators_and_ascii() {
        for (text, expected) in [
            ("id,name\n1,Ann\n", true),
            ("ab", true),
            ("\u{4e00}\u{4e00}\u{4e00}\u{4e00},\u{4e00}\n", true),
            ("\u{3000}\u{3000}\u{540d}\n", true),
            ("\u{540d}\u{524d}", false),
            ("", false),
        ] {
            for name in ["UTF-16LE", "UTF-16BE"] {
                let found = utf16_order(&encoded(name, text)).map(TextEncoding::name);
                assert_eq!(found, expected.then_some(name), "{text}");
            }
        }
    }
}
