//! Decides which field of a record fills each column: by the names of a header, else by position.
//!
//! Every field must be listed. A field that no column takes must be skipped by name, or all such fields together by `"*
//! skip"`. So a forgotten column or a new field in a file is an error, and cannot shift the other fields.

use std::path::Path;

use inrush_package::{ALL_OTHERS, ColumnDetail, FieldChoice, SourceWord, quoted_where_needed};
use inrush_rows::column_policy::ValueSource;
use inrush_rows::suggest::suggestion;

use crate::error::PlanError;
use crate::reading::name_index::NameIndex;

/// A column and the source of its values.
pub struct Assigned {
    /// The column.
    pub detail: ColumnDetail,
    /// The source of its values.
    pub source: ValueSource,
}

/// The columns of a flow in the package's order, and the number of fields in a record.
pub struct Assignment {
    /// The columns that are loaded.
    pub columns: Vec<Assigned>,
    /// Fields of a record.
    pub field_count: usize,
}

/// Why fields and columns do not match.
pub struct Mismatch {
    /// The problem, in words.
    pub what: String,
    /// How to fix it.
    pub hint: String,
}

impl Mismatch {
    fn new(what: String, hint: impl Into<String>) -> Mismatch {
        Mismatch {
            what,
            hint: hint.into(),
        }
    }

    /// Adds the file whose header is at fault, if it is known.
    pub fn in_file(self, file: Option<&Path>) -> Mismatch {
        Mismatch {
            what: format!("{}{}", place(file), self.what),
            hint: self.hint,
        }
    }

    /// The error of a flow.
    pub fn of_flow(self, flow: &str) -> PlanError {
        PlanError::Mismatch {
            flow: flow.to_owned(),
            what: self.what,
            hint: self.hint,
        }
    }
}

/// A file's name, as a prefix of a message.
pub fn place(file: Option<&Path>) -> String {
    file.map_or(String::new(), |file| format!("{}: ", file.display()))
}

/// The origin of the fields of rows, for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldOrigin {
    /// Files, whose header may name their fields.
    #[default]
    Files,
    /// A table or a query of a database, or rows of a program.
    Database,
}

impl FieldOrigin {
    /// The origin of the names of fields, as the subject and verb of a sentence.
    fn who_has(self) -> &'static str {
        match self {
            FieldOrigin::Files => "the header has",
            FieldOrigin::Database => "the source has",
        }
    }

    /// How to leave a column out.
    pub fn without_a_column(self) -> &'static str {
        match self {
            FieldOrigin::Files => "remove it from the files",
            FieldOrigin::Database => {
                "name the other columns to read (`columns` of the source, --columns)"
            }
        }
    }

    /// The origin of all rows, as the subject and verb of a sentence.
    pub fn who_have(self) -> &'static str {
        match self {
            FieldOrigin::Files => "the files have",
            FieldOrigin::Database => "the source has",
        }
    }
}

/// Matches listed columns with the names of a header, or with those of a table's columns.
pub fn by_header(
    details: &[ColumnDetail],
    header: &[String],
    origin: FieldOrigin,
) -> Result<Assignment, Mismatch> {
    let index = NameIndex::new(header.iter().map(|field| field.trim()));
    let mut fields = Fields::new(header.len());
    let mut columns = Vec::new();
    for (at, detail) in details.iter().enumerate() {
        let source = match special(detail) {
            Special::Others => continue,
            Special::Made(source) => source,
            Special::Field => {
                let index = match &detail.field {
                    Some(FieldChoice::Number(number)) => {
                        numbered(detail, *number, header.len(), origin.who_has())?
                    }
                    Some(FieldChoice::Name(name)) => named(detail, name, header, &index, origin)?,
                    None => named(detail, &detail.name, header, &index, origin)?,
                };
                // Another column may use the same field if it names it.
                fields.take(index, at, details, |one, other| {
                    one.field.is_some() || other.field.is_some()
                })?;
                ValueSource::Field(index)
            }
        };
        add(&mut columns, detail, source);
    }
    let free = fields.free();
    if !free.is_empty() && !skips_others(details) {
        let names: Vec<String> = free
            .iter()
            .map(|index| format!("`{}`", header[*index].trim()))
            .collect();
        let example = quoted_where_needed(header[free[0]].trim());
        if origin == FieldOrigin::Database {
            return Err(Mismatch::new(
                format!(
                    "the source has {}, which no column takes",
                    shortened(&names)
                ),
                format!(
                    "list every column: write {:?} for one that is not loaded, \"* skip\" for all others; or read only the columns \
                     that are loaded (`columns` of the source)",
                    format!("{example} skip")
                ),
            ));
        }
        return Err(Mismatch::new(
            format!(
                "the header has {}, which no column takes (the header: {})",
                shortened(&names),
                shortened(header)
            ),
            format!(
                "list every field: write {:?} for a field that is not loaded, \"* skip\" for all \
                 other fields. Set header = false if the first record is data, or skip_lines if \
                 title lines are before it",
                format!("{example} skip")
            ),
        ));
    }
    assignment(columns, header.len())
}

