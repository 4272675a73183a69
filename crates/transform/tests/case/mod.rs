//! An evaluator for tests, and rows to pass through steps.

#![allow(dead_code, reason = "each test program uses its own part of it")]

#[path = "../../../sources/adbc/tests/case/drivers.rs"]
mod drivers;

use std::sync::{Arc, OnceLock};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, RecordBatch, StringViewArray,
};
use arrow_schema::{Field, Schema};
use inrush_adbcclient::driver_library;
use inrush_adbcclient::duckdb::functions;
use inrush_rows::column_type::ColumnType;
use inrush_transform::error::StepError;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::outcome::Stepped;
use inrush_transform::plan::Steps;
use inrush_transform::planned::Planned;
use inrush_transform::runner::StepRunner;
use inrush_transform::spec::{Derivation, InputColumn, Otherwise, StepSpec};

/// The evaluator that all tests of a program share, as all streams of a run do; `None` where DuckDB's wheel cannot be
/// loaded.
pub fn evaluator() -> Option<&'static Evaluator> {
    static EVALUATOR: OnceLock<Option<Evaluator>> = OnceLock::new();
    let open = || {
        if !drivers::has_duckdb() {
            return None;
        }
        let site = drivers::site_packages()?;
        let library = driver_library::duckdb_library(None, Some(&site)).expect("a library");
        let functions = functions::load(&library).expect("it is loaded");
        Some(Evaluator::open(functions).expect("DuckDB in memory"))
    };
    EVALUATOR.get_or_init(open).as_ref()
}

/// The columns of [`rows`].
pub fn columns() -> Vec<InputColumn> {
    let text = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };
    let decimal = ColumnType::Decimal {
        precision: 15,
        scale: 2,
    };
    [
        ("id", ColumnType::Int32),
        ("price", decimal),
        ("word", text),
        ("day", ColumnType::Date),
        ("flag", ColumnType::Bool),
        ("exact", ColumnType::DecimalText { limit: None }),
    ]
    .map(|(name, column_type)| InputColumn {
        name: name.to_owned(),
        column_type,
    })
    .to_vec()
}

/// The text of a row's `word`: a number in most rows, and another text in a few.
pub fn word(row: usize) -> Option<String> {
    match row % 7 {
        3 => None,
        5 if row.is_multiple_of(3) => Some(format!("w{row}")),
        _ => Some(row.to_string()),
    }
}

/// Rows from `first` on: `id` is the row's number, `price` its number of hundredths, `flag` whether it is even.
pub fn rows(first: usize, count: usize) -> RecordBatch {
    let numbers = first..first + count;
    let ids = numbers.clone().map(|row| row as i32);
    let price = numbers.clone().map(|row| row as i128);
    let price: Decimal128Array = price.collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(ids.clone())),
        Arc::new(price.with_precision_and_scale(15, 2).expect("it fits")),
        Arc::new(StringViewArray::from_iter(numbers.clone().map(word))),
        Arc::new(Date32Array::from_iter_values(ids)),
        Arc::new(BooleanArray::from_iter(
            numbers
                .clone()
                .map(|row| (row % 11 != 4).then_some(row.is_multiple_of(2))),
        )),
        Arc::new(StringViewArray::from_iter(
            numbers.map(|row| Some(format!("{row}.5"))),
        )),
    ];
    let fields: Vec<Field> = columns()
        .iter()
        .map(|column| Field::new(&column.name, column.column_type.arrow(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

/// A step that derives columns.
pub fn derive(columns: &[(&str, &str)]) -> StepSpec {
    let columns = columns.iter().map(|(name, expression)| Derivation {
        name: (*name).to_owned(),
        expression: (*expression).to_owned(),
    });
    StepSpec::Derive(columns.collect())
}

/// A step that keeps rows.
pub fn keep(condition: &str) -> StepSpec {
    StepSpec::Where {
        condition: condition.to_owned(),
    }
}

/// A step that checks rows.
pub fn check(condition: &str, otherwise: Otherwise) -> StepSpec {
    StepSpec::Check {
        name: None,
        condition: condition.to_owned(),
        otherwise,
    }
}

/// The plan of steps over [`columns`].
pub fn plan(evaluator: &Evaluator, specs: &[StepSpec]) -> Result<Planned, Vec<StepError>> {
    let steps = Steps::new(evaluator).expect("a connection");
    steps.plan(&columns(), specs)
}

/// Passes rows through steps that can be planned.
pub fn run(evaluator: &Evaluator, specs: &[StepSpec], batch: &RecordBatch) -> Stepped {
    let planned = Arc::new(plan(evaluator, specs).expect("steps that can be planned"));
    let runner = StepRunner::new(evaluator, &planned).expect("a runner");
    runner.run(batch, false).expect("a result")
}
