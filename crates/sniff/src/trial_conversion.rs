//! Converts the samples once more with all columns, exactly as the load would: a row that is rejected here would be
//! rejected by the load.

use std::ops::Range;

use inrush_convert::Converter;
use inrush_rows::column::Column;
use inrush_rows::reject::Reject;

use super::choose_form::FormChoice;
use super::column_guess::ColumnGuess;
use super::cut_sample::cut;
use super::kinds::TypeGuess;
use super::mapping;
use super::proposed_checks::{Collector, ProposedCheck};
use super::sample::Samples;

/// The number of rows that are converted together.
const BATCH_ROWS: usize = 1024;

/// Converts the samples with the guessed types. A column that rejects any value becomes text, and gets a note. Returns checks
/// that all rows pass.
pub(super) fn verify(
    samples: &Samples,
    choice: &FormChoice,
    columns: &mut [ColumnGuess],
) -> Vec<ProposedCheck> {
    // The loop ends, because each turn makes one more column text.
    loop {
        let mut shown = Collector::default();
        let Some((index, reject)) = first_reject(samples, choice, columns, &mut shown) else {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return shown.checks(&names);
        };
        let column = &mut columns[index];
        let value = reject.value.unwrap_or_default();
        let type_name = column.column_type.sql();
        column.why = format!(
            "Text, because `{value}` is no {type_name}: {}",
            reject.reason
        );
        column.unsure.push(format!(
            "text, because `{value}` in {} is no {type_name}",
            reject.location
        ));
        column.column_type = TypeGuess::Text;
    }
}

/// The first value that its column rejects. `shown` gets all rows before it.
fn first_reject(
    samples: &Samples,
    choice: &FormChoice,
    columns: &[ColumnGuess],
    shown: &mut Collector,
) -> Option<(usize, Reject)> {
    // Columns are found by number, because a file may have the same name twice.
    let converted: Vec<Column> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            mapping::lossless_column(&index.to_string(), &column.column_type, index)
        })
        .collect();
    let dialect = mapping::dialect(&choice.form);
    let mut converter = Converter::new(&converted, &dialect, columns.len()).ok()?;
    let mut rejects = Vec::new();
    for sample in &samples.samples {
        let Some(cut) = cut(sample, &choice.form, columns.len()) else {
            continue;
        };
        // A title is reported elsewhere, and a header is not a row.
        let skipped = match (choice.form.header, cut.starts_file) {
            (true, true) => header_end(&cut, columns.len()),
            _ => 0,
        };
        for batch in batches(skipped..cut.records.len()) {
            rejects.clear();
            let rows = converter.convert(&cut.chunk, &cut.records, batch, &mut rejects);
            shown.add(&rows);
            let of_column = rejects.drain(..).find_map(|reject| {
                let index: usize = reject.column.as_ref()?.parse().ok()?;
                // A text column rejects only wrong bytes, and columns of all types reject these.
                let is_typed = columns[index].column_type != TypeGuess::Text;
                is_typed.then_some((index, reject))
            });
            if of_column.is_some() {
                return of_column;
            }
        }
    }
    None
}

/// The index of the record after the header.
fn header_end(cut: &super::cut_sample::Cut, field_count: usize) -> usize {
    (0..cut.records.len())
        .find(|index| cut.records.field_count(*index) == field_count)
        .map_or(0, |index| index + 1)
}

fn batches(records: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = records.end;
    records
        .step_by(BATCH_ROWS)
        .map(move |start| start..(start + BATCH_ROWS).min(end))
}
