//! Converts batches into the types that a driver accepts.
//!
//! Most columns stay as they are. They are only searched for the few numbers that have another meaning in the database.
//! Values that the database cannot hold are misfits, and their rows are left out.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type, Int32Type,
    Int64Type, IntervalMonthDayNano, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, IntervalMonthDayNanoArray, PrimitiveArray, RecordBatch,
    StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use inrush_destination::{Adapted, ColumnPlan, Misfit, calendar_text, json_text};
use inrush_rows::timestamp;

use crate::carry::ColumnCarriage;

/// Converts the batches of one target.
pub struct Adapter {
    ways: Vec<ColumnCarriage>,
    schema: SchemaRef,
    product: &'static str,
}

/// The first misfit of each row.
type Misfits = BTreeMap<usize, Misfit>;

impl Adapter {
    /// An adapter for columns in these forms. `product` names the database in the reasons of misfits.
    pub fn new(
        columns: &[ColumnPlan],
        ways: Vec<ColumnCarriage>,
        product: &'static str,
    ) -> Adapter {
        let fields: Vec<Field> = columns
            .iter()
            .zip(&ways)
            .map(|(column, way)| field(&column.name, &column.column_type.arrow(), *way))
            .collect();
        Adapter {
            ways,
            schema: Arc::new(Schema::new(fields)),
            product,
        }
    }

    /// The schema of converted batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Converts a batch.
    pub fn adapt(&self, batch: &RecordBatch) -> Result<Adapted, ArrowError> {
        let mut misfits = Misfits::new();
        let mut columns = Vec::with_capacity(self.ways.len());
        for (place, (column, way)) in batch.columns().iter().zip(&self.ways).enumerate() {
            let mut miss = |row: usize, reason: String| {
                misfits.entry(row).or_insert(Misfit {
                    row,
                    column: place,
                    reason,
                });
            };
            columns.push(self.column(column, *way, &mut miss)?);
        }
        let adapted = RecordBatch::try_new(self.schema.clone(), columns)?;
        if misfits.is_empty() {
            return Ok(Adapted {
                batch: adapted,
                misfits: Vec::new(),
            });
        }
        let fits: BooleanArray = (0..adapted.num_rows())
            .map(|row| Some(!misfits.contains_key(&row)))
            .collect();
        Ok(Adapted {
            batch: filter_record_batch(&adapted, &fits)?,
            misfits: misfits.into_values().collect(),
        })
    }

    fn column(
        &self,
        column: &ArrayRef,
        way: ColumnCarriage,
        miss: &mut dyn FnMut(usize, String),
    ) -> Result<ArrayRef, ArrowError> {
        Ok(match way {
            ColumnCarriage::AsIs | ColumnCarriage::TaggedUuid => column.clone(),
            ColumnCarriage::Days { infinities } => self.days(column, infinities, miss),
            ColumnCarriage::Microseconds { infinities } => {
                self.microseconds(column, infinities, miss)
            }
            ColumnCarriage::MonthDayNano => self.month_day_nano(column, miss),
            ColumnCarriage::NumbersOnly => self.numbers_only(column, miss),
            ColumnCarriage::NarrowDecimal => narrow_decimal(column),
            ColumnCarriage::Text => text(column)?,
            ColumnCarriage::Json => {
                self.check_json(column, true, miss);
                column.clone()
            }
            ColumnCarriage::JsonbText => {
                self.check_json(column, false, miss);
                text(column)?
            }
        })
    }

    /// If the database represents the infinities by two numbers, it cannot hold the dates that have these numbers.
    fn days(
        &self,
        column: &ArrayRef,
        infinities: Option<(i32, i32)>,
        miss: &mut dyn FnMut(usize, String),
    ) -> ArrayRef {
        let days = column.as_primitive::<Date32Type>();
        let (low, high) = infinities.unwrap_or((i32::MIN, i32::MAX));
        let is_plain = |day: i32| day > low && day < high && day > i32::MIN && day < i32::MAX;
        if days.values().iter().all(|day| is_plain(*day)) {
            return column.clone();
        }
        for row in (0..days.len()).filter(|row| days.is_valid(*row)) {
            let day = days.value(row);
            let is_infinite = day == i32::MIN || day == i32::MAX;
            if !is_plain(day) && (infinities.is_none() || !is_infinite) {
                miss(row, self.no_counterpart(is_infinite, infinities.is_some()));
            }
        }
        Arc::new(days.unary::<_, Date32Type>(|day| match day {
            i32::MIN => low,
            i32::MAX => high,
            day => day,
        }))
    }

