//! A first record that is a header, although neither the package nor the file's name says so.
//!
//! Files named `.tsv` or `.tbl` usually have no header. If the first record of such a file contains the names of the
//! columns, it is a header all the same; loaded as a row it would at best be rejected.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_files::{Preview, SourceFile};
use inrush_package::{ALL_OTHERS, ColumnDetail, FieldChoice};
use inrush_plan::PlanError;
use inrush_scan::Dialect;

/// The facts about a flow whose first record may be a header.
pub struct Question<'a> {
    /// The flow.
    pub flow: &'a str,
    /// True or false if the package declares whether there is a header; `None` if it does not.
    pub declared: Option<bool>,
    /// Its files.
    pub files: &'a [Arc<SourceFile>],
    /// The columns that its package lists.
    pub details: &'a [ColumnDetail],
    /// The columns of its target that can be filled, if the target exists.
    pub target_columns: Option<&'a [String]>,
}

/// True if the first record is a header: all of its fields, at least two, are names of columns. A note goes to `notes`.
/// If it only looks like a header and nothing is declared, the plan is refused.
pub fn has_header(
    question: &Question<'_>,
    dialect: &Dialect,
    notes: &mut Vec<String>,
) -> Result<bool, PlanError> {
    if dialect.header {
        return Ok(true);
    }
    let names = names(question);
    // A pipe is not waited for, because its header would only lead to a note.
    let looked_at: Vec<&Arc<SourceFile>> = question
        .files
        .iter()
        .filter(|file| question.declared.is_none() || !file.is_pipe())
        .collect();
    let Some((place, fields)) = first_record(&looked_at, dialect)? else {
        return Ok(false);
    };
    let found = FirstRecordKind::of(&fields, &names);
    if found == FirstRecordKind::Row {
        return Ok(false);
    }
    let shown = shortened(&fields);
    if question.declared.is_some() {
        notes.push(format!(
            "{place}: the first record ({shown}) has the names of columns, and is loaded as a row \
             because of header = false"
        ));
        return Ok(false);
    }
    match found {
        FirstRecordKind::Header => {
            notes.push(format!(
                "{place}: the first record ({shown}) has the names of the columns, so it was taken \
                 as the header; set header = false in the format if it is a row"
            ));
            Ok(true)
        }
        FirstRecordKind::Row | FirstRecordKind::Unclear => Err(PlanError::Mismatch {
            flow: question.flow.to_owned(),
            what: format!(
                "{place}: the first record ({shown}) looks like a header, but the format declares \
                 none"
            ),
            hint: "set header = true in the format if it is the header, header = false if it is a \
                   row (--format 'tsv,header', 'tsv,no_header')"
                .to_owned(),
        }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum FirstRecordKind {
    Row,
    Header,
    Unclear,
}

impl FirstRecordKind {
    fn of(fields: &[String], names: &[String]) -> FirstRecordKind {
        let names: BTreeSet<&String> = names.iter().collect();
        // Columns without a name cannot be compared, so a header with one of them cannot be matched.
        let named: Vec<&String> = fields.iter().filter(|field| !field.is_empty()).collect();
        let has_unnamed = named.len() < fields.len();
        let fields = named;
        let count = fields.iter().filter(|field| names.contains(*field)).count();
        let mut distinct = fields.clone();
        distinct.sort();
        distinct.dedup();
        if count == 0 || distinct.len() < fields.len() {
            return FirstRecordKind::Row;
        }
        if count == fields.len() {
            // If the record has a single field, the name of its column may also be a value.
            return match count {
                1 => FirstRecordKind::Unclear,
                _ if has_unnamed => FirstRecordKind::Unclear,
                _ => FirstRecordKind::Header,
            };
        }
        match count * 2 >= fields.len() {
            true => FirstRecordKind::Unclear,
            false => FirstRecordKind::Row,
        }
    }
}

/// The names that a header could have, in the form in which they are compared.
fn names(question: &Question<'_>) -> Vec<String> {
    let folded = |name: &str| name.trim().to_lowercase();
    if question.details.is_empty() {
        return question
            .target_columns
            .iter()
            .flat_map(|names| names.iter())
            .map(|name| folded(name))
            .collect();
    }
    question
        .details
        .iter()
        .filter(|detail| detail.source.is_none() && detail.name != ALL_OTHERS)
        .map(|detail| match &detail.field {
            Some(FieldChoice::Name(name)) => folded(name),
            _ => folded(&detail.name),
        })
        .collect()
}

/// The first record of all files, in the form in which names are compared, and its place.
fn first_record(
    files: &[&Arc<SourceFile>],
    dialect: &Dialect,
) -> Result<Option<(String, Vec<String>)>, PlanError> {
    for file in files {
        let preview = Preview::read(file, dialect, 1)?;
        if let Some(record) = preview.records.into_iter().next() {
            let fields = record
                .fields
                .iter()
                .map(|field| field.as_deref().unwrap_or_default().trim().to_lowercase())
                .collect();
            return Ok(Some((record.location.to_string(), fields)));
        }
    }
    Ok(None)
}

fn shortened(fields: &[String]) -> String {
    const SHOWN_MAX: usize = 5;
    let mut text = fields[..fields.len().min(SHOWN_MAX)].join(", ");
    if fields.len() > SHOWN_MAX {
        text.push_str(", ...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_a_header() {
        let texts = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        for (fields, expected) in [
            ("id name note", FirstRecordKind::Header),
            ("name id", FirstRecordKind::Header),
            ("id nmae note", FirstRecordKind::Unclear),
            ("id name x y", FirstRecordKind::Unclear),
            ("id", FirstRecordKind::Unclear),
            ("id 5", FirstRecordKind::Unclear),
            ("id name note  ", FirstRecordKind::Unclear),
            ("id  note", FirstRecordKind::Unclear),
            ("  5", FirstRecordKind::Row),
            ("", FirstRecordKind::Row),
            ("id 5 x", FirstRecordKind::Row),
            ("id x y", FirstRecordKind::Row),
            ("id id", FirstRecordKind::Row),
            ("1 2 3", FirstRecordKind::Row),
        ] {
            assert_eq!(
                FirstRecordKind::of(&texts(fields), &texts("id name note")),
                expected,
                "{fields}"
            );
        }
    }
}
