//! The text of values in our own batches. In these batches, some numbers of dates and timestamps mean infinity
//! ([`timestamp`]).
//!
//! [`Cells`] reads arrays as Arrow defines them, for example from files: there the same numbers are ordinary days and
//! times.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::{DataType, TimeUnit};

use super::{Cells, times};
use crate::timestamp;

/// A value of a batch as text, without quotes; `None` for NULL, and for types that have no text.
pub fn value_text(values: &ArrayRef, row: usize, is_uuid: bool) -> Option<String> {
    if values.is_null(row) {
        return None;
    }
    if let Some(texts) = values.as_string_view_opt() {
        return Some(texts.value(row).to_owned());
    }
    let mut text = Vec::new();
    if !append_time(values, row, &mut text) {
        Cells::of(&values.slice(row, 1), is_uuid)?.append(0, &mut text);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The texts of a column of a batch, if it has an infinity or a time beyond Arrow's range. A reader of the Arrow array
/// would take such a value for another value. `None` if the column has no such value.
pub fn odd_times_as_text(values: &ArrayRef) -> Option<ArrayRef> {
    let is_odd = match values.data_type() {
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            days.iter()
                .flatten()
                .any(|day| day == i32::MIN || day == i32::MAX)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let times = values.as_primitive::<TimestampMicrosecondType>();
            let mut times = times.iter().flatten();
            times.any(|time| !timestamp::is_plain(time))
        }
        _ => false,
    };
    let texts = (0..values.len()).map(|row| value_text(values, row, false));
    is_odd.then(|| Arc::new(StringViewArray::from_iter(texts)) as ArrayRef)
}

/// Appends a date or a timestamp; false if the column has neither.
fn append_time(values: &ArrayRef, row: usize, out: &mut Vec<u8>) -> bool {
    match values.data_type() {
        DataType::Date32 => match values.as_primitive::<Date32Type>().value(row) {
            i32::MAX => out.extend_from_slice(b"infinity"),
            i32::MIN => out.extend_from_slice(b"-infinity"),
            day => times::append_date(day.into(), out),
        },
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let time = values.as_primitive::<TimestampMicrosecondType>().value(row);
            times::append_batch_timestamp(time, zone.is_some(), out);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, Int64Array, TimestampMicrosecondArray};

    use super::*;

    fn texts(values: &ArrayRef) -> Vec<Option<String>> {
        (0..values.len())
            .map(|row| value_text(values, row, false))
            .collect()
    }

    #[test]
    fn infinities_and_the_last_moments_have_their_own_text() {
        let days: ArrayRef = Arc::new(Date32Array::from(vec![
            Some(i32::MIN),
            Some(i32::MAX),
            None,
            Some(0),
        ]));
        let expected = ["-infinity", "infinity", "", "1970-01-01"];
        let expected = expected.map(|text| (!text.is_empty()).then(|| text.to_owned()));
        assert_eq!(texts(&days), expected);
        let as_text = odd_times_as_text(&days).expect("it has infinities");
        assert_eq!(texts(&as_text), expected);

        let times = TimestampMicrosecondArray::from(vec![
            timestamp::MINUS_INFINITY,
            timestamp::INFINITY,
            timestamp::MIN,
            timestamp::MAX,
            i64::MAX,
            i64::MIN,
        ]);
        let times: ArrayRef = Arc::new(times.with_timezone("UTC"));
        let expected = [
            "-infinity",
            "infinity",
            "4714-11-24 00:00:00+00 BC",
            "294276-12-31 23:59:59.999999+00",
            "294247-01-10 04:00:54.775807+00",
            "294247-01-10 04:00:54.775808+00",
        ];
        assert_eq!(texts(&times), expected.map(|text| Some(text.to_owned())));
        assert!(odd_times_as_text(&times).is_some());
    }

    #[test]
    fn other_columns_stay_as_they_are() {
        let plain: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), None]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN]));
        assert!(odd_times_as_text(&plain).is_none());
        assert!(odd_times_as_text(&numbers).is_none());
    }
}
