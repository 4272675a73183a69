//! Derived columns of a type whose values never fit the column of the target. The plan refuses them, because each row would be a
//! reject.

use inrush_rows::column::ColumnType;
use inrush_transform::types::sql_name;

use super::DerivedTarget;
use crate::reading::flow_inputs::TypedField;
use crate::reading::typed_rows;

/// Why no value of a derived column fits its column of the target, and how to fix it; `None` if values may fit. `field` is the
/// derived column as a field of typed rows.
pub fn never_fits(
    derived: &DerivedTarget,
    field: &TypedField,
    target: &ColumnType,
) -> Option<(String, String)> {
    let hint = match reason(&derived.column_type, target) {
        Some(hint) => hint.to_owned(),
        None if typed_rows::is_misfit(field, target) => misfit_hint(&derived.column_type, target),
        None => return None,
    };
    let what = format!(
        "`{}` has the type {}, and its column in the target has the type {}: none of its values fit",
        derived.name,
        sql_name(&derived.column_type),
        sql_name(target),
    );
    Some((what, hint))
}

/// The fix for two types that the plan also refuses for files of typed rows.
fn misfit_hint(from: &ColumnType, into: &ColumnType) -> String {
    let fitting = sql_name(from);
    let change = match (from, into) {
        (ColumnType::Bool, _) if into.is_number() => {
            format!("CAST the result AS {}", sql_name(into))
        }
        (ColumnType::Bool, ColumnType::Text { .. }) => "CAST the result AS VARCHAR".to_owned(),
        (ColumnType::Binary, ColumnType::Text { .. }) => {
            "make a text of the bytes, as in decode(x), hex(x) or to_base64(x)".to_owned()
        }
        (_, ColumnType::Bool) => "compare the number, as in x <> 0".to_owned(),
        _ => format!("derive a value of the type {}", sql_name(into)),
    };
    format!("{change}, or make the column {fitting}")
}

/// The fix, if no value of the first type fits the second one.
fn reason(from: &ColumnType, into: &ColumnType) -> Option<&'static str> {
    use ColumnType::{
        Bool, Date, Decimal, DecimalText, Float32, Float64, Int16, Int32, Int64, Time, Timestamp,
        TimestampTz, Uuid,
    };
    let is_other = matches!(
        into,
        Bool | Int16
            | Int32
            | Int64
            | Float32
            | Float64
            | Decimal { .. }
            | DecimalText { .. }
            | Uuid
    );
    match (from, into) {
        // Its text has a point, even if only zeros follow it.
        (Decimal { scale: 1.., .. }, Int16 | Int32 | Int64) => {
            Some("CAST the result AS BIGINT, which rounds it, or make the column a decimal")
        }
        (TimestampTz { .. }, Timestamp { .. } | Date) => Some(
            "name the zone of the time, as in timezone('UTC', x), or make the column a timestamp with time zone",
        ),
        (Timestamp { .. } | Date, TimestampTz { .. }) => Some(
            "name the zone of the time, as in timezone('Europe/Berlin', x), or make the column a timestamp without time zone",
        ),
        (Time { .. }, Date | Timestamp { .. } | TimestampTz { .. }) | (Date, Time { .. }) => {
            Some("derive a value of the type of the column")
        }
        (Timestamp { .. } | TimestampTz { .. }, Time { .. }) => {
            Some("CAST the result AS TIME, or make the column a timestamp")
        }
        (Date | Time { .. } | Timestamp { .. } | TimestampTz { .. }, _) if is_other => Some(
            "compute a number, as in epoch(x) or date_diff('day', a, b), or make the column a date, a time or a text",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_whose_values_never_fit_are_found() {
        use ColumnType::{Date, Float64, Int32, Int64};
        let decimal = |scale| ColumnType::Decimal {
            precision: 5,
            scale,
        };
        let text = ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        };
        let time = ColumnType::Time { fraction_digits: 6 };
        let timestamp = ColumnType::Timestamp { fraction_digits: 6 };
        let zoned = ColumnType::TimestampTz { fraction_digits: 6 };
        for (from, into, never) in [
            (&decimal(2), &Int32, true),
            (&decimal(0), &Int32, false),
            (&decimal(2), &decimal(1), false),
            (&decimal(2), &Float64, false),
            (&Float64, &Int64, false),
            (&zoned, &timestamp, true),
            (&timestamp, &zoned, true),
            (&Date, &zoned, true),
            (&zoned, &Date, true),
            (&timestamp, &Date, false),
            (&Date, &timestamp, false),
            (&timestamp, &time, true),
            (&time, &Date, true),
            (&Date, &Int32, true),
            (&time, &Float64, true),
            (&zoned, &text, false),
            (&text, &zoned, false),
            (&Int32, &Date, false),
        ] {
            assert_eq!(reason(from, into).is_some(), never, "{from:?} {into:?}");
        }
    }
}
