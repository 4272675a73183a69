//! The types of columns in Parquet files.
//!
//! Every type has one exact form. Readers see the types of PostgreSQL and DuckDB if Parquet has them, and otherwise the
//! nearest type that holds each value (an interval is a group of its three numbers, because Parquet's own `INTERVAL`
//! counts milliseconds).

use std::sync::Arc;

use inrush_destination::{Error, ResolvedType, Result};
use inrush_rows::column_type::{ColumnType, interval_fields};
use inrush_rows::type_name::TypeName;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::schema::types::{Type, TypePtr};

/// Digits of Arrow's 128-bit decimals.
const PRECISION_MAX: u8 = 38;

/// The type of a package's column in a new file.
pub(super) fn resolve(type_name: &str) -> Result<ResolvedType> {
    let Some(name) = TypeName::parse(type_name) else {
        return Err(unknown(type_name));
    };
    let Some(column_type) = name.column_type() else {
        return Err(unknown(type_name));
    };
    if let ColumnType::DecimalText { limit } = &column_type {
        return Err(match limit {
            None => Error::Unsuitable {
                what: format!(
                    "type {type_name:?}: a decimal of Parquet has a fixed number of digits"
                ),
                hint: "write numeric(p,s) with p up to 38, for instance numeric(38,9), or text"
                    .to_owned(),
            },
            Some(_) => Error::Unsuitable {
                what: format!(
                    "type {type_name:?}: a decimal here has at most {PRECISION_MAX} digits"
                ),
                hint: "write numeric(p,s) with p up to 38 and s from 0 to p, or text".to_owned(),
            },
        });
    }
    Ok(ResolvedType {
        sql: sql(&column_type),
        column_type,
    })
}

fn unknown(type_name: &str) -> Error {
    Error::Unsuitable {
        what: format!("type {type_name:?} cannot be written to Parquet files"),
        hint: "write boolean, smallint, integer, bigint, real, double precision, numeric(p,s), text, \
               varchar(n), char(n), date, time, timestamp, timestamptz, interval, uuid, bytea or json"
            .to_owned(),
    }
}

/// The type's name, which [`resolve`] reads.
pub(super) fn sql(column_type: &ColumnType) -> String {
    let with_digits = |name: &str, digits: u8| match digits {
        6 => name.to_owned(),
        digits => format!("{name}({digits})"),
    };
    match column_type {
        ColumnType::Bool => "boolean".to_owned(),
        ColumnType::Int16 => "smallint".to_owned(),
        ColumnType::Int32 => "integer".to_owned(),
        ColumnType::Int64 => "bigint".to_owned(),
        ColumnType::Float32 => "real".to_owned(),
        ColumnType::Float64 => "double precision".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        ColumnType::Text {
            characters_max,
            blank_padded,
        } => match (characters_max, blank_padded) {
            (None, _) => "text".to_owned(),
            (Some(count), false) => format!("varchar({count})"),
            (Some(count), true) => format!("char({count})"),
        },
        ColumnType::DecimalText { .. }
        | ColumnType::Enum { .. }
        | ColumnType::Opaque
        | ColumnType::Special(_) => "text".to_owned(),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Time { fraction_digits } => with_digits("time", *fraction_digits),
        ColumnType::Timestamp { fraction_digits } => with_digits("timestamp", *fraction_digits),
        ColumnType::TimestampTz { fraction_digits } => with_digits("timestamptz", *fraction_digits),
        ColumnType::Interval {
            fraction_digits, ..
        } => with_digits("interval", *fraction_digits),
        ColumnType::Uuid => "uuid".to_owned(),
        ColumnType::Binary => "bytea".to_owned(),
        ColumnType::Json => "json".to_owned(),
    }
}

