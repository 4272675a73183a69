//! Arrays whose elements can be converted here: the converter of the element type checks each element, and the text is
//! passed on unchanged.
//!
//! `column_converter`, `array`, `key` and `policies` depend on each other: the converter of an array contains the
//! converter of its elements; `column_converter` makes the values of keys; `key` and `policies` read their texts (a
//! bound, a default) with the converter of the column.

use inrush_rows::column::{Column, ColumnType};

use super::array_text::each_element;
use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::exact_float::ExactFloat;
use super::views::{Built, Kept, TextCheck};

/// Bytes of an element that a reason quotes.
const QUOTED_BYTES_MAX: usize = 40;

/// Checks arrays.
pub(super) struct Array {
    /// The type of the elements, as a column.
    column: Box<Column>,
    element: Box<ColumnConverter>,
}

impl Array {
    pub fn new(column: &Column, element: &ColumnType) -> Result<Array, ConvertError> {
        let mut of_element = Column::new(&column.name, element.clone(), 0);
        of_element.policies.nearest_floats = column.policies.nearest_floats;
        Ok(Array {
            element: Box::new(ColumnConverter::new(&of_element)?),
            column: Box::new(of_element),
        })
    }
}

impl TextCheck for Array {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        each_element(field, &mut |subscripts, element| match element {
            None => Ok(()),
            Some(text) => self
                .element
                .check_element(text)
                .and_then(|()| ExactFloat::check_text(&self.column, text.as_bytes()))
                .map_err(|error| of_element(subscripts, text, error)),
        })?;
        Ok(Kept::Whole)
    }
}

/// The error of an element, with its subscripts as the server counts them: `[1]` is the first.
#[cold]
fn of_element(subscripts: &[i64], text: &str, error: ValueError) -> ValueError {
    let place: String = subscripts.iter().map(|one| format!("[{one}]")).collect();
    let end = text.floor_char_boundary(QUOTED_BYTES_MAX);
    let more = if end < text.len() { "..." } else { "" };
    let takes_none = match names_a_setting(&error.reason) {
        true => {
            ". Elements of an array take no such setting: correct the elements, or load the column as text"
        }
        false => "",
    };
    ValueError {
        code: error.code,
        reason: format!(
            "element {place}, {:?}{more}: {}{takes_none}",
            &text[..end],
            error.reason
        ),
    }
}

