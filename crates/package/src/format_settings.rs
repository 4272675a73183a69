//! The setting `format` of a package: how files are written.

use inrush_rows::compression::Compression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format of a file: a preset, and settings that differ from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Format {
    /// The preset, which gives the defaults of the other settings. Default: the preset of the files' extension
    /// (`.tbl`, `.csv`, `.tsv`, also before `.gz`, `.zst`, `.bz2`, `.xz` or `.zip`), or `csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The text between fields; one to eight bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// The quote around a field; one ASCII character, or empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The escape, which makes the next character an ordinary character; the quote itself if quotes are
    /// doubled, or empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<String>,
    /// The end of a record. `"any"` is `\n` or `\r\n`, also mixed; it is the default. `"lf"`, `"crlf"` and
    /// `"cr"` are exactly that. Any other text of one to eight bytes is the terminator itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminator: Option<String>,
    /// The first character of a comment, which is a line that is skipped; one ASCII character, or empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Every record ends with one more delimiter, as dbgen writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trailing_delimiter: Option<bool>,
    /// The number of lines to skip at the beginning of each file, before the header, such as titles or `sep=;`.
    #[schemars(range(min = 0, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_lines: Option<u32>,
    /// The first record of each file names the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// The unquoted text that stands for NULL, or a list of texts; `false` if no text does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<NullMarker>,
    /// The character between the whole part and the fraction of a number. Default: a point. A column can override
    /// this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal_separator: Option<String>,
    /// The character between groups of three digits. A column can override this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_separator: Option<String>,
    /// `true`: a number with leading zeros or a plus sign (`007`, `+43`) is a reject. A column can override this.
    /// Numbers that a float would change are rejects unless this is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
    /// `true`: a quoted field that equals a text of `null` is NULL, too, as with COPY's FORCE_NULL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_quoted: Option<bool>,
    /// The sides on which spaces and tabs are removed from unquoted fields. Default: none, or both in
    /// fixed-width files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<TrimBlanks>,
    /// How a record with too few fields is loaded. Default: it is rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_fields: Option<MissingFieldsRule>,
    /// How a record with too many fields is loaded. Default: it is rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_fields: Option<ExtraFieldsRule>,
    /// For fixed-width files: the first position, counted from 1, and the length of each field,
    /// as in `[[1, 10], [11, 2]]`.
    #[schemars(inner(inner(range(min = 1, max = 1_073_741_824))))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Vec<Vec<u32>>>,
    /// The unit of positions. Default: bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_unit: Option<FixedUnit>,
    /// The length of each line of a fixed-width file, in positions. Default: the end of the field that ends last.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_length: Option<u32>,
    /// The bytes of each record of a fixed-width file without line ends.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u32>,
    /// The most bytes of a record; a longer record stops the flow. 1 KiB to 1 GiB. Default: 16 MiB.
    #[schemars(range(min = 1_024, max = 1_073_741_824))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes_max: Option<u32>,
    /// The compression of the files. Default: by their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// The encoding of the text, such as `windows-1252`, `iso-8859-1`, `utf-16` or `shift_jis`. Default: the
    /// encoding of the byte order mark, or UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

impl Format {
    /// True if it says nothing.
    pub(super) fn is_default(&self) -> bool {
        *self == Format::default()
    }
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

/// The texts that stand for NULL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NullMarker {
    /// This text.
    Text(String),
    /// Each of these texts.
    Many(Vec<String>),
    /// `false`: no text stands for NULL.
    Never(#[schemars(extend("const" = false))] bool),
}

/// The sides on which blanks are removed from unquoted fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrimBlanks {
    /// No side.
    None,
    /// Before the text.
    Start,
    /// After the text.
    End,
    /// Before and after the text.
    Both,
}

/// How a record with too few fields is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissingFieldsRule {
    /// It is rejected.
    Reject,
    /// The missing fields are NULL.
    Null,
}

/// How a record with too many fields is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExtraFieldsRule {
    /// It is rejected.
    Reject,
    /// The extra fields are ignored.
    Ignore,
}

/// The unit of the positions of a fixed-width file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FixedUnit {
    /// Bytes.
    Bytes,
    /// Characters.
    Characters,
}
