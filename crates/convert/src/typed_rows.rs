//! Converts rows of typed values to Arrow arrays of the target's types: unchanged if that is possible
//! ([`direct`](super::direct)), otherwise from the text of the values, like fields of a text file.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_empty_array};
use arrow_schema::DataType;
use arrow_select::filter::filter;
use inrush_rows::chunk::Chunk;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::padded_text::PaddedText;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_rows::typed_rows::{Cells, TypedColumn, TypedRows};
use inrush_scan::{Dialect, Record, Records};

use super::converter::{
    BadRow, ColumnState, Converter, StateSource, all_columns, typed_null_error,
};
use super::direct;
use super::exact_float::ExactFloat;
use super::fields::{GatherInput, Gatherer};
use super::kernel::Fault;
use super::provenance::Origin;
use super::rows::{self, PendingReject, Row, Selected};
use super::simd::Instructions;
use super::text_facts::TextFacts;

impl Converter {
    /// Like [`convert`](Converter::convert), for a chunk of typed rows.
    pub(super) fn convert_typed(
        &mut self,
        chunk: &Chunk,
        typed: &TypedRows,
        records: &Records,
        range: Range<usize>,
        rejects: &mut Vec<Reject>,
    ) -> RecordBatch {
        self.rows.clear();
        self.rows.extend(range.clone().map(|record| Row {
            record: record as u32,
            first_field: 0,
        }));
        let mut selected = match range.len() == typed.row_count {
            true => typed.clone(),
            false => typed.slice(range),
        };
        if !selected.faults.is_empty() {
            selected = self.drop_faulty_rows(chunk, records, &selected);
        }
        let mut bad_rows = Vec::new();
        let mut arrays = self.typed_arrays(chunk, &selected, records, &mut bad_rows);
        if !bad_rows.is_empty() {
            selected = without(&selected, &self.is_bad);
            for bad in bad_rows {
                let record = self.rows[bad.row].record;
                let column = &self.columns[bad.column_index];
                let at = Some((&column.name, column.field_index()));
                let place = &records.records[record as usize];
                self.pending.push(PendingReject {
                    record,
                    reject: rows::typed_reject(chunk, typed, place, at, bad.error),
                });
            }
            self.keep_good_rows();
            let mut none = Vec::new();
            arrays = self.typed_arrays(chunk, &selected, records, &mut none);
            assert!(none.is_empty(), "a row that did fit fits again");
        }
        self.finish(arrays, rejects)
    }

    /// Makes rejects of the rows with a fault in their form, and returns the others.
    fn drop_faulty_rows(
        &mut self,
        chunk: &Chunk,
        records: &Records,
        selected: &TypedRows,
    ) -> TypedRows {
        self.is_bad.clear();
        self.is_bad.resize(self.rows.len(), false);
        for fault in &selected.faults {
            self.is_bad[fault.row] = true;
            let record = self.rows[fault.row].record;
            let place = &records.records[record as usize];
            self.pending.push(PendingReject {
                record,
                reject: Reject {
                    location: chunk.location(place.start, place.line),
                    column: None,
                    value: None,
                    code: RejectCode::RowForm,
                    reason: fault.reason.clone(),
                    raw: fault.raw.clone(),
                    encoding: None,
                    of_target: false,
                },
            });
        }
        self.keep_good_rows();
        without(selected, &self.is_bad)
    }

    /// The columns that are converted through the text of the file's values. `types` has the types of the file's
    /// columns, and true for those marked as UUIDs.
    pub fn columns_by_text(&mut self, types: &[(DataType, bool)]) -> Vec<&str> {
        let by_text = self.columns.iter_mut().filter_map(|column| {
            let (data_type, is_uuid) = types.get(column.field_index()?)?;
            let none = TypedColumn {
                values: Some(new_empty_array(data_type)),
                is_uuid: *is_uuid,
            };
            column.direct(&none).is_none().then_some(&*column.name)
        });
        by_text.collect()
    }

