//! Dates, times of day and timestamps, in any unit whose values are whole microseconds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::calendar::{DAY_MICROSECONDS, DAYS_MAX, DAYS_MIN};
use inrush_rows::timestamp;

use super::numbers::of;

pub(super) fn date(values: &ArrayRef) -> Option<ArrayRef> {
    if *values.data_type() != DataType::Date32 {
        return None;
    }
    let days = values.as_primitive::<Date32Type>().values();
    let is_date = |day: i32| (DAYS_MIN..=DAYS_MAX).contains(&day.into());
    let fits = days.iter().fold(true, |fits, day| fits & is_date(*day));
    fits.then(|| values.clone())
}

pub(super) fn time(values: &ArrayRef, digits_kept: u8) -> Option<ArrayRef> {
    // Only the text expresses the end of a day (24:00:00).
    let range = (0, DAY_MICROSECONDS - 1);
    let made = match values.data_type() {
        DataType::Time32(TimeUnit::Second) => {
            finer::<Time32SecondType>(values, 1_000_000, range, digits_kept)?
        }
        DataType::Time32(_) => finer::<Time32MillisecondType>(values, 1_000, range, digits_kept)?,
        DataType::Time64(TimeUnit::Microsecond) => {
            finer::<Time64MicrosecondType>(values, 1, range, digits_kept)?
        }
        DataType::Time64(_) => coarser::<Time64NanosecondType>(values, range, digits_kept)?,
        _ => return None,
    };
    Some(of::<Time64MicrosecondType>(made, values))
}

pub(super) fn timestamp(values: &ArrayRef, has_zone: bool, digits_kept: u8) -> Option<ArrayRef> {
    let DataType::Timestamp(unit, zone) = values.data_type() else {
        return None;
    };
    if zone.is_some() != has_zone {
        return None;
    }
    // PostgreSQL's timestamps beyond this are not plain numbers in a batch.
    let range = (timestamp::MIN, i64::MAX);
    let made = match unit {
        TimeUnit::Second => finer::<TimestampSecondType>(values, 1_000_000, range, digits_kept)?,
        TimeUnit::Millisecond => {
            finer::<TimestampMillisecondType>(values, 1_000, range, digits_kept)?
        }
        TimeUnit::Microsecond => finer::<TimestampMicrosecondType>(values, 1, range, digits_kept)?,
        TimeUnit::Nanosecond => coarser::<TimestampNanosecondType>(values, range, digits_kept)?,
    };
    let nulls = values.nulls().cloned();
    let array = PrimitiveArray::<TimestampMicrosecondType>::new(made.into(), nulls);
    Some(match has_zone {
        true => Arc::new(array.with_timezone("UTC")),
        false => Arc::new(array),
    })
}

/// Values that count units of `factor` microseconds.
fn finer<S>(
    values: &ArrayRef,
    factor: i64,
    (least, most): (i64, i64),
    digits_kept: u8,
) -> Option<Vec<i64>>
where
    S: ArrowPrimitiveType,
    S::Native: Into<i64>,
{
    // The smallest value is a whole number of seconds.
    let (least, most) = (least / factor, most / factor);
    let mut fits = true;
    let counts = values.as_primitive::<S>().values();
    let made = counts.iter().map(|count| {
        let count: i64 = (*count).into();
        fits &= least <= count && count <= most;
        count.wrapping_mul(factor)
    });
    let made: Vec<i64> = made.collect();
    (fits && are_kept(&made, digits_kept)).then_some(made)
}

/// Values that count nanoseconds.
fn coarser<S>(values: &ArrayRef, (least, most): (i64, i64), digits_kept: u8) -> Option<Vec<i64>>
where
    S: ArrowPrimitiveType<Native = i64>,
{
    let mut fits = true;
    let counts = values.as_primitive::<S>().values();
    let made = counts.iter().map(|count| {
        let microseconds = *count / 1_000;
        fits &= microseconds * 1_000 == *count && least <= microseconds && microseconds <= most;
        microseconds
    });
    let made: Vec<i64> = made.collect();
    (fits && are_kept(&made, digits_kept)).then_some(made)
}

/// True if no value has more than `digits_kept` digits after the point of its second.
fn are_kept(values: &[i64], digits_kept: u8) -> bool {
    let Some(step) = 6_u32
        .checked_sub(digits_kept.into())
        .map(|lost| 10_i64.pow(lost))
    else {
        return true;
    };
    step == 1 || values.iter().all(|value| value % step == 0)
}