/// The Parquet type of a column.
pub(super) fn parquet_type(
    name: &str,
    column_type: &ColumnType,
    nullable: bool,
) -> Result<TypePtr> {
    let repetition = match nullable {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    let primitive = |physical, logical: Option<LogicalType>| {
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
    };
    let built = match column_type {
        ColumnType::Bool => primitive(PhysicalType::BOOLEAN, None).build(),
        ColumnType::Int16 => {
            primitive(PhysicalType::INT32, Some(LogicalType::integer(16, true))).build()
        }
        ColumnType::Int32 => primitive(PhysicalType::INT32, None).build(),
        ColumnType::Int64 => primitive(PhysicalType::INT64, None).build(),
        ColumnType::Float32 => primitive(PhysicalType::FLOAT, None).build(),
        ColumnType::Float64 => primitive(PhysicalType::DOUBLE, None).build(),
        ColumnType::Decimal { precision, scale } => {
            let (physical, length) = match precision {
                ..=9 => (PhysicalType::INT32, -1),
                10..=18 => (PhysicalType::INT64, -1),
                _ => (
                    PhysicalType::FIXED_LEN_BYTE_ARRAY,
                    decimal_bytes(*precision),
                ),
            };
            let logical = LogicalType::decimal(i32::from(*scale), i32::from(*precision));
            primitive(physical, Some(logical))
                .with_length(length)
                .with_precision(i32::from(*precision))
                .with_scale(i32::from(*scale))
                .build()
        }
        ColumnType::DecimalText { .. }
        | ColumnType::Text { .. }
        | ColumnType::Enum { .. }
        | ColumnType::Opaque
        | ColumnType::Special(_) => {
            primitive(PhysicalType::BYTE_ARRAY, Some(LogicalType::String)).build()
        }
        ColumnType::Json => primitive(PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)).build(),
        ColumnType::Binary => primitive(PhysicalType::BYTE_ARRAY, None).build(),
        ColumnType::Date => primitive(PhysicalType::INT32, Some(LogicalType::Date)).build(),
        ColumnType::Time { .. } => {
            let logical = LogicalType::time(false, TimeUnit::MICROS);
            primitive(PhysicalType::INT64, Some(logical)).build()
        }
        ColumnType::Timestamp { .. } => {
            let logical = LogicalType::timestamp(false, TimeUnit::MICROS);
            primitive(PhysicalType::INT64, Some(logical)).build()
        }
        ColumnType::TimestampTz { .. } => {
            let logical = LogicalType::timestamp(true, TimeUnit::MICROS);
            primitive(PhysicalType::INT64, Some(logical)).build()
        }
        ColumnType::Uuid => primitive(PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid))
            .with_length(16)
            .build(),
        ColumnType::Interval { .. } => {
            let part = |name: &str, physical| {
                Type::primitive_type_builder(name, physical)
                    .with_repetition(Repetition::REQUIRED)
                    .build()
                    .map(Arc::new)
            };
            let parts = [
                PhysicalType::INT32,
                PhysicalType::INT32,
                PhysicalType::INT64,
            ];
            interval_fields()
                .iter()
                .zip(parts)
                .map(|(field, physical)| part(field.name(), physical))
                .collect::<parquet::errors::Result<Vec<_>>>()
                .and_then(|fields| {
                    Type::group_type_builder(name)
                        .with_repetition(repetition)
                        .with_fields(fields)
                        .build()
                })
        }
    };
    built.map(Arc::new).map_err(|error| Error::Unsuitable {
        what: format!("column {name:?} cannot be a column of a Parquet file: {error}"),
        hint: "give it another name or another type".to_owned(),
    })
}

/// Bytes for a decimal of this many digits with its sign.
fn decimal_bytes(precision: u8) -> i32 {
    let bits = f64::from(precision) * 10f64.log2() + 1.0;
    (bits / 8.0).ceil() as i32
}

/// The column type for a column of a file (`None` if it cannot be loaded), and the type's name for messages.
pub(super) fn column_type(column: &Type) -> (Option<ColumnType>, String) {
    let known = known_type(column);
    let text = match &known {
        Some(known) => sql(known),
        None => describe(column),
    };
    (known, text)
}

