//! Runs the steps for the batches of a stream.
//!
//! A runner has one connection, and evaluates on the thread that calls it. It keeps nothing between batches, so any split
//! of the rows gives the same result.

use std::sync::Arc;

use adbc_core::CancelHandle;
use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int8Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader, new_empty_array,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::table_function::{Lent, Source};
use inrush_rows::typed_rows;

use crate::error::RunError;
use crate::evaluator::Evaluator;
use crate::isolate;
use crate::outcome::{self, FaultKind, RowFault, StepCount, Stepped, origins_of};
use crate::plan::{Planned, RESERVED, StepAction, message_without_place, names_infinity};
use crate::reasons::Reasons;
use crate::spec::{InputColumn, Otherwise, OutputSpec};
use crate::statement;
use crate::travel;

/// Runs the steps of a flow for one stream.
pub struct StepRunner {
    planned: Arc<Planned>,
    /// The schema of the columns that are handed to DuckDB.
    travelling: SchemaRef,
    quick: String,
    careful: String,
    /// The rows of the batch, for the statements. Dropped before the connection.
    lent: Lent,
    link: Arc<Link>,
}

/// The results of one expression for the rows of a batch.
pub(crate) struct Values {
    pub(crate) array: ArrayRef,
    /// Rows for which the expression failed; none after a quick statement.
    pub(crate) failed: Option<BooleanArray>,
}

/// The rows of a batch on their way through the steps.
struct Rows {
    /// Rows that are left.
    alive: Vec<bool>,
    alive_count: u64,
    faults: Vec<RowFault>,
}

impl Rows {
    /// Drops a row, if it was not dropped before.
    fn drop(&mut self, row: usize) -> bool {
        let was_alive = std::mem::replace(&mut self.alive[row], false);
        self.alive_count -= u64::from(was_alive);
        was_alive
    }
}

impl StepRunner {
    /// Opens a connection for the steps.
    pub fn new(evaluator: &Evaluator, planned: &Arc<Planned>) -> Result<StepRunner, RunError> {
        let link = evaluator.connect().map_err(engine_error)?;
        let mut fields: Vec<Field> = planned
            .travelling
            .iter()
            .map(|at| &planned.columns[*at])
            .map(|column| Field::new(&column.name, column.column_type.arrow(), true))
            .collect();
        if fields.is_empty() {
            // DuckDB counts the rows by a column.
            fields.push(Field::new(format!("{RESERVED}row"), DataType::Int8, true));
        }
        let travelling = Arc::new(Schema::new(fields));
        let nothing = one_batch(RecordBatch::new_empty(Arc::clone(&travelling)));
        let source = Source::new(&link, nothing).map_err(engine_error)?;
        let lent = link.lend(source);
        let from = lent.call();
        Ok(StepRunner {
            planned: Arc::clone(planned),
            travelling,
            quick: statement::quick(planned, &from),
            careful: statement::careful(planned, &from),
            lent,
            link,
        })
    }

    /// A handle that ends the evaluation from another thread.
    pub fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.link.cancel_handle()
    }

    /// Passes a batch through the steps. Its columns are those of the plan, in their order.
    ///
    /// # Panics
    ///
    /// If the batch has other columns than the plan.
    pub fn run(&self, batch: &RecordBatch) -> Result<Stepped, RunError> {
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
        let values = match row_count {
            0 => self.no_values(),
            _ => self.evaluate(&travelling)?,
        };
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
                        if !column.may_be_infinite {
                            reject_overflows(&shown, &made, &mut rows);
                        }
                        derived.push(made);
                    }
                    next += columns.len();
                }
                StepAction::Where { .. } => {
                    let value = &values[next];
                    let shown = Shown::of_condition(&self.planned, batch, &derived, index);
                    self.reject_failed(next, &shown, value, &travelling, &mut rows)?;
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
        self.finish(batch, derived, rows, counts)
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
    fn evaluate(&self, travelling: &RecordBatch) -> Result<Vec<Values>, RunError> {
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
            // Likely a row; if not, the careful statement fails as well.
            Err(_) => {}
        }
        self.evaluate_carefully(travelling)
    }

    /// The values of all expressions, and whether each failed. TRY does not catch all errors of DuckDB: an unknown time zone ends
    /// the statement, for example. Then the rows are halved until the failing row is alone.
    fn evaluate_carefully(&self, travelling: &RecordBatch) -> Result<Vec<Values>, RunError> {
        let row_count = travelling.num_rows();
        match self.ask(&self.careful, travelling) {
            Ok(batches) => Ok(with_failures(whole(batches?)?)),
            Err(error) if !may_be_of_a_row(&error) => Err(engine_error(error)),
            Err(_) if row_count <= 1 => {
                let evaluate = |sql: &str| match self.ask(sql, travelling) {
                    Ok(batches) => Ok(whole(batches?)?.pop()),
                    Err(error) if may_be_of_a_row(&error) => Ok(None),
                    Err(error) => Err(engine_error(error)),
                };
                isolate::alone(&self.planned, &self.lent.call(), &evaluate)
            }
            Err(_) => {
                let half = row_count / 2;
                let first = self.evaluate_carefully(&travelling.slice(0, half))?;
                let rest = travelling.slice(half, row_count - half);
                isolate::joined(first, self.evaluate_carefully(&rest)?)
            }
        }
    }

    /// The result of a statement: the outer error is DuckDB's, the inner one the fault of a result.
    fn ask(
        &self,
        sql: &str,
        travelling: &RecordBatch,
    ) -> AdbcResult<Result<Vec<RecordBatch>, RunError>> {
        self.lent.refill(one_batch(travelling.clone()));
        let batches = self.link.query(sql)?.batches()?;
        let given = travelling.num_rows();
        let returned = batches.iter().map(RecordBatch::num_rows).sum();
        Ok(match given == returned {
            true => Ok(batches),
            false => Err(RunError::RowCount { given, returned }),
        })
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
                let only = || statement::only(&self.planned, &self.lent.call(), expression);
                let sql = sql.get_or_insert_with(only);
                match self.ask(sql, &travelling.slice(row, 1)) {
                    Ok(_) => {
                        Ok("it fails for a batch of rows, but not for this row alone".to_owned())
                    }
                    // Too little memory or an interruption would be reported for all equal rows.
                    Err(error) if !may_be_of_a_row(&error) => Err(engine_error(error)),
                    Err(error) => Ok(message_without_place(&error.message)),
                }
            })?;
            let number = shown.step + 1;
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

