//! Checks that a dialect is unambiguous for a scanner.

use crate::dialect::{
    Dialect, DialectError, DialectTrim, Escape, RECORD_BYTES_MAX_GREATEST, RECORD_BYTES_MAX_LEAST,
};
use crate::fixed_width::{FixedWidth, PositionUnit, RecordEnd};
use crate::terminator::Terminator;

impl Dialect {
    /// Checks that a scanner can distinguish the parts of a file in this dialect.
    pub fn check(&self) -> Result<(), DialectError> {
        let escape = self.escape_byte();
        let specials = [
            ("quote", self.quote),
            ("escape", escape),
            ("comment", self.comment),
        ];
        for (setting, byte) in specials {
            check_byte(setting, byte)?;
        }
        self.check_terminator()?;
        match &self.fixed {
            Some(fixed) => self.check_fixed(fixed)?,
            None => {
                self.check_delimiter()?;
                self.check_quoting(escape)?;
            }
        }
        self.check_comment(escape)?;
        for null in &self.nulls {
            self.check_null(null)?;
        }
        let sane = RECORD_BYTES_MAX_LEAST..=RECORD_BYTES_MAX_GREATEST;
        if !sane.contains(&self.record_bytes_max) {
            return Err(refusal(
                "record_bytes_max",
                format!("{} is out of range", self.record_bytes_max),
                "set it between 1024 (1 KiB) and 1073741824 (1 GiB)",
            ));
        }
        Ok(())
    }

    fn check_terminator(&self) -> Result<(), DialectError> {
        let Terminator::Text(text) = self.terminator else {
            return Ok(());
        };
        let bytes = text.as_bytes();
        if bytes.contains(&0) {
            return Err(refusal(
                "terminator",
                "a NUL byte is not allowed here".to_owned(),
                "take another text",
            ));
        }
        if str::from_utf8(bytes).is_err() {
            return Err(refusal(
                "terminator",
                format!("{text} is not UTF-8"),
                "write it as characters in UTF-8",
            ));
        }
        for (what, special) in [("quote", self.quote), ("escape", self.escape_byte())] {
            if let Some(byte) = special.filter(|byte| bytes.contains(byte)) {
                return Err(refusal(
                    "terminator",
                    format!("{text} contains {}, which is the {what}", shown(byte)),
                    "choose another text, or another byte for the other setting",
                ));
            }
        }
        // Any position is checked, not only the beginning: in `a;x` with `a;b` and `;`, only the `x` shows that the
        // record has already ended.
        let delimiter = self.delimiter.as_bytes();
        if self.fixed.is_none() && delimiter.windows(bytes.len()).any(|part| part == bytes) {
            return Err(refusal(
                "terminator",
                format!("the delimiter {} contains it", self.delimiter),
                "choose another text for one of them",
            ));
        }
        Ok(())
    }

    fn check_delimiter(&self) -> Result<(), DialectError> {
        let bytes = self.delimiter.as_bytes();
        if let Some(byte) = bytes.iter().find(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(match self.delimiter.only_byte() {
                Some(_) => refusal(
                    "delimiter",
                    format!("{} ends a record", shown(*byte)),
                    "take another byte",
                ),
                None => refusal(
                    "delimiter",
                    format!("{} holds {}, a line end", self.delimiter, shown(*byte)),
                    "choose a text without line ends",
                ),
            });
        }
        if bytes.contains(&0) {
            return Err(refusal(
                "delimiter",
                "a NUL byte is not allowed here".to_owned(),
                "take another text",
            ));
        }
        if str::from_utf8(bytes).is_err() {
            return Err(refusal(
                "delimiter",
                format!("{} is not UTF-8", self.delimiter),
                "write it as characters in UTF-8: files in other encodings are translated before \
                 they are read",
            ));
        }
        Ok(())
    }

