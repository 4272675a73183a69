//! JSON that can stand within a script element of HTML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Writes a value so that nothing in it can end the element that it stands in, or begin another one.
///
/// Of all that is outside strings in JSON no character means anything to HTML; within strings each may be written by its
/// number. `</script` and `<!--` are thus impossible, and so are the line ends that JavaScript once took for its own.
pub fn embed(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, ForScript(CompactFormatter));
    Ok(value.serialize(&mut serializer)?)
}

/// Writes what means something to HTML by its number.
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
