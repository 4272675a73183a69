//! The columns of files of typed rows (Parquet, Arrow IPC), which declare their columns themselves: nothing is guessed.

use std::sync::Arc;

use arrow_schema::DataType;
use inrush_files::{SourceFile, TableField, TableFile};
use inrush_package::Format;
use inrush_rows::column::ColumnType;

use super::column_guess::ColumnGuess;
use super::error::SniffError;
use super::guess::Guess;
use super::kinds::TypeGuess;
use super::{SniffOptions, mapping, names};

/// The number of fractional digits of seconds that timestamps keep.
const FRACTION_DIGITS: u8 = 6;

/// The columns of files of typed rows; `None` if all files are text. Files of typed rows must all have the same
/// columns, and must not be mixed with text files.
pub fn told(
    files: &[Arc<SourceFile>],
    options: &SniffOptions,
) -> Result<Option<Guess>, SniffError> {
    let declared = &options.format;
    let Some(table) = common(files, declared)? else {
        return Ok(None);
    };
    let fields: Vec<String> = table
        .fields
        .iter()
        .map(|field| field.name.clone())
        .collect();
    let (names, mut unsure) = names::of_header(&fields, options.name_bytes_max());
    let mut columns = Vec::new();
    let mut left_out = Vec::new();
    for (field, name) in table.fields.iter().zip(names) {
        let Some(column_type) = type_of(field) else {
            unsure.push(format!(
                "column {} is left out: it contains {}, which no column can hold",
                field.name, field.data_type
            ));
            left_out.push(field.name.clone());
            continue;
        };
        columns.push(ColumnGuess {
            name,
            field: Some(field.name.clone()),
            column_type,
            seen: format!("the file declares {}", field.data_type),
            why: String::new(),
            unsure: Vec::new(),
        });
    }
    let mut form = mapping::form_of(&TableFile::dialect());
    form.is_single_column = table.fields.len() == 1;
    let tables = files.iter().filter_map(|file| file.table());
    let rows = tables.map(|table| table.row_count()).sum();
    let bytes = files.iter().map(|file| file.size_bytes).sum();
    Ok(Some(Guess {
        form,
        declared: declared.clone(),
        columns,
        rows,
        bytes_read: bytes,
        bytes_stored: bytes,
        places: files.len() as u64,
        files: files.iter().map(|file| file.path.to_path_buf()).collect(),
        is_everything: true,
        left_out,
        is_told: true,
        has_row_names: false,
        unnamed: None,
        seen: vec![format!(
            "{} with {} columns",
            table.kind.name(),
            fields.len()
        )],
        unsure,
        checks: Vec::new(),
    }))
}

/// The form that all files have, if they are files of typed rows.
fn common<'a>(
    files: &'a [Arc<SourceFile>],
    declared: &Format,
) -> Result<Option<&'a Arc<TableFile>>, SniffError> {
    let Some(first) = files.first() else {
        return Ok(None);
    };
    let refused = |file: &SourceFile, what: String, mend| SniffError::Table {
        path: file.path.to_path_buf(),
        what,
        mend,
    };
    const APART: &str = "load them in separate flows";
    let Some(table) = first.table() else {
        return match files.iter().find_map(|file| Some((file, file.table()?))) {
            None => Ok(None),
            Some((file, table)) => Err(refused(
                file,
                format!(
                    "a {} file, and {} is text",
                    table.kind.name(),
                    first.path.display()
                ),
                APART,
            )),
        };
    };
    for file in files {
        let Some(other) = file.table() else {
            let what = format!(
                "text, and {} is {}",
                first.path.display(),
                table.kind.name()
            );
            return Err(refused(file, what, APART));
        };
        if other.fields.len() != table.fields.len() {
            let what = format!(
                "it has {} columns, but {} has {}",
                other.fields.len(),
                first.path.display(),
                table.fields.len()
            );
            return Err(refused(file, what, APART));
        }
        for (own, expected) in other.fields.iter().zip(&table.fields) {
            if (&own.name, &own.data_type, own.is_uuid)
                != (&expected.name, &expected.data_type, expected.is_uuid)
            {
                let what = format!(
                    "it has the column `{}` ({}), but {} has `{}` ({})",
                    own.name,
                    own.data_type,
                    first.path.display(),
                    expected.name,
                    expected.data_type
                );
                return Err(refused(file, what, APART));
            }
        }
    }
    let allowed = Format {
        record_bytes_max: declared.record_bytes_max,
        header: declared.header.filter(|has_header| *has_header),
        ..Format::default()
    };
    if *declared != allowed {
        let what = format!(
            "the format is for text, but this is a {} file",
            table.kind.name()
        );
        return Err(refused(first, what, "remove `format`"));
    }
    Ok(Some(table))
}