/// True if a reason recommends a setting of columns, all of which are for single values.
fn names_a_setting(reason: &str) -> bool {
    let settings = [
        "`round`",
        "on_truncate",
        "zone = ",
        "format = ",
        "null = ",
        "nan = ",
        "group_separator",
        "decimal_separator",
        "negative = ",
        "true_words",
        "year_pivot",
    ];
    settings.iter().any(|setting| reason.contains(setting))
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::SpecialType;
    use inrush_rows::reject::RejectCode;

    use super::*;

    fn checked(element: &ColumnType, text: &str) -> Result<(), ValueError> {
        let array = Array::new(&Column::new("a", element.clone(), 0), element).expect("a type");
        let checked = array.check(text, &mut Built::at_end_of(&mut String::new()));
        checked.map(|_| ())
    }

    #[test]
    fn elements_are_checked_by_their_type() {
        let numeric = ColumnType::DecimalText {
            limit: Some((5, 2)),
        };
        let varchar = ColumnType::Text {
            characters_max: Some(3),
            blank_padded: false,
        };
        let name = ColumnType::Special(SpecialType::Name);
        for (element, text, expected) in [
            (&numeric, "{1.23,NULL,NaN}", Ok(())),
            (&numeric, "{1.239}", Err(RejectCode::FractionLost)),
            (&numeric, "{{1},{1000}}", Err(RejectCode::OutOfRange)),
            (&numeric, "{a}", Err(RejectCode::Syntax)),
            (&numeric, "1.2", Err(RejectCode::Syntax)),
            (&varchar, "{abc,\"a b\"}", Ok(())),
            (&varchar, "{\"abc \"}", Err(RejectCode::TooLong)),
            (&varchar, "{abcd}", Err(RejectCode::TooLong)),
            (
                &ColumnType::TimestampTz { fraction_digits: 6 },
                "{2024-01-01 00:00:00}",
                Err(RejectCode::ZoneMissing),
            ),
            (
                &ColumnType::Timestamp { fraction_digits: 0 },
                "{\"2024-01-01 00:00:00.5\"}",
                Err(RejectCode::FractionLost),
            ),
            (&ColumnType::Int32, "{1, 2 ,-3}", Ok(())),
            (&ColumnType::Float64, "{9007199254740992, 0.1}", Ok(())),
            (
                &ColumnType::Float64,
                "{9007199254740993}",
                Err(RejectCode::FormLost),
            ),
            (
                &ColumnType::Float32,
                "{{1},{16777217}}",
                Err(RejectCode::FormLost),
            ),
            (&ColumnType::Int32, "{\"\"}", Err(RejectCode::Syntax)),
            (&ColumnType::Binary, "{\"\\\\x00ff\"}", Ok(())),
            (&ColumnType::Binary, "{\"\\\\x0\"}", Err(RejectCode::Syntax)),
            (&ColumnType::Bool, "{t,f,yes}", Ok(())),
            (&ColumnType::Json, "{\"{\\\"a\\\": 1}\"}", Ok(())),
            (&ColumnType::Json, "{\"{\"}", Err(RejectCode::Syntax)),
            (
                &ColumnType::Uuid,
                "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
                Ok(()),
            ),
            (&name, "{abc}", Ok(())),
        ] {
            let code = checked(element, text).map_err(|error| error.code);
            assert_eq!(code, expected, "{element:?} {text}");
        }
    }

    #[test]
    fn a_setting_that_arrays_do_not_take_is_not_recommended() {
        let varchar = ColumnType::Text {
            characters_max: Some(3),
            blank_padded: false,
        };
        for (element, text) in [
            (&varchar, "{abcd}"),
            (&ColumnType::Int32, "{1.5}"),
            (
                &ColumnType::TimestampTz { fraction_digits: 6 },
                "{2024-01-01 00:00:00}",
            ),
            (&ColumnType::Date, "{31/12/2024}"),
            (
                &ColumnType::Timestamp { fraction_digits: 0 },
                "{2024-01-01 00:00:00.5}",
            ),
        ] {
            let reason = checked(element, text).expect_err("a reject").reason;
            assert!(
                reason.contains("an array take no such setting"),
                "{element:?}: {reason}"
            );
        }
        let reason = checked(&ColumnType::Int32, "{x}")
            .expect_err("a reject")
            .reason;
        assert!(!reason.contains("no such setting"), "{reason}");
    }

    #[test]
    fn the_nearest_float_is_taken_where_that_is_declared() {
        let mut column = Column::new("a", ColumnType::Opaque, 0);
        column.policies.nearest_floats = true;
        let array = Array::new(&column, &ColumnType::Float64).expect("a type");
        let mut text = String::new();
        let checked = array.check("{9007199254740993}", &mut Built::at_end_of(&mut text));
        assert!(checked.is_ok());
    }

    #[test]
    fn the_element_at_fault_is_named() {
        let error =
            checked(&ColumnType::Int32, "[0:1][2:2]={{1},{x}}").expect_err("x is not a number");
        assert!(
            error.reason.starts_with("element [1][2], \"x\": "),
            "{}",
            error.reason
        );
        let long = format!("{{{}}}", "ä".repeat(100));
        let error = checked(&ColumnType::Int32, &long).expect_err("no number");
        assert!(
            error
                .reason
                .starts_with(&format!("element [1], \"{}\"...: ", "ä".repeat(20)))
        );
    }
}
