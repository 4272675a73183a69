//! `verify = "sums"`: the sums of the rows in the files of staging, which are read once more.
//!
//! The values of a partition column are in no file. They are only counted, by the names of the folders.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use inrush_destination::sums::{ColumnForm, StagedSums};
use inrush_destination::{ColumnPlan, Error, Result, TargetPlan};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use crate::cancel::Cancelled;
use crate::files::failed;
use crate::ledger::{StagedFile, each_staged};
use crate::names::NULL_PARTITION;
use crate::run_target::RunTarget;

/// What is summed up of each column of a target.
pub(super) fn forms(target: &TargetPlan) -> Vec<ColumnForm> {
    let columns = target.columns.iter();
    let form = |column: &ColumnPlan| match target.partition_by.contains(&column.name) {
        true => ColumnForm::Opaque,
        false => ColumnForm::new(&column.column_type),
    };
    columns.map(form).collect()
}

/// The sums of all staged files of a target.
pub(super) fn staged(
    target: &RunTarget,
    forms: &[ColumnForm],
    cancelled: &Cancelled,
) -> Result<StagedSums> {
    let mut sums = StagedSums::none(forms);
    // The place of each column's sums.
    let places: Vec<usize> = (0..forms.len())
        .map(|column| ColumnForm::sum_count(&forms[..column]))
        .collect();
    each_staged(&target.staging, &mut |unit| {
        for file in &unit.files {
            let rows = add_file(target, forms, &places, file, cancelled, &mut sums)?;
            sums.rows.add(rows as i128);
            for (column, name) in target
                .layout
                .partitions
                .iter()
                .zip(file.partition.split('/'))
            {
                let is_null = name.ends_with(&format!("={NULL_PARTITION}"));
                if let Some(column) = column.source.filter(|_| !is_null) {
                    sums.columns[places[column]].add(rows as i128);
                }
            }
        }
        Ok(())
    })?;
    Ok(sums)
}

/// Adds the values of a file, and returns the number of its rows.
fn add_file(
    target: &RunTarget,
    forms: &[ColumnForm],
    places: &[usize],
    file: &StagedFile,
    cancelled: &Cancelled,
    sums: &mut StagedSums,
) -> Result<u64> {
    let path = target.staging.join(&file.name);
    let opened = File::open(&path).map_err(failed("cannot open", &path))?;
    // With the types of the batches, so that the values are those of the engine's sums.
    let options = ArrowReaderOptions::new().with_schema(Arc::clone(&target.layout.arrow));
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(opened, options)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|error| unreadable(&path, &error.to_string()))?;
    let mut rows = 0;
    for batch in reader {
        if cancelled.is_asked() {
            return Err(Error::Interrupted);
        }
        let batch = batch.map_err(|error| unreadable(&path, &error.to_string()))?;
        rows += batch.num_rows() as u64;
        for (column, array) in target.layout.columns.iter().zip(batch.columns()) {
            let Some(column) = column.source else {
                continue;
            };
            let (form, place) = (forms[column], places[column]);
            form.add(
                array,
                &mut sums.columns[place..=place + form.measures().len()],
            );
        }
    }
    Ok(rows)
}

fn unreadable(path: &Path, message: &str) -> Error {
    Error::Refused {
        doing: format!("reading {} again", path.display()),
        message: message.to_owned(),
        hint: Some(
            "the file was changed since it was written: run `inrush cleanup`, then load again"
                .to_owned(),
        ),
    }
}
