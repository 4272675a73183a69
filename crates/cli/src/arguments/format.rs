//! `--format`: a preset and the settings that differ from it, in one argument.

use inrush::compression::Compression;
use inrush::package::{ExtraFieldsRule, Format, MissingFieldsRule, NullMarker, Preset, TrimBlanks};
use inrush::suggest::suggestion;

/// All words of a format, to suggest the nearest one for a misspelt word.
const WORDS: [&str; 27] = [
    "tbl",
    "csv",
    "tsv",
    "delimiter",
    "quote",
    "escape",
    "terminator",
    "comment",
    "null",
    "decimal_separator",
    "group_separator",
    "null_quoted",
    "trim",
    "missing_fields",
    "extra_fields",
    "record_bytes_max",
    "compression",
    "encoding",
    "lossless",
    "no_lossless",
    "skip_lines",
    "header",
    "no_header",
    "trailing_delimiter",
    "no_trailing_delimiter",
    "no_null",
    "preset",
];

/// Reads `csv,delimiter=;,no_header`.
pub fn parse_format(text: &str) -> Result<Format, String> {
    let mut format = Format::default();
    for setting in split(text) {
        let (name, value) = match setting.split_once('=') {
            Some((name, value)) => (name.trim(), Some(unescaped(value)?)),
            None => (setting.trim(), None),
        };
        apply(&mut format, &name.replace('-', "_"), value)?;
    }
    Ok(format)
}

fn apply(format: &mut Format, name: &str, value: Option<String>) -> Result<(), String> {
    match (name, value) {
        ("preset", Some(value)) => apply(format, &value, None)?,
        ("tbl", None) => format.preset = Some(Preset::Tbl),
        ("csv", None) => format.preset = Some(Preset::Csv),
        ("tsv", None) => format.preset = Some(Preset::Tsv),
        ("delimiter", Some(value)) => format.delimiter = Some(value),
        ("quote", Some(value)) => format.quote = Some(value),
        ("escape", Some(value)) => format.escape = Some(value),
        ("terminator", Some(value)) => format.terminator = Some(value),
        ("comment", Some(value)) => format.comment = Some(value),
        ("null_quoted", None) => format.null_quoted = Some(true),
        ("trim", Some(value)) => {
            format.trim = Some(match value.as_str() {
                "none" => TrimBlanks::None,
                "start" => TrimBlanks::Start,
                "end" => TrimBlanks::End,
                "both" => TrimBlanks::Both,
                _ => return Err(format!("trim={value}: write none, start, end or both")),
            });
        }
        ("missing_fields", Some(value)) => {
            format.missing_fields = Some(match value.as_str() {
                "reject" => MissingFieldsRule::Reject,
                "null" => MissingFieldsRule::Null,
                _ => return Err(format!("missing_fields={value}: write reject or null")),
            });
        }
        ("extra_fields", Some(value)) => {
            format.extra_fields = Some(match value.as_str() {
                "reject" => ExtraFieldsRule::Reject,
                "ignore" => ExtraFieldsRule::Ignore,
                _ => return Err(format!("extra_fields={value}: write reject or ignore")),
            });
        }
        ("null", Some(value)) => format.null = Some(NullMarker::Text(value)),
        ("decimal_separator", Some(value)) => format.decimal_separator = Some(value),
        ("group_separator", Some(value)) => format.group_separator = Some(value),
        ("lossless", None) => format.lossless = Some(true),
        ("no_lossless", None) => format.lossless = Some(false),
        ("skip_lines", Some(value)) => {
            let number = value
                .parse()
                .map_err(|_| format!("skip_lines={value}: it is not a number of lines"))?;
            format.skip_lines = Some(number);
        }
        ("no_null", None) => format.null = Some(NullMarker::Never(false)),
        ("header", None) => format.header = Some(true),
        ("no_header", None) => format.header = Some(false),
        ("trailing_delimiter", None) => format.trailing_delimiter = Some(true),
        ("no_trailing_delimiter", None) => format.trailing_delimiter = Some(false),
        (switch @ ("header" | "trailing_delimiter"), Some(value)) => {
            let value = value
                .parse()
                .map_err(|_| format!("{switch}={value}: it is neither true nor false"))?;
            match switch {
                "header" => format.header = Some(value),
                _ => format.trailing_delimiter = Some(value),
            }
        }
        ("record_bytes_max", Some(value)) => {
            let number = value
                .parse()
                .map_err(|_| format!("record_bytes_max={value}: it is not a number of bytes"))?;
            format.record_bytes_max = Some(number);
        }
        ("compression", Some(value)) => {
            format.compression = Some(match value.as_str() {
                "none" => Compression::None,
                "gzip" | "gz" => Compression::Gzip,
                "zstd" | "zst" => Compression::Zstd,
                "bzip2" | "bz2" => Compression::Bzip2,
                "xz" => Compression::Xz,
                "zip" => Compression::Zip,
                _ => {
                    return Err(format!(
                        "compression={value}: write none, gzip, zstd, bzip2, xz or zip"
                    ));
                }
            });
        }
        ("encoding", Some(value)) => format.encoding = Some(value),
        (word, value) if WORDS.contains(&word) => {
            return Err(match value {
                Some(_) => format!("`{word}` takes no value"),
                None => format!("`{word}` needs a value: {word}=..."),
            });
        }
        (word, _) => {
            return Err(match suggestion(word, WORDS) {
                Some(near) => format!("unknown setting `{word}`; did you mean `{near}`?"),
                None => format!("unknown setting `{word}`; there are {}", WORDS.join(", ")),
            });
        }
    }
    Ok(())
}

