//! The stream of one thread into staging: each unit is a file.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use inrush_destination::{Error, LoadMethod, Result, UnitPart, UnitRecord, UnitStream, Written};

use crate::files::{self, Doing};
use crate::json_rows::RowWriter;
use crate::run::Run;

/// The stream of one thread.
pub struct Stream<'a> {
    run: &'a Run,
    unit: Option<Unit>,
    /// A batch as JSON.
    buffer: Vec<u8>,
}

/// A unit that is written.
struct Unit {
    target: usize,
    file_name: String,
    /// Where its rows are written before they are committed.
    path: PathBuf,
    file: File,
    rows: RowWriter,
    /// True if no row is written yet.
    is_empty: bool,
}

impl<'a> Stream<'a> {
    pub fn new(run: &'a Run) -> Stream<'a> {
        Stream {
            run,
            unit: None,
            buffer: Vec::new(),
        }
    }
}

impl Unit {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).doing("cannot write", &self.path)
    }
}

fn no_unit() -> Error {
    Error::Refused {
        doing: "writing a unit".to_owned(),
        message: "no unit is begun".to_owned(),
        hint: Some("report this as a bug".to_owned()),
    }
}

impl UnitStream for Stream<'_> {
    fn begin(&mut self, unit: &UnitPart<'_>, _method: LoadMethod) -> Result<()> {
        self.run.go_on()?;
        let target = unit.target;
        let rows = self
            .run
            .layout
            .rows(self.run.record.run_id, self.run.stagings[target]);
        let file_name = files::unit_file(unit.record_key);
        let path = files::unfinished(&rows.join(&file_name));
        let file = File::create(&path).doing("cannot write", &path)?;
        let mut unit = Unit {
            target,
            file_name,
            path,
            file,
            rows: RowWriter::new(&self.run.targets[target].columns),
            is_empty: true,
        };
        unit.append(b"[")?;
        self.unit = Some(unit);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _refused_max: u64) -> Result<Written> {
        self.run.go_on()?;
        let unit = self.unit.as_mut().ok_or_else(no_unit)?;
        self.buffer.clear();
        let misfits = unit
            .rows
            .append(batch, &mut unit.is_empty, &mut self.buffer)?;
        unit.append(&self.buffer)?;
        Ok(Written {
            misfits,
            ..Written::default()
        })
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        self.run.go_on()?;
        let unit = self.unit.as_mut().ok_or_else(no_unit)?;
        unit.append(b"\n]\n")?;
        let counted = files::count_rows(&unit.path)?;
        if counted != record.rows_loaded {
            return Err(Error::Count {
                what: format!("a unit of {}", record.target),
                counted,
                sent: record.rows_loaded,
            });
        }
        let (layout, run) = (&self.run.layout, self.run.record.run_id);
        let staging = self.run.stagings[unit.target];
        let rows = layout.rows(run, staging).join(&unit.file_name);
        files::settle(&unit.file, &unit.path, &rows)?;
        let record_file = layout.units(run, staging).join(&unit.file_name);
        if let Err(error) = files::write_json(&record_file, record) {
            // The unit is not committed, even if a part of its record was written.
            files::remove_file(&record_file)?;
            files::remove_file(&rows)?;
            return Err(error);
        }
        self.unit = None;
        Ok(counted)
    }

    fn abort(&mut self) -> Result<()> {
        match self.unit.take() {
            Some(unit) => files::remove_file(&unit.path),
            None => Ok(()),
        }
    }
}
