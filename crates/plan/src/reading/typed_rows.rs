//! Checks that the columns of files of typed rows (Parquet, Arrow IPC) can go into those of the target.
//!
//! Values are loaded unchanged, or as a text that expresses each of them exactly; the converters reject values that do
//! not fit. The plan refuses pairs of types for which a text would fit but mean something else: bytes as hexadecimal
//! digits, booleans as words. Numbers that a column of floats cannot hold exactly are rejected.

use arrow_schema::DataType;
use inrush_convert::Converter;
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::column_policy::NumberForm;
use inrush_rows::typed_rows::is_readable;
use inrush_source::read_as_text;

use crate::error::PlanError;
use crate::reading::Reading;
use crate::reading::flow_inputs::{TypedField, TypedInputs};

/// Refuses columns that cannot take the values of their field, and sets `exact` for columns of floats that must reject
/// numbers that they would change.
pub fn check(flow: &str, inputs: &TypedInputs, columns: &mut [Column]) -> Result<(), PlanError> {
    for column in columns {
        let Some(field) = column
            .source
            .field_index()
            .and_then(|index| inputs.columns.get(index))
        else {
            continue;
        };
        let how_written = how_text_is_written(column);
        if let (false, Some(setting)) = (is_string(field), how_written) {
            return Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what: format!(
                    "`{setting}` of column `{}` works only for text, but `{}` of the {} is not text \
                     ({})",
                    column.name, field.name, inputs.kind, field.data_type
                ),
                hint: format!("remove `{setting}`"),
            });
        }
        if field.native.is_some() && column.policies.default.is_some() {
            return Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what: format!(
                    "`default` of column `{}` is a text, and `{}` of the {} comes in binary form",
                    column.name, field.name, inputs.kind
                ),
                hint: "remove `default`".to_owned(),
            });
        }
        match fit(field, &column.column_type) {
            Ok(Fit::AsWritten) => {}
            Ok(Fit::Exact) => column.policies.exact = true,
            Err(Misfit { holds, mend }) => {
                return Err(PlanError::Mismatch {
                    flow: flow.to_owned(),
                    what: format!(
                        "column `{}` cannot take `{}` of the {}: it holds {holds} ({})",
                        column.name,
                        field.name,
                        inputs.kind,
                        shown_type(field)
                    ),
                    hint: mend,
                });
            }
        }
    }
    Ok(())
}

/// True if the values of the field cannot be loaded into such a column.
pub fn is_misfit(field: &TypedField, column: &ColumnType) -> bool {
    fit(field, column).is_err()
}

/// The most columns that a hint lists.
const LISTED_COLUMNS_MAX: usize = 20;

/// Refuses the fields whose values come in the source's own binary form, for a destination that cannot take it.
pub fn refuse_native(flow: &str, inputs: &TypedInputs) -> Result<(), PlanError> {
    let natives = inputs.columns.iter().filter_map(|field| {
        let native = field.native.as_ref()?;
        Some(format!("`{}` ({})", field.name, native.sql))
    });
    let natives: Vec<String> = natives.collect();
    if natives.is_empty() {
        return Ok(());
    }
    let to_read = |field: &TypedField| match &field.native {
        Some(native) => native.as_text.clone(),
        None => field.name.clone(),
    };
    let to_read: Vec<String> = match inputs.columns.len() {
        0..=LISTED_COLUMNS_MAX => inputs.columns.iter().map(to_read).collect(),
        _ => {
            let natives = inputs.columns.iter().filter(|field| field.native.is_some());
            let others = std::iter::once("...".to_owned());
            others.chain(natives.map(to_read)).collect()
        }
    };
    Err(PlanError::Mismatch {
        flow: flow.to_owned(),
        what: format!(
            "these columns of the {} have types without a counterpart in this destination: {}",
            inputs.kind,
            natives.join(", ")
        ),
        hint: read_as_text(to_read.iter().map(String::as_str)),
    })
}

/// The plan's lines about values of typed rows that are not converted as usual.
pub fn words(flow: &Reading) -> Vec<String> {
    [unchanged(flow), by_text(flow)]
        .into_iter()
        .flatten()
        .collect()
}

