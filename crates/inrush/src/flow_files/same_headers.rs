//! The headers of a flow's files, which must all be the same: columns are matched by the first.

use std::path::Path;
use std::sync::Arc;

use inrush_files::{Preview, PreviewRecord, SourceFile};
use inrush_plan::PlanError;
use inrush_scan::{Dialect, ExtraFields};
use inrush_sniff::row_names;

/// Rows of the first file that are compared with its header.
const ROWS_LOOKED_AT: usize = 32;

/// The names in a header, and its file.
pub type FirstHeader = (Vec<String>, Arc<Path>);

/// The header of the first file that has one, and that file; empty files have none. If only a byte order mark shows the
/// encoding, that is recorded. If another file has another header, it is refused here, before anything is loaded; the
/// header of a pipe is checked when it is read.
pub fn first(
    flow: &str,
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    notes: &mut Vec<String>,
) -> Result<Option<FirstHeader>, PlanError> {
    // All files of typed rows of a flow must have the same columns, which their footers name.
    if let Some((file, table)) = files.iter().find_map(|file| Some((file, file.table()?))) {
        let names = table.fields.iter().map(|field| field.name.clone());
        return Ok(Some((names.collect(), Arc::clone(&file.path))));
    }
    let mut first: Option<FirstHeader> = None;
    for file in files {
        // A pipe without a header need not be waited for.
        if file.is_pipe() && (!dialect.header || first.is_some()) {
            continue;
        }
        // The check waits for no more of a pipe's data than it needs.
        let rows_wanted = match first.is_none() && dialect.header && !file.is_pipe() {
            true => ROWS_LOOKED_AT,
            false => 0,
        };
        let preview = Preview::read(file, dialect, rows_wanted)?;
        if first.is_none()
            && let Some(encoding) = preview.encoding_found
        {
            let why = match file.encoding {
                None => "it has such a byte order mark",
                Some(_) => {
                    "UTF-16 is declared without a byte order, and its line ends and separators show this order"
                }
            };
            notes.push(format!(
                "{} is read as {encoding}: {why}",
                file.path.display()
            ));
        }
        if !dialect.header {
            break;
        }
        match (&first, preview.header) {
            (_, None) => {}
            (None, Some(header)) => {
                refuse_row_names(flow, file, dialect, &header, &preview.records)?;
                first = Some((header, Arc::clone(&file.path)));
            }
            (Some((expected, first_file)), Some(found)) if found != *expected => {
                return Err(PlanError::Mismatch {
                    flow: flow.to_owned(),
                    what: format!(
                        "{}: its header has {}, but the header of {} has {}",
                        file.path.display(),
                        found.join(", "),
                        first_file.display(),
                        expected.join(", ")
                    ),
                    hint: "load files with different headers in separate flows".to_owned(),
                });
            }
            _ => {}
        }
    }
    Ok(first)
}

/// Refuses a header without a name for the first field (row names): every value would be assigned one column too far
/// left.
fn refuse_row_names(
    flow: &str,
    file: &SourceFile,
    dialect: &Dialect,
    header: &[String],
    rows: &[PreviewRecord],
) -> Result<(), PlanError> {
    let has_one_more =
        |row: &PreviewRecord| row.fault.is_none() && row.fields.len() == header.len() + 1;
    // A single row with an extra field becomes a reject; rows that end with a delimiter have an empty last field.
    let ends_empty = |row: &PreviewRecord| matches!(row.fields.last(), Some(None));
    let lacks_a_name = rows.len() > 1
        && !dialect.trailing_delimiter
        // The format declares that the last fields are ignored.
        && dialect.extra_fields == ExtraFields::Reject
        && rows.iter().all(has_one_more)
        && !rows.iter().all(ends_empty);
    if !lacks_a_name {
        return Ok(());
    }
    Err(PlanError::Mismatch {
        flow: flow.to_owned(),
        what: format!(
            "{}: {}",
            file.path.display(),
            row_names::header_lacks_a_name(header.len())
        ),
        hint: row_names::LACKS_A_NAME_HINT.to_owned(),
    })
}