fn known_type(column: &Type) -> Option<ColumnType> {
    let info = column.get_basic_info();
    if info.has_repetition() && info.repetition() == Repetition::REPEATED {
        return None;
    }
    if column.is_group() {
        let interval = ColumnType::Interval {
            fraction_digits: 6,
            has_infinity: false,
        };
        let ours = parquet_type(column.name(), &interval, true).ok()?;
        let is_interval = info.converted_type() == ConvertedType::NONE
            && info.logical_type_ref().is_none()
            && column.get_fields() == ours.get_fields();
        return is_interval.then_some(interval);
    }
    let decimal = |precision: i32, scale: i32| {
        let precision = u8::try_from(precision)
            .ok()
            .filter(|p| (1..=PRECISION_MAX).contains(p))?;
        let scale = u8::try_from(scale)
            .ok()
            .filter(|scale| *scale <= precision)?;
        Some(ColumnType::Decimal { precision, scale })
    };
    let text = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };
    let physical = column.get_physical_type();
    if let Some(logical) = info.logical_type_ref() {
        return match (logical, physical) {
            (LogicalType::String | LogicalType::Enum, PhysicalType::BYTE_ARRAY) => Some(text),
            (LogicalType::Json, PhysicalType::BYTE_ARRAY) => Some(ColumnType::Json),
            (LogicalType::Decimal(decimal_type), _) => {
                decimal(decimal_type.precision, decimal_type.scale)
            }
            (LogicalType::Date, PhysicalType::INT32) => Some(ColumnType::Date),
            (LogicalType::Time(time), PhysicalType::INT64) if time.unit == TimeUnit::MICROS => {
                Some(ColumnType::Time { fraction_digits: 6 })
            }
            (LogicalType::Timestamp(timestamp), PhysicalType::INT64)
                if timestamp.unit == TimeUnit::MICROS =>
            {
                Some(match timestamp.is_adjusted_to_u_t_c {
                    true => ColumnType::TimestampTz { fraction_digits: 6 },
                    false => ColumnType::Timestamp { fraction_digits: 6 },
                })
            }
            (LogicalType::Integer(integer), _) if integer.is_signed => match integer.bit_width {
                16 => Some(ColumnType::Int16),
                32 => Some(ColumnType::Int32),
                64 => Some(ColumnType::Int64),
                _ => None,
            },
            (LogicalType::Uuid, PhysicalType::FIXED_LEN_BYTE_ARRAY) => Some(ColumnType::Uuid),
            _ => None,
        };
    }
    match (info.converted_type(), physical) {
        (ConvertedType::UTF8 | ConvertedType::ENUM, PhysicalType::BYTE_ARRAY) => Some(text),
        (ConvertedType::JSON, PhysicalType::BYTE_ARRAY) => Some(ColumnType::Json),
        (ConvertedType::DECIMAL, _) => decimal(column.get_precision(), column.get_scale()),
        (ConvertedType::DATE, PhysicalType::INT32) => Some(ColumnType::Date),
        (ConvertedType::TIME_MICROS, PhysicalType::INT64) => {
            Some(ColumnType::Time { fraction_digits: 6 })
        }
        (ConvertedType::TIMESTAMP_MICROS, PhysicalType::INT64) => {
            Some(ColumnType::TimestampTz { fraction_digits: 6 })
        }
        (ConvertedType::INT_16, PhysicalType::INT32) => Some(ColumnType::Int16),
        (ConvertedType::INT_32, PhysicalType::INT32) => Some(ColumnType::Int32),
        (ConvertedType::INT_64, PhysicalType::INT64) => Some(ColumnType::Int64),
        (ConvertedType::NONE, physical) => match physical {
            PhysicalType::BOOLEAN => Some(ColumnType::Bool),
            PhysicalType::INT32 => Some(ColumnType::Int32),
            PhysicalType::INT64 => Some(ColumnType::Int64),
            PhysicalType::FLOAT => Some(ColumnType::Float32),
            PhysicalType::DOUBLE => Some(ColumnType::Float64),
            PhysicalType::BYTE_ARRAY => Some(ColumnType::Binary),
            PhysicalType::INT96 | PhysicalType::FIXED_LEN_BYTE_ARRAY => None,
        },
        _ => None,
    }
}

/// A type without a name here, in Parquet's terms.
fn describe(column: &Type) -> String {
    let info = column.get_basic_info();
    let annotation = match (info.logical_type_ref(), info.converted_type()) {
        (Some(logical), _) => format!(" ({logical:?})"),
        (None, ConvertedType::NONE) => String::new(),
        (None, converted) => format!(" ({converted})"),
    };
    match column.is_group() {
        true => format!("group of {} fields{annotation}", column.get_fields().len()),
        false => format!("{}{annotation}", column.get_physical_type()),
    }
}

/// True if values of this type can be names of partitions.
pub(super) fn may_partition(column_type: &ColumnType) -> bool {
    !matches!(
        column_type,
        ColumnType::Float32
            | ColumnType::Float64
            | ColumnType::Binary
            | ColumnType::Interval { .. }
            | ColumnType::Json
            | ColumnType::Opaque
            | ColumnType::Special(_)
            | ColumnType::Time { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_known_again_in_a_file() {
        for name in [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "numeric(1,0)",
            "numeric(9,9)",
            "numeric(18,2)",
            "numeric(19,2)",
            "numeric(38,38)",
            "text",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "interval",
            "uuid",
            "bytea",
            "json",
        ] {
            let resolved = resolve(name).unwrap();
            assert_eq!(resolved.sql, name);
            for nullable in [false, true] {
                let column = parquet_type("c", &resolved.column_type, nullable).unwrap();
                let known = (Some(resolved.column_type.clone()), name.to_owned());
                assert_eq!(column_type(&column), known);
            }
        }
        for name in ["varchar(10)", "char(3)", "timestamp(3)", "time(0)"] {
            assert_eq!(resolve(name).unwrap().sql, name);
        }
    }

    #[test]
    fn decimals_need_digits() {
        for (name, hint) in [
            ("numeric", "numeric(38,9)"),
            ("numeric(39,2)", "p up to 38"),
            ("numeric(3,-2)", "p up to 38"),
            ("point", "boolean"),
            ("text; drop", "boolean"),
        ] {
            let error = resolve(name).unwrap_err();
            assert!(error.hint().unwrap().contains(hint), "{name}: {error}");
        }
    }

    #[test]
    fn decimals_take_the_bytes_that_they_need() {
        assert_eq!(decimal_bytes(19), 9);
        assert_eq!(decimal_bytes(38), 16);
    }
}
