//! Dates and times: PostgreSQL counts from 2000-01-01, Arrow from 1970-01-01.

use crate::error::ValueFault;
use crate::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN, POSTGRES_EPOCH_DAYS, TIME_MICROSECONDS_MAX};
use inrush_rows::timestamp::{self, POSTGRES_MAX, POSTGRES_MIN};

/// Days since 2000-01-01; the infinities are the same numbers in Arrow and in PostgreSQL.
#[inline(always)]
pub(crate) fn postgres_date(days: i32) -> Result<i32, ValueFault> {
    if (DATE_DAYS_MIN..=DATE_DAYS_MAX).contains(&days) {
        return Ok(days - POSTGRES_EPOCH_DAYS);
    }
    infinite_date(days)
}

#[cold]
fn infinite_date(days: i32) -> Result<i32, ValueFault> {
    if days == i32::MIN || days == i32::MAX {
        return Ok(days);
    }
    Err(ValueFault::OutOfRange {
        value: i64::from(days),
        unit: "days since 1970-01-01",
        type_name: "date",
        range: "4714-11-24 BC to 5874897-12-31",
    })
}

/// Microseconds since 2000-01-01; the infinities are the smallest and the largest number of 64 bits.
#[inline(always)]
pub(crate) fn postgres_timestamp(number: i64) -> Result<i64, ValueFault> {
    let microseconds = timestamp::to_postgres(number);
    if (POSTGRES_MIN..=POSTGRES_MAX).contains(&microseconds) {
        return Ok(microseconds);
    }
    infinite_timestamp(microseconds)
}

#[cold]
fn infinite_timestamp(microseconds: i64) -> Result<i64, ValueFault> {
    if microseconds == i64::MIN || microseconds == i64::MAX {
        return Ok(microseconds);
    }
    Err(ValueFault::OutOfRange {
        value: timestamp::from_postgres(microseconds),
        unit: "microseconds since 1970-01-01",
        type_name: "timestamp",
        range: "4714-11-24 00:00:00 BC to 294276-12-31 23:59:59.999999",
    })
}

/// Microseconds since midnight, up to and including 24:00:00.
#[inline(always)]
pub(crate) fn postgres_time(microseconds: i64) -> Result<i64, ValueFault> {
    if (0..=TIME_MICROSECONDS_MAX).contains(&microseconds) {
        return Ok(microseconds);
    }
    Err(time_out_of_range(microseconds))
}

#[cold]
fn time_out_of_range(microseconds: i64) -> ValueFault {
    ValueFault::OutOfRange {
        value: microseconds,
        unit: "microseconds since midnight",
        type_name: "time",
        range: "00:00:00 to 24:00:00",
    }
}