/// Lists the columns whose values are passed on in the source's own binary form; `None` if there are none.
fn unchanged(flow: &Reading) -> Option<String> {
    let is_native = |column: &&Column| {
        matches!(
            column.column_type,
            ColumnType::Special(SpecialType::Native { .. })
        )
    };
    let natives = flow.read_columns().iter().filter(is_native);
    let names: Vec<&str> = natives.map(|column| column.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "unchanged, in the binary form of source and target: {}",
            names.join(", ")
        )
    })
}

/// Lists the columns whose typed values are converted to text and then to the column's type; `None` if there are none,
/// or if the source has only text.
fn by_text(flow: &Reading) -> Option<String> {
    if !flow.source.input(0).is_typed() {
        return None;
    }
    let columns = flow.source.columns().ok()?.into_iter();
    let types = columns.map(|column| Some((column.data_type?, column.is_uuid)));
    let types: Vec<_> = types.collect::<Option<_>>()?;
    let columns = flow.read_columns();
    let mut converter = Converter::new(columns, &flow.dialect, flow.field_count).ok()?;
    let names = converter.columns_by_text(&types);
    (!names.is_empty()).then(|| {
        format!(
            "converted by way of text, because their types or settings need it: {}",
            names.join(", ")
        )
    })
}

fn is_string(field: &TypedField) -> bool {
    matches!(field.data_type, DataType::Utf8 | DataType::Null)
}

/// The first setting of a column that changes how its text is read.
fn how_text_is_written(column: &Column) -> Option<&'static str> {
    let policies = &column.policies;
    [
        ("format", !column.formats.is_empty()),
        ("null", policies.null.is_some()),
        ("true_words, false_words", policies.words.is_some()),
        (
            "decimal_separator, group_separator, negative",
            policies.numbers != NumberForm::default(),
        ),
        ("year_pivot", policies.year_pivot.is_some()),
        ("trim", policies.trim.is_some()),
        ("lossless", policies.lossless),
    ]
    .into_iter()
    .find_map(|(setting, is_set)| is_set.then_some(setting))
}

/// How values are put into a column.
#[derive(Debug, PartialEq, Eq)]
enum Fit {
    /// Values are loaded unchanged, or as a text that expresses them exactly.
    AsWritten,
    /// Numbers that a float would change are rejected.
    Exact,
}

/// Why a column cannot take a field: what the field holds, and what the user can change.
#[derive(Debug)]
struct Misfit {
    holds: &'static str,
    mend: String,
}

/// The type of a field, as messages show it.
fn shown_type(field: &TypedField) -> String {
    match &field.native {
        Some(native) => native.sql.clone(),
        None => field.data_type.to_string(),
    }
}

/// Values in a database's own binary form fit only into columns of the same form. `None` if neither has such a form.
fn native_fit(field: &TypedField, column: &ColumnType) -> Option<Result<Fit, Misfit>> {
    let sent = field.native.as_ref().map(|native| &native.form);
    let taken = match column {
        ColumnType::Special(SpecialType::Native { form }) => Some(form),
        _ => None,
    };
    match (sent, taken) {
        (None, None) => None,
        (sent, taken) if sent == taken => Some(Ok(Fit::AsWritten)),
        _ => Some(Err(Misfit {
            holds: "values that only a column of the same type in the same kind of database can take",
            mend: match &field.native {
                Some(native) => format!(
                    "give the column the same type, or {}",
                    read_as_text(["...", &native.as_text])
                ),
                None => "give the column another type".to_owned(),
            },
        })),
    }
}