    fn check_quoting(&self, escape: Option<u8>) -> Result<(), DialectError> {
        let delimiter = self.delimiter.as_bytes();
        for (setting, byte) in [("quote", self.quote), ("escape", escape)] {
            if let Some(byte) = byte.filter(|byte| delimiter.contains(byte)) {
                let relation = match delimiter.len() {
                    1 => "is the delimiter too",
                    _ => "is in the delimiter, too",
                };
                return Err(refusal(
                    setting,
                    format!("{} {relation}", shown(byte)),
                    match setting {
                        "quote" => {
                            "choose another byte for one of them, or set the quote to \"\" for none"
                        }
                        _ => {
                            "choose another byte for one of them, or set the escape to \"\" for none"
                        }
                    },
                ));
            }
        }
        match (self.quote, self.escape) {
            (None, Escape::DoubledQuote) => Err(refusal(
                "escape",
                "doubled quotes need a quote, and there is none".to_owned(),
                "set a quote, or set the escape to \"\" for none",
            )),
            (Some(quote), Escape::Byte(byte)) if quote == byte => Err(refusal(
                "escape",
                format!("{} is the quote too", shown(byte)),
                "declare the escape as doubled quotes",
            )),
            (None, Escape::Byte(byte)) => {
                // `\n` would mean a line end and an escaped delimiter at once. The server's
                // COPY refuses these too.
                for (setting, byte) in [("delimiter", self.delimiter.first()), ("escape", byte)] {
                    if byte.is_ascii_alphanumeric() || byte == b'.' {
                        return Err(refusal(
                            setting,
                            format!("{} has a meaning of its own after an escape", shown(byte)),
                            "choose a byte that is not a letter, a digit or a full stop",
                        ));
                    }
                }
                if self.trim != DialectTrim::None && matches!(byte, b' ' | b'\t') {
                    return Err(refusal(
                        "escape",
                        format!("{} is a blank, which `trim` removes", shown(byte)),
                        "choose another byte, or set trim = \"none\"",
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_comment(&self, escape: Option<u8>) -> Result<(), DialectError> {
        let Some(comment) = self.comment else {
            return Ok(());
        };
        let is_delimiter = self.fixed.is_none() && self.delimiter.first() == comment;
        let taken = [
            ("the quote", self.quote == Some(comment)),
            ("the escape", escape == Some(comment)),
            ("the beginning of the delimiter", is_delimiter),
            ("a part of the terminator", self.terminator.holds(comment)),
        ];
        if let Some((what, _)) = taken.into_iter().find(|(_, taken)| *taken) {
            return Err(refusal(
                "comment",
                format!("{} is {what} too", shown(comment)),
                "choose another byte, or set it to \"\" for none",
            ));
        }
        Ok(())
    }

    /// Refuses a marker of NULL that no field can contain: it would never match, and no message would say so.
    fn check_null(&self, null: &str) -> Result<(), DialectError> {
        let bytes = null.as_bytes();
        if self.quote.is_some_and(|quote| bytes.contains(&quote)) {
            return Err(refusal(
                "null",
                format!("{null:?} contains the quote, but markers are compared without quotes"),
                "write the marker without quotes; with null_quoted = true, quoted fields are compared, too",
            ));
        }
        let delimiter = self.delimiter.as_bytes();
        let mut windows = bytes.windows(delimiter.len());
        if self.fixed.is_none() && windows.any(|window| window == delimiter) {
            return Err(refusal(
                "null",
                format!(
                    "{null:?} contains {}, which no field can contain",
                    self.delimiter
                ),
                "choose a marker without delimiters, line ends and NUL bytes",
            ));
        }
        let cannot_stand = |byte: &&u8| matches!(byte, b'\n' | b'\r' | 0);
        if let Some(byte) = bytes.iter().find(cannot_stand) {
            return Err(refusal(
                "null",
                format!(
                    "{null:?} contains {}, which no field can contain",
                    shown(*byte)
                ),
                "choose a marker without delimiters, line ends and NUL bytes",
            ));
        }
        if self.trimmed(bytes).len() < bytes.len() {
            return Err(refusal(
                "null",
                format!(
                    "{null:?} has blanks, which `trim` removes from fields before they are compared"
                ),
                "write the marker without blanks",
            ));
        }
        Ok(())
    }

    fn check_fixed(&self, fixed: &FixedWidth) -> Result<(), DialectError> {
        if self.skip_lines > 0 && matches!(fixed.record, RecordEnd::Bytes(_)) {
            return Err(refusal(
                "skip_lines",
                "records without line ends have no lines to skip".to_owned(),
                "cut the beginning off the file, or leave out record_bytes if each record is a line",
            ));
        }
        let fault = |what: String, mend: &str| Err(refusal("fixed", what, mend));
        if self.quote.is_some() || self.escape != Escape::None || self.trailing_delimiter {
            return fault(
                "fields at fixed positions have no quotes, escapes and delimiters".to_owned(),
                "remove `fixed`, or quote, escape and trailing_delimiter",
            );
        }
        if fixed.fields.is_empty() {
            return fault(
                "it lists no field".to_owned(),
                "write the first position and the length of each field",
            );
        }
        let length = fixed.record_length();
        for (index, field) in fixed.fields.iter().enumerate() {
            if field.length == 0 {
                return fault(
                    format!("field {} has the length 0", index + 1),
                    "write the number of its positions",
                );
            }
            if field.end() > length {
                return fault(
                    format!(
                        "field {} ends at position {}, but a record has {length}",
                        index + 1,
                        field.end()
                    ),
                    "fix the position, or the length of the record",
                );
            }
        }
        if length > self.record_bytes_max as u64 {
            return fault(
                format!(
                    "its records are longer than record_bytes_max ({})",
                    self.record_bytes_max
                ),
                "fix the positions, or raise record_bytes_max",
            );
        }
        if let RecordEnd::Bytes(_) = fixed.record {
            if fixed.unit == PositionUnit::Characters {
                return fault(
                    "records without line ends are separated by their number of bytes, so \
                     positions in them count bytes, too"
                        .to_owned(),
                    "set fixed_unit = \"bytes\", or leave out record_bytes if each record is a line",
                );
            }
            if self.comment.is_some() {
                return fault(
                    "a file without line ends cannot have comments".to_owned(),
                    "remove `comment`, or remove record_bytes if each record is a line",
                );
            }
        }
        Ok(())
    }
}

fn check_byte(setting: &'static str, byte: Option<u8>) -> Result<(), DialectError> {
    match byte {
        Some(byte @ (b'\n' | b'\r')) => Err(refusal(
            setting,
            format!("{} ends a record", shown(byte)),
            "take another byte",
        )),
        Some(0) => Err(refusal(
            setting,
            "a NUL byte is not allowed here".to_owned(),
            "take another byte",
        )),
        Some(byte) if !byte.is_ascii() => Err(refusal(
            setting,
            format!("byte {byte:#04x} is not ASCII"),
            "choose one ASCII character: other characters have more than one byte in UTF-8",
        )),
        _ => Ok(()),
    }
}

fn refusal(setting: &'static str, what: String, mend: &str) -> DialectError {
    DialectError {
        setting,
        reason: format!("{what}; {mend}"),
    }
}

fn shown(byte: u8) -> String {
    format!("{:?}", char::from(byte))
}
