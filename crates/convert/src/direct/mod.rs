//! Converts the values of a file of typed rows to values of the target's column, without making text of them.
//!
//! This is a quick path like those of the kernels. It converts a column of a batch if the target's type is the same or
//! covers the range of the column's type, and if each value of the batch fits (a text with a NUL byte does not). It
//! never accepts a value whose text would be rejected, and never changes one. If any value of the batch does not fit,
//! it converts nothing: the column is then made from the values' text ([`typed_rows`](super::typed_rows)), and that path
//! also writes the reasons of the rejects. Tests compare the two paths.

mod bytes;
mod numbers;
mod texts;
mod times;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::column_converter::ColumnConverter;

/// The converted column; `None` if it must be made from the values' text.
pub(super) fn array(
    values: &ArrayRef,
    is_uuid: bool,
    converter: &ColumnConverter,
) -> Option<ArrayRef> {
    match converter {
        ColumnConverter::Bool(_) => {
            (*values.data_type() == DataType::Boolean).then(|| values.clone())
        }
        ColumnConverter::Int16(_) => numbers::int16(values),
        ColumnConverter::Int32(_) => numbers::int32(values),
        ColumnConverter::Int64(_) => numbers::int64(values),
        ColumnConverter::Float32(_) => numbers::float32(values),
        ColumnConverter::Float64(_) => numbers::float64(values),
        ColumnConverter::Decimal(kernel) => {
            numbers::decimal(values, kernel.precision, kernel.scale)
        }
        ColumnConverter::Text(kernel) => texts::array(values, kernel),
        ColumnConverter::Date(kernel) if !kernel.has_formats() => times::date(values),
        ColumnConverter::Time(kernel) => times::time(values, kernel.digits_kept()?),
        ColumnConverter::Timestamp(kernel) => {
            times::timestamp(values, false, kernel.digits_kept()?)
        }
        ColumnConverter::TimestampTz(kernel) => {
            times::timestamp(values, true, kernel.digits_kept()?)
        }
        ColumnConverter::Uuid(_) => is_uuid.then(|| values.clone()),
        ColumnConverter::Binary if !is_uuid => bytes::array(values),
        _ => None,
    }
}
