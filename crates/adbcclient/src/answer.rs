//! Small query results as text: numbers and names, whatever Arrow type a driver uses for them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader, UnionArray};
use arrow_schema::{ArrowError, DataType};

/// All rows of a result.
pub fn rows(
    reader: Box<dyn RecordBatchReader + Send>,
) -> Result<Vec<Vec<Option<String>>>, ArrowError> {
    let mut rows = Vec::new();
    for batch in reader {
        add_rows(&batch?, &mut rows)?;
    }
    Ok(rows)
}

/// Adds the rows of a batch.
pub fn add_rows(
    batch: &RecordBatch,
    rows: &mut Vec<Vec<Option<String>>>,
) -> Result<(), ArrowError> {
    for row in 0..batch.num_rows() {
        let values = batch.columns().iter().map(|column| cell(column, row));
        rows.push(values.collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// One value as text; `None` for NULL.
pub fn cell(array: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    if array.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match array.data_type() {
        DataType::Null => return Ok(None),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Union(_, _) => {
            let union: &UnionArray = array.as_any().downcast_ref().ok_or_else(|| odd(array))?;
            return cell(&union.value(row), 0);
        }
        _ => return Err(odd(array)),
    }))
}

fn odd(array: &dyn Array) -> ArrowError {
    ArrowError::NotYetImplemented(format!(
        "an answer with values of the type {}",
        array.data_type()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal128Array, Int64Array, StringViewArray};

    #[test]
    fn values_are_read_as_text() {
        let decimal = Decimal128Array::from(vec![42])
            .with_precision_and_scale(38, 0)
            .expect("a valid precision");
        let integers = Int64Array::from(vec![Some(-1), None]);
        assert_eq!(cell(&decimal, 0).expect("read"), Some("42".to_owned()));
        assert_eq!(cell(&integers, 0).expect("read"), Some("-1".to_owned()));
        assert_eq!(cell(&integers, 1).expect("read"), None);
        let text = StringViewArray::from(vec!["ä"]);
        assert_eq!(cell(&text, 0).expect("read"), Some("ä".to_owned()));
    }
}