    fn typed_arrays(
        &mut self,
        chunk: &Chunk,
        typed: &TypedRows,
        records: &Records,
        bad_rows: &mut Vec<BadRow>,
    ) -> Vec<ArrayRef> {
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
        let dialect: &Dialect = dialect;
        is_bad.clear();
        is_bad.resize(rows.len(), false);
        let origin = Origin {
            chunk,
            stamp: *stamp,
        };
        let make = |column: &mut ColumnState, faults: &mut Vec<Fault>| {
            if let StateSource::Taken(index) = column.source
                && let Some(array) = &typed.columns[index].values
            {
                if !column.nullable && array.null_count() > 0 {
                    let nulls = (0..array.len()).filter(|row| array.is_null(*row));
                    faults.extend(nulls.map(|row| Fault {
                        row,
                        error: typed_null_error(),
                    }));
                }
                return Arc::clone(array);
            }
            let StateSource::Field { index, .. } = column.source else {
                let input = GatherInput {
                    text: chunk.text.with_padding(),
                    bytes_count: chunk.text.len(),
                    records,
                    rows,
                    dialect,
                    selected: Selected::default(),
                    any_nul: false,
                    ascii: 0..0,
                };
                let output = column.output(gatherer, &input, 0, &origin, faults);
                return output.finish(&chunk.text, gatherer);
            };
            let values = &typed.columns[index];
            if let Some(array) = column.direct(values) {
                return array;
            }
            let text = ColumnText::of(chunk, values, typed.row_count, gatherer.instructions);
            text.array(column, dialect, gatherer, &origin, faults)
        };
        all_columns(columns, (key_bounds, key_set), is_bad, bad_rows, make)
    }
}

impl ColumnState {
    /// The column, if its values already have its type; `None` if it must be made from their text. Columns of floats
    /// are made in this way from floats of the same or a smaller width, which changes no number.
    fn direct(&mut self, column: &TypedColumn) -> Option<ArrayRef> {
        let is_usual = matches!(self.source, StateSource::Field { policy: None, .. })
            && self.lossless.is_none()
            && !self.exact.as_ref().is_some_and(ExactFloat::is_typed);
        let values = column.values.as_ref().filter(|_| is_usual)?;
        if !self.nullable && values.logical_null_count() > 0 {
            return None;
        }
        let array = direct::array(values, column.is_uuid, &self.converter)?;
        self.changes_of_batch = ColumnChanges::default();
        Some(array)
    }
}

/// The values of a column as the text of a file with one column.
struct ColumnText {
    chunk: Chunk,
    records: Records,
    rows: Vec<Row>,
    any_escaped: bool,
    facts: TextFacts,
}

impl ColumnText {
    fn of(
        origin: &Chunk,
        column: &TypedColumn,
        row_count: usize,
        instructions: Instructions,
    ) -> ColumnText {
        let values = column.values.as_ref();
        let cells = values
            .and_then(|values| Cells::of(values, column.is_uuid))
            .unwrap_or_else(Cells::unread);
        let mut text = Vec::new();
        let mut records = Records {
            gap_bytes: 1,
            ..Records::default()
        };
        let mut any_escaped = false;
        for row in 0..row_count {
            let start = text.len();
            cells.append(row, &mut text);
            let escaped = text.get(start) == Some(&b'"');
            any_escaped |= escaped;
            records.records.push(Record {
                start: start as u32,
                end: text.len() as u32,
                line: row as u32,
                first_field: row as u32,
                escaped,
            });
            records.field_ends.push(text.len() as u32);
            text.push(b'\n');
        }
        let mut text = PaddedText::padding(text);
        text.check_utf8();
        let chunk = Chunk {
            text,
            file: Arc::clone(&origin.file),
            byte_offset: 0,
            line_offset: 0,
            invalid_utf8: Vec::new(),
            places: None,
            typed: None,
        };
        let facts = TextFacts::of(&chunk, &records, &(0..row_count), instructions);
        let rows = (0..row_count as u32).map(|row| Row {
            record: row,
            first_field: row,
        });
        ColumnText {
            rows: rows.collect(),
            chunk,
            records,
            any_escaped,
            facts,
        }
    }

    fn array(
        &self,
        column: &mut ColumnState,
        dialect: &Dialect,
        gatherer: &mut Gatherer,
        origin: &Origin<'_>,
        faults: &mut Vec<Fault>,
    ) -> ArrayRef {
        let input = GatherInput {
            text: self.chunk.text.with_padding(),
            bytes_count: self.chunk.text.len(),
            records: &self.records,
            rows: &self.rows,
            dialect,
            selected: Selected {
                any_escaped: self.any_escaped,
                any_ragged: false,
            },
            any_nul: self.facts.any_nul,
            ascii: self.facts.ascii.clone(),
        };
        let output = column.output(gatherer, &input, 0, origin, faults);
        output.finish(&self.chunk.text, gatherer)
    }
}

/// The rows that are not bad.
fn without(rows: &TypedRows, is_bad: &[bool]) -> TypedRows {
    let good: BooleanArray = is_bad.iter().map(|is_bad| Some(!is_bad)).collect();
    let columns = rows.columns.iter().map(|column| TypedColumn {
        values: column
            .values
            .as_ref()
            .map(|values| filter(values, &good).expect("a flag for every row")),
        is_uuid: column.is_uuid,
    });
    TypedRows {
        columns: columns.collect(),
        row_count: good.true_count(),
        content: Vec::new(),
        bytes_count: 0,
        faults: Vec::new(),
    }
}
