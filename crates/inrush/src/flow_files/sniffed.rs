//! The parts of a flow that are guessed from its files: everything if neither package nor target describes the files;
//! only the format if the target's columns do not match them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_files::{Preview, SourceFile};
use inrush_package::{ColumnDetail, Flow, Format, PackageFaultKind, Preset};
use inrush_plan::PlanError;
use inrush_rows::plural::counted;
use inrush_scan::Dialect;
use inrush_sniff::{Guess, SniffError, SniffOptions, is_declared, row_names, sniff};

use super::of_sniff;

/// The number of unsure guesses that a plan lists; `inrush init` lists all of them.
const UNSURE_TOLD_MAX: usize = 10;

/// The dialect of a flow's files, and the guesses that it is based on.
pub struct Sniffed {
    /// The dialect, as declared, implied by the files' names, or guessed.
    pub dialect: Dialect,
    /// The dialect in the words of a package.
    pub format: Format,
    /// The columns, if they were guessed.
    pub columns: Vec<ColumnDetail>,
    /// The columns that files of typed rows declare themselves.
    pub own_columns: Vec<ColumnDetail>,
    /// Notes about the guesses, for the plan.
    pub notes: Vec<String>,
    /// A hint for the reasons of rejects, if types were guessed.
    pub reject_hint: Option<String>,
}

/// The guess for the files that were examined last. It is kept because the flows of several outputs ask for the same
/// files one after the other.
#[derive(Debug, Default)]
pub struct LastGuess(Mutex<Option<Guessed>>);

#[derive(Debug)]
struct Guessed {
    files: Vec<Arc<SourceFile>>,
    format: Format,
    guess: Guess,
}

impl LastGuess {
    fn of(&self, files: &[Arc<SourceFile>], options: &SniffOptions) -> Result<Guess, SniffError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last
            && known.files == files
            && known.format == options.format
        {
            return Ok(known.guess.clone());
        }
        let guess = sniff(files, options)?;
        // A guess about a pipe is not kept: it would hold the pipe open for a plan that may never be made.
        if !files.iter().any(|file| file.is_pipe()) {
            *last = Some(Guessed {
                files: files.to_vec(),
                format: options.format.clone(),
                guess: guess.clone(),
            });
        }
        Ok(guess)
    }
}

