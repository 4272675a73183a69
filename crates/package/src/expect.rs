//! Expected numbers of rows and sums of columns: from the package, trailers and control files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BoundValue;

/// Expected totals over all files of a flow. If a total differs, nothing is switched in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The number of rows, including rejected rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<BoundValue>,
    /// The sums of number columns, by column name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, BoundValue>,
}

/// The trailer: the last record of each file, which is not a row but has the number of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// The text that the trailer begins with. A file without a trailer is incomplete and is refused.
    pub starts_with: String,
    /// The place of the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_field: Option<RecordField>,
    /// How many records that are not rows are included in this number, such as the header and the trailer itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub also_counts: u32,
    /// The places of the sums of number columns, by column name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sum_fields: BTreeMap<String, RecordField>,
}

/// A control file for each file, or for all files, with the number of rows. It is read before anything
/// is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControlFile {
    /// A suffix for the name of the file: `.ctl` for `orders.csv.ctl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
    /// An extension that replaces the last extension of the file: `ctl` for `orders.ctl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// The path of one control file for all files; a relative path is relative to the package's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The delimiter between its fields. Default: the one of `|`, `,`, `;` and tab that occurs in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// In a control file for all files: the field with the file's name; each line describes one file.
    /// Without it, the first line describes all files together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_field: Option<u32>,
    /// The place of the number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_field: Option<RecordField>,
    /// How many records that are not rows are included in this number, such as the header and the trailer.
    #[serde(skip_serializing_if = "is_zero")]
    pub also_counts: u32,
    /// The places of the sums of number columns, by column name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sum_fields: BTreeMap<String, RecordField>,
}

/// The place of a number in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RecordField {
    /// The field with this number, counted from 1.
    Number(u32),
    /// The first position, counted from 1, and the length in characters.
    Position([u32; 2]),
    /// The name in a line `NAME=number` or `NAME: number` of a control file.
    Name(String),
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl RecordField {
    /// The text of this field in a record, or in the lines of a control file; without the blanks
    /// and double quotes around it.
    pub fn find<'a>(&self, text: &'a str, delimiter: &str) -> Option<&'a str> {
        let bare = |text: &'a str| text.trim().trim_matches('"').trim();
        match self {
            RecordField::Number(number) => {
                let index = (*number as usize).checked_sub(1)?;
                text.lines().next()?.split(delimiter).nth(index).map(bare)
            }
            RecordField::Position([start, length]) => {
                let line = text.lines().next()?;
                let mut places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
                let start = places.nth((*start as usize).checked_sub(1)?)?;
                let end = match *length {
                    0 => return None,
                    length => places.nth(length as usize - 1)?,
                };
                Some(bare(&line[start..end]))
            }
            RecordField::Name(name) => text.lines().find_map(|line| {
                let (found, value) = line.split_once(['=', ':'])?;
                found.trim().eq_ignore_ascii_case(name).then(|| bare(value))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! finds {
        ($($name:ident: $field:expr, $text:expr => $found:expr;)*) => {$(
            #[test]
            fn $name() {
                assert_eq!($field.find($text, "|"), $found);
            }
        )*};
    }

    finds! {
        the_second_field: RecordField::Number(2), "TRL|12|3" => Some("12");
        quotes_and_blanks_are_taken_off: RecordField::Number(2), "TRL| \"12\" |3" => Some("12");
        a_field_too_many: RecordField::Number(4), "TRL|12|3" => None;
        fields_are_counted_from_one: RecordField::Number(0), "TRL|12|3" => None;
        a_position: RecordField::Position([4, 5]), "TRL00012x" => Some("00012");
        a_position_up_to_the_end: RecordField::Position([4, 5]), "TRL00012" => Some("00012");
        a_position_past_the_end: RecordField::Position([4, 6]), "TRL00012" => None;
        a_position_in_characters: RecordField::Position([3, 2]), "äö12" => Some("12");
        a_name: RecordField::Name("rows".to_owned()), "FILE=a\nROWS = 12\n" => Some("12");
        a_name_that_is_not_there: RecordField::Name("rows".to_owned()), "FILE=a\n" => None;
    }
}
