//! Promises of the files' authors: the number of rows, and the sums of columns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BoundValue;

/// Totals that all files of a flow must have together; nothing is switched in where they differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// How many rows, rejected ones counted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<BoundValue>,
    /// What columns of numbers add up to, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, BoundValue>,
}

/// The last record of each file, which is no row: it says how many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// What it begins with. A file without it is not whole, and refused.
    pub starts_with: String,
    /// Where it has the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_field: Option<RecordField>,
    /// Records that this number counts besides the rows: the header, the trailer itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub also_counts: u32,
    /// Where it has what columns of numbers add up to, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sum_fields: BTreeMap<String, RecordField>,
}

/// A file beside each file, or beside all of them, that says how many rows there are. It is read
/// before anything is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControlFile {
    /// Stands behind the whole name of a file: `.ctl` for `orders.csv.ctl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
    /// Stands in place of the last extension of a file: `ctl` for `orders.ctl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// One file for all: a relative path starts at the package's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Stands between its fields; one of `|`, `,`, `;` and tab, whichever it has, where it is not
    /// set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// In a file for all: the field of each line that names a file. Without it its first line
    /// tells of all files together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_field: Option<u32>,
    /// Where it has the number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_field: Option<RecordField>,
    /// Records that this number counts besides the rows: the header, the trailer.
    #[serde(skip_serializing_if = "is_zero")]
    pub also_counts: u32,
    /// Where it has what columns of numbers add up to, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sum_fields: BTreeMap<String, RecordField>,
}

/// Where a record has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RecordField {
    /// In this field, counted from 1.
    Number(u32),
    /// From this position, counted from 1, in so many characters.
    Position([u32; 2]),
    /// In a line `NAME=number` or `NAME: number` of a control file.
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
