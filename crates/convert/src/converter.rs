//! The converter: records of a chunk in, a record batch and its rejects out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use inrush_rows::chunk::Chunk;
use inrush_rows::column::{Column, schema};
use inrush_rows::column_policy::{ColumnChanges, ColumnPolicies};
use inrush_rows::location::Location;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::{Dialect, MissingFields, Records};

use super::borders;
use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::exact_float::ExactFloat;
use super::fields::{GatherInput, Gatherer};
use super::kernel::Fault;
use super::key::{self, KeyBounds};
use super::key_set::{self, KeySet};
use super::lossless::Lossless;
use super::output::Output;
use super::policies::FieldPolicy;
use super::provenance::{Origin, Provenance, RunStamp};
use super::rows::{self, PendingReject, Row, Selected};
use super::simd::Instructions;
use super::text_facts::TextFacts;

/// Makes record batches of the columns' types from the records of chunks. Each stream has one; its memory is reused
/// from batch to batch.
pub struct Converter {
    pub(super) columns: Vec<ColumnState>,
    schema: SchemaRef,
    pub(super) dialect: Dialect,
    field_count: usize,
    pub(super) key_bounds: Option<KeyBounds>,
    pub(super) key_set: Option<KeySet>,
    pub(super) gatherer: Gatherer,
    pub(super) rows: Vec<Row>,
    pub(super) is_bad: Vec<bool>,
    pub(super) pending: Vec<PendingReject>,
    pub(super) stamp: Option<RunStamp>,
}

pub(super) struct ColumnState {
    pub(super) name: Arc<str>,
    pub(super) nullable: bool,
    pub(super) source: StateSource,
    pub(super) converter: ColumnConverter,
    /// The check for numbers that would lose part of their written form; `None` if the column accepts such numbers.
    pub(super) lossless: Option<Lossless>,
    /// The check for numbers that a column of floats would change; `None` if the column accepts such numbers.
    pub(super) exact: Option<ExactFloat>,
    /// Values that policies have changed in this batch.
    pub(super) changes_of_batch: ColumnChanges,
    /// Values that policies have changed in this batch and in all batches before it.
    changes: ColumnChanges,
}

/// The source of a column's values.
pub(super) enum StateSource {
    Field {
        index: usize,
        /// The policy for reading it, if the column has one.
        policy: Option<Box<FieldPolicy>>,
    },
    Made(Provenance),
    /// This column of typed rows, unchanged: it already has the column's type.
    Taken(usize),
}

/// How a column is filled from rows that have passed the steps of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterSteps {
    /// By this column of the rows, unchanged: it already has the column's type.
    Taken(usize),
    /// By this column of the rows, with the checks of typed rows.
    Converted(usize),
}

impl ColumnState {
    fn new(
        column: &Column,
        dialect: &Dialect,
        field_count: usize,
    ) -> Result<ColumnState, ConvertError> {
        if let Some(field_index) = column.source.field_index()
            && field_index >= field_count
        {
            return Err(ConvertError::FieldMissing {
                column: column.name.clone(),
                field_number: field_index + 1,
                field_count,
            });
        }
        let converter = ColumnConverter::new(column)?;
        let policy = FieldPolicy::of(column, dialect)?;
        if let Some(policy) = &policy {
            policy.check_default(column, &converter)?;
        }
        let source = match Provenance::of(column, &converter, policy.as_ref())? {
            Some(provenance) => StateSource::Made(provenance),
            None => StateSource::Field {
                index: column.source.field_index().expect("it is not made"),
                policy: policy.map(Box::new),
            },
        };
        Ok(ColumnState {
            name: Arc::from(column.name.as_str()),
            nullable: column.nullable,
            source,
            converter,
            lossless: Lossless::of(column),
            exact: ExactFloat::of(column),
            changes_of_batch: ColumnChanges::default(),
            changes: ColumnChanges::default(),
        })
    }

    /// The field of a record that fills the column; `None` if the record lacks it, or if the column takes no field.
    fn field_of(&self, records: &Records, record: u32) -> Option<Range<usize>> {
        records.field_if_present(record as usize, self.field_index()?)
    }

    /// The number of that field.
    pub(super) fn field_index(&self) -> Option<usize> {
        match self.source {
            StateSource::Field { index, .. } | StateSource::Taken(index) => Some(index),
            StateSource::Made(_) => None,
        }
    }

