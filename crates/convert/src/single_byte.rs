//! PostgreSQL's `"char"`: one byte. PostgreSQL would keep only the first byte of a longer text: half of an `ä`.

use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::views::{Built, Kept, TextCheck};

/// Converts single bytes. The result is an ASCII character, an empty text for the byte 0, or `\ooo` from 128 on.
pub(super) struct SingleByte {
    has_octal: bool,
}

impl SingleByte {
    /// `has_octal`: true if the destination reads `\ooo`.
    pub fn new(has_octal: bool) -> SingleByte {
        SingleByte { has_octal }
    }
}

impl TextCheck for SingleByte {
    fn check(&self, field: &str, built: &mut Built<'_>) -> Result<Kept, ValueError> {
        let digits = match field.as_bytes() {
            [] | [_] => return Ok(Kept::Whole),
            [b'\\', digits @ ..] if digits.len() == 3 => digits,
            _ => return Err(too_long(field)),
        };
        if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
            return Err(too_long(field));
        }
        if !self.has_octal {
            return Err(ValueError::new(
                RejectCode::TooLong,
                "before version 16, PostgreSQL does not read a byte in octal and would keep only \
                 the backslash; write the character itself",
            ));
        }
        let byte = digits
            .iter()
            .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
        match byte {
            0 => Ok(Kept::Part {
                offset: 0,
                length: 0,
            }),
            1..128 => {
                built.push(char::from(byte as u8));
                Ok(Kept::Built)
            }
            128..256 => Ok(Kept::Whole),
            _ => Err(ValueError::out_of_range(
                "a byte in octal ends with \\377; correct the value",
            )),
        }
    }

    #[inline(always)]
    fn whole_bytes_max(&self) -> Option<usize> {
        Some(1)
    }
}

fn too_long(field: &str) -> ValueError {
    ValueError::new(
        RejectCode::TooLong,
        format!(
            "{} bytes in UTF-8, but \"char\" holds one: PostgreSQL would keep only the first byte; \
             make the column char(1) (without quotes) or text",
            field.len()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(has_octal: bool, text: &str) -> Result<String, RejectCode> {
        let mut built = String::new();
        match SingleByte::new(has_octal).check(text, &mut Built::at_end_of(&mut built)) {
            Ok(Kept::Whole) => Ok(text.to_owned()),
            Ok(Kept::Part { offset, length }) => Ok(text[offset..offset + length].to_owned()),
            Ok(Kept::Built) => Ok(built),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn one_byte() {
        for (text, expected) in [
            ("", Ok("")),
            ("a", Ok("a")),
            ("\\", Ok("\\")),
            (" ", Ok(" ")),
            ("\x7f", Ok("\x7f")),
            ("ä", Err(RejectCode::TooLong)),
            ("ab", Err(RejectCode::TooLong)),
            ("a ", Err(RejectCode::TooLong)),
            ("\\303", Ok("\\303")),
            ("\\377", Ok("\\377")),
            ("\\101", Ok("A")),
            ("\\000", Ok("")),
            ("\\134", Ok("\\")),
            ("\\400", Err(RejectCode::OutOfRange)),
            ("\\777", Err(RejectCode::OutOfRange)),
            ("\\38a", Err(RejectCode::TooLong)),
            ("\\3033", Err(RejectCode::TooLong)),
        ] {
            assert_eq!(kept(true, text), expected.map(str::to_owned), "{text:?}");
        }
        for text in ["\\303", "\\101"] {
            assert_eq!(kept(false, text), Err(RejectCode::TooLong), "{text}");
        }
        assert_eq!(kept(false, "\\"), Ok("\\".to_owned()));
    }
}