/// Finds the format of a flow's files, and its columns if nothing declares them. Guessed names have at most
/// `name_bytes_max` bytes.
pub fn of(
    flow: &Flow,
    files: &[Arc<SourceFile>],
    last: &LastGuess,
    target_columns: Option<&[String]>,
    name_bytes_max: usize,
) -> Result<Sniffed, PlanError> {
    let first_name = files[0].path.to_string_lossy().into_owned();
    let told = || -> Result<Sniffed, PlanError> {
        let mut format = flow.format.clone();
        if format.preset.is_none() && format.fixed.is_none() {
            // The package may name the files by a pattern that hides the extension, such as `rows.tbl.*`.
            format.preset = Preset::of_file(&first_name);
        }
        Ok(Sniffed {
            dialect: flow.format.dialect(&first_name)?,
            format,
            columns: Vec::new(),
            own_columns: Vec::new(),
            notes: Vec::new(),
            reject_hint: None,
        })
    };
    let options = SniffOptions {
        format: flow.format.clone(),
        everything: false,
        name_bytes_max: Some(name_bytes_max),
    };
    if let Some(table) = inrush_sniff::tables::told(files, &options).map_err(of_sniff)? {
        return match flow.columns.is_empty() && target_columns.is_none() {
            true => guessed(&table),
            false => Ok(Sniffed {
                own_columns: guessed(&table).map_or_else(|_| Vec::new(), |own| own.columns),
                ..of_table(&flow.format)?
            }),
        };
    }
    if !flow.columns.is_empty() {
        return told();
    }
    let Some(target_columns) = target_columns else {
        let guess = last.of(files, &options).map_err(of_sniff)?;
        return guessed(&guess);
    };
    let told = told()?;
    if is_declared(&flow.format) {
        return Ok(told);
    }
    let may_have_row_names = may_have_row_names(files, &told.dialect);
    if !may_have_row_names && is_understood(files, &told.dialect, target_columns) {
        return Ok(told);
    }
    // In the format that the names imply, the load would certainly fail, so the format is guessed. If the guess fails,
    // the load reports its error in the implied format.
    let Ok(guess) = last.of(files, &options) else {
        return Ok(told);
    };
    let dialect = guess.dialect();
    if guess.has_row_names {
        // The header is skipped, so fields are matched by position: only columns with these names in this order fit.
        let names = guess.columns.iter().map(|column| &column.name);
        if !names.eq(target_columns) {
            return Err(PlanError::Mismatch {
                flow: flow.table.clone(),
                what: format!(
                    "{first_name}: {}, and the target has no columns {}",
                    row_names::header_lacks_a_name(guess.columns.len() - 1),
                    guess
                        .columns
                        .iter()
                        .map(|column| column.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                hint: row_names::LACKS_A_NAME_HINT.to_owned(),
            });
        }
        return Ok(Sniffed {
            notes: vec![format!("form of the files: {}", guess.seen.join("; "))],
            dialect,
            format: guess.format(),
            ..told
        });
    }
    if may_have_row_names && is_understood(files, &told.dialect, target_columns) {
        return Ok(told);
    }
    if dialect == told.dialect || !is_understood(files, &dialect, target_columns) {
        return Ok(told);
    }
    let mut notes = vec![format!(
        "the format was guessed, because in the format that their names imply the files have no column of the target: \
         {}",
        guess.seen.join("; ")
    )];
    let unsure = guess.all_unsure().into_iter().take(UNSURE_TOLD_MAX);
    notes.extend(unsure.map(|unsure| format!("unsure: {unsure}")));
    Ok(Sniffed {
        notes,
        dialect,
        format: guess.format(),
        ..told
    })
}

/// The format for files of typed rows, which is also that of their rejects.
pub fn of_table(declared: &Format) -> Result<Sniffed, PlanError> {
    let format = Format {
        preset: Some(Preset::Csv),
        header: Some(true),
        record_bytes_max: declared.record_bytes_max,
        ..Format::default()
    };
    Ok(Sniffed {
        dialect: format.dialect("")?,
        format,
        columns: Vec::new(),
        own_columns: Vec::new(),
        notes: Vec::new(),
        reject_hint: None,
    })
}

/// The columns and the format of a guess.
fn guessed(guess: &Guess) -> Result<Sniffed, PlanError> {
    if let Some(unnamed) = &guess.unnamed {
        return Err(of_sniff(unnamed.refused(&guess.files[0])));
    }
    let columns = guess
        .columns()
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let guessed = guess.columns.get(index);
            let is_number = guessed.is_some_and(|guessed| guessed.column_type.is_number());
            let is_lossless = guess.is_lossless() && is_number;
            Ok(ColumnDetail {
                lossless: is_lossless.then_some(true),
                ..column.detail()?
            })
        })
        .collect::<Result<Vec<_>, PackageFaultKind>>()
        .map_err(|fault| PlanError::Mismatch {
            flow: guess.files[0].display().to_string(),
            what: format!("the header cannot name the columns of a table: {fault}"),
            hint: "declare header = false and the columns, or fix the header".to_owned(),
        })?;
    if guess.is_told {
        let unsure = guess
            .unsure
            .iter()
            .map(|unsure| format!("unsure: {unsure}"));
        let told = std::iter::once(format!(
            "the columns are those of the files: {}",
            guess.extent()
        ));
        return Ok(Sniffed {
            columns,
            notes: told.chain(unsure).collect(),
            ..of_table(&guess.format())?
        });
    }
    let mut notes = vec![
        format!("the columns were guessed: {}", guess.extent()),
        format!("form of the files: {}", guess.seen.join("; ")),
    ];
    let unsure = guess.all_unsure();
    let more = unsure.len().saturating_sub(UNSURE_TOLD_MAX);
    notes.extend(
        unsure
            .into_iter()
            .take(UNSURE_TOLD_MAX)
            .map(|unsure| format!("unsure: {unsure}")),
    );
    if more > 0 {
        notes.push(format!(
            "unsure: {} more; `inrush init` lists them",
            counted(more as u64, "point")
        ));
    }
    Ok(Sniffed {
        dialect: guess.dialect(),
        format: guess.format(),
        columns,
        own_columns: Vec::new(),
        notes,
        reject_hint: Some(guess.reject_hint()),
    })
}

/// True if the first record of the first file has one field less than the next ones, as the header of R's
/// `write.table`.
fn may_have_row_names(files: &[Arc<SourceFile>], dialect: &Dialect) -> bool {
    let as_rows = Dialect {
        header: false,
        ..dialect.clone()
    };
    let Some(file) = files.iter().find(|file| !file.is_pipe()) else {
        return false;
    };
    let Ok(preview) = Preview::read(file, &as_rows, 3) else {
        return false;
    };
    let counts: Vec<usize> = preview
        .records
        .iter()
        .map(|record| record.fields.len())
        .collect();
    match counts.as_slice() {
        [header, rows @ ..] => !rows.is_empty() && rows.iter().all(|row| *row == header + 1),
        [] => false,
    }
}

/// True if the first record of the files, read in this dialect, fits the columns of the target: it is a header that
/// names at least one of them, or it has as many fields as there are columns. Files without a record, and unreadable
/// files, also count as fitting: the load reports them.
fn is_understood(files: &[Arc<SourceFile>], dialect: &Dialect, target_columns: &[String]) -> bool {
    let as_rows = Dialect {
        header: false,
        ..dialect.clone()
    };
    let first = files.iter().find_map(|file| {
        let preview = Preview::read(file, &as_rows, 1).ok()?;
        preview.records.into_iter().next()
    });
    let Some(first) = first else { return true };
    if !dialect.header {
        return first.fields.len() == target_columns.len();
    }
    let columns: BTreeSet<String> = target_columns
        .iter()
        .map(|name| name.to_lowercase())
        .collect();
    let mut names = first.fields.iter().flatten();
    names.any(|field| columns.contains(&field.trim().to_lowercase()))
}