    /// The column over the rows of a batch, made from field `index` of each.
    pub(super) fn output(
        &mut self,
        gatherer: &mut Gatherer,
        input: &GatherInput<'_>,
        index: usize,
        origin: &Origin<'_>,
        faults: &mut Vec<Fault>,
    ) -> Output {
        self.changes_of_batch = ColumnChanges::default();
        let (fields, policy) = match &self.source {
            StateSource::Made(provenance) => {
                return provenance.output(&self.converter, gatherer, input, origin, faults);
            }
            StateSource::Field { policy: None, .. } | StateSource::Taken(_) => {
                (gatherer.gather(input, index, faults), None)
            }
            StateSource::Field {
                policy: Some(policy),
                ..
            } => {
                let changes = &mut self.changes_of_batch;
                let fields = gatherer.gather_by_policy(input, index, policy, changes, faults);
                (fields, Some(policy))
            }
        };
        if fields.null_count > 0 && !self.nullable {
            let nulls = (0..input.rows.len()).filter(|row| fields.spans[*row].is_null());
            faults.extend(nulls.map(|row| Fault {
                row,
                error: match policy {
                    Some(policy) => policy.null_error(),
                    None if origin.chunk.typed.is_some() => typed_null_error(),
                    None => null_error(input.dialect),
                },
            }));
        }
        let output = self.converter.array(&fields, faults);
        if let Some(lossless) = &self.lossless {
            lossless.check(&fields, faults);
        }
        if let Some(exact) = &self.exact {
            exact.check(&fields, &output, faults);
        }
        self.changes_of_batch.rounded += self.converter.take_rounded_count();
        output
    }
}

/// A row that is rejected: its index in the batch, the first column at fault, and the reason.
pub(super) struct BadRow {
    pub(super) row: usize,
    pub(super) column_index: usize,
    pub(super) error: ValueError,
}

/// The inputs that all columns of a batch share.
struct Batch<'a> {
    chunk: &'a Chunk,
    records: &'a Records,
    selected: Selected,
    facts: TextFacts,
}

impl Converter {
    /// A converter for records of `field_count` fields.
    pub fn new(
        columns: &[Column],
        dialect: &Dialect,
        field_count: usize,
    ) -> Result<Converter, ConvertError> {
        let states = columns
            .iter()
            .map(|column| ColumnState::new(column, dialect, field_count))
            .collect::<Result<_, _>>()?;
        Ok(Converter {
            columns: states,
            schema: Arc::new(schema(columns)),
            dialect: dialect.clone(),
            field_count,
            key_bounds: None,
            key_set: None,
            gatherer: Gatherer::default(),
            rows: Vec::new(),
            is_bad: Vec::new(),
            pending: Vec::new(),
            stamp: None,
        })
    }

    /// A converter for rows that have passed the steps of a flow. `from` says for each column how it is filled. Its
    /// chunks are typed rows with `field_count` columns.
    pub fn after_steps(
        columns: &[Column],
        from: &[AfterSteps],
        field_count: usize,
    ) -> Result<Converter, ConvertError> {
        let field = |from: &AfterSteps| match from {
            AfterSteps::Taken(index) | AfterSteps::Converted(index) => *index,
        };
        let read: Vec<Column> = columns
            .iter()
            .zip(from)
            .map(|(column, from)| Column {
                nullable: column.nullable,
                policies: match from {
                    // The policies were applied when the column was made.
                    AfterSteps::Taken(_) => ColumnPolicies::default(),
                    AfterSteps::Converted(_) => column.policies.clone(),
                },
                ..Column::new(&column.name, column.column_type.clone(), field(from))
            })
            .collect();
        let mut converter = Converter::new(&read, &Dialect::csv(), field_count)?;
        for (state, from) in converter.columns.iter_mut().zip(from) {
            if let AfterSteps::Taken(index) = from {
                state.source = StateSource::Taken(*index);
            }
        }
        Ok(converter)
    }

    /// Uses these instructions from now on, instead of the fastest ones of the machine.
    #[doc(hidden)]
    pub fn with_instructions(mut self, instructions: Instructions) -> Converter {
        self.gatherer.instructions = instructions;
        self
    }

    /// Sets the run that loads the rows, for the columns that name it.
    pub fn with_run(mut self, stamp: RunStamp) -> Converter {
        self.stamp = Some(stamp);
        self
    }

    /// The number of values of each column that policies have changed so far, in the order of the columns. Rejected
    /// rows do not count.
    pub fn changes(&self) -> impl ExactSizeIterator<Item = (&str, ColumnChanges)> {
        self.columns
            .iter()
            .map(|column| (&*column.name, column.changes))
    }

    /// Subtracts the changes of the last batch from the counts, because its records will be converted once more.
    pub fn forget_last_changes(&mut self) {
        for column in &mut self.columns {
            column.changes.take_away(&column.changes_of_batch);
            column.changes_of_batch = ColumnChanges::default();
        }
    }

