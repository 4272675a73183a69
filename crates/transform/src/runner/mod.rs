//! Runs the steps for the batches of a stream.
//!
//! A runner has one connection, and evaluates on the thread that calls it. It keeps nothing between batches, so any
//! split of the rows gives the same result.

mod results;
mod rows;
mod shown;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::CancelHandle;
use adbc_core::error::Result as AdbcResult;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch, new_empty_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::row_view::RowView;
use inrush_rows::typed_rows;

pub(crate) use self::results::Values;
use self::results::{engine_error, may_be_of_a_row, whole, with_failures};
use self::rows::{Rows, check, give, reject_infinite_dates, reject_special_numbers, taken};
use self::shown::Shown;
use crate::engine_message::message_without_place;
use crate::error::RunError;
use crate::evaluator::Evaluator;
use crate::isolate;
use crate::outcome::{self, FaultKind, RowFault, StepCount, Stepped, origins_of};
use crate::plan::RESERVED;
use crate::planned::{Planned, StepAction};
use crate::reasons::Reasons;
use crate::room;
use crate::statement;
use crate::travel;

/// Runs the steps of a flow for one stream.
pub struct StepRunner {
    planned: Arc<Planned>,
    /// The schema of the columns that are handed to DuckDB.
    travelling: SchemaRef,
    /// The statement that executes the prepared quick statement.
    quick: String,
    careful: String,
    /// The rows of the batch in a statement.
    from: String,
    /// The statements for rows that fail, each with the statement that runs it. They are prepared when the first row
    /// fails.
    prepared: Mutex<HashMap<String, String>>,
    /// NULLs in the types of expressions, by their statements.
    nulls: Mutex<HashMap<String, ArrayRef>>,
    /// The rows of the batch, for the statements. The field is dropped before the connection.
    rows: RowView,
    link: Arc<Link>,
}

impl StepRunner {
    /// Opens a connection for the steps.
    pub fn new(evaluator: &Evaluator, planned: &Arc<Planned>) -> Result<StepRunner, RunError> {
        let link = evaluator.connect().map_err(engine_error)?;
        room::use_checks(&link).map_err(engine_error)?;
        let mut fields: Vec<Field> = planned
            .travelling
            .iter()
            .map(|at| &planned.columns[*at])
            .map(|column| Field::new(&column.name, column.column_type.arrow(), true))
            .collect();
        if fields.is_empty() {
            // DuckDB needs at least one column, by which it counts the rows.
            fields.push(Field::new(format!("{RESERVED}row"), DataType::Int8, true));
        }
        let travelling = Arc::new(Schema::new(fields));
        let rows = RowView::new(&link, travelling.fields()).map_err(engine_error)?;
        let from = statement::rows_of_view(rows.name(), &travelling);
        let quick = statement::quick(planned, &from);
        // EXECUTE uses a plan that was made once, because planning costs more than evaluating a batch.
        let prepared = format!("{RESERVED}quick");
        link.query(&format!("PREPARE {prepared} AS {quick}"))
            .map_err(engine_error)?;
        Ok(StepRunner {
            planned: Arc::clone(planned),
            travelling,
            quick: format!("EXECUTE {prepared}"),
            careful: statement::careful(planned, &from),
            from,
            rows,
            prepared: Mutex::default(),
            nulls: Mutex::default(),
            link,
        })
    }

