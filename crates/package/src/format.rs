//! Turns a format into a dialect: the preset, and the settings that differ from it.

use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_scan::{
    Dialect, DialectTrim, Escape, ExtraFields, FieldPosition, FixedWidth, MissingFields,
    PositionUnit, RecordEnd, ShortText, Terminator,
};

use super::error::{PackageError, PackageFaultKind};
use super::place::Place;
use super::{
    ExtraFieldsRule, FixedUnit, Format, MissingFieldsRule, NullMarker, Preset, TrimBlanks,
};

/// A setting of a format that is wrong, and why.
#[derive(Debug)]
pub(super) struct FormatFault {
    pub(super) setting: &'static str,
    pub(super) kind: Box<PackageFaultKind>,
}

impl Preset {
    /// The preset for a file name, by its extension. Part numbers and compression are ignored (`lineitem.tbl.3`,
    /// `orders.csv.gz`).
    pub fn of_file(file_name: &str) -> Option<Preset> {
        let mut name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
        while let Some((before, extension)) = name.rsplit_once('.') {
            let extension = extension.to_ascii_lowercase();
            match extension.as_str() {
                "tbl" => return Some(Preset::Tbl),
                "csv" => return Some(Preset::Csv),
                "tsv" => return Some(Preset::Tsv),
                "gz" | "gzip" | "zst" | "zstd" | "bz2" | "bzip2" | "xz" | "zip" => {}
                part if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {}
                _ => return None,
            }
            name = before;
        }
        None
    }

    /// The dialect of the preset.
    pub fn dialect(self) -> Dialect {
        match self {
            Preset::Tbl => Dialect::tbl(),
            Preset::Csv => Dialect::csv(),
            Preset::Tsv => Dialect::tsv(),
        }
    }
}

impl Format {
    /// The compression of a file of this format and name.
    pub fn compression_of(&self, file_name: &str) -> Compression {
        self.compression
            .unwrap_or_else(|| Compression::of_file(file_name))
    }

    /// The declared encoding; `None` if a byte order mark decides it, or nothing.
    pub fn text_encoding(&self) -> Result<Option<TextEncoding>, PackageError> {
        self.text_encoding_checked()
            .map_err(|fault| PackageError::new(Place::default(), *fault.kind))
    }

    /// The encoding, or the reason why its name is wrong.
    fn text_encoding_checked(&self) -> Result<Option<TextEncoding>, FormatFault> {
        let Some(name) = &self.encoding else {
            return Ok(None);
        };
        let encoding = TextEncoding::parse(name);
        let encoding =
            encoding.map_err(|error| refused("encoding", name, &error.cause, &error.mend))?;
        Ok(Some(encoding))
    }

    /// The dialect of a file of this format and name.
    pub fn dialect(&self, file_name: &str) -> Result<Dialect, PackageError> {
        self.dialect_checked(file_name)
            .map_err(|fault| PackageError::new(Place::default(), *fault.kind))
    }

    /// The dialect, or the wrong setting with the reason.
    pub(super) fn dialect_checked(&self, file_name: &str) -> Result<Dialect, FormatFault> {
        let preset = self.preset.or_else(|| Preset::of_file(file_name));
        let mut dialect = match self.fixed_width()? {
            Some(fixed) => Dialect::fixed_width(fixed),
            None => preset.unwrap_or(Preset::Csv).dialect(),
        };
        if let Some(delimiter) = &self.delimiter {
            dialect.delimiter = short_text("delimiter", delimiter)?;
        }
        if let Some(terminator) = &self.terminator {
            dialect.terminator = match terminator.as_str() {
                "any" => Terminator::Any,
                "lf" | "\n" => Terminator::Lf,
                "crlf" | "\r\n" => Terminator::CrLf,
                "cr" | "\r" => Terminator::Cr,
                other => Terminator::Text(short_text("terminator", other)?),
            };
        }
        if let Some(comment) = &self.comment {
            dialect.comment = one_byte("comment", comment)?;
        }
        self.put_quotes(&mut dialect)?;
        if let Some(trailing_delimiter) = self.trailing_delimiter {
            dialect.trailing_delimiter = trailing_delimiter;
        }
        if let Some(skip_lines) = self.skip_lines {
            dialect.skip_lines = skip_lines;
        }
        if let Some(header) = self.header {
            dialect.header = header;
        }
        self.put_nulls(&mut dialect)?;
        if let Some(null_quoted) = self.null_quoted {
            dialect.null_quoted = null_quoted;
        }
        if let Some(trim) = self.trim {
            dialect.trim = match trim {
                TrimBlanks::None => DialectTrim::None,
                TrimBlanks::Start => DialectTrim::Start,
                TrimBlanks::End => DialectTrim::End,
                TrimBlanks::Both => DialectTrim::Both,
            };
        }
        if let Some(MissingFieldsRule::Null) = self.missing_fields {
            dialect.missing_fields = MissingFields::Null;
        }
        if let Some(ExtraFieldsRule::Ignore) = self.extra_fields {
            dialect.extra_fields = ExtraFields::Ignore;
        }
        if let Some(record_bytes_max) = self.record_bytes_max {
            dialect.record_bytes_max = record_bytes_max as usize;
        }
        self.refuse_positions_in_bytes(&dialect)?;
        dialect.check().map_err(|error| FormatFault {
            setting: error.setting,
            kind: Box::new(PackageFaultKind::Format {
                setting: error.setting,
                reason: error.reason,
            }),
        })?;
        Ok(dialect)
    }