    fn microseconds(
        &self,
        column: &ArrayRef,
        infinities: Option<(i64, i64)>,
        miss: &mut dyn FnMut(usize, String),
    ) -> ArrayRef {
        let numbers = column.as_primitive::<TimestampMicrosecondType>();
        // The smallest timestamp is far above the number of DuckDB's -infinity.
        let is_plain = |number: i64| timestamp::is_plain(number) && number != i64::MAX;
        if numbers.values().iter().all(|number| is_plain(*number)) {
            return column.clone();
        }
        for row in (0..numbers.len()).filter(|row| numbers.is_valid(*row)) {
            let number = numbers.value(row);
            let is_infinite = matches!(number, timestamp::INFINITY | timestamp::MINUS_INFINITY);
            // Without infinities, the last microsecond of 64 bits is an ordinary timestamp.
            let fits = is_plain(number) || (number == i64::MAX && infinities.is_none());
            if !fits && (infinities.is_none() || !is_infinite) {
                miss(row, self.no_counterpart(is_infinite, infinities.is_some()));
            }
        }
        let (low, high) = infinities.unwrap_or((0, 0));
        let mapped: PrimitiveArray<TimestampMicrosecondType> =
            numbers.unary(|number| match number {
                timestamp::INFINITY => high,
                timestamp::MINUS_INFINITY => low,
                number => number,
            });
        Arc::new(mapped.with_data_type(column.data_type().clone()))
    }

    /// The reason for a misfit. The driver takes every value of a database with infinities, so the value is outside the
    /// database's range; otherwise the driver is the limit.
    fn no_counterpart(&self, is_infinite: bool, has_infinities: bool) -> String {
        let product = self.product;
        match (is_infinite, has_infinities) {
            (_, true) => {
                format!("is outside the range of {product}: fix it, or load it as text")
            }
            (true, false) => format!(
                "is refused by the driver of {product}: make it NULL with a null marker, use a far \
                 date, or load it as text"
            ),
            (false, false) => format!(
                "is outside the range of the driver of {product}: fix it, or load it as text"
            ),
        }
    }

    fn month_day_nano(&self, column: &ArrayRef, miss: &mut dyn FnMut(usize, String)) -> ArrayRef {
        let interval: &StructArray = column.as_struct();
        let months = interval.column(0).as_primitive::<Int32Type>();
        let days = interval.column(1).as_primitive::<Int32Type>();
        let microseconds = interval.column(2).as_primitive::<Int64Type>();
        let values = (0..interval.len()).map(|row| {
            if interval.is_null(row) {
                return None;
            }
            let nanoseconds = microseconds.value(row).checked_mul(1_000).unwrap_or_else(|| {
                miss(
                    row,
                    format!(
                        "has a time of more than 292 years, which the driver of {} refuses: write \
                         it in months and days",
                        self.product
                    ),
                );
                0
            });
            Some(IntervalMonthDayNano::new(
                months.value(row),
                days.value(row),
                nanoseconds,
            ))
        });
        Arc::new(values.collect::<IntervalMonthDayNanoArray>())
    }

    /// A JSON escape that is not a valid character makes the whole statement fail, with an error that names no row.
    fn check_json(&self, column: &ArrayRef, takes_nul: bool, miss: &mut dyn FnMut(usize, String)) {
        let documents = column.as_string_view();
        for (row, document) in documents.iter().enumerate() {
            let bad = document.and_then(|document| json_text::bad_escape(document, takes_nul));
            if let Some(bad) = bad {
                miss(row, bad.reason(self.product));
            }
        }
    }

    fn numbers_only(&self, column: &ArrayRef, miss: &mut dyn FnMut(usize, String)) -> ArrayRef {
        let product = self.product;
        let mut check = |row: usize, value: f64| {
            if column.is_null(row) {
                return;
            }
            if value.is_nan() {
                miss(
                    row,
                    format!(
                        "cannot be stored by {product}, which would make it NULL: make it NULL \
                         with a null marker, or load it as text"
                    ),
                );
            } else if value == 0.0 && value.is_sign_negative() {
                miss(
                    row,
                    format!(
                        "is the negative zero, which {product} would store as 0: fix it, or load it as text"
                    ),
                );
            }
        };
        match column.data_type() {
            DataType::Float32 => {
                let values = column.as_primitive::<Float32Type>().values();
                let values = values.iter().map(|value| f64::from(*value)).enumerate();
                values.for_each(|(row, value)| check(row, value));
            }
            _ => {
                let values = column.as_primitive::<Float64Type>().values();
                let values = values.iter().copied().enumerate();
                values.for_each(|(row, value)| check(row, value));
            }
        }
        column.clone()
    }
}

