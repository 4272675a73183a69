//! The way of each type into a database: what its driver's ingest takes, as was tried out.

use inrush_rows::column_type::ColumnType;
use inrush_rows::special_type::SpecialType;

use crate::quirks::Vendor;

/// How a column of a batch becomes one that a driver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnCarriage {
    /// Unchanged.
    AsIs,
    /// Days, with the numbers that stand for the infinities there, where there are such.
    Days {
        /// Numbers of `-infinity` and `infinity`.
        infinities: Option<(i32, i32)>,
    },
    /// Microseconds, likewise.
    Microseconds {
        /// Numbers of `-infinity` and `infinity`.
        infinities: Option<(i64, i64)>,
    },
    /// An interval as Arrow's own type.
    MonthDayNano,
    /// 16 bytes, tagged as Arrow's extension type of a UUID.
    TaggedUuid,
    /// A number with a point, which must not be NaN.
    NumbersOnly,
    /// A decimal in as few bytes as its precision needs: what the database keeps it in, too.
    NarrowDecimal,
    /// Its text.
    Text,
    /// As it is: JSON without halves of surrogate pairs.
    Json,
    /// The text of such JSON that has no NUL in it either.
    JsonbText,
}

/// How a column is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// How its values are.
    pub way: ColumnCarriage,
    /// The type of its staging column, where that is not the target's own: publishing casts.
    pub staging: Option<&'static str>,
}

impl Carried {
    const fn as_is() -> Carried {
        Carried::by(ColumnCarriage::AsIs)
    }

    const fn by(way: ColumnCarriage) -> Carried {
        Carried { way, staging: None }
    }

    const fn cast(way: ColumnCarriage) -> Carried {
        Carried {
            way,
            staging: Some("TEXT"),
        }
    }
}

/// The way of a type; none where there is none.
pub fn carried(vendor: Vendor, column_type: &ColumnType) -> Option<Carried> {
    match vendor {
        Vendor::DuckDb => duckdb(column_type),
        Vendor::Sqlite => sqlite(column_type),
        Vendor::Postgres => postgres(column_type),
        Vendor::Other => other(column_type),
    }
}

fn duckdb(column_type: &ColumnType) -> Option<Carried> {
    Some(match column_type {
        ColumnType::Date => Carried::by(ColumnCarriage::Days {
            infinities: Some((-i32::MAX, i32::MAX)),
        }),
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
            Carried::by(ColumnCarriage::Microseconds {
                infinities: Some((-i64::MAX, i64::MAX)),
            })
        }
        ColumnType::Decimal { .. } => Carried::by(ColumnCarriage::NarrowDecimal),
        ColumnType::Interval { .. } => Carried::by(ColumnCarriage::MonthDayNano),
        ColumnType::Uuid => Carried::by(ColumnCarriage::TaggedUuid),
        ColumnType::Json => Carried::by(ColumnCarriage::Json),
        ColumnType::DecimalText { .. } | ColumnType::Opaque | ColumnType::Special(_) => {
            return None;
        }
        _ => Carried::as_is(),
    })
}

/// SQLite makes NULL of NaN, and its driver knows neither decimals nor times.
fn sqlite(column_type: &ColumnType) -> Option<Carried> {
    Some(match column_type {
        ColumnType::Float32 | ColumnType::Float64 => Carried::by(ColumnCarriage::NumbersOnly),
        ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::TimestampTz { .. }
        | ColumnType::Interval { .. }
        | ColumnType::Uuid => Carried::by(ColumnCarriage::Text),
        ColumnType::Opaque | ColumnType::Special(_) => return None,
        _ => Carried::as_is(),
    })
}

/// The driver writes binary COPY by the Arrow type of a column, not by that of the table: what has no
/// Arrow type goes as text into staging, and is cast from there.
fn postgres(column_type: &ColumnType) -> Option<Carried> {
    Some(match column_type {
        ColumnType::Date => Carried::by(ColumnCarriage::Days { infinities: None }),
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
            Carried::by(ColumnCarriage::Microseconds { infinities: None })
        }
        ColumnType::Interval { .. } => Carried::by(ColumnCarriage::MonthDayNano),
        ColumnType::DecimalText { .. }
        | ColumnType::Uuid
        | ColumnType::Json
        | ColumnType::Enum { .. } => Carried::cast(ColumnCarriage::Text),
        ColumnType::Special(SpecialType::Jsonb) => Carried::cast(ColumnCarriage::JsonbText),
        ColumnType::Opaque | ColumnType::Special(_) => return None,
        _ => Carried::as_is(),
    })
}

/// Whole numbers, 64-bit floating point and text are what every driver takes; all else goes as text
/// into staging, and is cast from there.
fn other(column_type: &ColumnType) -> Option<Carried> {
    Some(match column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 | ColumnType::Float64 => {
            Carried::as_is()
        }
        ColumnType::Text { .. } => Carried::by(ColumnCarriage::Text),
        ColumnType::Bool
        | ColumnType::Float32
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::TimestampTz { .. } => Carried::cast(ColumnCarriage::Text),
        _ => return None,
    })
}
