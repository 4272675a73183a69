//! A format made a dialect: the preset, and what differs from it.

use inrush_scan::{Dialect, Escape};

use super::error::{PackageError, PackageFaultKind};
use super::place::Place;
use super::{Compression, Format, NullMarker, Preset};
use crate::encoding::TextEncoding;

/// A setting of a format that is wrong, and why.
#[derive(Debug)]
pub(super) struct FormatFault {
    pub(super) setting: &'static str,
    pub(super) kind: Box<PackageFaultKind>,
}

impl Preset {
    /// The preset that a file's name tells: by its extension, part numbers and compression
    /// looked through (`lineitem.tbl.3`, `orders.csv.gz`).
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

    /// How it writes a file.
    pub fn dialect(self) -> Dialect {
        match self {
            Preset::Tbl => Dialect::tbl(),
            Preset::Csv => Dialect::csv(),
            Preset::Tsv => Dialect::tsv(),
        }
    }
}

impl Compression {
    /// The compression that a file's name tells, part numbers looked through.
    pub fn of_file(file_name: &str) -> Compression {
        let mut name = file_name;
        while let Some((before, extension)) = name.rsplit_once('.') {
            match extension.to_ascii_lowercase().as_str() {
                "gz" | "gzip" => return Compression::Gzip,
                "zst" | "zstd" => return Compression::Zstd,
                "bz2" | "bzip2" => return Compression::Bzip2,
                "xz" => return Compression::Xz,
                "zip" => return Compression::Zip,
                part if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {}
                _ => return Compression::None,
            }
            name = before;
        }
        Compression::None
    }
}

impl Format {
    /// How a file of this format and name is compressed.
    pub fn compression_of(&self, file_name: &str) -> Compression {
        self.compression
            .unwrap_or_else(|| Compression::of_file(file_name))
    }

    /// The encoding that is declared; none where a byte order mark, or nothing, tells it.
    pub fn text_encoding(&self) -> Result<Option<TextEncoding>, PackageError> {
        self.text_encoding_checked()
            .map_err(|fault| PackageError::new(Place::default(), *fault.kind))
    }

    /// The encoding, else why its name is wrong.
    fn text_encoding_checked(&self) -> Result<Option<TextEncoding>, FormatFault> {
        let Some(name) = &self.encoding else {
            return Ok(None);
        };
        let encoding = TextEncoding::parse(name);
        let encoding =
            encoding.map_err(|error| refused("encoding", name, &error.cause, &error.mend))?;
        Ok(Some(encoding))
    }

    /// How a file of this format and name is written.
    pub fn dialect(&self, file_name: &str) -> Result<Dialect, PackageError> {
        self.dialect_checked(file_name)
            .map_err(|fault| PackageError::new(Place::default(), *fault.kind))
    }

    /// The dialect, else the setting that is wrong and why.
    pub(super) fn dialect_checked(&self, file_name: &str) -> Result<Dialect, FormatFault> {
        let preset = self.preset.or_else(|| Preset::of_file(file_name));
        let mut dialect = preset.unwrap_or(Preset::Csv).dialect();
        if let Some(delimiter) = &self.delimiter {
            let byte = one_byte("delimiter", delimiter)?.ok_or_else(|| {
                refused(
                    "delimiter",
                    delimiter,
                    "something must stand between fields",
                    "write one ASCII character",
                )
            })?;
            dialect.delimiter = byte.into();
        }
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
        if let Some(trailing_delimiter) = self.trailing_delimiter {
            dialect.trailing_delimiter = trailing_delimiter;
        }
        if let Some(header) = self.header {
            dialect.header = header;
        }
        match &self.null {
            Some(NullMarker::Text(text)) => dialect.nulls = vec![text.clone()],
            Some(NullMarker::Never(false)) => dialect.nulls.clear(),
            Some(NullMarker::Never(true)) => {
                return Err(refused(
                    "null",
                    "true",
                    "it does not say which text stands for NULL",
                    "write the text, or false where nothing stands for NULL",
                ));
            }
            None => {}
        }
        if let Some(record_bytes_max) = self.record_bytes_max {
            dialect.record_bytes_max = record_bytes_max as usize;
        }
        self.text_encoding_checked()?;
        dialect.check().map_err(|error| FormatFault {
            setting: error.setting,
            kind: Box::new(PackageFaultKind::Format {
                setting: error.setting,
                reason: error.reason,
            }),
        })?;
        Ok(dialect)
    }
}

/// The byte that a setting of one character names; none where it is empty.
fn one_byte(setting: &'static str, text: &str) -> Result<Option<u8>, FormatFault> {
    match text.as_bytes() {
        [] => Ok(None),
        [b'\n' | b'\r' | 0] => Err(refused(
            setting,
            &text.escape_default().to_string(),
            "it is the end of a line, or NUL",
            "take a character that can stand inside a line",
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
        kind: Box::new(PackageFaultKind::Value {
            setting: format!("format.{setting}"),
            value: value.to_owned(),
            cause: cause.to_owned(),
            mend: mend.to_owned(),
        }),
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

    #[test]
    fn compression_is_told_by_names() {
        for (name, compression) in [
            ("a.csv", Compression::None),
            ("a.csv.gz", Compression::Gzip),
            ("a.csv.ZST.3", Compression::Zstd),
            ("gz", Compression::None),
            ("a.gz/b", Compression::None),
        ] {
            assert_eq!(Compression::of_file(name), compression, "{name}");
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
    fn settings_that_cannot_be_told_apart_are_refused() {
        for toml in [
            "delimiter = ''",
            "delimiter = '||'",
            "delimiter = '\\t'",
            "delimiter = '\u{a7}'",
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