/// The field of a converted column.
fn field(name: &str, from: &DataType, way: ColumnCarriage) -> Field {
    match way {
        ColumnCarriage::TaggedUuid => Field::new(name, from.clone(), true).with_metadata(
            HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]),
        ),
        ColumnCarriage::MonthDayNano => {
            Field::new(name, DataType::Interval(IntervalUnit::MonthDayNano), true)
        }
        ColumnCarriage::Text | ColumnCarriage::JsonbText => Field::new(name, DataType::Utf8, true),
        ColumnCarriage::NarrowDecimal => Field::new(name, narrow(from), true),
        ColumnCarriage::AsIs
        | ColumnCarriage::Days { .. }
        | ColumnCarriage::Microseconds { .. }
        | ColumnCarriage::NumbersOnly
        | ColumnCarriage::Json => Field::new(name, from.clone(), true),
    }
}

/// The narrowest type that holds all decimals of a type.
fn narrow(from: &DataType) -> DataType {
    match *from {
        DataType::Decimal128(precision @ ..=9, scale) => DataType::Decimal32(precision, scale),
        DataType::Decimal128(precision @ ..=18, scale) => DataType::Decimal64(precision, scale),
        _ => from.clone(),
    }
}

/// Decimals in their narrowest type. DuckDB takes decimals of 64 bits unchanged, but checks each decimal of 128 bits.
fn narrow_decimal(column: &ArrayRef) -> ArrayRef {
    let wide = column.as_primitive::<Decimal128Type>();
    let to = narrow(column.data_type());
    // Only values in the slots of NULLs may be too large, because the precision limits all other values.
    match to {
        DataType::Decimal32(..) => {
            let made = wide.unary::<_, Decimal32Type>(|value| value as i32);
            Arc::new(made.with_data_type(to))
        }
        DataType::Decimal64(..) => {
            let made = wide.unary::<_, Decimal64Type>(|value| value as i64);
            Arc::new(made.with_data_type(to))
        }
        _ => column.clone(),
    }
}

