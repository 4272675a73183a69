//! The types that can be guessed for a column, as types of SQL and of the converters.

use inrush_rows::column::ColumnType;
use inrush_rows::column_policy::BooleanWords;

/// A guessed type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeGuess {
    /// `true`, `false`, `t`, `f`.
    Boolean {
        /// The spellings that occur.
        spelling: BooleanSpelling,
    },
    /// Integers of 32 bits.
    Integer,
    /// Integers of 64 bits.
    BigInt,
    /// Exact decimals.
    Numeric {
        /// The number of all digits.
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
    },
    /// Floating-point numbers of 64 bits.
    Double,
    /// Days; ISO 8601 if there is no format.
    Date {
        /// The format in strftime's letters.
        format: Option<String>,
    },
    /// Times of day.
    Time,
    /// Dates with times and without an offset from UTC.
    Timestamp {
        /// The format in strftime's letters.
        format: Option<String>,
    },
    /// Dates with times and an offset from UTC.
    TimestampTz {
        /// The format in strftime's letters.
        format: Option<String>,
    },
    /// UUIDs with hyphens.
    Uuid,
    /// JSON objects and arrays.
    Json,
    /// Any text.
    Text,
    /// The type that a file of typed rows declares.
    Told {
        /// The type in PostgreSQL's words.
        sql: String,
        /// The same type as the converters' type.
        column_type: Box<ColumnType>,
    },
}

/// The spelling of booleans, in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BooleanSpelling {
    /// `t` and `f`.
    Letters,
    /// `true` and `false`.
    Words,
    /// `t`, `f`, `true` and `false`.
    Both,
}

impl BooleanSpelling {
    /// The spelling of one value.
    pub(super) fn of(value: &[u8]) -> BooleanSpelling {
        match value.trim_ascii().len() {
            1 => BooleanSpelling::Letters,
            _ => BooleanSpelling::Words,
        }
    }

    /// The spelling of a column that has values of both spellings.
    #[must_use]
    pub(super) fn and(self, other: BooleanSpelling) -> BooleanSpelling {
        match self == other {
            true => self,
            false => BooleanSpelling::Both,
        }
    }

    /// The words that a column of this spelling accepts. PostgreSQL's other words are not accepted: if a `1` or a `yes`
    /// had been in the sample, the column would be text.
    pub(super) fn words(self) -> BooleanWords {
        let (yes, no): (&[&str], &[&str]) = match self {
            BooleanSpelling::Letters => (&["t"], &["f"]),
            BooleanSpelling::Words => (&["true"], &["false"]),
            BooleanSpelling::Both => (&["true", "t"], &["false", "f"]),
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        BooleanWords {
            true_words: owned(yes),
            false_words: owned(no),
        }
    }
}

impl TypeGuess {
    /// True if both are the same type; spellings of booleans may differ.
    pub(super) fn is_kind_of(&self, other: &TypeGuess) -> bool {
        let are_booleans = matches!(
            (self, other),
            (TypeGuess::Boolean { .. }, TypeGuess::Boolean { .. })
        );
        are_booleans || self == other
    }

    /// The type in PostgreSQL's words.
    pub fn sql(&self) -> String {
        match self {
            TypeGuess::Boolean { .. } => "boolean".to_owned(),
            TypeGuess::Integer => "integer".to_owned(),
            TypeGuess::BigInt => "bigint".to_owned(),
            TypeGuess::Numeric { precision, scale } => format!("numeric({precision},{scale})"),
            TypeGuess::Double => "double precision".to_owned(),
            TypeGuess::Date { .. } => "date".to_owned(),
            TypeGuess::Time => "time".to_owned(),
            TypeGuess::Timestamp { .. } => "timestamp".to_owned(),
            TypeGuess::TimestampTz { .. } => "timestamptz".to_owned(),
            TypeGuess::Uuid => "uuid".to_owned(),
            TypeGuess::Json => "json".to_owned(),
            TypeGuess::Text => "text".to_owned(),
            TypeGuess::Told { sql, .. } => sql.clone(),
        }
    }

    /// True if it is a type of numbers, which cannot hold the leading zeros and signs of codes.
    pub fn is_number(&self) -> bool {
        self.column_type().is_number()
    }

    /// The words of its values, if it is a boolean.
    pub(super) fn boolean_words(&self) -> Option<BooleanWords> {
        match self {
            TypeGuess::Boolean { spelling } => Some(spelling.words()),
            _ => None,
        }
    }

    /// The format of its values, if it is not ISO 8601.
    pub fn format(&self) -> Option<&str> {
        match self {
            TypeGuess::Date { format }
            | TypeGuess::Timestamp { format }
            | TypeGuess::TimestampTz { format } => format.as_deref(),
            _ => None,
        }
    }

    /// The type to which the load would convert.
    pub(super) fn column_type(&self) -> ColumnType {
        const FRACTION_DIGITS: u8 = 6;
        match self {
            TypeGuess::Boolean { .. } => ColumnType::Bool,
            TypeGuess::Integer => ColumnType::Int32,
            TypeGuess::BigInt => ColumnType::Int64,
            TypeGuess::Numeric { precision, scale } => ColumnType::Decimal {
                precision: *precision,
                scale: *scale,
            },
            TypeGuess::Double => ColumnType::Float64,
            TypeGuess::Date { .. } => ColumnType::Date,
            TypeGuess::Time => ColumnType::Time {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::Timestamp { .. } => ColumnType::Timestamp {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::TimestampTz { .. } => ColumnType::TimestampTz {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::Uuid => ColumnType::Uuid,
            TypeGuess::Json => ColumnType::Json,
            TypeGuess::Text => ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
            TypeGuess::Told { column_type, .. } => ColumnType::clone(column_type),
        }
    }
}
