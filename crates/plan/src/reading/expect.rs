//! Promises about a flow's files: in its package, in control files, and in trailers that are read later.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_package::{BoundValue, ControlFile, Flow, RecordField, Trailer};
use inrush_rows::ids::FileKey;
use inrush_source::{Input, Source};
use inrush_system::small_file::SmallFile;

use crate::error::PlanError;
use crate::identity;
use crate::verify::{ExactSum, VerifyPlan};

/// A control file: it has one line, or one for each file.
const CONTROL_FILE: SmallFile = SmallFile {
    what: "a control file",
    bytes_max: 16 << 20,
    may_be_pipe: true,
};
/// The delimiters that are tried for a control file that declares none.
const DELIMITERS: [&str; 4] = ["|", "\t", ";", ","];

/// The numbers that are promised for a flow's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectPlan {
    /// The promises that are known before the files are read.
    pub promises: Vec<Promise>,
    /// The trailer that each file must have.
    pub trailer: Option<Trailer>,
    /// The delimiter of a trailer.
    pub delimiter: String,
}

impl ExpectPlan {
    /// The promises in words, one line each.
    pub fn words(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let mut lines: Vec<String> = self
            .promises
            .iter()
            .take(SHOWN)
            .map(|promise| {
                let rows = promise.rows.map(|rows| format!("{rows} rows"));
                let sums = promise.sums.iter();
                let sums = sums.map(|(column, sum)| format!("{sum} in `{column}`"));
                let all: Vec<String> = rows.into_iter().chain(sums).collect();
                format!("expected by {}: {}", promise.by, all.join(", "))
            })
            .collect();
        if self.promises.len() > SHOWN {
            lines.push(format!("... and by {} more", self.promises.len() - SHOWN));
        }
        if let Some(trailer) = &self.trailer {
            lines.push(format!(
                "the last record of each file begins with {:?} and is not a row",
                trailer.starts_with
            ));
        }
        lines
    }
}

/// Numbers that must be right for a file, or for all files of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The source of the promise, in words.
    pub by: String,
    /// The key of the file; `None` if the promise is about all files.
    pub file_key: Option<FileKey>,
    /// The number of rows.
    pub rows: Option<u64>,
    /// The promised sums, by the names of their columns.
    pub sums: Vec<(String, String)>,
}