fn fit(field: &TypedField, column: &ColumnType) -> Result<Fit, Misfit> {
    let misfit = |holds, mend: &str| {
        let mend = mend.to_owned();
        Err(Misfit { holds, mend })
    };
    if let Some(answer) = native_fit(field, column) {
        return answer;
    }
    if !is_readable(&field.data_type) {
        return misfit(
            "values without a text form",
            "leave it out: \"NAME skip\" in `columns`",
        );
    }
    let is_text = matches!(column, ColumnType::Text { .. });
    match &field.data_type {
        DataType::Boolean if *column != ColumnType::Bool => {
            misfit("booleans", "make the column boolean")
        }
        DataType::FixedSizeBinary(_) if field.is_uuid => match column {
            ColumnType::Uuid | ColumnType::Text { .. } => Ok(Fit::AsWritten),
            _ => misfit("UUIDs", "make the column uuid or text"),
        },
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_)
            if *column != ColumnType::Binary =>
        {
            misfit("bytes", "make the column bytea")
        }
        number if number.is_numeric() => match column {
            ColumnType::Float32 if !is_single(number) => Ok(Fit::Exact),
            ColumnType::Float64 if !is_float(number) => Ok(Fit::Exact),
            _ if column.is_number() || is_text => Ok(Fit::AsWritten),
            _ => misfit("numbers", "make the column a number, or text"),
        },
        _ => Ok(Fit::AsWritten),
    }
}

fn is_single(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32)
}

fn is_float(data_type: &DataType) -> bool {
    is_single(data_type) || *data_type == DataType::Float64
}

#[cfg(test)]
mod tests {
    use inrush_rows::native_type::NativeType;

    use super::*;

    const TEXT: ColumnType = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };

    fn of(data_type: DataType, column: &ColumnType) -> Option<Fit> {
        let field = TypedField {
            name: "x".to_owned(),
            data_type,
            is_uuid: false,
            native: None,
        };
        fit(&field, column).ok()
    }

    #[test]
    fn native_values_fit_in_their_own_form_alone() {
        let native = |form: &str| {
            let form = form.to_owned();
            ColumnType::Special(SpecialType::Native { form })
        };
        let field = TypedField {
            name: "x".to_owned(),
            data_type: DataType::Binary,
            is_uuid: false,
            native: Some(NativeType {
                form: "postgresql inet".to_owned(),
                limit: None,
                sql: "inet".to_owned(),
                as_text: "x::text".to_owned(),
            }),
        };
        assert_eq!(
            fit(&field, &native("postgresql inet")).ok(),
            Some(Fit::AsWritten)
        );
        for other in [native("postgresql cidr"), ColumnType::Binary, TEXT] {
            let misfit = fit(&field, &other).expect_err("another form");
            assert!(misfit.mend.contains("x::text"), "{misfit:?}");
        }
        assert_eq!(of(DataType::Binary, &native("postgresql inet")), None);
    }

    #[test]
    fn what_would_be_another_thing_is_refused() {
        let numeric = ColumnType::Decimal {
            precision: 10,
            scale: 2,
        };
        for (data_type, column, expected) in [
            (DataType::Boolean, &ColumnType::Bool, Some(Fit::AsWritten)),
            (DataType::Boolean, &TEXT, None),
            (DataType::Boolean, &ColumnType::Int32, None),
            (DataType::Binary, &ColumnType::Binary, Some(Fit::AsWritten)),
            (DataType::Binary, &TEXT, None),
            (DataType::BinaryView, &TEXT, None),
            (
                DataType::BinaryView,
                &ColumnType::Binary,
                Some(Fit::AsWritten),
            ),
            (DataType::Int64, &ColumnType::Int16, Some(Fit::AsWritten)),
            (DataType::Int64, &ColumnType::Float64, Some(Fit::Exact)),
            (DataType::Int64, &ColumnType::Bool, None),
            (DataType::Int64, &ColumnType::Date, None),
            (DataType::Float64, &ColumnType::Float32, Some(Fit::Exact)),
            (
                DataType::Float32,
                &ColumnType::Float64,
                Some(Fit::AsWritten),
            ),
            (DataType::Float64, &numeric, Some(Fit::AsWritten)),
            (DataType::Utf8, &ColumnType::Date, Some(Fit::AsWritten)),
        ] {
            assert_eq!(
                of(data_type.clone(), column),
                expected,
                "{data_type} {column:?}"
            );
        }
    }
}