/// The name of a type for a new column that takes all values of an Arrow type; `None` if there is none.
pub fn type_name(data_type: &DataType, is_uuid: bool) -> Option<String> {
    sql_and_type(data_type, is_uuid).map(|(sql, _)| sql)
}

/// The type of a column for a field; `None` if no type can hold its values.
fn type_of(field: &TableField) -> Option<TypeGuess> {
    let (sql, column_type) = sql_and_type(&field.data_type, field.is_uuid)?;
    Some(TypeGuess::Told {
        sql,
        column_type: Box::new(column_type),
    })
}

fn sql_and_type(data_type: &DataType, is_uuid: bool) -> Option<(String, ColumnType)> {
    let numeric = |precision: u8, scale: u8| {
        (
            format!("numeric({precision},{scale})"),
            ColumnType::Decimal { precision, scale },
        )
    };
    let text = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };
    Some(match data_type {
        DataType::Boolean => ("boolean".to_owned(), ColumnType::Bool),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => {
            ("smallint".to_owned(), ColumnType::Int16)
        }
        DataType::UInt16 | DataType::Int32 => ("integer".to_owned(), ColumnType::Int32),
        DataType::UInt32 | DataType::Int64 => ("bigint".to_owned(), ColumnType::Int64),
        DataType::UInt64 => numeric(20, 0),
        DataType::Float16 | DataType::Float32 => ("real".to_owned(), ColumnType::Float32),
        DataType::Float64 => ("double precision".to_owned(), ColumnType::Float64),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale),
        DataType::Utf8 | DataType::Null => ("text".to_owned(), text),
        DataType::FixedSizeBinary(_) if is_uuid => ("uuid".to_owned(), ColumnType::Uuid),
        DataType::Binary | DataType::FixedSizeBinary(_) => ("bytea".to_owned(), ColumnType::Binary),
        DataType::Date32 | DataType::Date64 => ("date".to_owned(), ColumnType::Date),
        DataType::Time32(_) | DataType::Time64(_) => (
            "time".to_owned(),
            ColumnType::Time {
                fraction_digits: FRACTION_DIGITS,
            },
        ),
        DataType::Timestamp(_, None) => (
            "timestamp".to_owned(),
            ColumnType::Timestamp {
                fraction_digits: FRACTION_DIGITS,
            },
        ),
        DataType::Timestamp(_, Some(_)) => (
            "timestamptz".to_owned(),
            ColumnType::TimestampTz {
                fraction_digits: FRACTION_DIGITS,
            },
        ),
        DataType::Duration(_) | DataType::Interval(_) => (
            "interval".to_owned(),
            ColumnType::Interval {
                fraction_digits: FRACTION_DIGITS,
                has_infinity: false,
            },
        ),
        _ => return None,
    })
}

/// The type of a decimal: one of 128 bits, if the converters have it; otherwise one with any number of digits.
fn decimal(precision: u8, scale: i8) -> (String, ColumnType) {
    match u8::try_from(scale) {
        Ok(scale) if precision <= 38 && scale <= precision => (
            format!("numeric({precision},{scale})"),
            ColumnType::Decimal { precision, scale },
        ),
        _ => (
            format!(
                "numeric({},{})",
                i16::from(precision) + i16::from((-scale).max(0)),
                scale.max(0)
            ),
            ColumnType::DecimalText {
                limit: Some((
                    u16::from(precision) + u16::from((-scale).max(0).unsigned_abs()),
                    i16::from(scale.max(0)),
                )),
            },
        ),
    }
}