/// Values as texts that express them exactly.
fn text(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let mut texts = StringBuilder::with_capacity(column.len(), column.len() * 16);
    let rows = 0..column.len();
    macro_rules! each {
        ($array:expr, $row:ident => $write:expr) => {
            for $row in rows {
                match $array.is_null($row) {
                    true => texts.append_null(),
                    false => {
                        $write;
                        texts.append_value("");
                    }
                }
            }
        };
    }
    // Writing into a `String` cannot fail.
    match column.data_type() {
        DataType::Utf8View => {
            let array = column.as_string_view();
            each!(array, row => texts.write_str(array.value(row)).unwrap_or_default());
        }
        DataType::Boolean => {
            let array = column.as_boolean();
            each!(array, row => texts.write_str(if array.value(row) { "true" } else { "false" }).unwrap_or_default());
        }
        DataType::Float32 => {
            let array = column.as_primitive::<Float32Type>();
            each!(array, row => write!(texts, "{}", array.value(row)).unwrap_or_default());
        }
        DataType::Decimal128(_, _) => {
            let array = column.as_primitive::<Decimal128Type>();
            each!(array, row => texts.write_str(&array.value_as_string(row)).unwrap_or_default());
        }
        DataType::Date32 => {
            let array = column.as_primitive::<Date32Type>();
            each!(array, row => texts.write_str(&calendar_text::date(array.value(row))).unwrap_or_default());
        }
        DataType::Time64(_) => {
            let array = column.as_primitive::<Time64MicrosecondType>();
            each!(array, row => texts.write_str(&calendar_text::time(array.value(row))).unwrap_or_default());
        }
        DataType::Timestamp(_, zone) => {
            let zone = if zone.is_some() { "+00:00" } else { "" };
            let array = column.as_primitive::<TimestampMicrosecondType>();
            each!(array, row => texts.write_str(&calendar_text::timestamp(array.value(row), zone)).unwrap_or_default());
        }
        DataType::FixedSizeBinary(_) => {
            let array = column.as_fixed_size_binary();
            each!(array, row => texts.write_str(&calendar_text::uuid(array.value(row))).unwrap_or_default());
        }
        DataType::Struct(_) => {
            let array = column.as_struct();
            let months = array.column(0).as_primitive::<Int32Type>();
            let days = array.column(1).as_primitive::<Int32Type>();
            let microseconds = array.column(2).as_primitive::<Int64Type>();
            each!(array, row => {
                let text = calendar_text::interval(months.value(row), days.value(row), microseconds.value(row));
                texts.write_str(&text).unwrap_or_default()
            });
        }
        other => {
            return Err(ArrowError::NotYetImplemented(format!("{other} as text")));
        }
    }
    Ok(Arc::new(texts.finish()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
        StringViewArray, TimestampMicrosecondArray,
    };
    use inrush_rows::column_type::{ColumnType, interval_fields};
    use inrush_rows::timestamp::{INFINITY, MAX, MIN, MINUS_INFINITY};

    use super::*;
    use crate::carry::carried;
    use crate::quirks::Vendor;
    use crate::types;

    fn adapted(vendor: Vendor, column_type: ColumnType, values: ArrayRef) -> Adapted {
        let way = carried(vendor, &column_type).expect("a way").way;
        let column = ColumnPlan {
            name: "a".to_owned(),
            sql: String::new(),
            column_type,
            nullable: true,
        };
        let batch = RecordBatch::try_from_iter_with_nullable([("a", values, true)]).expect("one");
        let adapter = Adapter::new(&[column], vec![way], "X");
        adapter.adapt(&batch).expect("adapted")
    }

    fn places(adapted: &Adapted) -> Vec<usize> {
        adapted.misfits.iter().map(|misfit| misfit.row).collect()
    }

    const TIMESTAMP: ColumnType = ColumnType::Timestamp { fraction_digits: 6 };

    #[test]
    fn infinities_get_the_numbers_of_duckdb() {
        let numbers = [
            Some(MIN),
            Some(INFINITY),
            None,
            Some(MAX),
            Some(i64::MAX),
            Some(MINUS_INFINITY),
        ];
        let values = Arc::new(TimestampMicrosecondArray::from(numbers.to_vec()));
        let result = adapted(Vendor::DuckDb, TIMESTAMP, values);
        assert_eq!(places(&result), [3, 4]);
        let kept =
            TimestampMicrosecondArray::from(vec![Some(MIN), Some(i64::MAX), None, Some(-i64::MAX)]);
        assert_eq!(result.batch.column(0).as_ref(), &kept as &dyn Array);

        let days = [
            Some(0),
            Some(i32::MIN),
            None,
            Some(-i32::MAX),
            Some(i32::MAX),
        ];
        let values = Arc::new(Date32Array::from(days.to_vec()));
        let result = adapted(Vendor::DuckDb, ColumnType::Date, values);
        assert_eq!(places(&result), [3]);
        let kept = Date32Array::from(vec![Some(0), Some(-i32::MAX), None, Some(i32::MAX)]);
        assert_eq!(result.batch.column(0).as_ref(), &kept as &dyn Array);
    }

    #[test]
    fn a_driver_without_infinities_takes_none() {
        let numbers = vec![INFINITY, MINUS_INFINITY, MAX, i64::MAX, 0];
        let values = Arc::new(TimestampMicrosecondArray::from(numbers));
        assert_eq!(
            places(&adapted(Vendor::Postgres, TIMESTAMP, values)),
            [0, 1, 2]
        );
        let values = Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX, 0]));
        assert_eq!(
            places(&adapted(Vendor::Postgres, ColumnType::Date, values)),
            [0, 1]
        );
    }

    #[test]
    fn intervals_past_292_years_are_misfits() {
        let parts: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![1, 2])),
            Arc::new(Int32Array::from(vec![3, 4])),
            Arc::new(Int64Array::from(vec![5, i64::MAX])),
        ];
        let values = Arc::new(StructArray::new(interval_fields(), parts, None));
        let column_type = ColumnType::Interval {
            fraction_digits: 6,
            has_infinity: false,
        };
        let result = adapted(Vendor::DuckDb, column_type, values);
        assert_eq!(places(&result), [1]);
        let kept = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 3, 5_000)]);
        assert_eq!(result.batch.column(0).as_ref(), &kept as &dyn Array);
    }

    #[test]
    fn json_that_a_database_refuses_is_a_misfit() {
        let documents = [
            Some(r#""\ud800""#),
            None,
            Some(r#"["\ud83d\ude00", "\\ud800"]"#),
            Some(r#"{"a": "\u0000"}"#),
            Some(r#"{"\udc00": 1}"#),
        ];
        for (vendor, sql, expected) in [
            (Vendor::DuckDb, "JSON", &[0, 4][..]),
            (Vendor::Postgres, "jsonb", &[0, 3, 4]),
            (Vendor::Postgres, "json", &[]),
            (Vendor::Sqlite, "JSON_TEXT", &[]),
        ] {
            let values = Arc::new(StringViewArray::from(documents.to_vec()));
            let column_type = types::of_column(vendor, sql).expect("a type of this database");
            let result = adapted(vendor, column_type, values);
            assert_eq!(places(&result), expected, "{sql}");
            assert_eq!(result.batch.num_rows(), 5 - expected.len(), "{sql}");
        }
        let values = Arc::new(StringViewArray::from(documents.to_vec()));
        let result = adapted(Vendor::DuckDb, ColumnType::Json, values);
        let reason = &result.misfits[0].reason;
        assert!(
            reason.contains("\\ud800 after 1 bytes") && reason.contains("\\ufffd"),
            "{reason}"
        );
    }

    #[test]
    fn sqlite_gets_text_and_no_nan() {
        let values = Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None]));
        let result = adapted(Vendor::Sqlite, ColumnType::Float64, values);
        assert_eq!(places(&result), [1]);
        assert_eq!(result.batch.num_rows(), 2);
        let values = Decimal128Array::from(vec![Some(-5), None, Some(12_345)]);
        let values = Arc::new(values.with_precision_and_scale(9, 2).expect("a precision"));
        let column_type = ColumnType::Decimal {
            precision: 9,
            scale: 2,
        };
        let result = adapted(Vendor::Sqlite, column_type, values);
        let kept = StringArray::from(vec![Some("-0.05"), None, Some("123.45")]);
        assert_eq!(result.batch.column(0).as_ref(), &kept as &dyn Array);
    }

    #[test]
    fn duckdb_gets_decimals_as_narrow_as_it_keeps_them() {
        for (precision, values) in [
            (1, vec![Some(-9), None, Some(9)]),
            (9, vec![Some(-999_999_999), None, Some(999_999_999)]),
            (10, vec![Some(-9_999_999_999), None, Some(9_999_999_999)]),
            (
                18,
                vec![Some(1 - 10_i128.pow(18)), Some(10_i128.pow(18) - 1)],
            ),
            (
                19,
                vec![Some(1 - 10_i128.pow(19)), Some(10_i128.pow(19) - 1)],
            ),
            (38, vec![Some(1 - 10_i128.pow(38)), None, Some(7)]),
        ] {
            let wide = Decimal128Array::from(values.clone());
            let wide = wide
                .with_precision_and_scale(precision, 1)
                .expect("a precision");
            let column_type = ColumnType::Decimal {
                precision,
                scale: 1,
            };
            let result = adapted(Vendor::DuckDb, column_type, Arc::new(wide));
            let column = result.batch.column(0);
            let kept: Vec<Option<i128>> = match column.data_type() {
                DataType::Decimal32(9 | 1, 1) => {
                    let narrow = column.as_primitive::<Decimal32Type>();
                    narrow.iter().map(|value| value.map(i128::from)).collect()
                }
                DataType::Decimal64(10 | 18, 1) => {
                    let narrow = column.as_primitive::<Decimal64Type>();
                    narrow.iter().map(|value| value.map(i128::from)).collect()
                }
                DataType::Decimal128(19 | 38, 1) => {
                    column.as_primitive::<Decimal128Type>().iter().collect()
                }
                other => panic!("{other} for {precision} digits"),
            };
            assert_eq!(kept, values);
        }
    }

    #[test]
    fn what_needs_nothing_is_not_copied() {
        let values: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![MIN, 0, i64::MAX - 1]));
        let result = adapted(Vendor::DuckDb, TIMESTAMP, values.clone());
        assert!(Arc::ptr_eq(result.batch.column(0), &values));
    }
}
