//! Code pages of Windows and DOS: text of `char` and `varchar` columns whose collation is not UTF-8.
//!
//! A character is written only if the code page has exactly this character. Servers and most clients write `?`, or a
//! similar character, for any other.

mod differences;
mod dos;

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
    WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};
use encoding_rs::{CoderResult, EncoderResult};

/// A code page, by Microsoft's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePage {
    number: u16,
}

impl CodePage {
    /// The numbers of all code pages that are used by collations of SQL Server.
    pub const NUMBERS: [u16; 16] = [
        437, 850, 874, 932, 936, 949, 950, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258,
    ];

    /// The code page of this number; `None` if no collation uses it.
    pub fn new(number: u16) -> Option<CodePage> {
        Self::NUMBERS
            .contains(&number)
            .then_some(CodePage { number })
    }

    /// Microsoft's number.
    pub fn number(self) -> u16 {
        self.number
    }

    /// Appends the bytes of a text. `Err` is its first character that the code page lacks; `out` is then unchanged.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), char> {
        let start = out.len();
        self.append(text, out).inspect_err(|_| out.truncate(start))
    }

    fn append(self, text: &str, out: &mut Vec<u8>) -> Result<(), char> {
        let encoding = match self.tables() {
            Tables::Dos(upper_half) => {
                for character in text.chars() {
                    out.push(dos_byte(character, upper_half).ok_or(character)?);
                }
                return Ok(());
            }
            Tables::Web(encoding) => encoding,
        };
        if let Some(character) = text
            .chars()
            .find(|character| differences::is_other(self.number, *character))
        {
            return Err(character);
        }
        let mut encoder = encoding.new_encoder();
        // In a code page, a character has at most two bytes. A character with two bytes there has at least two in
        // UTF-8.
        let bytes_max = encoder
            .max_buffer_length_from_utf8_without_replacement(text.len())
            .expect("a text of less than 4 GiB");
        out.reserve(bytes_max);
        let start = out.len();
        match encoder.encode_from_utf8_to_vec_without_replacement(text, out, true) {
            (EncoderResult::InputEmpty, _) => {}
            (EncoderResult::Unmappable(character), _) => return Err(character),
            (EncoderResult::OutputFull, _) => {
                unreachable!("as many bytes are reserved as it asked for")
            }
        }
        match self.number {
            950 => check_private(text, &out[start..]),
            _ => Ok(()),
        }
    }

    /// The text of these bytes; `None` if a byte is not a character. For tests: a load decodes nothing.
    #[doc(hidden)]
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        match self.tables() {
            Tables::Dos(upper_half) => Some(
                bytes
                    .iter()
                    .map(|&byte| match byte {
                        ..0x80 => char::from(byte),
                        _ => upper_half[usize::from(byte - 0x80)],
                    })
                    .collect(),
            ),
            Tables::Web(encoding) => {
                let mut decoder = encoding.new_decoder_without_bom_handling();
                let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
                let (result, _, has_errors) = decoder.decode_to_string(bytes, &mut text, true);
                (result == CoderResult::InputEmpty && !has_errors).then_some(text)
            }
        }
    }

    fn tables(self) -> Tables {
        Tables::Web(match self.number {
            437 => return Tables::Dos(&dos::CP437),
            850 => return Tables::Dos(&dos::CP850),
            874 => WINDOWS_874,
            932 => SHIFT_JIS,
            936 => GBK,
            949 => EUC_KR,
            950 => BIG5,
            1250 => WINDOWS_1250,
            1251 => WINDOWS_1251,
            1253 => WINDOWS_1253,
            1254 => WINDOWS_1254,
            1255 => WINDOWS_1255,
            1256 => WINDOWS_1256,
            1257 => WINDOWS_1257,
            1258 => WINDOWS_1258,
            // `new` accepts no other number.
            _ => WINDOWS_1252,
        })
    }
}

/// The tables with a code page's characters.
enum Tables {
    /// Bytes from 0x80 on.
    Dos(&'static [char; 128]),
    /// An encoding of the web, which is Microsoft's except for `differences`.
    Web(&'static Encoding),
}

fn dos_byte(character: char, upper_half: &[char; 128]) -> Option<u8> {
    if character.is_ascii() {
        return Some(character as u8);
    }
    let index = upper_half.iter().position(|one| *one == character)?;
    // The index is at most 127.
    Some(0x80 | index as u8)
}

/// Searches a text in code page 950 for private bytes. A character has one byte if it is ASCII, otherwise two.
fn check_private(text: &str, encoded: &[u8]) -> Result<(), char> {
    let mut rest = encoded;
    for character in text.chars() {
        let (bytes, behind) = rest.split_at(if character.is_ascii() { 1 } else { 2 });
        rest = behind;
        if let [lead, trail] = *bytes
            && differences::PRIVATE_OF_950.contains(&u16::from_be_bytes([lead, trail]))
        {
            return Err(character);
        }
    }
    Ok(())
}