    /// Rows whose key lies outside of `bounds` become rejects from now on.
    ///
    /// # Panics
    ///
    /// If the bounds' column does not exist, or its type differs from theirs.
    pub fn with_key_bounds(mut self, bounds: KeyBounds) -> Converter {
        let state = &self.columns[bounds.column_index];
        assert!(
            bounds.fits(&state.converter),
            "the bounds of a key have the type of its column"
        );
        self.key_bounds = Some(bounds);
        self
    }

    /// Rows whose key has no partition become rejects from now on.
    pub fn with_key_set(mut self, set: KeySet) -> Converter {
        self.key_set = Some(set);
        self
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Converts the records `range`. Rows that do not fit are left out of the batch and
    /// appended to `rejects`, in the order of the records.
    ///
    /// # Panics
    ///
    /// If `records` is not the result of a scan of `chunk`, or if a column names the run and the converter was given
    /// none.
    pub fn convert(
        &mut self,
        chunk: &Chunk,
        records: &Records,
        range: Range<usize>,
        rejects: &mut Vec<Reject>,
    ) -> RecordBatch {
        if let Some(typed) = &chunk.typed {
            return self.convert_typed(chunk, typed, records, range, rejects);
        }
        let facts = TextFacts::of(chunk, records, &range, self.gatherer.instructions);
        let selected = rows::select(
            chunk,
            records,
            range,
            &self.dialect,
            self.field_count,
            &mut self.rows,
            &mut self.pending,
        );
        let batch = Batch {
            chunk,
            records,
            selected,
            facts,
        };
        self.drop_cut_rows(&batch);
        let mut bad_rows = Vec::new();
        let mut arrays = self.arrays(&batch, &mut bad_rows);
        if !bad_rows.is_empty() {
            self.drop_rows(&batch, bad_rows);
            let mut none = Vec::new();
            arrays = self.arrays(&batch, &mut none);
            assert!(none.is_empty(), "a row that did fit fits again");
        }
        self.finish(arrays, rejects)
    }

    /// The batch of the rows that are left, and the rejects of the others.
    pub(super) fn finish(
        &mut self,
        arrays: Vec<ArrayRef>,
        rejects: &mut Vec<Reject>,
    ) -> RecordBatch {
        for column in &mut self.columns {
            column.changes.add(&column.changes_of_batch);
        }
        if !self.pending.is_empty() {
            self.pending.sort_by_key(|pending| pending.record);
            rejects.extend(self.pending.drain(..).map(|pending| pending.reject));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options)
            .expect("arrays of the schema's types, all of one length")
    }

    /// The location in its file of a row of the last batch.
    ///
    /// # Panics
    ///
    /// If the batch has no such row.
    pub fn row_location(&self, chunk: &Chunk, records: &Records, row: usize) -> Location {
        let record = &records.records[self.rows[row].record as usize];
        chunk.location(record.start, record.line)
    }

    /// The number of bytes of the file before a row of the last batch. For messages, see [`Converter::row_location`].
    ///
    /// # Panics
    ///
    /// If the batch has no such row.
    pub fn row_offset(&self, chunk: &Chunk, records: &Records, row: usize) -> u64 {
        chunk.byte_offset_of(records.records[self.rows[row].record as usize].start)
    }

    /// A reject for a row of the last batch, for a reason that was found after the conversion. `chunk` and `records`
    /// are those that the batch was made from.
    ///
    /// # Panics
    ///
    /// If the batch has no such row.
    pub fn reject_row(
        &self,
        chunk: &Chunk,
        records: &Records,
        row: usize,
        column: Option<&str>,
        code: RejectCode,
        reason: String,
    ) -> Reject {
        let record = self.rows[row].record;
        let column = column.and_then(|name| self.columns.iter().find(|known| *known.name == *name));
        let error = ValueError::new(code, reason);
        if let Some(typed) = &chunk.typed {
            let at = column.map(|column| (&column.name, column.field_index()));
            let place = &records.records[record as usize];
            return rows::typed_reject(chunk, typed, place, at, error);
        }
        let at = column.map(|column| (&column.name, column.field_of(records, record)));
        rows::reject(chunk, records, record, at, error)
    }

    /// The arrays of all columns over the selected rows. At most one fault is noted for each row: the fault of its
    /// first column at fault.
    fn arrays(&mut self, batch: &Batch<'_>, bad_rows: &mut Vec<BadRow>) -> Vec<ArrayRef> {
        let Converter {
            columns,
            dialect,
            key_bounds,
            key_set,
            gatherer,
            rows,
            is_bad,
            stamp,
            ..
        } = self;
        is_bad.clear();
        is_bad.resize(rows.len(), false);
        let input = GatherInput {
            text: batch.chunk.text.with_padding(),
            bytes_count: batch.chunk.text.len(),
            records: batch.records,
            rows,
            dialect,
            selected: batch.selected,
            any_nul: batch.facts.any_nul,
            ascii: batch.facts.ascii.clone(),
        };
        let origin = Origin {
            chunk: batch.chunk,
            stamp: *stamp,
        };
        let make = |column: &mut ColumnState, faults: &mut Vec<Fault>| {
            let index = column.field_index().unwrap_or(0);
            let output = column.output(gatherer, &input, index, &origin, faults);
            output.finish(&batch.chunk.text, gatherer)
        };
        all_columns(columns, (key_bounds, key_set), is_bad, bad_rows, make)
    }

    /// Makes rejects of the rows with a field that begins or ends inside a character, and removes them from the
    /// selection. Afterwards all fields are text.
    fn drop_cut_rows(&mut self, batch: &Batch<'_>) {
        let cut = borders::cut_fields(batch.chunk, batch.records, &self.dialect, &self.rows);
        if cut.is_empty() {
            return;
        }
        self.is_bad.clear();
        self.is_bad.resize(self.rows.len(), false);
        for cut in cut {
            self.is_bad[cut.row] = true;
            let record = self.rows[cut.row].record;
            let takes_it = |column: &&ColumnState| match column.source {
                StateSource::Field { index, .. } => index == cut.field_index,
                StateSource::Made(_) | StateSource::Taken(_) => false,
            };
            let column = self.columns.iter().find(takes_it);
            let at = column.map(|column| (&column.name, column.field_of(batch.records, record)));
            self.pending.push(PendingReject {
                record,
                reject: rows::reject(batch.chunk, batch.records, record, at, cut.error),
            });
        }
        self.keep_good_rows();
    }

    pub(super) fn keep_good_rows(&mut self) {
        let mut is_bad = self.is_bad.iter();
        self.rows
            .retain(|_| !is_bad.next().expect("a flag for every row"));
    }

    /// Makes rejects of the bad rows and removes them from the selection.
    fn drop_rows(&mut self, batch: &Batch<'_>, bad_rows: Vec<BadRow>) {
        for bad in bad_rows {
            let record = self.rows[bad.row].record;
            let column = &self.columns[bad.column_index];
            let field = column.field_of(batch.records, record);
            self.pending.push(PendingReject {
                record,
                reject: rows::reject(
                    batch.chunk,
                    batch.records,
                    record,
                    Some((&column.name, field)),
                    bad.error,
                ),
            });
        }
        self.keep_good_rows();
    }
}

/// Makes all columns, and checks the keys among them. For each row at most one fault is noted.
pub(super) fn all_columns(
    columns: &mut [ColumnState],
    (key_bounds, key_set): (&Option<KeyBounds>, &Option<KeySet>),
    is_bad: &mut [bool],
    bad_rows: &mut Vec<BadRow>,
    mut make: impl FnMut(&mut ColumnState, &mut Vec<Fault>) -> ArrayRef,
) -> Vec<ArrayRef> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut arrays = Vec::with_capacity(columns.len());
    for (column_index, column) in columns.iter_mut().enumerate() {
        let array = make(column, &mut faults);
        if let Some(bounds) = key_bounds
            && bounds.column_index == column_index
        {
            key::check_bounds(bounds, &array, &mut faults);
        }
        if let Some(set) = key_set
            && set.column_index == column_index
        {
            key_set::check_set(set, &array, &mut faults);
        }
        for fault in faults.drain(..) {
            if !std::mem::replace(&mut is_bad[fault.row], true) {
                bad_rows.push(BadRow {
                    row: fault.row,
                    column_index,
                    error: fault.error,
                });
            }
        }
        arrays.push(array);
    }
    arrays
}

/// The error of a NULL in a column that allows none, from a source with types, where no text stands for NULL.
pub(super) fn typed_null_error() -> ValueError {
    ValueError::new(
        RejectCode::NullNotAllowed,
        "the value is NULL, but the column is not nullable; fix the row, or make the column nullable",
    )
}

/// The error of a NULL in a column of a text file that allows none.
pub(super) fn null_error(dialect: &Dialect) -> ValueError {
    let is_one = dialect.nulls.len() == 1;
    let marker = match dialect.nulls.first().map(String::as_str) {
        _ if dialect.missing_fields == MissingFields::Null => {
            "this field, or its absence,".to_owned()
        }
        Some("") if is_one && dialect.null_quoted => "an empty field".to_owned(),
        Some("") if is_one => "an empty unquoted field".to_owned(),
        Some(marker) if is_one && dialect.null_quoted => format!("the field {marker}"),
        Some(marker) if is_one => format!("the unquoted field {marker}"),
        Some(_) => "this field".to_owned(),
        None => "NULL".to_owned(),
    };
    ValueError::new(
        RejectCode::NullNotAllowed,
        format!(
            "{marker} means NULL in this format, but the column is not nullable; fix the row, set \
             another `null` in the format, or make the column nullable"
        ),
    )
}
