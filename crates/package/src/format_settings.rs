//! The settings `format` of a package: how files are written.

use inrush_rows::compression::Compression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a file is written: a preset, and what differs from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Format {
    /// Where the other settings start from; from the files' names where it is not set
    /// (`.tbl`, `.csv`, `.tsv`; `.gz`, `.zst`, `.bz2`, `.xz` and `.zip` looked through), else
    /// `csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Stands between fields; one to eight bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Opens and closes a quoted field; one ASCII character, or empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Makes the next character an ordinary one; the quote itself for doubled quotes, or
    /// empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<String>,
    /// Ends records: `"any"` is `\n` and `\r\n` as they come, and what holds where it is not
    /// set; `"lf"`, `"crlf"` and `"cr"` are only that; any other text of one to eight bytes is
    /// the terminator itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminator: Option<String>,
    /// A line that begins with it is passed over; one ASCII character, or empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Every record ends with one more delimiter, as dbgen writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trailing_delimiter: Option<bool>,
    /// Lines at the beginning of each file, before the header, that are passed over whatever
    /// stands in them: titles, or `sep=;`.
    #[schemars(range(min = 0, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_lines: Option<u32>,
    /// The first record of each file names the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// The unquoted text that stands for NULL, or a list of them; `false` where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<NullMarker>,
    /// Stands between whole part and fraction in columns of numbers that say nothing else; a
    /// point where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal_separator: Option<String>,
    /// Stands between groups of three digits in columns of numbers that say nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_separator: Option<String>,
    /// In columns of numbers that say nothing else, a number with zeros or a plus before it (`007`,
    /// `+43`) is a reject. Numbers that a float would change are rejects unless this is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
    /// A quoted field that is one of these texts is NULL too, as under COPY's FORCE_NULL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_quoted: Option<bool>,
    /// Which spaces and tabs around unquoted fields are taken off; none where it is not set, and
    /// both in fixed-width files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<TrimBlanks>,
    /// What becomes of a record with too few fields; it is rejected where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_fields: Option<MissingFieldsRule>,
    /// What becomes of a record with too many fields; it is rejected where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_fields: Option<ExtraFieldsRule>,
    /// For fixed-width files: the first position, counted from 1, and the length of each field,
    /// as in `[[1, 10], [11, 2]]`.
    #[schemars(inner(inner(range(min = 1, max = 1_073_741_824))))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Vec<Vec<u32>>>,
    /// What positions count; bytes where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_unit: Option<FixedUnit>,
    /// Positions of each line of a fixed-width file; up to the end of the field that ends last
    /// where it is not set.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_length: Option<u32>,
    /// Bytes of each record of a fixed-width file without line ends.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u32>,
    /// A record longer than this stops the flow; 1 KiB to 1 GiB, 16 MiB where it is not set.
    #[schemars(range(min = 1_024, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes_max: Option<u32>,
    /// How the files are compressed; from their names where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// How text is encoded, by a name such as `windows-1252`, `iso-8859-1`, `utf-16` or
    /// `shift_jis`; by its byte order mark, else UTF-8, where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// A starting point of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// dbgen's: `|`, a trailing delimiter, no quotes; an empty field is NULL.
    Tbl,
    /// RFC 4180 with a header; an empty unquoted field is NULL.
    Csv,
    /// COPY's text form: tab, backslash escapes, `\N` for NULL.
    Tsv,
}

/// What stands for NULL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NullMarker {
    /// This text.
    Text(String),
    /// Each of these texts.
    Many(Vec<String>),
    /// `false`: nothing stands for NULL.
    Never(#[schemars(extend("const" = false))] bool),
}

/// Which blanks around unquoted fields are taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrimBlanks {
    /// None.
    None,
    /// Those before the text.
    Start,
    /// Those behind it.
    End,
    /// Those before and behind it.
    Both,
}

/// What becomes of a record with too few fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissingFieldsRule {
    /// It is rejected.
    Reject,
    /// What it lacks is NULL.
    Null,
}

/// What becomes of a record with too many fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExtraFieldsRule {
    /// It is rejected.
    Reject,
    /// What it has too much is passed over.
    Ignore,
}

/// What the positions of a fixed-width file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FixedUnit {
    /// Bytes.
    Bytes,
    /// Characters.
    Characters,
}