    /// Sets quote and escape. If only the quote is set, it is escaped by doubling it. Without a quote, doubling escapes
    /// nothing.
    fn put_quotes(&self, dialect: &mut Dialect) -> Result<(), FormatFault> {
        if let Some(quote) = &self.quote {
            dialect.quote = one_byte("quote", quote)?;
            if dialect.quote.is_none() && dialect.escape == Escape::DoubledQuote {
                dialect.escape = Escape::None;
            }
            if dialect.quote.is_some() && dialect.escape == Escape::None {
                dialect.escape = Escape::DoubledQuote;
            }
        }
        if let Some(escape) = &self.escape {
            dialect.escape = match one_byte("escape", escape)? {
                None => Escape::None,
                byte if byte == dialect.quote => Escape::DoubledQuote,
                Some(byte) => Escape::Byte(byte),
            };
        }
        Ok(())
    }

    fn put_nulls(&self, dialect: &mut Dialect) -> Result<(), FormatFault> {
        match &self.null {
            Some(NullMarker::Text(text)) => dialect.nulls = vec![text.clone()],
            Some(NullMarker::Many(texts)) => dialect.nulls = texts.clone(),
            Some(NullMarker::Never(false)) => dialect.nulls.clear(),
            Some(NullMarker::Never(true)) => {
                return Err(refused(
                    "null",
                    "true",
                    "it does not give the text that stands for NULL",
                    "write the text, or false if no text stands for NULL",
                ));
            }
            None => {}
        }
        Ok(())
    }

    /// Refuses fixed positions that count bytes if the encoding writes characters with other bytes than UTF-8.
    fn refuse_positions_in_bytes(&self, dialect: &Dialect) -> Result<(), FormatFault> {
        let encoding = self.text_encoding_checked()?;
        let counts_bytes = |fixed: &FixedWidth| fixed.unit == PositionUnit::Bytes;
        if let (Some(name), Some(encoding)) = (&self.encoding, encoding)
            && encoding != TextEncoding::Utf8
            && dialect.fixed.as_ref().is_some_and(counts_bytes)
        {
            return Err(refused(
                "encoding",
                name,
                "positions count bytes of the text after it is translated to UTF-8, not bytes of the file",
                "set fixed_unit = \"characters\" (and leave out record_bytes): in an encoding of \
                 one byte per character it is the same",
            ));
        }
        Ok(())
    }

    /// The positions of a fixed-width file's fields; `None` if it has delimiters.
    fn fixed_width(&self) -> Result<Option<FixedWidth>, FormatFault> {
        let only_fixed = [
            ("fixed_unit", self.fixed_unit.is_some()),
            ("record_length", self.record_length.is_some()),
            ("record_bytes", self.record_bytes.is_some()),
        ];
        let only_delimited = [
            ("preset", self.preset.is_some()),
            ("delimiter", self.delimiter.is_some()),
            ("quote", self.quote.is_some()),
            ("escape", self.escape.is_some()),
            ("trailing_delimiter", self.trailing_delimiter.is_some()),
        ];
        let Some(fields) = &self.fixed else {
            return match only_fixed.into_iter().find(|(_, is_set)| *is_set) {
                None => Ok(None),
                Some((setting, _)) => Err(unfit(
                    setting,
                    "it is for fixed-width files, but the format has no `fixed`",
                    "write the first position and the length of each field: fixed = [[1, 10], \
                     [11, 2]]",
                )),
            };
        };
        if let Some((setting, _)) = only_delimited.into_iter().find(|(_, is_set)| *is_set) {
            return Err(unfit(
                setting,
                "it is for files with delimiters, but the format has `fixed`",
                "remove one of the two",
            ));
        }
        let position = |(index, field): (usize, &Vec<u32>)| match field.as_slice() {
            [first, length] if *first > 0 => Ok(FieldPosition {
                start: first - 1,
                length: *length,
            }),
            other => Err(refused(
                "fixed",
                &format!("{other:?}"),
                &format!(
                    "field {} is not a pair of a first position, counted from 1, and a length",
                    index + 1
                ),
                "write two numbers for each field, for example [11, 2]",
            )),
        };
        let record = match (self.record_bytes, self.record_length) {
            (Some(_), Some(_)) => {
                return Err(unfit(
                    "record_length",
                    "record_bytes sets the length already, for records without line ends",
                    "leave out record_bytes if each record is a line, or else record_length",
                ));
            }
            (Some(bytes), None) => RecordEnd::Bytes(bytes),
            (None, length) => RecordEnd::Line { length },
        };
        Ok(Some(FixedWidth {
            fields: fields
                .iter()
                .enumerate()
                .map(position)
                .collect::<Result<_, _>>()?,
            unit: match self.fixed_unit {
                Some(FixedUnit::Characters) => PositionUnit::Characters,
                Some(FixedUnit::Bytes) | None => PositionUnit::Bytes,
            },
            record,
        }))
    }
}