/// Assigns fields to the listed columns by position. `first_count` is the number of fields in the first record, if it
/// is known.
pub fn by_place(
    details: &[ColumnDetail],
    first_count: Option<usize>,
) -> Result<Assignment, Mismatch> {
    let mut fields = Fields::new(0);
    let mut columns = Vec::new();
    let mut next = 0;
    for (at, detail) in details.iter().enumerate() {
        let source = match special(detail) {
            Special::Others => continue,
            Special::Made(source) => source,
            Special::Field => {
                let index = match &detail.field {
                    None => next,
                    Some(FieldChoice::Number(number)) => match first_count {
                        Some(count) => numbered(detail, *number, count, "the first record has")?,
                        None => numbered(detail, *number, usize::MAX, "a record has")?,
                    },
                    Some(FieldChoice::Name(name)) => {
                        return Err(Mismatch::new(
                            format!(
                                "column `{}` takes the field {name:?}, but the files have no header",
                                detail.name
                            ),
                            "write the field's number, counted from 1: field = 3; or set header = \
                             true in the format",
                        ));
                    }
                };
                next = index + 1;
                fields.take(index, at, details, |one, other| {
                    one.field.is_some() && other.field.is_some()
                })?;
                ValueSource::Field(index)
            }
        };
        add(&mut columns, detail, source);
    }
    if skips_others(details) {
        let field_count = first_count.unwrap_or(0).max(fields.taken.len());
        return assignment(columns, field_count);
    }
    if let Some(first) = fields.free().first() {
        return Err(Mismatch::new(
            format!("no column takes field {} of the records", first + 1),
            format!(
                "list every field: write {{ name = \"unused\", field = {}, skip = true }} for a \
                 field that is not loaded, \"* skip\" for all other fields",
                first + 1
            ),
        ));
    }
    assignment(columns, fields.taken.len())
}

/// The meaning of a listed column.
enum Special {
    /// The column uses or skips one field.
    Field,
    /// The column uses no field.
    Made(ValueSource),
    /// The column stands for all unlisted fields.
    Others,
}

fn special(detail: &ColumnDetail) -> Special {
    if detail.skip && detail.name == ALL_OTHERS {
        return Special::Others;
    }
    Special::Made(match detail.source {
        None => return Special::Field,
        Some(SourceWord::File) => ValueSource::File,
        Some(SourceWord::Line) => ValueSource::Line,
        Some(SourceWord::ByteOffset) => ValueSource::ByteOffset,
        Some(SourceWord::LoadTime) => ValueSource::LoadTime,
        Some(SourceWord::Run) => ValueSource::Run,
        Some(SourceWord::Constant) => {
            ValueSource::Constant(detail.value.clone().unwrap_or_default())
        }
    })
}

fn skips_others(details: &[ColumnDetail]) -> bool {
    details
        .iter()
        .any(|detail| matches!(special(detail), Special::Others))
}

fn add(columns: &mut Vec<Assigned>, detail: &ColumnDetail, source: ValueSource) {
    if !detail.skip {
        columns.push(Assigned {
            detail: detail.clone(),
            source,
        });
    }
}

fn assignment(columns: Vec<Assigned>, field_count: usize) -> Result<Assignment, Mismatch> {
    let takes_field = |column: &Assigned| column.source.field_index().is_some();
    if !columns.iter().any(takes_field) {
        return Err(Mismatch::new(
            "no column takes a field of the files".to_owned(),
            "list at least one column that is loaded",
        ));
    }
    Ok(Assignment {
        columns,
        field_count,
    })
}

/// The fields of a record, and the listed column that uses each.
struct Fields {
    /// For each field, the index in the list of the first column that uses it.
    taken: Vec<Option<usize>>,
}

impl Fields {
    fn new(count: usize) -> Fields {
        Fields {
            taken: vec![None; count],
        }
    }

    /// Notes that the column at this index of the list uses a field. A second column may use it too if neither skips it
    /// and `may_share` returns true for the two.
    fn take(
        &mut self,
        index: usize,
        at: usize,
        details: &[ColumnDetail],
        may_share: impl Fn(&ColumnDetail, &ColumnDetail) -> bool,
    ) -> Result<(), Mismatch> {
        if self.taken.len() <= index {
            self.taken.resize(index + 1, None);
        }
        let Some(before) = self.taken[index] else {
            self.taken[index] = Some(at);
            return Ok(());
        };
        let (before, detail) = (&details[before], &details[at]);
        if !before.skip && !detail.skip && may_share(before, detail) {
            return Ok(());
        }
        Err(Mismatch::new(
            format!(
                "field {} of the records is listed twice, as `{}` and as `{}`",
                index + 1,
                before.name,
                detail.name
            ),
            "let each column take another field; if one field should fill both columns, set \
             `field` for both",
        ))
    }

