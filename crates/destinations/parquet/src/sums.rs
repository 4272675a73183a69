//! `verify = "sums"`: the sums of the rows in the files of staging, which are read once more.
//!
//! The values of a partition column are in no file. They are only counted, by the names of the folders.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use inrush_destination::sums::{ColumnForm, StagedSums};
use inrush_destination::{ColumnPlan, Error, Result, TargetPlan};
use inrush_system::threads::on_threads;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use crate::cancel::Cancelled;
use crate::ledger::{StagedFile, each_staged};
use crate::names::NULL_PARTITION;
use crate::run_target::RunTarget;

/// The most files that are listed but not yet read.
const QUEUED_FILES_MAX: usize = 64;

/// The sums that are made of each column of a target.
pub(super) fn forms(target: &TargetPlan) -> Vec<ColumnForm> {
    let columns = target.columns.iter();
    let form = |column: &ColumnPlan| match target.partition_by.contains(&column.name) {
        true => ColumnForm::Opaque,
        false => ColumnForm::new(&column.column_type),
    };
    columns.map(form).collect()
}

/// The sums of all staged files of a target, read by as many threads as `streams`, but no more than there are cores.
pub(super) fn staged(
    target: &RunTarget,
    forms: &[ColumnForm],
    streams: usize,
    cancelled: &Cancelled,
) -> Result<StagedSums> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let reading = Reading {
        target,
        forms,
        // The index of the first sum of each column.
        places: (0..forms.len())
            .map(|column| ColumnForm::sum_count(&forms[..column]))
            .collect(),
        cancelled,
        has_failed: AtomicBool::new(false),
    };
    let (queue, files) = mpsc::sync_channel::<StagedFile>(QUEUED_FILES_MAX);
    let mut sums = StagedSums::none(forms);
    std::thread::scope(|scope| {
        let files = Mutex::new(files);
        let list = move || {
            each_staged(&target.staging, &mut |unit| {
                for file in unit.files {
                    queue
                        .send(file)
                        .expect("the readers take files until there are no more");
                }
                Ok(())
            })
        };
        let listing = std::thread::Builder::new()
            .spawn_scoped(scope, list)
            .map_err(Error::file(
                "cannot start a thread to list",
                &target.staging,
            ))?;
        let threads = streams.clamp(1, cores);
        let read = on_threads(threads, &|| reading.files(&files));
        let listed = listing
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for part in read? {
            sums.add(&part);
        }
        listed
    })?;
    Ok(sums)
}

/// The reading of a target's staged files.
struct Reading<'a> {
    target: &'a RunTarget,
    forms: &'a [ColumnForm],
    places: Vec<usize>,
    cancelled: &'a Cancelled,
    /// A thread has failed, so the others need not read on.
    has_failed: AtomicBool,
}

impl Reading<'_> {
    /// Takes files from the queue until it ends, even after an error, because the thread that lists the files waits for
    /// this.
    fn files(&self, queue: &Mutex<Receiver<StagedFile>>) -> Result<Vec<StagedSums>> {
        let mut sums = StagedSums::none(self.forms);
        let mut result = Ok(());
        let next = || {
            let queue = queue
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            queue.recv().ok()
        };
        while let Some(file) = next() {
            if !self.has_failed.load(Ordering::Relaxed) {
                result = self.file(&file, &mut sums);
                self.has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            }
        }
        result.map(|()| vec![sums])
    }

    /// Adds the values of a file.
    fn file(&self, file: &StagedFile, sums: &mut StagedSums) -> Result<()> {
        let layout = &self.target.layout;
        let path = self.target.staging.join(&file.name);
        let opened = File::open(&path).map_err(Error::file("cannot open", &path))?;
        // The file is read with the types of the batches, so that the values are those of the engine's sums.
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&layout.arrow));
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(opened, options)
            .and_then(ParquetRecordBatchReaderBuilder::build)
            .map_err(|error| unreadable(&path, &error.to_string()))?;
        let mut rows = 0;
        for batch in reader {
            if self.cancelled.is_asked() {
                return Err(Error::Interrupted);
            }
            let batch = batch.map_err(|error| unreadable(&path, &error.to_string()))?;
            rows += batch.num_rows() as i128;
            for (column, array) in layout.columns.iter().zip(batch.columns()) {
                if let Some(column) = column.source {
                    let (form, place) = (self.forms[column], self.places[column]);
                    let own = place..=place + form.measures().len();
                    form.add(array, &mut sums.columns[own]);
                }
            }
        }
        sums.rows.add(rows);
        for (column, name) in layout.partitions.iter().zip(file.partition.split('/')) {
            let is_null = name.ends_with(&format!("={NULL_PARTITION}"));
            if let Some(column) = column.source.filter(|_| !is_null) {
                sums.columns[self.places[column]].add(rows);
            }
        }
        Ok(())
    }
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