    /// A handle that ends the evaluation from another thread.
    pub fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.link.cancel_handle()
    }

    /// Passes a batch through the steps. It must have the columns of the plan, in their order. If its texts need too
    /// much memory, the error asks for fewer rows; without `may_ask_for_fewer`, the rows for which there is no more
    /// room are rejected instead.
    ///
    /// # Panics
    ///
    /// If the batch has other columns than the plan.
    pub fn run(&self, batch: &RecordBatch, may_ask_for_fewer: bool) -> Result<Stepped, RunError> {
        let own = self.planned.columns.len();
        assert_eq!(
            batch.num_columns(),
            own,
            "a batch has the columns of the plan"
        );
        let row_count = batch.num_rows();
        let mut rows = Rows {
            alive: vec![true; row_count],
            alive_count: row_count as u64,
            faults: Vec::new(),
        };
        let mut counts = vec![StepCount::default(); self.planned.steps.len()];
        let travelling = self.travelling(batch, &mut rows)?;
        room::begin(batch);
        let values = match row_count {
            0 => self.no_values(),
            _ => self.evaluate(&travelling, may_ask_for_fewer)?,
        };
        let room_used = room::used();
        let mut derived: Vec<ArrayRef> = Vec::with_capacity(self.planned.derived.len());
        let mut next = 0;
        for (index, step) in self.planned.steps.iter().enumerate() {
            // Values that DuckDB does not have are faults of the first step.
            let lost = rows.faults.len() as u64 * u64::from(index == 0);
            counts[index].rows_in = rows.alive_count + lost;
            let before = rows.alive_count + lost;
            match &step.action {
                StepAction::Derive(columns) => {
                    for (at, column) in columns.iter().enumerate() {
                        let value = &values[next + at];
                        let shown = Shown {
                            planned: &self.planned,
                            batch,
                            derived: &derived,
                            step: index,
                            column: Some(&column.name),
                            named: &column.named,
                        };
                        self.reject_failed(next + at, &shown, value, &travelling, &mut rows)?;
                        let made = taken(&shown, &value.array, &mut rows);
                        reject_infinite_dates(&shown, &column.finite, &made, &mut rows);
                        if !column.may_be_special {
                            reject_special_numbers(&shown, &made, &mut rows);
                        }
                        derived.push(made);
                    }
                    next += columns.len();
                }
                StepAction::Where { .. } => {
                    let value = &values[next];
                    let shown = Shown::of_condition(&self.planned, batch, &derived, index);
                    self.reject_failed(next, &shown, value, &travelling, &mut rows)?;
                    reject_infinite_dates(&shown, &step.finite, &value.array, &mut rows);
                    let holds = value.array.as_boolean();
                    if holds.true_count() < row_count {
                        for row in 0..row_count {
                            let is_kept = holds.is_valid(row) && holds.value(row);
                            counts[index].filtered += u64::from(!is_kept && rows.drop(row));
                        }
                    }
                    next += 1;
                }
                StepAction::Check {
                    name, otherwise, ..
                } => {
                    let value = &values[next];
                    let shown = Shown::of_condition(&self.planned, batch, &derived, index);
                    self.reject_failed(next, &shown, value, &travelling, &mut rows)?;
                    reject_infinite_dates(&shown, &step.finite, &value.array, &mut rows);
                    counts[index].warned = check(
                        &shown,
                        name,
                        *otherwise,
                        value.array.as_boolean(),
                        &mut rows,
                    );
                    next += 1;
                }
                StepAction::Output(output) => {
                    let value = &values[next];
                    let shown = Shown::of_condition(&self.planned, batch, &derived, index);
                    self.reject_failed(next, &shown, value, &travelling, &mut rows)?;
                    let takers = value.array.as_primitive::<Int64Type>();
                    counts[index].filtered = give(&shown, &output.spec, takers, &mut rows);
                    next += 1;
                }
            }
            counts[index].rejected = before - rows.alive_count - counts[index].filtered;
        }
        let mut stepped = self.finish(batch, derived, rows, counts)?;
        // Texts inside of expressions take memory, too.
        stepped.added_bytes = stepped.added_bytes.max(room_used);
        Ok(stepped)
    }

    /// The columns for DuckDB, with NULL for values that DuckDB does not have: their rows are dropped.
    fn travelling(&self, batch: &RecordBatch, rows: &mut Rows) -> Result<RecordBatch, RunError> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.travelling.fields().len());
        for at in &self.planned.travelling {
            let crossed = travel::into_duckdb(batch.column(*at));
            for row in crossed.lost {
                if rows.drop(row) {
                    rows.faults.push(RowFault {
                        row,
                        step: 0,
                        column: Some(self.planned.columns[*at].name.clone()),
                        value: typed_rows::value_text(batch.column(*at), row, false),
                        kind: FaultKind::OutOfRange,
                        reason: "the steps use this column, and their timestamps end in the year 294247; load the \
                                 row without steps, or correct its value"
                            .to_owned(),
                    });
                }
            }
            arrays.push(crossed.array);
        }
        if arrays.is_empty() {
            arrays.push(Arc::new(Int8Array::from(vec![0; batch.num_rows()])));
        }
        RecordBatch::try_new(Arc::clone(&self.travelling), arrays).map_err(|error| {
            RunError::Engine {
                message: error.to_string(),
            }
        })
    }

    /// The values of all expressions. A row that fails is found by the careful statement.
    fn evaluate(
        &self,
        travelling: &RecordBatch,
        may_ask_for_fewer: bool,
    ) -> Result<Vec<Values>, RunError> {
        let used = room::used();
        match self.ask(&self.quick, travelling).map_err(engine_error) {
            Ok(batches) => {
                let values = whole(batches?)?.into_iter();
                return Ok(values
                    .map(|array| Values {
                        array,
                        failed: None,
                    })
                    .collect());
            }
            Err(RunError::Interrupted) => return Err(RunError::Interrupted),
            // A row is the likely cause; if it is not, the careful statement fails as well.
            Err(_) => {}
        }
        let was_too_small = room::was_too_small();
        room::again(used);
        match was_too_small {
            true => self.evaluate_fewer(travelling, may_ask_for_fewer),
            false => self.evaluate_carefully(travelling, may_ask_for_fewer),
        }
    }

    /// The values for rows whose texts together need more than the room.
    fn evaluate_fewer(
        &self,
        travelling: &RecordBatch,
        may_ask_for_fewer: bool,
    ) -> Result<Vec<Values>, RunError> {
        match travelling.num_rows() {
            0 | 1 => self.evaluate_carefully(travelling, false),
            rows if may_ask_for_fewer => Err(RunError::TooManyRows { rows }),
            rows => {
                let half = rows / 2;
                let first = self.evaluate_carefully(&travelling.slice(0, half), false)?;
                let rest = travelling.slice(half, rows - half);
                isolate::joined(first, self.evaluate_carefully(&rest, false)?)
            }
        }
    }

    /// The values of all expressions, and whether each failed. TRY does not catch all errors of DuckDB: an unknown time
    /// zone ends the statement, for example. Then the rows are halved until the failing row is alone.
    fn evaluate_carefully(
        &self,
        travelling: &RecordBatch,
        may_ask_for_fewer: bool,
    ) -> Result<Vec<Values>, RunError> {
        let row_count = travelling.num_rows();
        let used = room::used();
        let asked = self.ask_again(&self.careful, travelling);
        if room::was_too_small() && row_count > 1 {
            // TRY treats this as a failure of one row, but the rows before it have used up the room.
            room::again(used);
            return self.evaluate_fewer(travelling, may_ask_for_fewer);
        }
        match asked {
            Ok(batches) => Ok(with_failures(whole(batches?)?)),
            Err(error) if !may_be_of_a_row(&error) => Err(engine_error(error)),
            Err(_) if row_count <= 1 => {
                let evaluate = |sql: &str| {
                    room::again(used);
                    match self.ask_again(sql, travelling) {
                        Ok(batches) => Ok(whole(batches?)?.pop()),
                        Err(error) if may_be_of_a_row(&error) => Ok(None),
                        Err(error) => Err(engine_error(error)),
                    }
                };
                let null = |sql: String| self.null(sql, travelling);
                isolate::alone(&self.planned, &self.from, &evaluate, &null)
            }
            Err(_) => {
                let half = row_count / 2;
                let first = travelling.slice(0, half);
                let first = self.evaluate_carefully(&first, may_ask_for_fewer)?;
                let rest = travelling.slice(half, row_count - half);
                let rest = self.evaluate_carefully(&rest, may_ask_for_fewer)?;
                isolate::joined(first, rest)
            }
        }
    }

    /// The result of a statement: the outer error is DuckDB's, the inner error is a fault of the result.
    fn ask(
        &self,
        sql: &str,
        travelling: &RecordBatch,
    ) -> AdbcResult<Result<Vec<RecordBatch>, RunError>> {
        self.rows.refill(travelling);
        let batches = self.link.query(sql)?.batches()?;
        let given = travelling.num_rows();
        let returned = batches.iter().map(RecordBatch::num_rows).sum();
        Ok(match given == returned {
            true => Ok(batches),
            false => Err(RunError::RowCount { given, returned }),
        })
    }

    /// The result of a statement that is run for many rows that fail, one after the other. It is prepared once, because
    /// DuckDB plans it more slowly than it evaluates a row.
    fn ask_again(
        &self,
        sql: &str,
        travelling: &RecordBatch,
    ) -> AdbcResult<Result<Vec<RecordBatch>, RunError>> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match prepared.get(sql) {
            Some(known) => known.clone(),
            None => {
                let name = format!("{RESERVED}again_{}", prepared.len());
                // If the statement cannot be prepared, it is run without preparing, and fails with its reason.
                let made = self.link.query(&format!("PREPARE {name} AS {sql}"));
                let run = made.map_or_else(|_| sql.to_owned(), |_| format!("EXECUTE {name}"));
                prepared.insert(sql.to_owned(), run.clone());
                run
            }
        };
        drop(prepared);
        self.ask(&run, travelling)
    }

    /// The result of a statement that is NULL for any row, in the type that DuckDB gives it.
    fn null(&self, sql: String, travelling: &RecordBatch) -> Result<ArrayRef, RunError> {
        let mut nulls = self.nulls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = nulls.get(&sql) {
            return Ok(Arc::clone(known));
        }
        let batches = self.ask(&sql, travelling).map_err(engine_error)?;
        let null = whole(batches?)?.pop().ok_or_else(|| RunError::Engine {
            message: "NULL has no value".to_owned(),
        })?;
        nulls.insert(sql, Arc::clone(&null));
        Ok(null)
    }

    /// The values of no rows.
    fn no_values(&self) -> Vec<Values> {
        let mut values = Vec::new();
        for step in &self.planned.steps {
            match &step.action {
                StepAction::Derive(columns) => values.extend(
                    columns
                        .iter()
                        .map(|column| new_empty_array(&column.column_type.arrow())),
                ),
                StepAction::Where { .. } | StepAction::Check { .. } => {
                    values.push(new_empty_array(&DataType::Boolean));
                }
                StepAction::Output(_) => values.push(new_empty_array(&DataType::Int64)),
            }
        }
        let values = values.into_iter();
        values
            .map(|array| Values {
                array,
                failed: None,
            })
            .collect()
    }

    /// Rejects the rows for which an expression failed, with DuckDB's reason for each.
    fn reject_failed(
        &self,
        expression: usize,
        shown: &Shown<'_>,
        values: &Values,
        travelling: &RecordBatch,
        rows: &mut Rows,
    ) -> Result<(), RunError> {
        let Some(failed) = &values.failed else {
            return Ok(());
        };
        let mut reasons = Reasons::default();
        let mut sql = None;
        for row in failed.values().set_indices() {
            if failed.is_null(row) || !rows.drop(row) {
                continue;
            }
            let reason = reasons.of(shown.values(row), || {
                let only = || statement::only(&self.planned, &self.from, expression);
                let sql = sql.get_or_insert_with(only);
                room::again(0);
                match self.ask_again(sql, &travelling.slice(row, 1)) {
                    Ok(_) => Ok(
                        "it fails for the rows of a record together, but not for this row alone: their texts need too much \
                         memory; unpivot fewer columns, or make shorter texts"
                            .to_owned(),
                    ),
                    // Too little memory or an interruption would be reported for all equal rows.
                    Err(error) if !may_be_of_a_row(&error) => Err(engine_error(error)),
                    Err(error) => Ok(message_without_place(&error.message)),
                }
            })?;
            let number = shown.number();
            let reason = format!("the expression of step {number} failed: {reason}");
            rows.faults
                .push(shown.fault(row, FaultKind::Expression, reason));
        }
        Ok(())
    }

    /// The batch of the rows that are left.
    fn finish(
        &self,
        batch: &RecordBatch,
        derived: Vec<ArrayRef>,
        rows: Rows,
        counts: Vec<StepCount>,
    ) -> Result<Stepped, RunError> {
        let Rows {
            alive,
            alive_count,
            mut faults,
        } = rows;
        let added_bytes = derived.iter().map(|it| it.get_buffer_memory_size()).sum();
        let all = outcome::with_columns(batch, &self.planned.derived, derived);
        let odd = |error: ArrowError| RunError::Engine {
            message: error.to_string(),
        };
        let all = all.map_err(odd)?;
        let kept = (alive_count < batch.num_rows() as u64)
            .then(|| BooleanArray::new(BooleanBuffer::from(alive), None));
        let batch = match &kept {
            None => all,
            Some(kept) => filter_record_batch(&all, kept).map_err(odd)?,
        };
        faults.sort_by_key(|fault| fault.row);
        Ok(Stepped {
            batch,
            origins: kept.as_ref().map(origins_of),
            fan_out: 1,
            faults,
            counts,
            unmatched_keys: Vec::new(),
            added_bytes,
        })
    }
}