/// What a fault reports of an expression.
struct Shown<'a> {
    planned: &'a Planned,
    /// The rows before the steps.
    batch: &'a RecordBatch,
    /// The columns that were derived so far.
    derived: &'a [ArrayRef],
    /// The index of the step.
    step: usize,
    /// The derived column; `None` for a condition.
    column: Option<&'a str>,
    /// The columns that the expression names.
    named: &'a [String],
}

impl<'a> Shown<'a> {
    fn of_condition(
        planned: &'a Planned,
        batch: &'a RecordBatch,
        derived: &'a [ArrayRef],
        step: usize,
    ) -> Shown<'a> {
        let named = planned.steps[step].named.as_slice();
        Shown {
            planned,
            batch,
            derived,
            step,
            column: match named {
                [only] => Some(only),
                _ => None,
            },
            named,
        }
    }

    fn fault(&self, row: usize, kind: FaultKind, reason: String) -> RowFault {
        RowFault {
            row,
            step: self.step,
            column: self.column.map(str::to_owned),
            value: self.value(row),
            kind,
            reason,
        }
    }

    /// A column that the expression names.
    fn array(&self, name: &str) -> Option<&ArrayRef> {
        let is_it = |column: &InputColumn| column.name == name;
        let own = self.planned.columns.iter().position(is_it);
        let own = own.map(|at| self.batch.column(at));
        own.or_else(|| {
            self.derived
                .get(self.planned.derived.iter().position(is_it)?)
        })
    }

    /// The values of the columns that the expression names.
    fn values(&self, row: usize) -> Vec<Option<String>> {
        let named = self.named.iter();
        let value = |name: &String| typed_rows::value_text(self.array(name)?, row, false);
        named.map(value).collect()
    }

    /// The values that the expression saw: of one column the value alone, of several with their names.
    fn value(&self, row: usize) -> Option<String> {
        let text = |name: &String| typed_rows::value_text(self.array(name)?, row, false);
        if let [only] = self.named {
            return text(only);
        }
        let values = self.named.iter().map(|name| {
            let value = text(name).unwrap_or_else(|| "NULL".to_owned());
            format!("{name} = {value}")
        });
        let values: Vec<String> = values.collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// True if a value that the expression saw is infinite, or a text that names an infinite number.
    fn sees_infinity(&self, row: usize) -> bool {
        let arrays = self.named.iter().filter_map(|name| self.array(name));
        arrays.into_iter().any(|array| {
            let text = match array.data_type() {
                DataType::Float32
                | DataType::Float64
                | DataType::Date32
                | DataType::Timestamp(_, _)
                | DataType::Utf8View => typed_rows::value_text(array, row, false),
                _ => None,
            };
            text.is_some_and(|text| names_infinity(&text))
        })
    }
}

