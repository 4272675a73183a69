//! A stream of one thread into staging.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use inrush_destination::{
    Error, LoadMethod, Misfit, Result, UnitPart, UnitRecord, UnitStream, Written,
};
use inrush_rows::ids::UnitKey;

use crate::adapt;
use crate::cancel::Cancelled;
use crate::files;
use crate::joined;
use crate::ledger::{FORMAT, StagedUnit, digest, unit_file};
use crate::options::Options;
use crate::partition::Folders;
use crate::run::ParquetRun;
use crate::run_target::RunTarget;
use crate::unit_writer::{UnitFiles, UnitWriter};

/// A stream of a run.
pub(super) struct Stream<'a> {
    pub(super) run: &'a ParquetRun,
    pub(super) targets: &'a [RunTarget],
    pub(super) options: &'a Options,
    /// The prefix of all file names of this attempt.
    pub(super) attempt: String,
    pub(super) counter: &'a AtomicU64,
    pub(super) cancelled: &'a Cancelled,
    pub(super) unit: Option<Unit<'a>>,
}

/// A unit that is being written.
pub(super) struct Unit<'a> {
    target: &'a RunTarget,
    staging: PathBuf,
    key: UnitKey,
    writer: UnitWriter<'a>,
    folders: Folders,
}

impl Stream<'_> {
    fn check(&self) -> Result<()> {
        match self.cancelled.is_asked() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

fn out_of_turn(what: &str) -> Error {
    Error::Refused {
        doing: "filling staging".to_owned(),
        message: what.to_owned(),
        hint: None,
    }
}

impl UnitStream for Stream<'_> {
    fn begin(&mut self, unit: &UnitPart<'_>, _method: LoadMethod) -> Result<()> {
        let key = unit.record_key;
        self.check()?;
        if self.unit.is_some() {
            return Err(out_of_turn(
                "a unit is begun before the previous unit has ended",
            ));
        }
        let Some(target) = self.targets.get(unit.target) else {
            return Err(out_of_turn(&format!(
                "the run has no target {}",
                unit.target
            )));
        };
        joined::require_open(self.run)?;
        let place = UnitFiles {
            layout: &target.layout,
            options: self.options,
            folder: target.staging.clone(),
            prefix: format!("{}-{}", digest(&[key.as_str()]), self.attempt),
            counter: self.counter,
        };
        self.unit = Some(Unit {
            target,
            staging: target.staging.clone(),
            key: key.clone(),
            writer: UnitWriter::new(place),
            folders: Folders::default(),
        });
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _: u64) -> Result<Written> {
        self.check()?;
        let Some(unit) = &mut self.unit else {
            return Err(out_of_turn("rows come, and no unit is begun"));
        };
        let layout = &unit.target.layout;
        let expected = unit.target.plan.columns.len();
        if batch.num_columns() != expected {
            return Err(out_of_turn(&format!(
                "a batch has {} columns, and the target {expected}",
                batch.num_columns()
            )));
        }
        let mut misfits = adapt::misfits(layout, batch);
        let mut fit = without(batch, &misfits)?;
        let mut folders = Vec::new();
        if !layout.partitions.is_empty() {
            let (numbers, more) = unit.folders.of(&layout.partitions, &fit);
            folders = numbers;
            if !more.is_empty() {
                folders.retain(|number| *number != u32::MAX);
                fit = without(&fit, &more)?;
                misfits = joined(misfits, more, batch.num_rows());
            }
        }
        if fit.num_rows() > 0 {
            let rows = layout.project(&fit)?;
            match &mut unit.writer {
                UnitWriter::Whole(whole) => whole.write(rows)?,
                UnitWriter::Parted(parted) => parted.write(rows, &folders)?,
            }
        }
        Ok(Written {
            misfits,
            ..Written::default()
        })
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        self.check()?;
        let Some(unit) = self.unit.take() else {
            return Err(out_of_turn("a unit is to be committed, and none is begun"));
        };
        if let Err(error) = joined::require_open(self.run) {
            // The files of the unit may be gone already.
            let _ = unit.writer.discard();
            return Err(error);
        }
        if unit.key != record.key {
            let message = format!(
                "unit {:?} is to be committed, and {:?} is begun",
                record.key, unit.key
            );
            unit.writer.discard()?;
            return Err(out_of_turn(&message));
        }
        let Unit {
            writer,
            folders,
            staging,
            ..
        } = unit;
        let files = writer.finish(&|number| folders.name(number).to_owned())?;
        let rows = files.iter().map(|file| file.rows).sum();
        if rows != record.rows_loaded {
            // Files without a record are removed when a run begins.
            return Err(Error::Count {
                what: format!("the staged rows of {}", record.target),
                counted: rows,
                sent: record.rows_loaded,
            });
        }
        // The names of the files must be on the disk before the record of the unit is.
        files::sync_folder(&staging)?;
        let staged = StagedUnit {
            format: FORMAT,
            record: record.clone(),
            files,
        };
        // A process that joined the run holds its fence here.
        let _fence = joined::fence(self.run)?;
        files::write_whole(&unit_file(&staging, &record.key), &staged)?;
        Ok(rows)
    }

    fn abort(&mut self) -> Result<()> {
        match self.unit.take() {
            Some(unit) => unit.writer.discard(),
            None => Ok(()),
        }
    }
}

/// The batch without the rows of these misfits.
fn without(batch: &RecordBatch, misfits: &[Misfit]) -> Result<RecordBatch> {
    if misfits.is_empty() {
        return Ok(batch.clone());
    }
    let mut keep = vec![true; batch.num_rows()];
    for misfit in misfits {
        keep[misfit.row] = false;
    }
    filter_record_batch(batch, &BooleanArray::from(keep)).map_err(|error| Error::Refused {
        doing: "taking a batch of rows".to_owned(),
        message: error.to_string(),
        hint: None,
    })
}

/// All misfits of a batch, by their indexes in the batch. `second` has the misfits among the rows that remain without
/// the rows of `first`.
fn joined(first: Vec<Misfit>, second: Vec<Misfit>, rows: usize) -> Vec<Misfit> {
    let mut gone = vec![false; rows];
    for misfit in &first {
        gone[misfit.row] = true;
    }
    let places: Vec<usize> = (0..rows).filter(|row| !gone[*row]).collect();
    let mut all = first;
    all.extend(second.into_iter().map(|misfit| Misfit {
        row: places[misfit.row],
        ..misfit
    }));
    all.sort_by_key(|misfit| misfit.row);
    all
}
