//! Tests of single values for the planner, and of columns that cannot be converted at all.

use inrush_rows::column_policy::ValueSource;
use inrush_rows::reject::RejectCode;

use super::*;
use crate::{ConvertError, KeyValue, convert_one};

#[test]
fn keys() {
    let value = |column_type, text| convert_one(&column("k", 0, column_type), text);
    assert_eq!(value(ColumnType::Int16, "7"), Ok(KeyValue::Integer(7)));
    assert_eq!(value(ColumnType::Int64, " 7 "), Ok(KeyValue::Integer(7)));
    assert_eq!(value(ColumnType::Date, "1970-01-02"), Ok(KeyValue::Date(1)));
    assert_eq!(
        value(
            ColumnType::Timestamp { fraction_digits: 6 },
            "1970-01-01 00:00:01"
        ),
        Ok(KeyValue::Timestamp(1_000_000))
    );
    assert_eq!(
        value(
            ColumnType::TimestampTz { fraction_digits: 6 },
            "1970-01-01 00:00:01Z"
        ),
        Ok(KeyValue::Timestamp(1_000_000))
    );
    assert_eq!(value(text(5), "abc"), Ok(KeyValue::Text("abc".to_owned())));
    let code = |column_type, text| value(column_type, text).map_err(|error| error.code);
    assert_eq!(
        code(ColumnType::Int16, "70000"),
        Err(RejectCode::OutOfRange)
    );
    assert_eq!(code(text(2), "abc"), Err(RejectCode::TooLong));
    assert_eq!(code(ColumnType::Uuid, "abc"), Err(RejectCode::Syntax));
}

fn refused(change: impl FnOnce(&mut Column), column_type: ColumnType) -> ConvertError {
    let mut column = column("c", 0, column_type);
    change(&mut column);
    match Converter::new(&[column], &csv(), 1) {
        Err(error) => error,
        Ok(_) => panic!("the column cannot be converted"),
    }
}

#[test]
fn columns_that_cannot_be_converted() {
    let error = refused(
        |column| column.source = ValueSource::Field(1),
        ColumnType::Int32,
    );
    assert_eq!(
        error.to_string(),
        "column \"c\" takes field 2, but a record has 1; list the file's fields in their order \
         in `columns`"
    );
    let zone = |column: &mut Column| column.zone = Some("Europe/Wien".to_owned());
    let error = refused(zone, ColumnType::TimestampTz { fraction_digits: 6 });
    assert!(matches!(error, ConvertError::ZoneUnknown { .. }), "{error}");
    let error = refused(zone, ColumnType::Timestamp { fraction_digits: 6 });
    assert!(matches!(error, ConvertError::ZoneNotUsed { .. }), "{error}");
    let format = |column: &mut Column| column.formats = vec!["%Y".to_owned()];
    let error = refused(format, ColumnType::Int32);
    assert!(
        matches!(error, ConvertError::FormatNotUsed { .. }),
        "{error}"
    );
    let error = refused(format, ColumnType::Date);
    assert!(
        matches!(error, ConvertError::FormatInvalid { .. }),
        "{error}"
    );
    let error = refused(
        |_| (),
        ColumnType::Decimal {
            precision: 39,
            scale: 0,
        },
    );
    assert!(matches!(error, ConvertError::TypeInvalid { .. }), "{error}");
}

#[test]
#[should_panic(expected = "the bounds of a key have the type of its column")]
fn bounds_of_another_type() {
    let columns = [column("k", 0, ColumnType::Int64)];
    let _ = Converter::new(&columns, &csv(), 1)
        .expect("a converter")
        .with_key_bounds(crate::KeyBounds {
            column_index: 0,
            lower: Some(KeyValue::Date(0)),
            upper: None,
            describe: String::new(),
        });
}
