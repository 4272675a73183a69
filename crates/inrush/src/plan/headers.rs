//! The headers of a flow's files, which must all be the same: columns are matched by the first.

use std::path::PathBuf;
use std::sync::Arc;

use inrush_scan::Dialect;

use super::error::PlanError;
use crate::source::{Preview, SourceFile};

/// The names in a header, and the file that it stands in.
pub type FirstHeader = (Vec<String>, Arc<PathBuf>);

/// The header of the first file that has one, and that file; files without a byte have none. What only
/// a byte order mark tells of the encoding is noted. Another header in another file is refused here,
/// before anything is loaded; that of a pipe is not waited for, and seen when its turn comes.
pub fn first(
    flow: &str,
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    notes: &mut Vec<String>,
) -> Result<Option<FirstHeader>, PlanError> {
    // All of one flow have the same columns, which their footers name.
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
        let preview = Preview::read(file, dialect, 0)?;
        if first.is_none()
            && let Some(encoding) = preview.encoding_found
        {
            notes.push(format!(
                "{} is read as {encoding}: its byte order mark says so",
                file.path.display()
            ));
        }
        if !dialect.header {
            break;
        }
        match (&first, preview.header) {
            (_, None) => {}
            (None, Some(header)) => first = Some((header, Arc::clone(&file.path))),
            (Some((expected, first_file)), Some(found)) if found != *expected => {
                return Err(PlanError::Mismatch {
                    flow: flow.to_owned(),
                    what: format!(
                        "{}: its header names {}, and that of {} names {}",
                        file.path.display(),
                        found.join(", "),
                        first_file.display(),
                        expected.join(", ")
                    ),
                    hint: "load files with different headers in flows of their own".to_owned(),
                });
            }
            _ => {}
        }
    }
    Ok(first)
}