/// One to eight bytes between fields or records.
fn short_text(setting: &'static str, text: &str) -> Result<ShortText, FormatFault> {
    if setting == "delimiter" && text.contains(['\n', '\r', '\0']) {
        return Err(refused(
            setting,
            &text.escape_default().to_string(),
            "it is the end of a line, or NUL",
            "choose a text that can occur inside a line",
        ));
    }
    for (written, name, value) in [("\\t", "tab", "\\t"), ("\\n", "line feed", "\\n")] {
        if text.contains(written) {
            return Err(refused(
                setting,
                text,
                "it holds two characters, a backslash and a letter",
                &format!("write a {name} as \"{value}\" in double quotes"),
            ));
        }
    }
    ShortText::new(text.as_bytes()).ok_or_else(|| {
        refused(
            setting,
            text,
            match text {
                "" => "it is empty",
                _ => "it is longer than eight bytes",
            },
            "write one to eight bytes, for example \"|\" or \"||\"",
        )
    })
}

/// The error of a setting that conflicts with others.
fn unfit(setting: &'static str, cause: &str, mend: &str) -> FormatFault {
    FormatFault {
        setting,
        kind: Box::new(PackageFaultKind::Format {
            setting,
            reason: format!("{cause}; {mend}"),
        }),
    }
}

/// The byte that a setting of one character names; `None` if it is empty.
fn one_byte(setting: &'static str, text: &str) -> Result<Option<u8>, FormatFault> {
    match text.as_bytes() {
        [] => Ok(None),
        [b'\n' | b'\r' | 0] => Err(refused(
            setting,
            &text.escape_default().to_string(),
            "it is the end of a line, or NUL",
            "choose a character that can occur inside a line",
        )),
        [byte] if byte.is_ascii() => Ok(Some(*byte)),
        _ if text == "\\t" => Err(refused(
            setting,
            text,
            "these are two characters, a backslash and a t",
            "write a tab as \"\\t\" in double quotes",
        )),
        _ => Err(refused(
            setting,
            text,
            "it is not one ASCII character",
            "write one ASCII character, for example \"|\"",
        )),
    }
}

