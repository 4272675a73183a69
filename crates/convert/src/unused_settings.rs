//! Refuses settings of a column that have no effect, such as `round` for a date, because the package's author expects
//! an effect.

use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::column_policy::{NanPolicy, NegativeForm, OnTruncate, Rounding};

use super::error::ConvertError;

/// Refuses a column with a setting that its type does not use.
pub(super) fn refuse(column: &Column) -> Result<(), ConvertError> {
    refuse_format_and_zone(column)?;
    refuse_policies(column)
}

fn refuse_format_and_zone(column: &Column) -> Result<(), ConvertError> {
    let takes_zone = matches!(
        column.column_type,
        ColumnType::TimestampTz { .. } | ColumnType::Special(SpecialType::TimeTz { .. })
    );
    let takes_format = matches!(
        column.column_type,
        ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::TimestampTz { .. }
    );
    if let Some(format) = column.formats.first()
        && !takes_format
    {
        return Err(ConvertError::FormatNotUsed {
            column: column.name.clone(),
            format: format.clone(),
        });
    }
    if let Some(zone) = &column.zone
        && !takes_zone
    {
        return Err(ConvertError::ZoneNotUsed {
            column: column.name.clone(),
            zone: zone.clone(),
        });
    }
    Ok(())
}

fn refuse_policies(column: &Column) -> Result<(), ConvertError> {
    let policies = &column.policies;
    let column_type = &column.column_type;
    let is_integer = matches!(
        column_type,
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64
    );
    let is_float = matches!(column_type, ColumnType::Float32 | ColumnType::Float64);
    let is_decimal = matches!(
        column_type,
        ColumnType::Decimal { .. } | ColumnType::DecimalText { .. }
    );
    let is_number = is_integer || is_float || is_decimal;
    let has_seconds = matches!(
        column_type,
        ColumnType::Time { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::TimestampTz { .. }
            | ColumnType::Special(SpecialType::TimeTz { .. })
    );
    let has_scale = !is_float && *column_type != (ColumnType::DecimalText { limit: None });
    let has_length = matches!(
        column_type,
        ColumnType::Text {
            characters_max: Some(_),
            ..
        }
    );
    let is_array = matches!(column_type, ColumnType::Special(SpecialType::Array { .. }));
    let numbers = &policies.numbers;
    let checks = [
        (
            "trim",
            policies.trim.is_some(),
            !is_array,
            "elements of an array are read without the blanks around them; elements in quotes are read unchanged",
        ),
        (
            "decimal_separator",
            numbers.decimal_separator.is_some(),
            is_number,
            "only numbers take one",
        ),
        (
            "group_separator",
            numbers.group_separator.is_some(),
            is_number,
            "only numbers take one",
        ),
        (
            "negative",
            numbers.negative != NegativeForm::Leading,
            is_number,
            "only numbers take it",
        ),
        (
            "nan",
            policies.nan != NanPolicy::Keep,
            is_number,
            "only numbers take it",
        ),
        (
            "true_words and false_words",
            policies.words.is_some(),
            *column_type == ColumnType::Bool,
            "only booleans take them",
        ),
        (
            "year_pivot",
            policies.year_pivot.is_some(),
            !column.formats.is_empty(),
            "only a `format` with two digits of the year (%y) takes it",
        ),
        (
            "on_truncate",
            policies.on_truncate != OnTruncate::Reject,
            has_length,
            "only texts with a length, such as varchar(10), are ever too long",
        ),
        (
            "round",
            policies.round != Rounding::Reject,
            (is_integer || is_decimal) && has_scale || has_seconds,
            "only integers, numeric with digits, times and timestamps are rounded: floats keep or \
             refuse a number, and dates and intervals never lose a part",
        ),
        (
            "lossless",
            policies.lossless,
            is_number,
            "only numbers lose a part of what is written",
        ),
    ];
    for (setting, is_set, is_used, takes) in checks {
        if is_set && !is_used {
            return Err(ConvertError::PolicyNotUsed {
                column: column.name.clone(),
                setting,
                takes,
            });
        }
    }
    Ok(())
}