/// Splits at commas. In `delimiter=,` the comma is the value if the text ends there or another comma follows.
fn split(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut settings = vec![String::new()];
    for (index, character) in characters.iter().enumerate() {
        let last = settings.last_mut().expect("there is one from the start");
        let is_value =
            last.ends_with('=') && characters.get(index + 1).is_none_or(|next| *next == ',');
        match character {
            ',' if !is_value => settings.push(String::new()),
            other => last.push(*other),
        }
    }
    settings.retain(|setting| !setting.trim().is_empty());
    settings
}

/// A value with `\t` and `\xHH` replaced; a backslash before anything else is kept, as in `null=\N` and `escape=\`.
fn unescaped(value: &str) -> Result<String, String> {
    if let Some(digits) = value.strip_prefix("\\x") {
        let byte = u8::from_str_radix(digits, 16)
            .ok()
            .filter(u8::is_ascii)
            .ok_or_else(|| format!("`{value}` is not \\xHH with an ASCII code"))?;
        return Ok(char::from(byte).to_string());
    }
    Ok(match value {
        "\\t" | "tab" => "\t".to_owned(),
        "\\r\\r\\n" => "\r\r\n".to_owned(),
        other => other.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read() {
        assert_eq!(
            parse_format("tbl").expect("it is right").preset,
            Some(Preset::Tbl)
        );
        let format = parse_format(r"csv,delimiter=;,no_header,null=\N,compression=gzip")
            .expect("it is right");
        assert_eq!(
            format,
            Format {
                preset: Some(Preset::Csv),
                delimiter: Some(";".to_owned()),
                header: Some(false),
                null: Some(NullMarker::Text("\\N".to_owned())),
                compression: Some(Compression::Gzip),
                ..Format::default()
            }
        );
        let format = parse_format(
            r"delimiter=\t,quote=,escape=\,trailing-delimiter,no_null,record_bytes_max=2048",
        )
        .expect("it is right");
        assert_eq!(
            format,
            Format {
                delimiter: Some("\t".to_owned()),
                quote: Some(String::new()),
                escape: Some("\\".to_owned()),
                trailing_delimiter: Some(true),
                null: Some(NullMarker::Never(false)),
                record_bytes_max: Some(2048),
                ..Format::default()
            }
        );
    }

    #[test]
    fn a_comma_may_be_the_delimiter() {
        for text in ["delimiter=,", "delimiter=,,header", "header,delimiter=,"] {
            let format = parse_format(text).expect(text);
            assert_eq!(format.delimiter.as_deref(), Some(","), "{text}");
        }
        let format = parse_format("quote=,header").expect("it is right");
        assert_eq!(
            (format.quote.as_deref(), format.header),
            (Some(""), Some(true))
        );
        let format =
            parse_format("terminator=cr,comment=#,trim=end,extra_fields=ignore,null_quoted")
                .expect("it is right");
        assert_eq!(
            format,
            Format {
                terminator: Some("cr".to_owned()),
                comment: Some("#".to_owned()),
                trim: Some(TrimBlanks::End),
                extra_fields: Some(ExtraFieldsRule::Ignore),
                null_quoted: Some(true),
                ..Format::default()
            }
        );
        let format = parse_format(r"delimiter=\x01").expect("it is right");
        assert_eq!(format.delimiter.as_deref(), Some("\u{1}"));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, expected) in [
            ("cvs", "unknown setting `cvs`; did you mean `csv`?"),
            (
                "delimeter=;",
                "unknown setting `delimeter`; did you mean `delimiter`?",
            ),
            ("delimiter", "`delimiter` needs a value: delimiter=..."),
            ("tbl=1", "`tbl` takes no value"),
            ("header=1", "header=1: it is neither true nor false"),
            (
                "compression=lz4",
                "compression=lz4: write none, gzip, zstd, bzip2, xz or zip",
            ),
            (
                "skip_lines=one",
                "skip_lines=one: it is not a number of lines",
            ),
            (
                "record_bytes_max=1M",
                "record_bytes_max=1M: it is not a number of bytes",
            ),
            ("trim=left", "trim=left: write none, start, end or both"),
            (
                "missing_fields=default",
                "missing_fields=default: write reject or null",
            ),
            (
                "extra_fields=drop",
                "extra_fields=drop: write reject or ignore",
            ),
            (r"delimiter=\xff", "`\\xff` is not \\xHH with an ASCII code"),
        ] {
            assert_eq!(parse_format(text), Err(expected.to_owned()), "{text}");
        }
    }
}