/// The names of columns whose sums are requested, each once.
pub fn summed(flow: &Flow) -> Vec<String> {
    let expected = flow.expect.iter().flat_map(|expect| expect.sums.keys());
    let trailer = flow
        .trailer
        .iter()
        .flat_map(|trailer| trailer.sum_fields.keys());
    let control = flow
        .control_file
        .iter()
        .flat_map(|control| control.sum_fields.keys());
    let mut names: Vec<String> = expected.chain(trailer).chain(control).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Refuses promised sums of a flow with steps: its rows are summed up after the steps, and the promise is about the files.
pub fn refuse_sums_with_steps(flow: &Flow, name: &str) -> Result<(), PlanError> {
    if !flow.has_steps() || summed(flow).is_empty() {
        return Ok(());
    }
    Err(PlanError::Mismatch {
        flow: name.to_owned(),
        what: "the sums of its files are expected, but its steps may change and filter rows before they are summed up"
            .to_owned(),
        hint: "expect only the number of rows, or load the files without steps".to_owned(),
    })
}

/// Reads the promises for the files.
pub fn plan(
    flow: &Flow,
    name: &str,
    folder: &Path,
    source: &dyn Source,
    delimiter: String,
) -> Result<ExpectPlan, PlanError> {
    let mut promises = Vec::new();
    if let Some(expect) = &flow.expect {
        let by = "`expect`".to_owned();
        promises.push(Promise {
            rows: match &expect.rows {
                None => None,
                Some(BoundValue::Integer(rows)) => Some(count(&by, name, &rows.to_string(), 0)?),
                Some(BoundValue::Text(rows)) => Some(count(&by, name, rows, 0)?),
            },
            sums: expect
                .sums
                .iter()
                .map(|(column, value)| {
                    let text = match value {
                        BoundValue::Integer(value) => value.to_string(),
                        BoundValue::Text(value) => value.clone(),
                    };
                    Ok((column.clone(), number(&by, name, &text)?))
                })
                .collect::<Result<_, PlanError>>()?,
            by,
            file_key: None,
        });
    }
    if let Some(control) = &flow.control_file {
        promises.extend(control_promises(control, name, folder, source)?);
    }
    Ok(ExpectPlan {
        promises,
        trailer: flow.trailer.clone(),
        delimiter,
    })
}

fn control_promises(
    control: &ControlFile,
    name: &str,
    folder: &Path,
    source: &dyn Source,
) -> Result<Vec<Promise>, PlanError> {
    let mut promises = Vec::new();
    if let Some(path) = &control.path {
        let path = folder.join(path);
        let text = read(&path, name)?;
        let Some(file_field) = control.file_field else {
            promises.push(promise(control, name, &path, &text, None)?);
            return Ok(promises);
        };
        let delimiter = delimiter(control, &text);
        for file in inputs(source) {
            let file_name = |path: &str| {
                let path = Path::new(path);
                path.file_name().map(|name| name.to_owned())
            };
            let wanted = file.name().file_name().map(|name| name.to_owned());
            let line = text.lines().find(|line| {
                let field = RecordField::Number(file_field).find(line, &delimiter);
                field.is_some_and(|field| file_name(field) == wanted)
            });
            let line = line.ok_or_else(|| {
                mismatch(
                    name,
                    format!(
                        "{} has no line for {}",
                        path.display(),
                        file.name().display()
                    ),
                )
            })?;
            promises.push(promise(control, name, &path, line, Some(&*file))?);
        }
        return Ok(promises);
    }
    for file in inputs(source) {
        if !is_a_file(&*file) {
            return Err(mismatch(
                name,
                format!(
                    "{} is not a file that can have a control file",
                    file.name().display()
                ),
            ));
        }
        let path = match (&control.suffix, &control.extension) {
            (Some(suffix), _) => {
                let mut whole = file.name().as_os_str().to_owned();
                whole.push(suffix);
                PathBuf::from(whole)
            }
            (None, extension) => {
                let extension = extension.as_deref().unwrap_or("ctl");
                file.name()
                    .with_extension(extension.trim_start_matches('.'))
            }
        };
        let text = read(&path, name)?;
        promises.push(promise(control, name, &path, &text, Some(&*file))?);
    }
    Ok(promises)
}

fn inputs(source: &dyn Source) -> impl Iterator<Item = Arc<dyn Input>> {
    (0..source.input_count()).map(|index| source.input(index))
}

/// True if an input is a separate text file, so that a control file can be beside it.
fn is_a_file(input: &dyn Input) -> bool {
    let stored_at = input.stored_at();
    !input.is_typed() && stored_at.is_some_and(|(path, _)| path == &**input.name())
}

fn promise(
    control: &ControlFile,
    name: &str,
    path: &Path,
    text: &str,
    file: Option<&dyn Input>,
) -> Result<Promise, PlanError> {
    let by = path.display().to_string();
    let delimiter = delimiter(control, text);
    let found = |field: &RecordField| {
        field
            .find(text, &delimiter)
            .ok_or_else(|| mismatch(name, format!("{by} has no {}", words(field))))
    };
    Ok(Promise {
        file_key: file.map(identity::file_key),
        rows: match &control.rows_field {
            None => None,
            Some(field) => Some(count(&by, name, found(field)?, control.also_counts)?),
        },
        sums: control
            .sum_fields
            .iter()
            .map(|(column, field)| Ok((column.clone(), number(&by, name, found(field)?)?)))
            .collect::<Result<_, PlanError>>()?,
        by,
    })
}

fn delimiter(control: &ControlFile, text: &str) -> String {
    let found = || DELIMITERS.into_iter().find(|known| text.contains(known));
    control
        .delimiter
        .clone()
        .unwrap_or_else(|| found().unwrap_or("|").to_owned())
}

/// A field in words.
pub fn words(field: &RecordField) -> String {
    match field {
        RecordField::Number(number) => format!("field {number}"),
        RecordField::Position([start, length]) => {
            format!("{length} characters from position {start}")
        }
        RecordField::Name(name) => format!("line `{name}=...`"),
    }
}

/// The number of rows in a text.
pub fn rows_of(text: &str, also_counts: u32) -> Option<u64> {
    let number: u64 = text.trim().parse().ok()?;
    number.checked_sub(u64::from(also_counts))
}

fn count(by: &str, flow: &str, text: &str, also_counts: u32) -> Result<u64, PlanError> {
    rows_of(text, also_counts).ok_or_else(|| {
        mismatch(
            flow,
            format!("{by} has {text:?}, which is not a number of rows"),
        )
    })
}

fn number(by: &str, flow: &str, text: &str) -> Result<String, PlanError> {
    match ExactSum::default().add_text(text.trim()) {
        true => Ok(text.trim().to_owned()),
        false => Err(mismatch(
            flow,
            format!("{by} has {text:?}, which is not a number"),
        )),
    }
}

fn mismatch(flow: &str, what: String) -> PlanError {
    PlanError::Mismatch {
        flow: flow.to_owned(),
        what,
        hint: "docs/verify.md describes the forms of control files and trailers".to_owned(),
    }
}

fn read(path: &Path, flow: &str) -> Result<String, PlanError> {
    let refused = |why: String| PlanError::Mismatch {
        flow: flow.to_owned(),
        what: format!("the control file {} cannot be read: {why}", path.display()),
        hint: "if the control file is written last, wait until it is there".to_owned(),
    };
    let bytes = CONTROL_FILE
        .read(path)
        .map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = text.trim_start_matches('\u{feff}').to_owned();
    match text.trim().is_empty() {
        true => Err(refused("it is empty".to_owned())),
        false => Ok(text),
    }
}

/// The positions of these columns; an error if one of them is not loaded or is not a number.
pub fn places(flow: &str, names: &[String], verify: &VerifyPlan) -> Result<Vec<usize>, PlanError> {
    let place = |name: &String| {
        let index = verify
            .columns
            .iter()
            .position(|column| column.name == *name);
        let index = index.ok_or_else(|| {
            mismatch(
                flow,
                format!("a sum of `{name}` is expected, but no such column is loaded"),
            )
        })?;
        let column = &verify.columns[index];
        match column.number {
            Some(_) => Ok(index),
            None => Err(mismatch(
                flow,
                format!(
                    "a sum of `{name}` is expected, but the column has the type {}",
                    column.type_sql
                ),
            )),
        }
    };
    names.iter().map(place).collect()
}
