//! The form in which each column type is sent to a database through its driver; each was tested with its driver.

use inrush_rows::column_type::ColumnType;
use inrush_rows::special_type::SpecialType;

use crate::quirks::Vendor;

/// The form of a column for a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnCarriage {
    /// Unchanged.
    AsIs,
    /// Days since 1970. In some databases two numbers stand for the infinities.
    Days {
        /// The numbers that stand for `-infinity` and `infinity`.
        infinities: Option<(i32, i32)>,
    },
    /// Microseconds since 1970. In some databases two numbers stand for the infinities.
    Microseconds {
        /// The numbers that stand for `-infinity` and `infinity`.
        infinities: Option<(i64, i64)>,
    },
    /// An interval as Arrow's own type.
    MonthDayNano,
    /// 16 bytes, tagged as Arrow's extension type of a UUID.
    TaggedUuid,
    /// A floating-point number, which must not be NaN.
    NumbersOnly,
    /// A decimal in as few bytes as its precision needs, which is also how the database stores it.
    NarrowDecimal,
    /// Its text.
    Text,
    /// JSON, unchanged; it must not contain half of a surrogate pair.
    Json,
    /// JSON as text, which must contain neither half of a surrogate pair nor NUL.
    JsonbText,
}

/// The form in which a column is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The form of its values.
    pub way: ColumnCarriage,
    /// The type of its staging column if it differs from the target's; it is cast when the rows are published.
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

/// The form in which columns of this type are sent; `None` if the type is not supported.
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

/// SQLite stores NaN as NULL, and its driver supports neither decimals nor times.
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

/// The driver picks the binary COPY format from the Arrow type of a column, not from the table. Types that Arrow lacks
/// are sent as text to staging and cast from there.
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

/// Every driver supports whole numbers, 64-bit floating point and text. All other types are sent as text to staging.
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