/// Drops rows whose result is infinite although none of their arguments is: an overflow, which DuckDB does not report.
fn reject_overflows(shown: &Shown<'_>, made: &ArrayRef, rows: &mut Rows) {
    let is_infinite: Box<dyn Fn(usize) -> bool> = match made.data_type() {
        DataType::Float32 => {
            let values = made.as_primitive::<Float32Type>();
            Box::new(move |row| values.is_valid(row) && values.value(row).is_infinite())
        }
        DataType::Float64 => {
            let values = made.as_primitive::<Float64Type>();
            Box::new(move |row| values.is_valid(row) && values.value(row).is_infinite())
        }
        _ => return,
    };
    for row in 0..made.len() {
        if !is_infinite(row) || !rows.alive[row] {
            continue;
        }
        if shown.sees_infinity(row) {
            continue;
        }
        rows.drop(row);
        let reason = format!(
            "the result of step {} is outside the range of its type, DOUBLE or FLOAT",
            shown.step + 1
        );
        rows.faults
            .push(shown.fault(row, FaultKind::Expression, reason));
    }
}

/// A derived column in the form of batches. Rows whose values batches cannot have are dropped.
fn taken(shown: &Shown<'_>, array: &ArrayRef, rows: &mut Rows) -> ArrayRef {
    let crossed = travel::out_of_duckdb(array);
    let is_text = crossed.array.data_type() == &DataType::Utf8View;
    for row in crossed.lost {
        if rows.drop(row) {
            let (kind, reason) = match is_text {
                true => (
                    FaultKind::NulByte,
                    "the result has a NUL byte, which text in a database cannot hold; remove it with replace(...)",
                ),
                false => (
                    FaultKind::OutOfRange,
                    "the result is before 4714 BC, where no timestamp can be loaded",
                ),
            };
            rows.faults.push(shown.fault(row, kind, reason.to_owned()));
        }
    }
    crossed.array
}

/// Checks the rows that are left. Returns the number of those that failed but are loaded.
fn check(
    shown: &Shown<'_>,
    name: &str,
    otherwise: Otherwise,
    holds: &BooleanArray,
    rows: &mut Rows,
) -> u64 {
    let false_count = holds.len() - holds.null_count() - holds.true_count();
    if false_count == 0 {
        return 0;
    }
    let mut warned = 0;
    for row in 0..holds.len() {
        if !rows.alive[row] || holds.is_null(row) || holds.value(row) {
            continue;
        }
        let kind = match otherwise {
            Otherwise::Warn => {
                warned += 1;
                continue;
            }
            Otherwise::Reject => FaultKind::Check,
            Otherwise::Fail => FaultKind::FatalCheck,
        };
        rows.drop(row);
        let reason = format!("the check `{name}` (step {}) is not met", shown.step + 1);
        rows.faults.push(shown.fault(row, kind, reason));
    }
    warned
}

/// Keeps the rows of an output. `takers` are the outputs that take each row. Returns the number of rows that are filtered.
fn give(shown: &Shown<'_>, outputs: &OutputSpec, takers: &Int64Array, rows: &mut Rows) -> u64 {
    let own = 1_i64 << outputs.kept;
    let mut filtered = 0;
    for (row, takers) in takers.values().iter().enumerate() {
        if !rows.alive[row] || takers & own != 0 {
            continue;
        }
        rows.drop(row);
        if *takers == 0 && outputs.rejects {
            let reason = "no output takes the row: no `when` is true for it; correct the row, or add an output without `when`, or \
                          `else = \"filter\"`";
            rows.faults
                .push(shown.fault(row, FaultKind::Check, reason.to_owned()));
        } else {
            filtered += 1;
        }
    }
    filtered
}

/// The columns of a careful statement: each value, and behind it whether its expression failed.
fn with_failures(arrays: Vec<ArrayRef>) -> Vec<Values> {
    let mut arrays = arrays.into_iter();
    let mut values = Vec::new();
    while let (Some(array), Some(failed)) = (arrays.next(), arrays.next()) {
        values.push(Values {
            array,
            failed: Some(failed.as_boolean().clone()),
        });
    }
    values
}

/// Columns over all batches of a result.
fn whole(batches: Vec<RecordBatch>) -> Result<Vec<ArrayRef>, RunError> {
    let Some(first) = batches.first() else {
        return Ok(Vec::new());
    };
    if batches.len() == 1 {
        return Ok(first.columns().to_vec());
    }
    (0..first.num_columns())
        .map(|column| {
            let parts: Vec<&dyn Array> = batches
                .iter()
                .map(|batch| batch.column(column).as_ref())
                .collect();
            concat(&parts)
        })
        .collect::<Result<_, _>>()
        .map_err(|error| RunError::Engine {
            message: error.to_string(),
        })
}

fn one_batch(batch: RecordBatch) -> Box<dyn RecordBatchReader + Send> {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// True if the values of a row may have caused an error. Too little memory is not a fault of a row: other streams may need it now.
fn may_be_of_a_row(error: &AdbcError) -> bool {
    !matches!(error.status, Status::Cancelled | Status::IO)
}

fn engine_error(error: AdbcError) -> RunError {
    match error.status == Status::Cancelled {
        true => RunError::Interrupted,
        false => RunError::Engine {
            message: message_without_place(&error.message),
        },
    }
}
