//! JSON that can be placed inside a script element of HTML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Writes a value so that nothing in it can end its script element or begin another one. Outside of strings, no
/// character of JSON has a meaning in HTML. Inside strings, such characters are written as escapes. So `</script` and
/// `<!--` cannot occur, nor the characters that older JavaScript took for line ends.
pub fn embed(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, ForScript(CompactFormatter));
    Ok(value.serialize(&mut serializer)?)
}

/// Writes characters that have a meaning in HTML as escapes.
struct ForScript(CompactFormatter);

impl Formatter for ForScript {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            self.0.write_string_fragment(writer, plain)?;
            let mut characters = special.chars();
            if let Some(character) = characters.next() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = characters.as_str();
        }
        self.0.write_string_fragment(writer, rest)
    }
}
