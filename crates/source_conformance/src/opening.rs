//! S-1 to S-3: the description of a source when it is opened.

use inrush_rows::cancel::Stop;

use super::case::MakeCase;
use super::random::Random;
use super::reading::{Row, Way, read, rows, told};

/// The number of rows of a case that is read completely.
const ROWS: usize = 300;

pub(super) fn no_secret(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let inputs = 0..source.input_count();
    let mut texts = vec![source.describe()];
    texts.extend(source.notes());
    texts.extend(
        inputs
            .clone()
            .map(|at| source.input(at).name().display().to_string()),
    );
    texts.extend(inputs.flat_map(|at| source.input(at).identity()));
    for secret in case.secrets() {
        if let Some(text) = texts.iter().find(|text| text.contains(&secret)) {
            return Err(format!("a text contains the secret: {text}"));
        }
    }
    match source.describe().is_empty() {
        true => Err("the description is empty".to_owned()),
        false => Ok(()),
    }
}

pub(super) fn changes_nothing(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    for input in 0..source.input_count() {
        read(&*source, input, Way::SERIAL, random)?;
        if source.input(input).is_read_once() {
            continue;
        }
        let now = source.input(input).state_now();
        let before = source.input(input).state();
        if now.as_ref() != Some(&before) {
            return Err(format!(
                "its state was {before:?} before reading, but is {now:?} after it"
            ));
        }
    }
    Ok(())
}

pub(super) fn columns(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let columns = source.columns().map_err(told)?;
    for input in 0..source.input_count() {
        let is_read_once = source.input(input).is_read_once();
        let found = rows(&read(&*source, input, Way::SERIAL, random)?);
        let is_other = |row: &&Row| !row.is_faulty && row.fields.len() != columns.len();
        let other = found.iter().find(is_other);
        if let Some(row) = other.filter(|_| !columns.is_empty()) {
            let (fields, wanted) = (row.fields.len(), columns.len());
            return Err(format!(
                "{}: the row has {fields} fields, but the source has {wanted} columns",
                row.place
            ));
        }
        if !is_read_once {
            let again = case.open(&Stop::default()).map_err(told)?;
            let again = again.columns().map_err(told)?;
            if again != columns {
                return Err(format!(
                    "the columns were {columns:?}, but are {again:?} when the source is opened again"
                ));
            }
        }
    }
    Ok(())
}