fn refused(setting: &'static str, value: &str, cause: &str, mend: &str) -> FormatFault {
    FormatFault {
        setting,
        kind: Box::new(PackageFaultKind::value(
            format!("format.{setting}"),
            value,
            cause,
            mend,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_told_by_names() {
        for (name, preset) in [
            ("lineitem.tbl", Some(Preset::Tbl)),
            ("lineitem.tbl.3", Some(Preset::Tbl)),
            ("data.csv/orders.1.TBL.gz", Some(Preset::Tbl)),
            ("orders.csv.gz", Some(Preset::Csv)),
            ("orders.csv.0001.zst", Some(Preset::Csv)),
            ("a.tsv.gz.12", Some(Preset::Tsv)),
            ("orders.*.tbl", Some(Preset::Tbl)),
            ("orders.txt", None),
            ("orders", None),
            ("3.gz", None),
            ("a..csv", Some(Preset::Csv)),
            ("", None),
        ] {
            assert_eq!(Preset::of_file(name), preset, "{name}");
        }
    }

    fn dialect(toml: &str, file: &str) -> Result<Dialect, String> {
        let format: Format = toml::from_str(toml).expect(toml);
        format.dialect(file).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_differ_from_their_preset() {
        assert_eq!(dialect("", "a.tbl.1"), Ok(Dialect::tbl()));
        assert_eq!(dialect("", "a.dat"), Ok(Dialect::csv()));
        assert_eq!(dialect("preset = 'tsv'", "a.tbl"), Ok(Dialect::tsv()));
        let none = dialect("quote = ''", "a.csv").expect("it is right");
        assert_eq!((none.quote, none.escape), (None, Escape::None));
        let single = dialect("quote = \"'\"\nescape = '\\'", "a.csv").expect("it is right");
        assert_eq!(single.escape, Escape::Byte(b'\\'));
        let doubled = dialect("quote = '\"'\ntrailing_delimiter = false", "a.tbl");
        assert_eq!(doubled.expect("it is right").escape, Escape::DoubledQuote);
        let never = dialect("null = false\nrecord_bytes_max = 2000", "a.csv").expect("it is right");
        assert_eq!((never.nulls, never.record_bytes_max), (Vec::new(), 2000));
    }

    #[test]
    fn unusual_settings_are_read() {
        let found = dialect(
            "delimiter = '||'\nterminator = \"\\r\\r\\n\"\ncomment = '#'\nnull = ['', 'NA']\n\
             null_quoted = true\ntrim = 'end'\nmissing_fields = 'null'\nextra_fields = 'ignore'",
            "a.csv",
        );
        let text = |text: &[u8]| ShortText::new(text).expect("short");
        let expected = Dialect {
            delimiter: text(b"||"),
            terminator: Terminator::Text(text(b"\r\r\n")),
            comment: Some(b'#'),
            nulls: vec![String::new(), "NA".to_owned()],
            null_quoted: true,
            trim: DialectTrim::End,
            missing_fields: MissingFields::Null,
            extra_fields: ExtraFields::Ignore,
            ..Dialect::csv()
        };
        assert_eq!(found, Ok(expected));
        for (written, terminator) in [
            ("any", Terminator::Any),
            ("lf", Terminator::Lf),
            ("\\n", Terminator::Lf),
            ("crlf", Terminator::CrLf),
            ("\\r\\n", Terminator::CrLf),
            ("cr", Terminator::Cr),
            ("\\r", Terminator::Cr),
        ] {
            let found = dialect(&format!("terminator = \"{written}\""), "a.csv");
            assert_eq!(found.expect(written).terminator, terminator);
        }
    }

    #[test]
    fn positions_are_counted_from_one() {
        let found = dialect("fixed = [[1, 10], [11, 2]]\nrecord_bytes = 120", "a.csv");
        let position = |start, length| FieldPosition { start, length };
        let fixed = FixedWidth {
            fields: vec![position(0, 10), position(10, 2)],
            unit: PositionUnit::Bytes,
            record: RecordEnd::Bytes(120),
        };
        assert_eq!(found, Ok(Dialect::fixed_width(fixed)));
        let found = dialect(
            "fixed = [[3, 1]]\nfixed_unit = 'characters'\nrecord_length = 5\ntrim = 'none'",
            "a.dat",
        );
        let fixed = FixedWidth {
            fields: vec![position(2, 1)],
            unit: PositionUnit::Characters,
            record: RecordEnd::Line { length: Some(5) },
        };
        let expected = Dialect {
            trim: DialectTrim::None,
            ..Dialect::fixed_width(fixed)
        };
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn settings_that_cannot_be_told_apart_are_refused() {
        for toml in [
            "delimiter = ''",
            "delimiter = '123456789'",
            "terminator = ''",
            "terminator = '\\n'",
            "terminator = ','",
            "comment = ','",
            "comment = '##'",
            "null = ['', 'a,b']",
            "trim = 'both'\nnull = ' '",
            "fixed = []",
            "fixed = [[1]]",
            "fixed = [[0, 2]]",
            "fixed = [[1, 0]]",
            "fixed = [[1, 10]]\nrecord_length = 9",
            "fixed = [[1, 10]]\nrecord_bytes = 10\nrecord_length = 10",
            "fixed = [[1, 10]]\nrecord_bytes = 10\nfixed_unit = 'characters'",
            "fixed = [[1, 10]]\nencoding = 'latin1'",
            "fixed = [[1, 10]]\ndelimiter = ','",
            "record_bytes = 10",
            "delimiter = '\\t'",
            "delimiter = \"\\n\"",
            "delimiter = '\"'",
            "escape = ','",
            "null = 'a,b'",
            "null = '\"\"'",
            "null = true",
            "record_bytes_max = 1",
            "quote = ''\nescape = 'n'",
        ] {
            assert!(dialect(toml, "a.csv").is_err(), "{toml}");
        }
    }
}
