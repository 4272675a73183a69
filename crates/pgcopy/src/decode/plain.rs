//! Turns values that Arrow itself cannot express into text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::timestamp;

use crate::text::date_time;

/// A decoded column for readers of plain Arrow. It is unchanged, except for dates and timestamps with an infinity, or
/// with a time that Arrow cannot count: then all values of the column become text that PostgreSQL can read.
pub fn plain_or_text(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            let is_plain = |day: &i32| *day != i32::MIN && *day != i32::MAX;
            if days.values().iter().all(is_plain) {
                return array.clone();
            }
            let text = |day| text_of(|out| date_time::append_date(day, out));
            Arc::new(StringViewArray::from_iter(
                days.iter().map(|day| day.map(text)),
            ))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let moments = array.as_primitive::<TimestampMicrosecondType>();
            if moments
                .values()
                .iter()
                .all(|moment| timestamp::is_plain(*moment))
            {
                return array.clone();
            }
            let offset = if zone.is_some() { "+00" } else { "" };
            let text = |moment| text_of(|out| date_time::append_timestamp(moment, offset, out));
            let texts = moments.iter().map(|moment| moment.map(text));
            Arc::new(StringViewArray::from_iter(texts))
        }
        _ => array.clone(),
    }
}

/// The text of a value that is in the range of its type, as the decoder has made sure.
fn text_of<E: std::fmt::Debug>(append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> String {
    let mut out = Vec::new();
    append(&mut out).expect("decoded values are in the range of their type");
    String::from_utf8(out).expect("digits and signs")
}