    fn free(&self) -> Vec<usize> {
        (0..self.taken.len())
            .filter(|index| self.taken[*index].is_none())
            .collect()
    }
}

fn numbered(
    detail: &ColumnDetail,
    number: u32,
    count: usize,
    who_has: &str,
) -> Result<usize, Mismatch> {
    // A number larger than the fields of any record is refused without counting.
    const FIELDS_MAX: usize = 1 << 20;
    let index = (number as usize).checked_sub(1);
    match index {
        Some(index) if index < count.min(FIELDS_MAX) => Ok(index),
        _ => Err(Mismatch::new(
            format!(
                "column `{}` takes field {number}, and {who_has} {}",
                detail.name,
                count.min(FIELDS_MAX)
            ),
            "count the fields from 1",
        )),
    }
}

/// The names of a header for a message. They are shortened, because the first record of a binary file may be as long as
/// the file.
fn shortened(names: &[String]) -> String {
    const SHOWN_CHARS: usize = 1_000;
    let text = names.join(", ");
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}... ({} fields in all)", &text[..at], names.len()),
        None => text,
    }
}

/// The index of a name in the header: an exact match, or the only match that ignores case.
fn named(
    detail: &ColumnDetail,
    name: &str,
    header: &[String],
    index: &NameIndex<'_>,
    origin: FieldOrigin,
) -> Result<usize, Mismatch> {
    let name = name.trim();
    match index.places(name) {
        [index] => Ok(*index),
        [] => {
            let near = suggestion(name, header.iter().map(|field| field.trim()));
            let (owner, no_header) = match origin {
                FieldOrigin::Files => {
                    ("header", "; set header = false if the first record is data")
                }
                FieldOrigin::Database => ("source", ""),
            };
            let hint = match near {
                Some(near) => format!(
                    "did you mean {near:?}? If the {owner} has another name than the column, \
                     declare it: {{ name = {:?}, field = {near:?} }}",
                    detail.name
                ),
                None => format!(
                    "if the {owner} has another name than the column, declare it: {{ name = {:?}, \
                     field = \"NAME IN {}\" }}{no_header}",
                    detail.name,
                    owner.to_uppercase()
                ),
            };
            let (field, has) = match origin {
                FieldOrigin::Files => ("field", shortened(header)),
                FieldOrigin::Database => {
                    let names = header.iter().map(|name| quoted_where_needed(name));
                    ("column", shortened(&names.collect::<Vec<_>>()))
                }
            };
            Err(Mismatch::new(
                format!(
                    "{} no {field} {name:?} for column `{}`; it has {has}",
                    origin.who_has(),
                    detail.name,
                ),
                hint,
            ))
        }
        [first, second, ..] => Err(Mismatch::new(
            format!(
                "the header has {name:?} more than once, in fields {} and {}",
                first + 1,
                second + 1
            ),
            format!(
                "choose a field by its number: {{ name = {:?}, field = {} }}",
                detail.name,
                first + 1
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use inrush_package::ColumnSpec;

    use super::*;

    /// `x=3 type` and `x="Name"` mean a column with a `field`.
    fn details(columns: &[&str]) -> Vec<ColumnDetail> {
        columns
            .iter()
            .map(|text| match text.split_once('=') {
                None => ColumnSpec::Short((*text).to_owned())
                    .detail()
                    .expect("right"),
                Some((name, field)) => ColumnDetail {
                    field: Some(match field.parse() {
                        Ok(number) => FieldChoice::Number(number),
                        Err(_) => FieldChoice::Name(field.to_owned()),
                    }),
                    skip: name.starts_with('!'),
                    ..ColumnDetail::named(name.trim_start_matches('!'))
                },
            })
            .collect()
    }

    fn shown(assignment: Result<Assignment, Mismatch>) -> Result<String, String> {
        match assignment {
            Ok(assignment) => Ok(assignment
                .columns
                .iter()
                .map(|column| {
                    let field = column.source.field_index().map_or(0, |index| index + 1);
                    format!("{}={field}", column.detail.name)
                })
                .chain([format!("of {}", assignment.field_count)])
                .collect::<Vec<_>>()
                .join(" ")),
            Err(mismatch) => Err(format!("{}; {}", mismatch.what, mismatch.hint)),
        }
    }

    fn check(found: Result<String, String>, expected: Result<&str, &str>) {
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            _ => panic!("{found:?}"),
        }
    }

    macro_rules! headers {
        ($($name:ident: [$($column:expr),*], $header:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let header: Vec<String> = $header.split(',').map(str::to_owned).collect();
                check(shown(by_header(&details(&[$($column),*]), &header, FieldOrigin::Files)), $expected);
            }
        )*};
    }

    headers! {
        same_order: ["a", "b"], "a,b" => Ok("a=1 b=2 of 2");
        another_order: ["b", "a"], "a,b" => Ok("b=2 a=1 of 2");
        any_case: ["b", "a"], "A, B " => Ok("b=2 a=1 of 2");
        the_exact_name_first: ["a", "x=A"], "A,a" => Ok("a=2 x=1 of 2");
        renamed: ["x=First Name", "b"], "b,First Name" => Ok("x=2 b=1 of 2");
        by_number: ["x=2", "b"], "b,b " => Err("more than once, in fields 1 and 2");
        twice_by_number: ["x=2", "y=1"], "b,b" => Ok("x=2 y=1 of 2");
        skipped: ["b", "a skip"], "a,b" => Ok("b=2 of 2");
        others_skipped: ["b", "* skip"], "a,b,c" => Ok("b=2 of 3");
        nothing_for_the_others: ["a", "* skip"], "a" => Ok("a=1 of 1");
        forgotten: ["b"], "a,b,c" => Err("has `a`, `c`, which no column takes");
        forgotten_hint: ["b"], "Odd Name,b" => Err(r#""\"Odd Name\" skip""#);
        not_there: ["a", "prise"], "a,price" => Err("did you mean \"price\"");
        number_past: ["a=3"], "a,b" => Err("takes field 3, and the header has 2");
        one_field_for_two: ["a", "raw=a"], "a" => Ok("a=1 raw=1 of 1");
        one_field_twice: ["a", "A"], "a" => Err("listed twice");
        taken_and_skipped: ["a", "!x=a"], "a" => Err("listed twice");
        skipped_under_a_name_of_another: ["a=b", "a skip"], "a,b" => Ok("a=2 of 2");
        nothing_left: ["a skip"], "a" => Err("no column takes a field");
    }

    #[test]
    fn messages_about_tables_have_no_words_of_files() {
        let header = ["id", "First Name", "note"].map(str::to_owned);
        for (listed, part) in [
            (
                &["id", "note"][..],
                "the source has `First Name`, which no column takes; list every column",
            ),
            (&["id=4", "* skip"], "takes field 4, and the source has 3"),
            (
                &["id", "* skip", "nothing"],
                r#"the source has no column "nothing" for column `nothing`; it has id, "First Name", note"#,
            ),
            (
                &["id", "* skip", "notes"],
                "did you mean \"note\"? If the source has another name",
            ),
        ] {
            let found = by_header(&details(listed), &header, FieldOrigin::Database);
            let Err(Mismatch { what, hint }) = found else {
                panic!("{listed:?} is refused");
            };
            let said = format!("{what}; {hint}");
            assert!(said.contains(part), "{said}");
            for word in ["header", "file", "record"] {
                assert!(!said.contains(word), "{said}");
            }
        }
    }

    macro_rules! places {
        ($($name:ident: [$($column:expr),*], $count:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                check(shown(by_place(&details(&[$($column),*]), $count)), $expected);
            }
        )*};
    }

    places! {
        in_order: ["a", "b"], None => Ok("a=1 b=2 of 2");
        with_a_gap: ["a", "x skip", "b"], None => Ok("a=1 b=3 of 3");
        skipped_by_one_name: ["x skip", "a", "x skip", "b"], None => Ok("a=2 b=4 of 4");
        last_skipped: ["a", "x skip"], None => Ok("a=1 of 2");
        rest_skipped: ["a", "b", "* skip"], Some(5) => Ok("a=1 b=2 of 5");
        rest_skipped_in_no_file: ["a", "b", "* skip"], None => Ok("a=1 b=2 of 2");
        numbered_in_any_order: ["b=2", "a=1"], None => Ok("b=2 a=1 of 2");
        numbers_go_on: ["a=2", "b", "c=1"], None => Ok("a=2 b=3 c=1 of 3");
        numbered_and_the_rest: ["b=7", "* skip"], Some(10) => Ok("b=7 of 10");
        hole: ["a=1", "b=3"], None => Err("no column takes field 2");
        number_past_the_record: ["a=3", "* skip"], Some(2) => Err("the first record has 2");
        enormous_number: ["a=4000000000"], None => Err("takes field 4000000000");
        named_without_header: ["a=Name"], None => Err("the files have no header");
        place_listed_twice: ["a", "b", "c=2"], None => Err("field 2 of the records is listed twice");
        place_asked_for_twice: ["a=1", "b=1"], None => Ok("a=1 b=1 of 1");
    }
}
